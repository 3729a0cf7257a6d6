//! Plays every limit against every kind of service and prints goodput as a share of the service's peak.
//!
//! `panel [tuning|held-out] [RULES] [FACTORS] [SEEDS] [NAME]`, lists with commas:
//! `panel held-out half-load,vegas,none 1,1.2,2,5,10 5`. A name (or a part of it) shows each service
//! that matches; a sixth word `all` shows all of them, `trace` the limit of each as it moves.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../tests/it/guarded/held_out.rs"]
mod held_out;
#[path = "../tests/it/guarded/tuning.rs"]
mod tuning;

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use plimsoll_control::admission::{Config, Rule};
use plimsoll_core::Nanos;
use plimsoll_sim::guarded::{Clients, Plan, Upstream, peak, play};

/// Held-out services that are drawn.
const DRAWN: u64 = 40;

/// A rule as it is played, by the name in the table.
struct Entrant {
    name: String,
    config: Option<Config>,
    /// The best fixed limit with our queue.
    is_oracle: bool,
}

fn entrant(name: &str) -> Option<Entrant> {
    let ours = Config::default();
    let bare = |rule| Config {
        rule,
        queue: false,
        rejector: false,
        ..ours
    };
    let (config, is_oracle) = match name {
        "none" => (Some(bare(Rule::Fixed(1_000_000))), false),
        "oracle" => (Some(ours), true),
        "half-load" => (Some(ours), false),
        "no-rejector" => (
            Some(Config {
                rejector: false,
                ..ours
            }),
            false,
        ),
        "no-queue" => (Some(bare(Rule::HalfLoad)), false),
        _ => match name.strip_suffix("+queue") {
            Some(rule) => (Rule::parse(rule).map(|rule| Config { rule, ..ours }), false),
            None => (Rule::parse(name).map(bare), false),
        },
    };
    config.map(|config| Entrant {
        name: name.to_owned(),
        config: Some(config),
        is_oracle,
    })
}

/// One run to play: entrant, service, factor, seed.
type Run = (usize, usize, usize, u64);

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let word = |index: usize, or: &str| words.get(index).map_or(or.to_owned(), Clone::clone);
    let wanted = word(4, "");
    let services = match word(0, "tuning").as_str() {
        "held-out" => held_out::all(held_out::SEED, DRAWN),
        _ => tuning::all(),
    };
    let services: Vec<Upstream> = services
        .into_iter()
        .filter(|service| service.name.contains(&wanted))
        .collect();
    let rules = word(
        1,
        "half-load,fixed:128,aimd,vegas,gradient2,envoy,none,oracle",
    );
    let entrants: Vec<Entrant> = rules.split(',').filter_map(entrant).collect();
    let factors: Vec<f64> = word(2, "1,1.2,2,5,10")
        .split(',')
        .filter_map(|factor| factor.parse().ok())
        .collect();
    let seeds: u64 = word(3, "3").parse().unwrap_or(3);

    let peaks = parallel(services.len(), |index| peak(&services[index], 1));
    let mut runs: Vec<Run> = Vec::new();
    for entrant in 0..entrants.len() {
        for service in 0..services.len() {
            for factor in 0..factors.len() {
                runs.extend((1..=seeds).map(|seed| (entrant, service, factor, seed)));
            }
        }
    }
    let shares = parallel(runs.len(), |index| {
        let (entrant, service, factor, seed) = runs[index];
        let (best, peak) = peaks[service];
        let config = entrants[entrant].config.unwrap_or_default();
        let rule = if entrants[entrant].is_oracle {
            Rule::Fixed(best)
        } else {
            config.rule
        };
        let config = Config { rule, ..config };
        share(&services[service], config, peak, factors[factor], seed)
    });
    let played = Table {
        services: &services,
        entrants: &entrants,
        factors: &factors,
        peaks: &peaks,
        runs: &runs,
        shares: &shares,
    };
    played.summary();
    if word(5, "") == "trace" {
        trace(
            &services,
            &peaks,
            &entrants,
            factors.first().copied(),
            seeds,
        );
    }
    if !wanted.is_empty() || word(5, "") == "all" {
        played.every_service();
    }
}

