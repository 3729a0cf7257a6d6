//! One run of one variant: fresh tiers, warm-up, the load, the record; then the tiers are gone.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use plimsoll_core::plan::Plan as UrlPlan;
use plimsoll_core::record::{After, LabSetup, Line, Record, TierSetup};
use plimsoll_core::step::{Go, Phase, Step, StepError, StepLoad, StepRunner as _};
use plimsoll_core::verdict::Verdict;
use plimsoll_engine::{EngineRunner, Options};
use plimsoll_lab::LabError;
use plimsoll_lab::aftermath::Aftermath;
use plimsoll_lab::experiment::Load;
use plimsoll_lab::tiers::{Ports, System};
use plimsoll_net::Target;
use plimsoll_net::clock::Clock;
use plimsoll_observe::Watch;

use super::load::{self, Test};
use super::plan::{Plan, Run, WARM_UP_LONGEST};
use crate::args::{FindArgs, OutputArgs};
use crate::commands::{find, run};
use crate::reuse::Reused;
use crate::script::console;
use crate::selfcheck::SelfCheck;
use crate::session::Session;
use crate::{reach, script, selfcheck, watching};

/// What one run needs.
pub(super) struct Play<'a> {
    pub(super) plan: &'a Plan,
    pub(super) run: &'a Run,
    pub(super) ports: &'a Ports,
    /// The run's own, made here.
    pub(super) folder: &'a Path,
    pub(super) quiet: bool,
    /// Of the generator, once it was measured.
    pub(super) self_check: &'a OnceCell<SelfCheck>,
    /// Set by a signal, and by a tier that ends.
    pub(super) stop: &'a Arc<AtomicBool>,
}

/// A run that came to its end.
pub(super) struct Played {
    pub(super) variant: String,
    pub(super) path: String,
    pub(super) record: Record,
}

