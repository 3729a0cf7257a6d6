//! Models that cannot be played are refused with the number that is wrong.

use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

fn fine() -> Model {
    let mean = Nanos::from_millis(1);
    Model::station(1, ServiceTime::Exponential { mean })
}

fn is_refused(model: &Model, fragment: &str) {
    let error = model.check().unwrap_err().to_string();
    assert!(error.contains(fragment), "{error}");
}

#[test]
fn impossible_models_are_refused_with_the_value() {
    let mean = Nanos::from_millis(1);
    assert_eq!(fine().check(), Ok(()));
    for (model, fragment) in [
        (
            Model {
                servers: 0,
                ..fine()
            },
            "servers is 0",
        ),
        (
            Model {
                passes: 0,
                ..fine()
            },
            "passes is 0",
        ),
        (
            Model {
                contention: f64::NAN,
                ..fine()
            },
            "contention is NaN",
        ),
        (
            Model {
                failure_ratio: 1.5,
                ..fine()
            },
            "failure ratio is 1.5",
        ),
        (
            Model::station(1, ServiceTime::Pareto { mean, shape: 1.0 }),
            "shape is 1; it must be above 1",
        ),
        (
            Model::station(
                1,
                ServiceTime::Mixed {
                    mean,
                    slow_ratio: 1.0,
                    times: 2.0,
                },
            ),
            "share of slow requests is 1",
        ),
        (
            Model::station(1, ServiceTime::Fixed { mean: Nanos::ZERO }),
            "mean service time is 0",
        ),
    ] {
        is_refused(&model, fragment);
    }
}

#[test]
fn impossible_surroundings_are_refused_with_the_value() {
    let behind = Behind {
        servers: 0,
        service: fine().service,
        queue_max: None,
    };
    let rule = RateRule {
        per_s: 0.0,
        burst: 1.0,
    };
    let retries = Retries {
        max: 2,
        patience: Nanos::ZERO,
        delay: Nanos::ZERO,
    };
    for (model, fragment) in [
        (
            Model {
                behind: Some(behind),
                ..fine()
            },
            "servers behind is 0",
        ),
        (
            Model {
                rate_rule: Some(rule),
                ..fine()
            },
            "rate rule is 0",
        ),
        (
            Model {
                retries: Some(retries),
                ..fine()
            },
            "patience of a try is 0",
        ),
    ] {
        is_refused(&model, fragment);
    }
}

fn all_are_refused<const N: usize>(conditions: [(Condition, &str); N]) {
    for (condition, fragment) in conditions {
        let conditions = vec![condition];
        is_refused(
            &Model {
                conditions,
                ..fine()
            },
            fragment,
        );
    }
}

#[test]
fn impossible_changes_of_speed_are_refused_with_the_value() {
    let neighbour = |share, busy| Condition::Neighbour {
        share,
        busy,
        period: SECOND,
    };
    let wander = |sd, correlation, step| Condition::Wander {
        sd,
        correlation,
        step,
    };
    let half = Nanos::from_millis(500);
    all_are_refused([
        (
            Condition::Pause {
                earliest: SECOND,
                latest: half,
                length: half,
            },
            "latest start of the pause is 0.5",
        ),
        (
            Condition::Stalls {
                interval: Nanos::ZERO,
                length: half,
                random: true,
            },
            "stall interval is 0",
        ),
        (neighbour(1.0, half), "neighbour's share is 1"),
        (neighbour(0.5, SECOND), "neighbour's busy time is 1"),
        (wander(-0.1, 0.5, SECOND), "standard deviation is -0.1"),
        (wander(0.1, 1.0, SECOND), "wandering's correlation is 1"),
        (wander(0.1, 0.5, Nanos::ZERO), "wandering's step is 0"),
        (
            Condition::Swing {
                amplitude: 1.0,
                period: SECOND,
            },
            "swing's amplitude is 1",
        ),
        (
            Condition::Swing {
                amplitude: 0.5,
                period: Nanos::ZERO,
            },
            "swing's period is 0",
        ),
        (
            Condition::Leak {
                per_hour: -1.0,
                per_million: 0.0,
            },
            "leak per hour is -1",
        ),
        (
            Condition::Leak {
                per_hour: 0.0,
                per_million: f64::INFINITY,
            },
            "leak per million is inf",
        ),
        (Condition::LevelNoise { sd: 1.5 }, "speed noise is 1.5"),
    ]);
}

#[test]
fn impossible_visits_steps_and_collections_are_refused_with_the_value() {
    let half = Nanos::from_millis(500);
    all_are_refused([
        (
            Condition::Step {
                earliest: half,
                latest: half,
                speed: 0.0,
            },
            "speed after the step is 0",
        ),
        (
            Condition::Step {
                earliest: SECOND,
                latest: half,
                speed: 0.5,
            },
            "latest moment of the step is 0.5",
        ),
        (
            Condition::Visits {
                share: 0.5,
                busy: half,
                gap: Nanos::ZERO,
            },
            "gap between visits is 0",
        ),
        (
            Condition::Collection {
                every_requests: 0,
                length: half,
            },
            "requests between collections is 0",
        ),
        (
            Condition::Warming {
                slower: 0.5,
                half_life: SECOND,
            },
            "cold slowdown is 0.5",
        ),
    ]);
}

#[test]
fn impossible_credits_and_scaling_are_refused_with_the_value() {
    let credits = |baseline, start, most| Condition::Credits {
        baseline,
        start,
        most,
    };
    let scale = |servers, above, back_below| Condition::ScaleOut {
        servers,
        above,
        hold: SECOND,
        delay: SECOND,
        back_below,
    };
    all_are_refused([
        (credits(0.0, 1.0, 1.0), "baseline of the credits is 0"),
        (credits(0.5, 2.0, 1.0), "most credits is 1"),
        (
            Condition::Cold {
                slower: 0.5,
                requests: 1,
            },
            "cold slowdown is 0.5",
        ),
        (scale(0, 0.8, None), "servers after scaling is 0"),
        (scale(2, 1.5, None), "scales out is 1.5"),
        (scale(2, 0.8, Some(0.8)), "scales back is 0.8"),
    ]);
}
