//! Values of an experiment file, read once its tables were laid over each other: every key is optional.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Setting;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct File {
    pub(super) title: Option<String>,
    pub(super) objectives: Option<ObjectivesSpec>,
    pub(super) repeat: RepeatSpec,
    pub(super) quick: Option<Vec<String>>,
}

/// Serialised to see in what two variants differ.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct TierSpec {
    pub(super) command: Option<String>,
    pub(super) embedded: Option<String>,
    pub(super) set: BTreeMap<String, Setting>,
    pub(super) args: Option<Vec<String>>,
    pub(super) instances: Option<u32>,
    pub(super) cpu: Option<f64>,
    pub(super) memory: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) files: BTreeMap<String, String>,
    pub(super) limits: BTreeMap<String, f64>,
    // What follows describes the tier and changes nothing in it: no difference between variants.
    #[serde(skip_serializing)]
    pub(super) ready: Option<String>,
    #[serde(skip_serializing)]
    pub(super) ready_within: Option<String>,
    #[serde(skip_serializing)]
    pub(super) needs: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) watch: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) requires: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) install: Option<String>,
    // Said as a change of its own words, beside the programs.
    pub(super) kill_at: Option<String>,
    /// What the tier is when it is `stubbed`; whole once it was read.
    #[serde(skip_serializing)]
    pub(super) stub: Option<Box<Self>>,
    pub(super) stubbed: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct VariantSpec {
    pub(super) base: Option<String>,
    pub(super) about: String,
    pub(super) without: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct TestSpec {
    pub(super) script: Option<String>,
    pub(super) url: Option<String>,
    pub(super) method: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<String>,
    pub(super) rate: Option<String>,
    pub(super) ramp: Option<String>,
    pub(super) connections: Option<u32>,
    pub(super) find: Option<bool>,
    pub(super) within: Option<String>,
    pub(super) stages: Option<Vec<StageSpec>>,
    pub(super) think: Option<String>,
    pub(super) duration: Option<String>,
    pub(super) warm_up: Option<u64>,
    pub(super) timeout: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) insecure: Option<bool>,
    pub(super) h2: Option<bool>,
    pub(super) streams: Option<u32>,
    pub(super) cpu: Option<f64>,
    pub(super) seed: Option<u64>,
    // How the end is looked at: no difference between variants.
    #[serde(skip_serializing)]
    pub(super) stored: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) backlog: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) taken: Option<Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) drain_within: Option<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct StageSpec {
    pub(super) target: u32,
    pub(super) duration: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ObjectivesSpec {
    pub(super) slo: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RepeatSpec {
    pub(super) runs: Option<u32>,
    pub(super) pause: Option<String>,
}

impl TierSpec {
    /// Its stub in its place; `None` if it has none.
    pub(super) fn in_stub(&self) -> Option<Self> {
        let stub = self.stub.as_deref()?;
        Some(Self {
            stub: None,
            stubbed: Some(true),
            ..stub.clone()
        })
    }
}
