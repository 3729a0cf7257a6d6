//! One run of one variant: fresh tiers, warm-up, the load, the record; then the tiers are gone.

use std::cell::OnceCell;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use plimsoll_core::record::{
    After, Event, EventKind, LabSetup, Line, Record, SelfCheck, TierSetup,
};
use plimsoll_core::test::Test;
use plimsoll_lab::LabError;
use plimsoll_lab::aftermath::Aftermath;
use plimsoll_lab::experiment::Load;
use plimsoll_lab::tiers::{Ports, System};
use plimsoll_net::{Endpoint, Target};
use plimsoll_observe::Watch;

use super::plan::{Plan, Run, WARM_UP_LONGEST};
use super::test;
use crate::args::OutputArgs;
use crate::measure::{Measured, Setting, measure};
use crate::page::Page;
use crate::prepared::Subject;
use crate::reach::{self, Leave};
use crate::recipe::{Recipe, WarmUp, address_of_store};
use crate::reuse::Reused;
use crate::script::console;
use crate::session::Session;
use crate::{output, selfcheck};

/// What one run needs.
pub(super) struct Play<'a> {
    pub(super) plan: &'a Plan,
    pub(super) run: &'a Run,
    pub(super) ports: &'a Ports,
    /// The run's own, made here.
    pub(super) folder: &'a Path,
    pub(super) quiet: bool,
    pub(super) page: Option<&'a Arc<Page>>,
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
        let filler = self.ports.filler(experiment, variant, self.folder)?;
        let recipe = test::recipe(variant, &filler, self.folder)?;
        let started = System::start(experiment, variant, filler, self.folder, self.stop);
        let mut system = match started {
            Ok(system) => system,
            Err(LabError::Stopped) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let _logged = console::Logged::into(&self.folder.join("test.log"))?;
        let measured = self
            .warm_up(&recipe)
            .and_then(|()| self.load_and_look(&recipe, &mut system));
        // A tier that ended explains every other failure.
        if let Some(failure) = system.failure() {
            return Err(failure.into());
        }
        let played = measured?;
        system.end()?;
        let Some(measured) = played else {
            return Ok(None);
        };
        // What was left behind is judged with the rest.
        let verdict = measured.verdict();
        let mut session = measured.session;
        session.close(verdict);
        Ok(Some(Played {
            variant: variant.name.clone(),
            path: self.record_path(),
            record: session.record,
        }))
    }

    fn record_path(&self) -> String {
        self.folder.join("run.plimsoll.jsonl").display().to_string()
    }

    fn warm_up(&self, recipe: &Recipe) -> Result<()> {
        let Some(count) = NonZeroU64::new(self.run.variant.test.warm_up) else {
            return Ok(());
        };
        let prepared = recipe.warm_up(self.run.seed, WarmUp::Count(count, WARM_UP_LONGEST))?;
        let setting = Setting {
            output: &OutputArgs::part(None, None),
            watches: &[],
            outs: &[],
            reused: &Reused::default(),
            may_load_remote: true,
            interrupt: self.stop,
            on_load: &|| Ok(()),
        };
        measure(&prepared, &setting)?.refuse_unfinished()
    }

    /// The load, and what it leaves behind.
    fn load_and_look(&self, recipe: &Recipe, system: &mut System) -> Result<Option<Measured>> {
        let variant = &self.run.variant;
        let asked = variant.test.after.as_ref();
        let aftermath = Aftermath::prepare(asked, system.filler(), self.stop)?;
        let Some(mut measured) = self.measure(recipe, system)? else {
            return Ok(None);
        };
        if let Some(aftermath) = aftermath {
            let after = aftermath.look(system.killed(variant), self.stop);
            let at_ns = measured.session.clock.now();
            let is_stopped = self.stop.load(Ordering::Relaxed);
            for problem in after.uncounted.values().filter(|_| !is_stopped) {
                output::progress(&format!("plimsoll: {problem}; that is not counted"));
            }
            measured
                .session
                .append(Line::After(After { at_ns, ..after }));
        }
        Ok(self.unless_stopped(measured))
    }

    /// None if a signal ended it.
    fn measure(&self, recipe: &Recipe, system: &System) -> Result<Option<Measured>> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut prepared = recipe.prepare(self.run.seed)?;
        let entry = match &prepared.subject {
            Subject::Url(options) => options
                .endpoint()
                .and_then(Endpoint::tcp)
                .map(|it| it.port()),
            Subject::Workload(workload) => {
                address_of_store(&workload.store).map(|address| address.port())
            }
            Subject::Script(_) => self.entry(system),
        };
        let leave = Leave::AGAIN;
        reach::check(&mut prepared, leave)?;
        let watches = system.watches(entry);
        let watches: Result<Vec<Watch>, _> = watches.iter().map(|it| it.parse()).collect();
        let setting = Setting {
            output: &self.output(system),
            watches: &watches?,
            outs: &[],
            reused: &self.reused(&prepared.test)?,
            may_load_remote: true,
            interrupt: self.stop,
            on_load: &|| Ok(system.arm(&self.run.variant)?),
        };
        let mut measured = measure(&prepared, &setting)?;
        self.note_faults(system, &mut measured.session);
        measured.refuse_unfinished()?;
        Ok(self.unless_stopped(measured))
    }

    /// What was done to the tiers becomes a part of the record.
    fn note_faults(&self, system: &System, session: &mut Session) {
        let Some(began) = session.record.levels.first().map(|level| level.start_ns) else {
            return;
        };
        for (at, fault) in system.faults(&self.run.variant) {
            session.append(Line::Event(Event {
                at_ns: began + at,
                what: EventKind::Fault(fault),
                detail: String::new(),
            }));
        }
    }

    fn unless_stopped(&self, measured: Measured) -> Option<Measured> {
        (!self.stop.load(Ordering::Relaxed)).then_some(measured)
    }

    /// The generator is checked before the first search of the lab, alone on the machine but for idle tiers.
    fn reused(&self, test: &Test) -> Result<Reused> {
        if !test.is_search() {
            return Ok(Reused::default());
        }
        let check = if let Some(check) = self.self_check.get() {
            *check
        } else {
            let check = selfcheck::measure(test.generator.workers, self.stop)?;
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
        let texts: Vec<String> = test.env.values().filter_map(filled).collect();
        let named = |port: u16| {
            texts
                .iter()
                .any(|text| text.contains(&format!("127.0.0.1:{port}")))
        };
        let mut ports = system.running().iter().rev().map(|running| running.port);
        let last = system.running().last().map(|running| running.port);
        ports.find(|port| named(*port)).or(last)
    }

    fn output(&self, system: &System) -> OutputArgs {
        let record = self.folder.join("run.plimsoll.jsonl");
        OutputArgs {
            quiet: self.quiet,
            lab: Some(self.setup(system)),
            ..OutputArgs::part(Some(record), self.page)
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
            published: self.plan.experiment.published.clone(),
        }
    }
}
