//! Plays many searches on simulated services of known capacity and prints how far off they were.
//!
//! `search_bench [all|FAMILY] [FIRST_SEED] [COUNT]` · `search_bench one FAMILY SEED` shows the levels ·
//! `search_bench truth` works out the capacities by another method.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]
#![expect(clippy::unwrap_used, reason = "a program for developers of the search")]

#[path = "../tests/it/families.rs"]
mod families;
#[path = "../tests/it/reference.rs"]
mod reference;

use std::env;

use families::{Family, Played, config, four, play};

fn main() {
    let mut words = env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let number = |word: Option<String>, or: u64| word.and_then(|w| w.parse().ok()).unwrap_or(or);
    match command.as_str() {
        "truth" => truth(number(words.next(), 20_000_000)),
        "one" => {
            let name = words.next().unwrap_or_default();
            let family = four()
                .into_iter()
                .find(|family| family.name == name)
                .unwrap();
            one(&family, number(words.next(), 1000));
        }
        name => {
            let first = number(words.next(), 0);
            let count = number(words.next(), 200);
            for family in four() {
                if matches!(name, "" | "all") || name == family.name {
                    many(&family, first, count);
                }
            }
        }
    }
}

/// Prints the constants of `families.rs`.
fn truth(requests: u64) {
    for (name, servers, mean, cv, bound) in [
        ("plain", 4, 0.005, 1.0, 0.040),
        ("heavy", 16, 0.010, 3.0, 0.200),
    ] {
        let full = f64::from(servers) / mean;
        let capacity = reference::capacity(0.01, full * 0.5, full, |rate| {
            let service = reference::lognormal(mean, cv);
            reference::slow_share(servers as usize, rate, bound, requests, service, 1)
        });
        println!("{name} {capacity:.1}/s of {full:.0}/s");
    }
}

fn one(family: &Family, seed: u64) {
    let played = play(&family.model, config(family.slo), seed);
    for (step, result) in &played.levels {
        let share = result.bad_ratio.map(|b| (b.estimate, b.lower, b.upper));
        println!(
            "{:3} {:?} {:?} {:?} {share:?} {}",
            step.level, step.phase, step.load, result.state, result.reason
        );
    }
    println!("{:#?}", played.found);
    println!(
        "{} s of {} s, at most {:.0}/s, {} events",
        played.seconds, played.plan_seconds, played.rate_max, played.events
    );
}

/// Some lines: how many claims were more than 5 % too high, how far off the rest, how long it took.
fn many(family: &Family, first: u64, count: u64) {
    let mut seen = Seen::default();
    for seed in first..first + count {
        seen.add(family, &play(&family.model, config(family.slo), seed));
    }
    seen.print(family.name, count as f64);
}

#[derive(Default)]
struct Seen {
    held: u64,
    errors: Vec<f64>,
    seconds: Vec<f64>,
    converged: u64,
    stalls: u64,
    late: u64,
    events: u64,
}

impl Seen {
    fn add(&mut self, family: &Family, played: &Played) {
        let found = &played.found;
        let seconds = played.seconds + 20.0;
        self.seconds.push(seconds);
        self.events += played.events;
        self.late += u64::from(seconds > played.plan_seconds);
        self.stalls += u64::from(found.rare_stalls.is_some());
        self.converged += u64::from(found.converged);
        let held = found.capacity_per_s.and_then(|bounds| bounds.lower);
        self.held += u64::from(held.is_some());
        if let (Some(held), Some(truth)) = (held, family.capacity_per_s) {
            self.errors.push(held / truth - 1.0);
        }
    }

    fn print(mut self, name: &str, count: f64) {
        self.errors.sort_by(f64::total_cmp);
        self.seconds.sort_by(f64::total_cmp);
        let over = self.errors.iter().filter(|&&error| error > 0.05).count() as f64 / count;
        let mut sizes: Vec<f64> = self.errors.iter().map(|error| error.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        println!(
            "{name:6} {:.1} % held a soak",
            self.held as f64 / count * 100.0
        );
        if !self.errors.is_empty() {
            println!(
                "       {:.1} % claim more than 5 % too much; error: median {:+.2} %, median size \
                 {:.2} %, 5 to 95 % {:+.2} to {:+.2} %",
                over * 100.0,
                at(&self.errors, 0.5) * 100.0,
                at(&sizes, 0.5) * 100.0,
                at(&self.errors, 0.05) * 100.0,
                at(&self.errors, 0.95) * 100.0,
            );
        }
        println!(
            "       {} converged, {} report stalls, {} over the printed time; median {:.0} s, \
             longest {:.0} s; {} million events",
            self.converged,
            self.stalls,
            self.late,
            at(&self.seconds, 0.5),
            at(&self.seconds, 1.0),
            self.events / 1_000_000,
        );
    }
}

fn at(sorted: &[f64], quantile: f64) -> f64 {
    let index = (sorted.len() as f64 * quantile) as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(index.min(last)).copied().unwrap_or(f64::NAN)
}
