//! The peak of a service: the best that any fixed number in flight gets out of it, while there is always more to do.

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;

use super::service::Service;
use super::upstream::Upstream;

/// Answers after this are worth nothing.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Of each number in flight: what is played, and what of it is not counted.
const PLAYED: Nanos = Nanos::from_secs(40);
const UNCOUNTED: Nanos = Nanos::from_secs(8);
/// Looked at again, so many times longer.
const CANDIDATES: usize = 4;
const LONGER: u64 = 8;
const MOST_IN_FLIGHT: u32 = 1500;

/// The best number in flight, and its goodput per second.
///
/// The best of many short looks is the luckiest: the best few are looked at again, for longer and with other luck.
pub fn peak(upstream: &Upstream, seed: u64) -> (u32, f64) {
    let mut looks: Vec<(u32, f64)> = Vec::new();
    let mut best = (1, 0.0);
    let mut in_flight = 1;
    while in_flight <= MOST_IN_FLIGHT {
        let look = (in_flight, goodput(upstream, in_flight, PLAYED, seed));
        looks.push(look);
        if look.1 > best.1 {
            best = look;
        } else if f64::from(in_flight) > 6.0 * f64::from(best.0) + 8.0 {
            break;
        }
        in_flight += (in_flight / 4).max(1);
    }
    looks.sort_by(|one, two| two.1.total_cmp(&one.1));
    let again = looks.into_iter().take(CANDIDATES).map(|(in_flight, _)| {
        let length = Nanos(PLAYED.0 * LONGER);
        (in_flight, goodput(upstream, in_flight, length, seed + 1))
    });
    again
        .max_by(|one, two| one.1.total_cmp(&two.1))
        .unwrap_or(best)
}

fn goodput(upstream: &Upstream, in_flight: u32, length: Nanos, seed: u64) -> f64 {
    let mut service = Service::new(upstream, Rng::new(seed, u64::from(in_flight)).next_u64());
    let mut began: Vec<Nanos> = vec![Nanos::ZERO; in_flight as usize];
    let mut good = 0_u64;
    let mut ended = 0_u64;
    let mut pending: Vec<u64> = (0..u64::from(in_flight)).collect();
    let (mut now, mut until) = (Nanos::ZERO, length);
    loop {
        // What is turned away at once comes again when something else has ended.
        pending.retain(|job| {
            began[*job as usize] = now;
            !service.begin(now, *job, None)
        });
        let next = service.next().max(now);
        if next >= until {
            // A slow service is watched until the count means something.
            if ended >= 3000 || until > Nanos::from_secs(2000) {
                return good as f64 / (until - UNCOUNTED).as_secs_f64();
            }
            until = Nanos(until.0 * 2);
        }
        now = next;
        if let Some((job, is_good)) = service.turn(now) {
            if now >= UNCOUNTED {
                ended += 1;
                good += u64::from(is_good && now - began[job as usize] <= PATIENCE);
            }
            pending.push(job);
        }
    }
}
