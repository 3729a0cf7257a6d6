//! Plays many searches on services as the world has them and prints how far off, how sure and how long they were.
//!
//! `worlds [all|held-out|NAME] [MINUTES] [FIRST_SEED] [COUNT]` · `worlds one NAME MINUTES SEED` shows the levels ·
//! `worlds case SEED SERVERS MEAN_MS CONTENTION WITHIN CEILING|- open|closed` plays a case of the property ·
//! `worlds promises FIRST COUNT` plays random ones and lists those that were broken ·
//! `worlds truth [NAME]` works out the capacities by playing half an hour at each rate.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]
#![expect(clippy::unwrap_used, reason = "a program for developers of the search")]

#[path = "../tests/it/played.rs"]
mod played;
#[path = "../tests/it/strangers.rs"]
mod strangers;
#[path = "../tests/it/worlds.rs"]
mod worlds;

use std::env;
use std::sync::atomic::{AtomicU64, Ordering};

use played::{Case, Played, config, play};
use plimsoll_base::random::Rng;
use plimsoll_control::search::{Config, client_timeout};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Objectives, Tally, Window, judge};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::Model;
use worlds::{Answer, World, all};

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let number = |index: usize, or: u64| word(index).parse().unwrap_or(or);
    let named = |name: &str| match name {
        "" | "all" => all(),
        "held-out" => strangers::all(),
        _ => {
            let both = all().into_iter().chain(strangers::all());
            both.filter(|world| world.name == name).collect()
        }
    };
    match word(0) {
        "truth" => {
            for world in named(word(1)) {
                println!("{:12} {:.4}", world.name, truth(&world));
            }
        }
        "promises" => promises(number(1, 0), number(2, 100)),
        "case" => case(&words[1..]),
        "one" => one(&named(word(1))[0], number(2, 5), number(3, 0)),
        name => {
            println!(
                "{:12} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8}",
                "world",
                "truth/s",
                "signed%",
                "error%",
                ">5%high",
                "<20%low",
                "held%",
                "said%",
                "unsaid%",
                "seconds"
            );
            for world in named(name) {
                many(&world, number(1, 5), number(2, 1000), number(3, 100));
            }
        }
    }
}

/// What `find` needs before its search begins: a self-check of 6 s, and starting.
const SELF_CHECK: Nanos = Nanos::from_secs(7);

fn timed(world: &World, minutes: u64) -> Config {
    Config {
        within: Nanos::from_secs(60 * minutes),
        spent: SELF_CHECK,
        ..config(world.slo)
    }
}

fn one(world: &World, minutes: u64, seed: u64) {
    show(&play(&world.model, timed(world, minutes), seed));
    println!("the truth is {}/s", world.capacity_per_s);
}

/// A case of the property that no search may break: SEED SERVERS `MEAN_MS` CONTENTION WITHIN CEILING|- open|closed.
fn case(words: &[String]) {
    let number = |index: usize| words[index].parse::<f64>().unwrap();
    let case = Case {
        seed: number(0) as u64,
        servers: number(1) as u32,
        mean_ms: number(2) as u64,
        contention: number(3),
        within: number(4) as u64,
        ceiling: words[5].parse().ok(),
        closed_loop: words[6] == "closed",
    };
    let played = case.play();
    show(&played);
    println!("{:?}", case.broken_promise(&played));
}

/// Random cases of the property, and those in which a promise was broken.
fn promises(first: u64, count: u64) {
    let next = AtomicU64::new(first);
    let work = || {
        let mut broken = 0;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return broken;
            }
            let case = drawn(seed);
            if let Some(what) = case.broken_promise(&case.play()) {
                println!("{case:?}: {what}");
                broken += 1;
            }
        }
    };
    let broken: u64 = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    println!("{broken} of {count} broken");
}

fn drawn(seed: u64) -> Case {
    let mut rng = Rng::new(seed, 61);
    let ceiling = 20.0 + 780.0 * rng.unit();
    Case {
        seed,
        servers: 1 + rng.below(5) as u32,
        mean_ms: 5 + rng.below(55),
        contention: if rng.below(2) == 0 {
            0.0
        } else {
            0.02 * rng.unit()
        },
        within: 180 + rng.below(720),
        ceiling: (rng.below(2) == 0).then_some(ceiling),
        closed_loop: rng.below(2) == 0,
    }
}

