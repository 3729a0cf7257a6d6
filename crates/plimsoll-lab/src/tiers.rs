//! The tiers of one run: real processes with fresh folders, started in order, watched, ended together.

mod lookout;
mod ports;
mod ready;
mod share;
mod tail;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_core::Nanos;
use plimsoll_core::record::{Fault, FaultKind};

use crate::LabError;
pub use crate::cgroup::SHARE_LEAST;
use crate::experiment::{Experiment, Filler, Program, Setting, Tier, Variant};
use crate::guardian::Order;
use lookout::Lookout;
pub use ports::Ports;
pub use share::{check_shares, machine_cores};

/// The tiers of one variant while they run. Dropping it ends them.
#[derive(Debug)]
pub struct System {
    lookout: Lookout,
    filler: Filler,
    running: Vec<Running>,
}

/// One instance.
#[derive(Debug, Clone)]
pub struct Running {
    /// `app-1`
    pub name: String,
    pub tier: String,
    pub pid: u32,
    pub port: u16,
    /// `quota of 0.5 core (control group v1)`
    pub isolation: String,
    pub log: PathBuf,
    /// What it says to watch, as after `--watch`, without a tier in front.
    watch: Vec<String>,
}

impl System {
    /// Starts every tier in order and waits until each is ready. `folder` is the run's own, as the filler knows it; `stop`
    /// is set when a tier ends before it should, and looked at while waiting.
    pub fn start(
        experiment: &Experiment,
        variant: &Variant,
        filler: Filler,
        folder: &Path,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, LabError> {
        let mut system = Self {
            lookout: Lookout::start(Arc::clone(stop))?,
            filler,
            running: Vec::new(),
        };
        let cores = share::cores(variant)?;
        for tier in &variant.tiers {
            for index in 0..tier.instances {
                let cores = cores.get(&tier.instance_name(index)).cloned();
                system.start_one(experiment, tier, index, cores.unwrap_or_default(), folder)?;
            }
        }
        Ok(system)
    }

    fn start_one(
        &mut self,
        experiment: &Experiment,
        tier: &Tier,
        index: u32,
        cores: Vec<usize>,
        folder: &Path,
    ) -> Result<(), LabError> {
        let name = tier.instance_name(index);
        let filler = self.filler.of(&tier.name, index);
        let (port, own) = filler
            .own()
            .ok_or_else(|| LabError::tier(&name, "has no port"))?;
        std::fs::create_dir_all(own).map_err(LabError::io(format!("create {}", own.display())))?;
        put_files(tier, &filler, own)?;
        let log = folder.join(format!("{name}.log"));
        let order = Order {
            id: name.clone(),
            program: program(tier)?,
            args: arguments(tier, &filler, port, own)?,
            env: environment(tier, &filler, own)?,
            folder: experiment.folder.clone(),
            log: log.clone(),
            cpu: tier.cpu,
            memory_bytes: tier.memory_bytes,
            cores,
        };
        let shown = shown(&order);
        let (pid, isolation) = self.lookout.order(&order)?;
        let waiting = ready::Waiting {
            name: &name,
            tier,
            port,
            log: &log,
            shown: &shown,
        };
        waiting.wait(&self.lookout)?;
        let watch = match &tier.program {
            Program::Embedded { .. } => tail::watches_in(&log),
            Program::Command(_) => Vec::new(),
        };
        let filled = tier.watch.iter().map(|text| filler.fill(text));
        let filled: Result<Vec<_>, _> = filled.collect();
        let filled =
            filled.map_err(|problem| LabError::tier(&format!("{}.watch", tier.name), problem))?;
        self.running.push(Running {
            name,
            tier: tier.name.clone(),
            pid,
            port,
            isolation,
            log,
            watch: watch.into_iter().chain(filled).collect(),
        });
        Ok(())
    }

    /// Called when the load begins: has done what the experiment wants done to its tiers.
    pub fn arm(&self, variant: &Variant) -> Result<(), LabError> {
        for tier in &variant.tiers {
            for fault in &tier.faults {
                let name = tier.instance_name(0);
                self.lookout.fault(&name, fault.at, fault.what)?;
            }
        }
        Ok(())
    }

    /// What was done so far, with the time since the load began (as asked for; the guardian looks every 20 ms).
    pub fn faults(&self, variant: &Variant) -> Vec<(Nanos, Fault)> {
        let done = self.lookout.done();
        let mut faults = Vec::new();
        for tier in &variant.tiers {
            let instance = tier.instance_name(0);
            for fault in &tier.faults {
                if done.contains(&(instance.clone(), fault.what)) {
                    let what = fault.what;
                    let instance = instance.clone();
                    faults.push((fault.at, Fault { instance, what }));
                }
            }
        }
        faults.sort_by_key(|(at, _)| *at);
        faults
    }

    /// Who was killed so far, and when: `worker at 40 s`.
    pub fn killed(&self, variant: &Variant) -> Vec<String> {
        let faults = self.faults(variant).into_iter();
        let killed = faults.filter(|(_, fault)| fault.what == FaultKind::Restarted);
        killed
            .map(|(at, fault)| format!("{} at {} s", fault.instance, at.as_secs_f64()))
            .collect()
    }

    pub fn running(&self) -> &[Running] {
        &self.running
    }

    /// Fills placeholders of the test.
    pub fn filler(&self) -> &Filler {
        &self.filler
    }

    /// What to sample, as after `--watch`, the tier on port `entry` first: it is what the load goes to.
    pub fn watches(&self, entry: Option<u16>) -> Vec<String> {
        let mut ordered: Vec<&Running> = self.running.iter().rev().collect();
        ordered.sort_by_key(|running| Some(running.port) != entry);
        let mut watches = Vec::new();
        for running in &ordered {
            let name = &running.name;
            // A tier that listens nowhere has its process only.
            let listens = ready::accepts(running.port);
            watches.push(if listens {
                format!("{name}=port:{}", running.port)
            } else {
                format!("{name}=pid:{}", running.pid)
            });
        }
        for running in &ordered {
            let named = |text: &String| format!("{}={text}", running.name);
            watches.extend(running.watch.iter().map(named));
        }
        watches
    }

    /// Why the run cannot count: a tier that ended before the lab ended it, with its last words.
    pub fn failure(&self) -> Option<LabError> {
        let (name, how) = self.lookout.ended()?;
        let running = self.running.iter().find(|running| running.name == name);
        let log = running.map(|running| running.log.as_path());
        Some(LabError::TierDied {
            tier: name,
            how: format!("{how} during the run"),
            said: log.map(tail::last_words).unwrap_or_default(),
            fix: log.map_or_else(
                || "start the lab again".to_owned(),
                |log| format!("all that it printed is in {}", log.display()),
            ),
        })
    }

    /// Ends every tier and waits until all their processes are gone.
    pub fn end(self) -> Result<(), LabError> {
        self.lookout.end()
    }
}

/// Patterns, filled, in the instance's folder.
fn put_files(tier: &Tier, filler: &Filler, own: &Path) -> Result<(), LabError> {
    for (name, pattern) in &tier.files {
        let text = std::fs::read_to_string(pattern)
            .map_err(LabError::io(format!("read {}", pattern.display())))?;
        let filled = filler.fill_lines(&text).map_err(|problem| {
            LabError::tier(
                &format!("{}.files", tier.name),
                format!("{}: {problem}", pattern.display()),
            )
        })?;
        let path = own.join(name);
        std::fs::write(&path, filled).map_err(LabError::io(format!("write {}", path.display())))?;
    }
    Ok(())
}

fn program(tier: &Tier) -> Result<PathBuf, LabError> {
    match &tier.program {
        Program::Command(path) => Ok(path.clone()),
        Program::Embedded { .. } => {
            std::env::current_exe().map_err(LabError::io("find this program"))
        }
    }
}

fn arguments(tier: &Tier, filler: &Filler, port: u16, own: &Path) -> Result<Vec<String>, LabError> {
    let mut arguments = match &tier.program {
        Program::Command(_) => Vec::new(),
        Program::Embedded { name, set } => embedded(name, set, &tier.limits, port, own)
            .map_err(|problem| LabError::tier(&format!("{}.set", tier.name), problem))?,
    };
    for text in &tier.args {
        let filled = filler
            .fill_each(text)
            .map_err(|problem| LabError::tier(&format!("{}.args", tier.name), problem))?;
        arguments.extend(filled);
    }
    Ok(arguments)
}

/// The words after the program's name that start an embedded service.
fn embedded(
    name: &str,
    set: &BTreeMap<String, Setting>,
    limits: &BTreeMap<String, f64>,
    port: u16,
    own: &Path,
) -> Result<Vec<String>, String> {
    let own = own.display();
    if name == crate::experiment::DOCDB {
        let listen = format!("127.0.0.1:{port}");
        let words = [
            "docdb",
            "--listen",
            &listen,
            "--data",
            &format!("{own}/data"),
        ];
        return Ok(words.map(str::to_owned).to_vec());
    }
    if name == crate::experiment::GUARD {
        let listen = format!("127.0.0.1:{port}");
        // Its metrics are sampled at the address that it prints.
        let words = ["guard", "--listen", &listen, "--admin", "127.0.0.1:0"];
        return Ok(words.map(str::to_owned).to_vec());
    }
    let mut words = [
        "serve",
        name,
        "--port",
        &port.to_string(),
        "--dir",
        &own.to_string(),
    ]
    .map(str::to_owned)
    .to_vec();
    for (parameter, setting) in set {
        let value = setting.value(limits)?;
        words.extend(["--set".to_owned(), format!("{parameter}={value}")]);
    }
    Ok(words)
}

fn environment(
    tier: &Tier,
    filler: &Filler,
    own: &Path,
) -> Result<BTreeMap<String, String>, LabError> {
    // What it keeps in temporary files is as fresh as the rest.
    let mut env = BTreeMap::from([("TMPDIR".to_owned(), own.display().to_string())]);
    for (name, text) in &tier.env {
        let filled = filler
            .fill(text)
            .map_err(|problem| LabError::tier(&format!("{}.env.{name}", tier.name), problem))?;
        env.insert(name.clone(), filled);
    }
    Ok(env)
}

/// The command as one would type it.
fn shown(order: &Order) -> String {
    let mut words = vec![order.program.display().to_string()];
    words.extend(order.args.iter().cloned());
    words.join(" ")
}

/// Time that starting a variant takes, as far as it can be told beforehand.
pub fn start_estimate(variant: &Variant) -> Nanos {
    let instances: u32 = variant.tiers.iter().map(|tier| tier.instances).sum();
    Nanos::from_millis(300).saturating_mul(u64::from(instances)) + Nanos::from_secs(1)
}
