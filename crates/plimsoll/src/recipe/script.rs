//! The test of a script: read anew for every run, with its own load or the one that a search decides.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use plimsoll_control::search::{Config, Search, client_timeout};
use plimsoll_core::Nanos;
use plimsoll_core::objective::Objectives;
use plimsoll_core::scenario::{Executor, Scenario, Scenarios};
use plimsoll_core::schedule::RateProfile;
use plimsoll_core::test::{
    Generator, How, Load, Script, ScriptSetup, SearchSettings, Test, Until, What,
};
use plimsoll_core::threshold::Thresholds;
use plimsoll_engine::scripted::{self, Seating};
use plimsoll_net::tls::Offer;

use crate::args::ScriptSource;
use crate::prepared::{Prepared, Subject};
use crate::script::load::{self, Loaded};

/// Most virtual users of a warm-up, which is no load test.
const FEW: u32 = 10;
/// The same where iterations are counted.
const FEW_AT_ONCE: u32 = 4;
/// How long iterations of a warm-up may go on after it.
pub(crate) const WARM_STOP: Nanos = Nanos::from_secs(5);

#[derive(Clone)]
pub(crate) struct ScriptTest {
    pub(crate) source: ScriptSource,
    pub(crate) load: ScriptLoad,
    pub(crate) workers: Option<NonZeroU32>,
    pub(crate) insecure: bool,
    /// Servers are offered HTTP/1.1 alone.
    pub(crate) only_http1: bool,
}

#[derive(Clone)]
pub(crate) enum ScriptLoad {
    /// As its options say.
    Own { objectives: Option<Objectives> },
    Search {
        settings: SearchSettings,
        objectives: Objectives,
        /// Whose function is run; needed where there are several.
        scenario: Option<String>,
        vus_max: NonZeroU32,
    },
}

/// A warm-up.
#[derive(Clone, Copy)]
pub(super) enum FewUsers {
    For(Nanos),
    /// All together, within this time.
    Iterations(NonZeroU64, Nanos),
}

impl ScriptTest {
    pub(crate) fn prepare(&self, seed: u64) -> Result<Prepared> {
        let mut loaded = self.read(seed)?;
        let test = match &self.load {
            ScriptLoad::Own { objectives } => {
                if let Some(objectives) = objectives {
                    script_mut(&mut loaded)?.hold_to(objectives);
                }
                own_load(&loaded, objectives.clone())
            }
            ScriptLoad::Search {
                settings,
                objectives,
                scenario,
                vus_max,
            } => {
                hand_over(&mut loaded, objectives, scenario.as_deref())?;
                let how = How::Search {
                    settings: *settings,
                    objectives: objectives.clone(),
                };
                let setup = ScriptSetup {
                    // The search decides the load.
                    scenarios: Vec::new(),
                    ..loaded.setup.clone()
                };
                test_of(&loaded, setup, how, *vus_max)
            }
        };
        // Refused before anything is sent; how long an iteration takes is known once it runs.
        if let Some(config) = Config::from_test(&test) {
            Search::new(config)?;
        }
        Ok(Prepared::new(test, Subject::Script(Arc::new(loaded))))
    }

    /// A few virtual users.
    pub(super) fn warm_up(&self, seed: u64, users: FewUsers) -> Result<Prepared> {
        let mut loaded = self.read(seed)?;
        let script = script_mut(&mut loaded)?;
        let each = script.scenarios.len().max(1) as u32;
        let users = users.share(each);
        let few = |scenario: &Scenario| Scenario {
            executor: users.executor(scenario.executor.vus_max(), each),
            start_ns: Nanos::ZERO,
            graceful_stop_ns: WARM_STOP,
            ..scenario.clone()
        };
        let scenarios = script.scenarios.each(few);
        script.set_scenarios(scenarios);
        // They judge the load that is measured.
        loaded.thresholds = Thresholds::default();
        let test = own_load(&loaded, None);
        Ok(Prepared::new(test, Subject::Script(Arc::new(loaded))))
    }

    /// Reads the script and understands its options.
    pub(crate) fn read(&self, seed: u64) -> Result<Loaded> {
        let mut loaded = load::load(&self.source, seed, &Arc::new(AtomicBool::new(false)))?;
        if let Some(workers) = self.workers {
            script_mut(&mut loaded)?.workers = workers.get();
        }
        let naming = &mut script_mut(&mut loaded)?.naming;
        let naming = Arc::get_mut(naming).context("the script is in use")?;
        naming.tls.insecure |= self.insecure;
        if self.only_http1 {
            naming.tls.offer = Offer::Http1;
        }
        Ok(loaded)
    }
}

