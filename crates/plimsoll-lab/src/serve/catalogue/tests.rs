//! What the table promises about itself, and how its numbers are drawn.

use super::*;

fn fixtures() -> impl Iterator<Item = (&'static Service, Expected)> {
    services().filter_map(|service| Some((service, service.expected?)))
}

#[test]
fn every_fixture_has_an_expectation_and_nothing_else_has() {
    for service in services() {
        let fixture = service.group == Group::Fixture;
        assert_eq!(fixture, service.expected.is_some(), "{}", service.name);
    }
    // Causes that need no service of their own: the others must each be served.
    let without = [Cause::Cpu, Cause::NotReached, Cause::Unknown];
    let mut served: Vec<Cause> = fixtures().map(|(_, expected)| expected.cause).collect();
    served.sort();
    assert!(served.iter().all(|cause| !without.contains(cause)));
    served.dedup();
    assert_eq!(served.len(), fixtures().count(), "one fixture per cause");
}

#[test]
fn names_are_unique_and_parameters_are_drawn_inside_their_units() {
    let mut names: Vec<&str> = services().map(|service| service.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for service in services() {
        for seed in 0..50 {
            for healthy in [false, true] {
                let mut values = Values::draw(service, seed, healthy);
                for parameter in service.parameters {
                    let value = values.of(parameter.name);
                    let accepted = values.set(service, parameter.name, value);
                    assert!(accepted.is_ok(), "{} {seed}: {accepted:?}", service.name);
                }
            }
        }
    }
}

#[test]
fn ceilings_lie_where_a_search_can_find_them_and_twins_far_above() {
    for (service, expected) in fixtures() {
        let mut seen = Vec::new();
        for seed in 0..50 {
            let sick = (expected.ceiling)(&Values::draw(service, seed, false));
            let well = (expected.ceiling)(&Values::draw(service, seed, true));
            if expected.cause == Cause::Stalls {
                assert!(sick.is_infinite());
                continue;
            }
            assert!(
                (90.0..1400.0).contains(&sick),
                "{} {seed}: {sick}",
                service.name
            );
            assert!(
                well > 4.0 * sick,
                "{} {seed}: {sick} and {well}",
                service.name
            );
            seen.push(sick);
        }
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        assert!(
            seen.len() >= 5 || expected.cause == Cause::Stalls,
            "{}",
            service.name
        );
    }
}

#[test]
fn the_same_seed_is_the_same_instance() {
    let pool = service("small-pool").unwrap();
    let text = |seed| Values::draw(pool, seed, false).to_string();
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
    let mut values = Values::draw(pool, 3, false);
    values.set(pool, "pool", 10.0).unwrap();
    values.set(pool, "query", 20.0).unwrap();
    // 10 connections, each 20 ms per query: 500/s.
    assert!(((pool.expected.unwrap().ceiling)(&values) - 500.0).abs() < 1e-9);
    assert!(
        values
            .to_string()
            .starts_with("pool 10, query 20 ms, wait_timeout ")
    );
}

#[test]
fn what_cannot_be_set_is_named_with_the_nearest_that_can() {
    let pool = service("small-pool").unwrap();
    let mut values = Values::draw(pool, 1, false);
    let mut set = |name, value| values.set(pool, name, value).unwrap_err().to_string();
    assert_eq!(
        set("qery", 1.0),
        "small-pool has no parameter \"qery\"; did you mean \"query\"? it has pool, query, wait_timeout"
    );
    assert_eq!(set("pool", 0.0), "pool=0 is outside 1 to 65536");
    assert_eq!(set("pool", 2.5), "pool=2.5 is not a whole number");
    assert_eq!(set("query", f64::NAN), "query=NaN is outside 0 to 60000ms");
    assert_eq!(set("query", -1.0), "query=-1 is outside 0 to 60000ms");
}

#[test]
fn an_unknown_service_is_answered_with_the_nearest_name_if_one_is_near() {
    let error = |name: &str| service(name).unwrap_err().to_string();
    assert_eq!(
        error("smal-pool"),
        "no service is called \"smal-pool\"; did you mean \"small-pool\"? `--list` shows them all"
    );
    assert_eq!(
        error("xyzzy-plugh"),
        "no service is called \"xyzzy-plugh\"; `--list` shows them all"
    );
}
