//! Services that the rule of the limit was never tuned on: drawn from a seed, eight families with random parameters.
//!
//! Whoever changes the rule draws another set (another seed) before quoting figures.

use plimsoll_base::random::Rng;
use plimsoll_sim::guarded::{Drift, Shape, Upstream};

use super::tuning::{contended, exponential, fixed, lognormal, ms, one, upstream};

/// Drawn after the rule was frozen.
pub(crate) const SEED: u64 = 0x17_c0de;

pub(crate) fn all(seed: u64, count: u64) -> Vec<Upstream> {
    (0..count).map(|index| drawn(seed, index)).collect()
}

/// Between two values, as likely in each octave.
fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * libm::exp(rng.unit() * libm::log(high / low))
}

fn drawn(seed: u64, index: u64) -> Upstream {
    let mut rng = Rng::new(seed, index);
    let rng = &mut rng;
    // At least some sixty answers a second, whatever is drawn.
    let workers = between(rng, 1.0, 120.0).round();
    let mean = between(rng, 3.0, 150.0).min(workers * 16.0);
    let count = workers as u32;
    let family = index % 8;
    let time = match rng.below(3) {
        0 => exponential(mean),
        1 => fixed(mean),
        _ => lognormal(mean, between(rng, 0.5, 2.0)),
    };
    let name = |kind: &str| format!("{index:02} {kind} {count}×{mean:.0} ms");
    match family {
        0 | 1 => one(&name("pool"), Shape::Workers(count), time),
        2 => {
            let slow = mean * between(rng, 10.0, 40.0);
            let share = between(rng, 0.03, 0.2);
            let slow = slow.min(400.0);
            let mix = [
                (1.0 - share, exponential(mean.min(20.0))),
                (share, exponential(slow)),
            ];
            upstream(&name("mixed"), Shape::Workers(count.max(8)), &mix)
        }
        3 | 4 => {
            let (alpha, beta) = (between(rng, 0.01, 0.12), between(rng, 0.0003, 0.004));
            let mean = mean.min(40.0);
            let name = format!("{index:02} contended {mean:.0} ms {alpha:.3} {beta:.4}");
            one(&name, contended(alpha, beta), exponential(mean))
        }
        5 => {
            let cores = 1.0 + rng.below(4) as f64;
            let mean = mean.min(12.0 * cores);
            let name = format!("{index:02} {cores} cores {mean:.0} ms");
            one(
                &name,
                Shape::Sharing { cores },
                lognormal(mean, between(rng, 0.5, 2.0)),
            )
        }
        6 => {
            let pool = 2 + rng.below(30) as u32;
            let shape = Shape::CoresAndPool {
                cores: 1.0 + rng.below(3) as f64,
                pool,
                pool_time: exponential(between(rng, 5.0, 60.0).min(15.0 * f64::from(pool))),
                share: between(rng, 0.3, 1.0),
            };
            one(
                &format!("{index:02} cores and pool {pool}"),
                shape,
                exponential(mean.min(8.0)),
            )
        }
        _ => failing(rng, index, count.max(3), mean),
    }
}

fn failing(rng: &mut Rng, index: u64, count: u32, mean: f64) -> Upstream {
    let time = exponential(mean.min(60.0));
    match rng.below(4) {
        0 => {
            let most = count + 1 + rng.below(u64::from(count) * 2) as u32;
            let shape = Shape::FailsFast {
                workers: count,
                most,
            };
            one(
                &format!("{index:02} fails fast {count}/{most}"),
                shape,
                time,
            )
        }
        1 => {
            let wait = ms(mean.min(60.0) * between(rng, 1.0, 6.0));
            let shape = Shape::Impatient {
                workers: count,
                wait,
            };
            one(&format!("{index:02} impatient {count} {wait}"), shape, time)
        }
        2 => Upstream {
            failure_ratio: between(rng, 0.01, 0.15),
            ..one(
                &format!("{index:02} bugs {count}"),
                Shape::Workers(count),
                time,
            )
        },
        _ => Upstream {
            drift: Drift::Stalls {
                interval: ms(between(rng, 1_000.0, 8_000.0)),
                length: ms(between(rng, 50.0, 300.0)),
            },
            ..one(
                &format!("{index:02} stalls {count}"),
                Shape::Workers(count),
                time,
            )
        },
    }
}
