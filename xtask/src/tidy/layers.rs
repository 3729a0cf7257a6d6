//! A crate uses only the layers below it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::Finding;

/// Each crate of ours and its layer; a crate may use those of lower layers. The database shares layer 1 with core, so of the
/// load tool it can use nothing.
const LAYERS: [(&str, u8); 17] = [
    ("plimsoll-base", 0),
    ("plimsoll-core", 1),
    ("plimsoll-docdb", 1),
    ("plimsoll-control", 2),
    ("plimsoll-analysis", 2),
    ("plimsoll-net", 2),
    ("plimsoll-script", 2),
    ("plimsoll-report", 2),
    ("plimsoll-engine", 3),
    ("plimsoll-workload", 3),
    ("plimsoll-sim", 3),
    ("plimsoll-guard", 3),
    ("plimsoll-observe", 3),
    ("plimsoll-lab", 3),
    ("plimsoll", 4),
    ("plimsoll-fuzz", 4),
    ("xtask", 0),
];
/// Edges inside a layer that the design allows.
const SIDEWAYS: [(&str, &str); 2] = [
    ("plimsoll-workload", "plimsoll-engine"),
    ("plimsoll-lab", "plimsoll-observe"),
];

/// Heavy dependencies and the crates that may use them, so that each can be replaced in one place.
const HEAVY: [(&str, &[&str]); 8] = [
    ("mongodb", &["plimsoll-workload"]),
    ("scylla", &["plimsoll-workload"]),
    (
        "rustls",
        &["plimsoll-net", "plimsoll-lab", "plimsoll-docdb"],
    ),
    ("hyper", &["plimsoll-lab", "plimsoll-guard"]),
    (
        "tokio",
        &[
            "plimsoll-lab",
            "plimsoll-guard",
            "plimsoll-workload",
            "plimsoll-docdb",
        ],
    ),
    ("rquickjs", &["plimsoll-script"]),
    ("ratatui", &["plimsoll-report"]),
    ("anyhow", &["plimsoll", "plimsoll-fuzz", "xtask"]),
];

const ADD_LAYER: &str =
    "give the crate a layer in xtask/src/tidy/layers.rs and docs/ARCHITECTURE.md";
const MOVE_DOWN: &str = "move what both need into a lower layer, or pass it in from the binary";
const HEAVY_FIX: &str = "use it through the crate that owns it";

pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .context("run cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let metadata = serde_json::from_slice(&output.stdout).context("read cargo metadata")?;
    Ok(check_metadata(&metadata))
}

pub(crate) fn check_metadata(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let user = package["name"].as_str().unwrap_or_default();
        let Some(layer) = layer_of(user) else {
            findings.push(Finding::at(user, "has no layer", ADD_LAYER));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let is_for_tests = dependency["kind"] == "dev";
            let used = dependency["name"].as_str().unwrap_or_default();
            if !is_for_tests {
                findings.extend(check_edge(user, layer, used));
            }
        }
    }
    findings
}

fn check_edge(user: &str, user_layer: u8, used: &str) -> Option<Finding> {
    if let Some(used_layer) = layer_of(used) {
        let allowed = used_layer < user_layer || SIDEWAYS.contains(&(user, used));
        let problem = format!("layer {user_layer} uses {used} of layer {used_layer}");
        return (!allowed).then(|| Finding::at(user, problem, MOVE_DOWN));
    }
    let (_, owners) = HEAVY.iter().find(|(name, _)| *name == used)?;
    let problem = format!("uses {used}, which belongs to {}", owners.join(", "));
    (!owners.contains(&user)).then(|| Finding::at(user, problem, HEAVY_FIX))
}

fn layer_of(name: &str) -> Option<u8> {
    LAYERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, layer)| *layer)
}