impl Play<'_> {
    /// None if a signal ended it: its record stays, without a verdict and without a report.
    pub(super) fn play(&self) -> Result<Option<Played>> {
        let experiment = &self.plan.experiment;
        let variant = &self.run.variant;
        let started = System::start(experiment, variant, self.ports, self.folder, self.stop);
        let mut system = match started {
            Ok(system) => system,
            Err(LabError::Stopped) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let test = load::test(variant, system.filler(), self.run.seed, self.folder)?;
        let _logged = console::Logged::into(&self.folder.join("test.log"))?;
        let measured = self
            .warm_up(&test)
            .and_then(|()| self.load_and_look(&test, &mut system));
        // A tier that ended explains every other failure.
        if let Some(failure) = system.failure() {
            return Err(failure.into());
        }
        let played = measured?;
        system.end()?;
        let Some((mut session, verdict)) = played else {
            return Ok(None);
        };
        session.close(verdict)?;
        Ok(Some(Played {
            variant: variant.name.clone(),
            path: self.record_path(),
            record: session.record,
        }))
    }

    fn record_path(&self) -> String {
        self.folder.join("run.plimsoll.jsonl").display().to_string()
    }

    fn warm_up(&self, test: &Test) -> Result<()> {
        let count = self.run.variant.test.warm_up;
        match load::warm_up(test, count) {
            None => Ok(()),
            Some(Test::Url(plan) | Test::Find(_, plan)) => warm_up_url(&plan, count, self.stop),
            Some(Test::Script(args)) => {
                let loaded = load::loaded(&args, &self.run.variant)?;
                let nowhere = load::quiet_output();
                let (_, ending) = script::measure(&loaded, None, &[], &nowhere, self.stop)?;
                script::came_to_its_end(ending)
            }
        }
    }

    /// The load, and what it leaves behind.
    fn load_and_look(
        &self,
        test: &Test,
        system: &mut System,
    ) -> Result<Option<(Session, Verdict)>> {
        let variant = &self.run.variant;
        let asked = variant.test.after.as_ref();
        let aftermath = Aftermath::prepare(asked, system.filler(), self.stop)?;
        system.arm(variant)?;
        let Some((mut session, verdict)) = self.measure(test, system)? else {
            return Ok(None);
        };
        if let Some(aftermath) = aftermath {
            let after = aftermath.look(system.killed(variant), self.stop)?;
            let at_ns = session.clock.now();
            session.append(Line::After(After { at_ns, ..after }))?;
        }
        let interrupted = self.stop.load(Ordering::Relaxed);
        // What was left behind is judged with the rest.
        let verdict = verdict.unwrap_or_else(|| run::verdict(&session));
        Ok((!interrupted).then_some((session, verdict)))
    }

    /// The session with the whole record, and what a search found; none if a signal ended it.
    fn measure(&self, test: &Test, system: &System) -> Result<Option<(Session, Option<Verdict>)>> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let output = self.output(system);
        let measured = match test {
            Test::Url(plan) => {
                let watches = reached(plan, system)?;
                (run::measure(plan, &watches, &output, self.stop)?, None)
            }
            Test::Find(args, plan) => {
                let watches = reached(plan, system)?;
                let args = FindArgs {
                    output,
                    ..(**args).clone()
                };
                let (session, verdict) =
                    find::measure(&args, plan, &watches, &self.reused(plan)?, self.stop)?;
                (session, Some(verdict))
            }
            Test::Script(args) => {
                let loaded = load::loaded(args, &self.run.variant)?;
                let watches = watching::parse_texts(&system.watches(self.entry(system)))?;
                let objectives = self.run.variant.objectives.as_ref();
                let (session, ending) =
                    script::measure(&loaded, objectives, &watches, &output, self.stop)?;
                script::came_to_its_end(ending)?;
                (session, None)
            }
        };
        let interrupted = self.stop.load(Ordering::Relaxed);
        Ok((!interrupted).then_some(measured))
    }

    /// The generator is checked before the first search of the lab, alone on the machine but for idle tiers.
    fn reused(&self, plan: &UrlPlan) -> Result<Reused> {
        let check = if let Some(check) = self.self_check.get() {
            *check
        } else {
            let check = selfcheck::measure(plan.workers, self.stop)?;
            *self.self_check.get_or_init(|| check)
        };
        Ok(Reused {
            self_check: Some(check),
            anchor: None,
        })
    }

    /// The port that a script's load goes to: of its only URL, else of the tier that it finds in its environment, else of
    /// the tier that started last, which no other needs.
    fn entry(&self, system: &System) -> Option<u16> {
        let test = &self.run.variant.test;
        let filled = |text: &String| system.filler().fill(text).ok();
        if let Load::Stages { request, .. } = &test.load {
            let url = filled(&request.url)?;
            return Target::parse(&url).ok().map(|target| target.port);
        }
        let said: Vec<String> = test.env.values().filter_map(filled).collect();
        let named = |port: u16| {
            said.iter()
                .any(|text| text.contains(&format!("127.0.0.1:{port}")))
        };
        let mut ports = system.running().iter().rev().map(|running| running.port);
        let last = system.running().last().map(|running| running.port);
        ports.find(|port| named(*port)).or(last)
    }

    fn output(&self, system: &System) -> OutputArgs {
        OutputArgs {
            out: Some(self.folder.join("run.plimsoll.jsonl")),
            no_record: false,
            quiet: self.quiet,
            lab: Some(self.setup(system)),
            ..load::quiet_output()
        }
    }

    /// What the record says of the experiment and its tiers.
    fn setup(&self, system: &System) -> LabSetup {
        let variant = &self.run.variant;
        let tiers = system.running().iter().map(|running| {
            let tier = variant.tier(&running.tier);
            TierSetup {
                name: running.name.clone(),
                tier: running.tier.clone(),
                isolation: running.isolation.clone(),
                cpu_cores: tier.and_then(|tier| tier.cpu),
                memory_bytes: tier.and_then(|tier| tier.memory_bytes),
                limits: tier.map(|tier| tier.limits.clone()).unwrap_or_default(),
                stubbed: tier.is_some_and(|tier| tier.stubbed),
            }
        });
        LabSetup {
            experiment: self.plan.experiment.title.clone(),
            variant: variant.name.clone(),
            about: variant.about.clone(),
            run: self.run.number,
            runs: self.plan.experiment.runs,
            probe: variant.probe,
            scale: Some(self.plan.experiment.scale).filter(|scale| *scale < 1.0),
            base: variant.base.clone(),
            changes: variant.changes.clone(),
            tiers: tiers.collect(),
        }
    }
}

/// What is watched beside a URL, which answers.
fn reached(plan: &UrlPlan, system: &System) -> Result<Vec<Watch>> {
    let entry = Target::parse(&plan.request.url)?.port;
    reach::check(plan, &Options::new(plan, None)?)?;
    watching::parse_texts(&system.watches(Some(entry)))
}

/// So many requests, or ten seconds of them.
fn warm_up_url(plan: &UrlPlan, count: u64, stop: &Arc<AtomicBool>) -> Result<()> {
    let options = Options::new(plan, Some(count))?;
    let mut runner = EngineRunner::start(&options, Clock::start(), Arc::clone(stop))?;
    let step = Step {
        level: 0,
        phase: Phase::WarmUp,
        load: StepLoad::Closed {
            in_flight: plan.in_flight_max().get(),
        },
        windows_max: (WARM_UP_LONGEST.as_secs_f64()) as u32,
    };
    match runner.play(&step, &mut |_| Go::On) {
        // Looked at by the caller.
        Ok(()) | Err(StepError::Interrupted) => {}
        Err(error) => return Err(error.into()),
    }
    runner.drain(1, plan.timeout_ns)?;
    Ok(())
}
