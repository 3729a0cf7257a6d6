//! The experiment file as it is written: every key optional, so that a variant says only what differs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Setting;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct File {
    pub(super) title: Option<String>,
    pub(super) tiers: BTreeMap<String, TierSpec>,
    pub(super) variants: BTreeMap<String, VariantSpec>,
    pub(super) test: Option<TestSpec>,
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
    /// What the tier is when it is `stubbed`: only what differs.
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
    pub(super) tiers: BTreeMap<String, TierSpec>,
    pub(super) test: Option<TestSpec>,
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
    /// This tier with what `over` says instead; maps are merged entry by entry. Of another program's tier only its
    /// shares stay: what is said beside a program is for that one.
    pub(super) fn with(&self, over: &Self) -> Self {
        if over.names_another_program(self) {
            return Self {
                instances: over.instances.or(self.instances),
                cpu: over.cpu.or(self.cpu),
                memory: or(over.memory.as_ref(), self.memory.as_ref()),
                port: over.port.or(self.port),
                ..over.clone()
            };
        }
        Self {
            command: or(over.command.as_ref(), self.command.as_ref()),
            embedded: or(over.embedded.as_ref(), self.embedded.as_ref()),
            args: or(over.args.as_ref(), self.args.as_ref()),
            instances: over.instances.or(self.instances),
            cpu: over.cpu.or(self.cpu),
            memory: or(over.memory.as_ref(), self.memory.as_ref()),
            port: over.port.or(self.port),
            ready: or(over.ready.as_ref(), self.ready.as_ref()),
            ready_within: or(over.ready_within.as_ref(), self.ready_within.as_ref()),
            needs: or(over.needs.as_ref(), self.needs.as_ref()),
            watch: or(over.watch.as_ref(), self.watch.as_ref()),
            requires: or(over.requires.as_ref(), self.requires.as_ref()),
            install: or(over.install.as_ref(), self.install.as_ref()),
            kill_at: or(over.kill_at.as_ref(), self.kill_at.as_ref()),
            stub: or(over.stub.as_ref(), self.stub.as_ref()),
            stubbed: over.stubbed.or(self.stubbed),
            set: join(&self.set, &over.set),
            env: join(&self.env, &over.env),
            files: join(&self.files, &over.files),
            limits: join(&self.limits, &over.limits),
        }
    }

    /// With its stub in its place; `None` if it has none.
    pub(super) fn in_stub(&self) -> Option<Self> {
        let stub = self.stub.as_deref()?;
        Some(Self {
            stub: None,
            stubbed: Some(true),
            ..self.with(stub)
        })
    }

    fn names_another_program(&self, than: &Self) -> bool {
        let (before, after) = (
            (&than.command, &than.embedded),
            (&self.command, &self.embedded),
        );
        before != (&None, &None) && after != (&None, &None) && before != after
    }
}

impl TestSpec {
    /// This test with what `over` says instead. A load of another kind takes the place of the one before.
    pub(super) fn with(&self, over: &Self) -> Self {
        let mut base = self.clone();
        if over.script.is_some() || over.url.is_some() {
            base.script = None;
            base.url = None;
        }
        if over.rate.is_some()
            || over.ramp.is_some()
            || over.stages.is_some()
            || over.find.is_some()
        {
            base.find = None;
            base.within = None;
            base.rate = None;
            base.ramp = None;
            base.stages = None;
        }
        Self {
            script: or(over.script.as_ref(), base.script.as_ref()),
            url: or(over.url.as_ref(), base.url.as_ref()),
            method: or(over.method.as_ref(), base.method.as_ref()),
            body: or(over.body.as_ref(), base.body.as_ref()),
            rate: or(over.rate.as_ref(), base.rate.as_ref()),
            ramp: or(over.ramp.as_ref(), base.ramp.as_ref()),
            connections: over.connections.or(base.connections),
            find: over.find.or(base.find),
            within: or(over.within.as_ref(), base.within.as_ref()),
            stages: or(over.stages.as_ref(), base.stages.as_ref()),
            think: or(over.think.as_ref(), base.think.as_ref()),
            duration: or(over.duration.as_ref(), base.duration.as_ref()),
            warm_up: over.warm_up.or(base.warm_up),
            timeout: or(over.timeout.as_ref(), base.timeout.as_ref()),
            insecure: over.insecure.or(base.insecure),
            h2: over.h2.or(base.h2),
            streams: over.streams.or(base.streams),
            cpu: over.cpu.or(base.cpu),
            seed: over.seed.or(base.seed),
            stored: or(over.stored.as_ref(), base.stored.as_ref()),
            backlog: or(over.backlog.as_ref(), base.backlog.as_ref()),
            taken: or(over.taken.as_ref(), base.taken.as_ref()),
            drain_within: or(over.drain_within.as_ref(), base.drain_within.as_ref()),
            headers: join(&base.headers, &over.headers),
            env: join(&base.env, &over.env),
        }
    }
}

fn or<T: Clone>(over: Option<&T>, base: Option<&T>) -> Option<T> {
    over.or(base).cloned()
}

fn join<V: Clone>(base: &BTreeMap<String, V>, over: &BTreeMap<String, V>) -> BTreeMap<String, V> {
    let mut joined = base.clone();
    joined.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    joined
}