/// What was played, to be shown.
struct Table<'a> {
    services: &'a [Upstream],
    entrants: &'a [Entrant],
    factors: &'a [f64],
    peaks: &'a [(u32, f64)],
    runs: &'a [Run],
    shares: &'a [f64],
}

impl Table<'_> {
    fn of(&self, matches: impl Fn(&Run) -> bool) -> Vec<f64> {
        let all = self.runs.iter().zip(self.shares);
        all.filter(|(run, _)| matches(run))
            .map(|(_, share)| *share)
            .collect()
    }

    fn summary(&self) {
        for (index, entrant) in self.entrants.iter().enumerate() {
            print!("{:14}", entrant.name);
            for factor in 0..self.factors.len() {
                let of = |service| self.of(|run| (run.0, run.1, run.2) == (index, service, factor));
                print!("  {}", cell((0..self.services.len()).map(of).collect()));
            }
            println!();
        }
    }

    fn every_service(&self) {
        println!(
            "factors {:?}; peak: goodput per second at its best number in flight",
            self.factors
        );
        for (service, upstream) in self.services.iter().enumerate() {
            let (best, peak) = self.peaks[service];
            println!("{} (peak {peak:.0}/s at {best})", upstream.name);
            for (index, entrant) in self.entrants.iter().enumerate() {
                let line = self.of(|run| (run.0, run.1) == (index, service));
                let line: Vec<String> = line.iter().map(|s| format!("{:.0}", s * 100.0)).collect();
                println!("    {:14} {}", entrant.name, line.join(" "));
            }
        }
    }
}

/// median over services / lowest median of a service / worst run (services of which the median is 95 % or more)
fn cell(mut services: Vec<Vec<f64>>) -> String {
    let worst = services
        .iter()
        .flatten()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let mut medians: Vec<f64> = services.iter_mut().map(|runs| median(runs)).collect();
    let good = medians.iter().filter(|share| **share >= 0.945).count();
    let middle = median(&mut medians);
    let lowest = medians.first().copied().unwrap_or(f64::NAN);
    format!(
        "{:3.0}/{:3.0}/{:3.0} ({good:2})",
        middle * 100.0,
        lowest * 100.0,
        worst * 100.0
    )
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The limit as it moves: one run of each service, second by second.
fn trace(
    services: &[Upstream],
    peaks: &[(u32, f64)],
    entrants: &[Entrant],
    factor: Option<f64>,
    seed: u64,
) {
    let config = entrants.first().and_then(|entrant| entrant.config);
    for (service, (_, peak)) in services.iter().zip(peaks) {
        let plan = plan(
            *peak,
            config.unwrap_or_default(),
            factor.unwrap_or(1.0),
            seed,
        );
        let played = play(service, &plan);
        println!("{}: peak {peak:.0}/s", service.name);
        for (second, at) in played.levels.iter().enumerate() {
            let (slope, deviation) = at.slope.unwrap_or_default();
            println!(
                "{second:4} s  {:5}/s  limit {:7.2}  slope {slope:5.2} ± {deviation:4.2} {}{} {} probes",
                played.good_by_second.get(second).copied().unwrap_or(0),
                at.level,
                if at.is_ramping { "ramp" } else { "" },
                if at.is_probing { "probe" } else { "" },
                at.probes_count,
            );
        }
    }
}

fn share(service: &Upstream, config: Config, peak: f64, factor: f64, seed: u64) -> f64 {
    let plan = plan(peak, config, factor, seed);
    play(service, &plan).goodput_per_s / peak
}

fn plan(peak: f64, config: Config, factor: f64, seed: u64) -> Plan {
    let seconds = match peak {
        slow if slow < 30.0 => 430,
        slow if slow < 150.0 => 120,
        _ => 60,
    };
    Plan {
        clients: vec![Clients::steady(peak * factor)],
        guards: vec![(config, Nanos::ZERO)],
        length: Nanos::from_secs(seconds),
        counted_from: Nanos::from_secs(30),
        standstill: None,
        seed,
    }
}

/// On two threads; results in the order of the indexes.
fn parallel<T: Send + Clone + Default>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![T::default(); count]);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < count);
    let worker = || {
        while let Some(index) = take() {
            let result = work(index);
            results.lock().unwrap_or_else(PoisonError::into_inner)[index] = result;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
