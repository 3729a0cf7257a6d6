//! Processors that neighbours take.

use plimsoll_core::record::{NeighbourSample, Seen};
use plimsoll_core::verdict::{Cause, Confidence};

use super::build::ThreadLoad;
use super::{is, service, sick};

#[test]
fn a_thread_that_neighbours_keep_from_its_core_is_suspected_and_they_are_named() {
    let robbed = |rate: f64| vec![ThreadLoad::new("main", rate * 0.0012, rate * 0.0012)];
    let mut record = sick(&service(robbed));
    for observation in &mut record.observations {
        if let Seen::Host(host) = &mut observation.seen {
            host.neighbours.push(NeighbourSample {
                pid: 77,
                name: "loop".to_owned(),
                cores: 0.9,
            });
        }
    }
    let explanation = is(&record, Cause::PinnedThread, Confidence::Suspected);
    let told =
        "neighbours hold its core for the 48 % that it waits: loop (pid 77) ran on 0.90 of 2 cores";
    let evidence = &explanation.limit.evidence;
    assert!(evidence.iter().any(|e| e.text == told), "{evidence:?}");
    // Where several threads wait for a core, one more core for one of them is no answer.
    let crowded = |rate: f64| {
        let each = |name| ThreadLoad::new(name, rate * 0.0004, 1.0 - rate * 0.0004);
        vec![each("one"), each("two")]
    };
    is(&sick(&service(crowded)), Cause::Cpu, Confidence::Suspected);
}
