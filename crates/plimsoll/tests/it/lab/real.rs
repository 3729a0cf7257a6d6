//! `--real` and the script of the doubled-servers experiment: real programs where they are installed, a clear word where not.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::TINY;
use super::experiment;
use super::processes::assert_none_mention;
use crate::support::{Folder, Service, plimsoll};

fn shipped(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments/doubled-servers")
        .join(file)
}

/// Whether a program is on the path, or where Debian puts servers.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders
        .map(|folder| folder.join(program))
        .any(|file| file.is_file())
}

/// The experiment that ships, with seconds of load instead of minutes.
fn shortened(folder: &Folder) -> String {
    let text = std::fs::read_to_string(shipped("real.toml")).unwrap();
    let text = text
        .replace("duration = \"20s\"", "duration = \"1s\"")
        .replace("kill_at = \"50s\"", "kill_at = \"2s\"")
        .replace("warm_up = 3000", "warm_up = 20");
    std::fs::write(folder.file("real.toml"), text).unwrap();
    let real = std::fs::canonicalize(shipped("real")).unwrap();
    std::os::unix::fs::symlink(real, folder.0.join("real")).unwrap();
    experiment(folder, TINY)
}

#[test]
fn two_express_servers_run_behind_nginx() {
    let modules = shipped("real/node_modules/mongoose").exists();
    if !modules
        || !["node", "nginx", "redis-server"]
            .into_iter()
            .all(is_installed)
    {
        // `make test` and `make real` install them; without them the message is tested below.
        return;
    }
    let folder = Folder::new();
    let path = shortened(&folder);
    let args = [
        "lab", &path, "--real", "--repeat", "1", "--scale", "0.02", "--only", "2A", "--quiet",
        "-o", "out", "--format", "json",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let run = &document["variants"][0]["runs"][0];
    let after = &run["after"];
    assert!(after["ok_count"].as_u64().unwrap() > 0, "{after}");
    assert_eq!(
        after["lost_count"], 0,
        "mongoose was told that it is stored: {after}"
    );
    let record = std::fs::read_to_string(folder.file("out/2A-1/run.plimsoll.jsonl")).unwrap();
    let header: Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
    assert_eq!(header["lab"]["scale"], 0.02);
    let proxy = header["lab"]["tiers"].as_array().unwrap().last().unwrap();
    assert_eq!(proxy["limits"]["slots"], 20.0, "1,024 × 0.02");
    assert!(
        record.contains("\"source\":\"proxy\""),
        "nginx's log was read"
    );
    assert!(
        record.contains("\"pool_in_use\""),
        "the pool's gauges were read"
    );
    let conf = std::fs::read_to_string(folder.file("out/2A-1/proxy/nginx.conf")).unwrap();
    assert!(conf.contains("worker_connections 20;"), "{conf}");
    assert_eq!(conf.matches("    server 127.0.0.1:").count(), 2, "{conf}");
    assert_none_mention(&folder);
}

#[test]
fn an_experiment_without_real_tiers_and_a_missing_program_are_said() {
    let folder = Folder::new();
    let path = experiment(&folder, TINY);
    let (code, _, stderr) = plimsoll(&folder, &["lab", &path, "--real", "--check"]);
    assert_eq!(code, 104);
    assert!(
        stderr.contains("has no real.toml: leave --real out"),
        "{stderr}"
    );
    std::fs::write(
        folder.file("real.toml"),
        TINY.replace(
            "[tiers.proxy]",
            "[tiers.proxy]\nrequires = [\"no-such-server\"]\ninstall = \"make real\"",
        ),
    )
    .unwrap();
    let (code, _, stderr) = plimsoll(&folder, &["lab", &path, "--real", "--check"]);
    assert_eq!(code, 104);
    let said = "tiers.proxy.requires: `no-such-server` is not on the PATH; it is installed with: make real";
    assert!(stderr.contains(said), "{stderr}");
}

#[test]
fn the_published_script_has_the_stages_of_the_experiment_and_runs() {
    let folder = Folder::new();
    let script = shipped("load.js").display().to_string();
    let (code, stdout, stderr) = plimsoll(&folder, &["inspect", &script]);
    assert_eq!(code, 0, "{stderr}");
    let options: Value = serde_json::from_str(&stdout).unwrap();
    for file in ["experiment.toml", "real.toml"] {
        let text = std::fs::read_to_string(shipped(file)).unwrap();
        for stage in options["stages"].as_array().unwrap() {
            let (target, duration) = (&stage["target"], &stage["duration"]);
            let line = format!("{{ target = {target}, duration = {duration} }}");
            assert!(text.contains(&line), "{file} lacks {line}");
        }
    }
    let service = Service::start(&["echo"]);
    let base = format!("BASE={}", service.url.trim_end_matches('/'));
    let args = ["run", &script, "-e", &base, "--stage", "1s:2", "--quiet"];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert!(
        stdout.contains("status is 200") || stdout.contains("checks"),
        "{stdout}"
    );
}
