//! Plays many searches on simulated services of known capacity and prints how far off they were.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]
#![expect(clippy::unwrap_used, reason = "a program for developers of the search")]

#[path = "../tests/it/families.rs"]
mod families;
#[path = "../tests/it/reference.rs"]
mod reference;

use std::env;

use families::{Family, config, four, play};

fn main() {
    let mut words = env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let number = |word: Option<String>, or: u64| word.and_then(|w| w.parse().ok()).unwrap_or(or);
    match command.as_str() {
        "truth" => truth(number(words.next(), 20_000_000)),
        "trace" => {
            let name = words.next().unwrap_or_default();
            let family = four()
                .into_iter()
                .find(|family| family.name == name)
                .unwrap();
            for seed in 0..40 {
                trace(&family, 1000 + seed);
            }
        }
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

fn many(family: &Family, first: u64, count: u64) {
    let (mut errors, mut seconds, mut stalls, mut late, mut none) = (vec![], vec![], 0, 0, 0);
    let mut converged = 0;
    let mut events = 0;
    for seed in first..first + count {
        let played = play(&family.model, config(family.slo), seed);
        events += played.events;
        seconds.push(played.seconds + 20.0);
        late += u32::from(played.seconds + 20.0 > played.plan_seconds);
        stalls += u32::from(played.found.rare_stalls.is_some());
        converged += u32::from(played.found.converged);
        match played.found.capacity_per_s.and_then(|c| c.lower) {
            Some(lower) => errors.push(lower / family.capacity_per_s.unwrap_or(lower) - 1.0),
            None => none += 1,
        }
    }
    errors.sort_by(f64::total_cmp);
    seconds.sort_by(f64::total_cmp);
    let mut absolute: Vec<_> = errors.iter().map(|e| e.abs()).collect();
    absolute.sort_by(f64::total_cmp);
    let at = |v: &[f64], q: f64| {
        v.get(((v.len() as f64 * q) as usize).min(v.len().saturating_sub(1)))
            .copied()
            .unwrap_or(f64::NAN)
    };
    let over = errors.iter().filter(|&&e| e > 0.05).count() as f64 / count as f64;
    println!(
        "{:8} over {:.1} % median {:+.2} % |median| {:.2} % p5 {:+.2} p95 {:+.2} none {none} converged {converged} stalls {stalls} late {late} time median {:.0} max {:.0} events {events}",
        family.name,
        over * 100.0,
        at(&errors, 0.5) * 100.0,
        at(&absolute, 0.5) * 100.0,
        at(&errors, 0.05) * 100.0,
        at(&errors, 0.95) * 100.0,
        at(&seconds, 0.5),
        at(&seconds, 1.0),
    );
}

fn trace(family: &Family, seed: u64) {
    let played = play(&family.model, config(family.slo), seed);
    let cap = family.capacity_per_s.unwrap_or(660.0);
    let mut line = String::new();
    for (step, result) in &played.levels {
        if let plimsoll_core::step::StepLoad::Open { profile, .. } = step.load {
            use plimsoll_core::step::Phase::{Bisect, Bracket, Soak};
            if matches!(step.phase, Bracket | Bisect | Soak) {
                let rate = profile.constant_rate().unwrap();
                let p = result.bad_ratio.map_or(0.0, |b| b.estimate) * 100.0;
                line += &format!(
                    " {:?}{:+.1}:{:.2}{}",
                    step.phase,
                    (rate / cap - 1.0) * 100.0,
                    p,
                    format!("{:?}", result.state).chars().next().unwrap()
                )
                .replace("Bracket", "b")
                .replace("Bisect", "i")
                .replace("Soak", "S");
            }
        }
    }
    println!(
        "{seed} {} {} {:?} |{line}",
        if played.found.rare_stalls.is_some() {
            "stalls"
        } else {
            "-"
        },
        played.seconds,
        played
            .found
            .capacity_per_s
            .map(|c| ((c.estimate / cap - 1.0) * 1000.0).round() / 10.0)
    );
}