impl FewUsers {
    /// What one of so many scenarios does.
    fn share(self, scenarios: u32) -> Self {
        match self {
            Self::For(time) => Self::For(time),
            Self::Iterations(all, most) => {
                let share = NonZeroU64::new(all.get() / u64::from(scenarios));
                Self::Iterations(share.unwrap_or(NonZeroU64::MIN), most)
            }
        }
    }

    /// For one of `scenarios`, which has so many virtual users itself.
    fn executor(self, vus: u32, scenarios: u32) -> Executor {
        let number = |count: u32| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        match self {
            Self::For(duration_ns) => Executor::ConstantVus {
                vus: number(vus.min(FEW / scenarios)),
                duration_ns,
            },
            Self::Iterations(iterations, max_duration_ns) => Executor::SharedIterations {
                vus: number(
                    FEW_AT_ONCE.min(u32::try_from(iterations.get()).unwrap_or(FEW_AT_ONCE)),
                ),
                iterations,
                max_duration_ns,
            },
        }
    }
}

fn script_mut(loaded: &mut Loaded) -> Result<&mut scripted::Script> {
    Arc::get_mut(&mut loaded.script).context("the script is in use")
}

/// The script as the search needs it: one scenario without a load of its own, and nothing that bounds it.
fn hand_over(loaded: &mut Loaded, objectives: &Objectives, named: Option<&str>) -> Result<()> {
    let scenario = chosen(&loaded.script.scenarios, named)?;
    let script = script_mut(loaded)?;
    script.set_scenarios(Scenarios::only(scenario));
    script.requests_per_s_max = 0;
    script.part = (0, 1);
    script.seating = Seating::WhenNeeded;
    script.hold_to(objectives);
    // As for a URL; a request that names its own keeps it.
    script.settings.timeout = client_timeout(objectives);
    Ok(())
}

/// What the search runs: the only scenario, or the one that was named, without its own load.
fn chosen(scenarios: &Scenarios, named: Option<&str>) -> Result<Scenario> {
    let names = || {
        let names: Vec<&str> = scenarios.iter().map(|scenario| &*scenario.name).collect();
        names.join(", ")
    };
    let scenario = match named {
        Some(name) => scenarios
            .named(name)
            .with_context(|| format!("--scenario {name}: the script has {}", names()))?,
        None if scenarios.len() == 1 => scenarios.iter().next().context("a scenario")?,
        None => bail!(
            "the script has several scenarios; name the one to search with: --scenario {}",
            names().replace(", ", " or --scenario ")
        ),
    };
    Ok(Scenario {
        executor: Executor::ConstantVus {
            vus: NonZeroU32::MIN,
            duration_ns: Nanos::from_secs(1),
        },
        start_ns: Nanos::ZERO,
        ..scenario.clone()
    })
}

/// The test that the options of a script ask for.
fn own_load(loaded: &Loaded, objectives: Option<Objectives>) -> Test {
    let vus = NonZeroU32::new(loaded.script.vus_max()).unwrap_or(NonZeroU32::MIN);
    let how = How::Set {
        load: set_load(&loaded.script.scenarios, vus),
        until: Until::after(loaded.regular_end()).ok(),
        objectives,
    };
    test_of(loaded, loaded.setup.clone(), how, vus)
}

/// The one arrival rate of the test, or so many virtual users.
fn set_load(scenarios: &Scenarios, vus: NonZeroU32) -> Load {
    let mut all = scenarios.iter();
    let only = all.next().filter(|_| all.next().is_none());
    if let Some(scenario) = only
        && let Executor::ConstantArrivalRate { rate, arriving, .. } = &scenario.executor
    {
        let rate = rate.get() as f64 / arriving.time_unit_ns.as_secs_f64();
        if let Ok(profile) = RateProfile::constant(rate) {
            return Load::Open {
                profile,
                arrivals: arriving.arrivals,
            };
        }
    }
    Load::Closed { in_flight: vus }
}

fn test_of(loaded: &Loaded, setup: ScriptSetup, how: How, vus_max: NonZeroU32) -> Test {
    let script = &loaded.script;
    Test {
        what: What::Script(Script {
            name: loaded.name.clone(),
            setup: Some(setup),
        }),
        how,
        generator: Generator {
            connections_max: vus_max,
            workers: NonZeroU32::new(script.workers).unwrap_or(NonZeroU32::MIN),
            timeout: script.settings.timeout,
            keepalive: script.reuses_connections,
            insecure: script.naming.tls.insecure,
            seed: script.settings.seed,
        },
    }
}
