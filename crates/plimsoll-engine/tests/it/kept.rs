//! Connections that are kept: what becomes of the others when a server has closed one.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_core::schedule::Arrivals;
use plimsoll_core::{Nanos, Window};

use super::server::serve_by;
use super::{case, closed, open, play};

const IN_FLIGHT: u32 = 50;

/// Answers after 20 ms. The first request that comes alone, with all other connections idle, meets the end of its connection.
fn drops_one() -> u16 {
    let (running, served) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let dropped = Arc::new(AtomicU64::new(0));
    serve_by(move |_| {
        let is_alone = running.fetch_add(1, Ordering::SeqCst) == 0;
        let is_warm = served.load(Ordering::SeqCst) > 4 * u64::from(IN_FLIGHT);
        let drops = is_alone && is_warm && dropped.fetch_add(1, Ordering::SeqCst) == 0;
        if !drops {
            std::thread::sleep(Duration::from_millis(20));
        }
        running.fetch_sub(1, Ordering::SeqCst);
        served.fetch_add(1, Ordering::SeqCst);
        !drops
    })
}

/// All of them were closed once, and the next burst opened them anew.
#[test]
fn a_request_that_is_sent_again_costs_one_connection() {
    for connections in [IN_FLIGHT, 4 * IN_FLIGHT] {
        let mut case = case(drops_one(), 1);
        case.generator.connections_max = NonZeroU32::new(connections).unwrap();
        case.generator.timeout = Nanos::from_secs(10);
        let loads = [
            (closed(IN_FLIGHT), 1),
            (open(20.0, Arrivals::Uniform), 1),
            (closed(IN_FLIGHT), 1),
        ];
        let played = play(&case, None, &loads);
        played.check_flows();
        assert_eq!(played.tally().failures(), 0);
        let sum = |count: fn(&Window) -> u64| played.windows.iter().map(count).sum::<u64>();
        assert_eq!(sum(|window| window.resent_count), 1);
        let connects = sum(|window| window.health.connects_count);
        let few = u64::from(IN_FLIGHT) + 3;
        assert!(connects <= few, "{connects} of at most {connections}");
    }
}