fn show(played: &Played) {
    for (step, result) in &played.levels {
        let share = result.bad_ratio.map(|b| b.estimate);
        println!(
            "{:3} {:?} {:?} {} s {:?} {share:?} {}",
            step.level, step.phase, step.load, step.windows_max, result.state, result.reason
        );
    }
    println!("{:#?}", played.found);
    for remark in &played.found.remarks {
        println!("  {remark}");
    }
    println!(
        "{} s of {} s, at most {:.0}/s, {} events",
        played.seconds, played.plan_seconds, played.rate_max, played.events
    );
}

/// One line: searches on both cores.
fn many(world: &World, minutes: u64, first: u64, count: u64) {
    let next = AtomicU64::new(first);
    let work = || {
        let mut seen = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return seen;
            }
            let played: Played = play(&world.model, timed(world, minutes), seed);
            seen.push((
                world.answer(&played),
                played.seconds + SELF_CHECK.as_secs_f64(),
            ));
        }
    };
    let seen: Vec<(Answer, f64)> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    });
    let share = |is: fn(&Answer) -> bool| {
        seen.iter().filter(|(answer, _)| is(answer)).count() as f64 * 100.0 / count as f64
    };
    let mut signed: Vec<f64> = seen.iter().filter_map(|(answer, _)| answer.error).collect();
    let mut errors: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    let mut seconds: Vec<f64> = seen.iter().map(|(_, seconds)| *seconds).collect();
    println!(
        "{:12} {:8.1} {:+7.1} {:7.1} {:7.0} {:7.0} {:7.0} {:7.0} {:7.0} {:8.0}",
        world.name,
        world.capacity_per_s,
        median(&mut signed) * 100.0,
        median(&mut errors) * 100.0,
        share(Answer::is_too_high),
        share(Answer::is_too_low),
        share(|answer| answer.held),
        share(|answer| answer.said),
        share(|answer| answer.held && !answer.watched),
        median(&mut seconds),
    );
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The highest rate that keeps every clause for half an hour, to 0.3 %.
fn truth(world: &World) -> f64 {
    const SEEDS: u64 = 6;
    let objectives = Objectives::parse(world.slo).unwrap();
    let mean = world.model.service.mean().as_secs_f64();
    let (mut low, mut high) = (0.0, 2.5 * f64::from(world.model.servers) / mean);
    while high - low > 0.003 * high {
        let rate = f64::midpoint(low, high);
        let runs = std::thread::scope(|scope| {
            let run = |seed| {
                let (model, objectives) = (&world.model, &objectives);
                scope.spawn(move || half_an_hour(model, objectives, rate, seed))
            };
            let threads: Vec<_> = (0..SEEDS).map(run).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap())
                .collect::<Vec<_>>()
        });
        let mut total = Tally::default();
        for run in &runs {
            total.merge(run);
        }
        let holds =
            judge::bad_of_each(&objectives, &total).all(|(clause, bad)| !bad.exceeds(clause));
        if holds {
            low = rate;
        } else {
            high = rate;
        }
    }
    low
}

/// Everything that ended in half an hour at one rate, behind minutes in which a service may start and scale.
fn half_an_hour(model: &Model, objectives: &Objectives, rate: f64, seed: u64) -> Tally {
    const START: Nanos = Nanos::from_secs(200);
    let model = Model {
        client_timeout: Some(client_timeout(objectives)),
        ..model.clone()
    };
    let mut simulator = Simulator::new(model, objectives.bounds(), seed).unwrap();
    let step = Step {
        level: 1,
        phase: Phase::Run,
        load: StepLoad::Open {
            profile: RateProfile::constant(rate).unwrap(),
            arrivals: Arrivals::Poisson,
        },
        windows_max: 2_000,
    };
    let mut total = Tally::default();
    let mut judge = |window: &Window| {
        if window.start_ns >= START {
            total.merge(&window.total());
        }
        // Far too much: no need to see the rest of it.
        let lost = total.attempts() > 20_000 && total.failures() * 5 > total.attempts();
        if lost { Go::Stop } else { Go::On }
    };
    simulator.play(&step, &mut judge).unwrap();
    total
}
