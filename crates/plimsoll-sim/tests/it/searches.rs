//! Searches on the families of simulated services, fixed seeds.

use crate::families::{config, four, play};

#[test]
fn every_search_ends_inside_the_printed_time_with_bounds() {
    for family in four() {
        for seed in 0..2 {
            let played = play(&family.model, config(family.slo), seed);
            let name = family.name;
            let known = family.capacity_per_s.unwrap_or(f64::INFINITY);
            assert!(
                played.seconds + 20.0 <= played.plan_seconds,
                "{name} seed {seed}"
            );
            let capacity = played.found.capacity_per_s.unwrap();
            assert!(
                capacity.upper > Some(capacity.estimate) && capacity.estimate < known * 1.1,
                "{name} seed {seed}: {capacity:?}"
            );
            assert!(played.rate_max > 0.0 && !played.levels.is_empty() && played.events > 0);
        }
    }
}
