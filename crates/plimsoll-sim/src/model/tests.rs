//! Moments of the service times, and models that cannot be played.

use super::*;

#[test]
fn service_times_have_their_mean_and_variance() {
    let mean = Nanos::from_millis(10);
    for (time, cv2) in [
        (ServiceTime::Fixed { mean }, 0.0),
        (ServiceTime::Exponential { mean }, 1.0),
        (ServiceTime::Erlang { mean, shape: 4 }, 0.25),
        (ServiceTime::Lognormal { mean, cv: 1.5 }, 2.25),
        (ServiceTime::Hyperexponential { mean, cv2: 4.0 }, 4.0),
        (ServiceTime::Pareto { mean, shape: 5.0 }, 1.0 / 15.0),
    ] {
        let sampler = Sampler::new(&time);
        let mut rng = Rng::new(3, 0);
        let count = 400_000;
        let (mut sum, mut square) = (0.0, 0.0);
        for _ in 0..count {
            let value = sampler.draw(&mut rng);
            sum += value;
            square += value * value;
        }
        let average = sum / f64::from(count);
        let variance = square / f64::from(count) - average * average;
        assert!((average - 1.0).abs() < 0.01, "{time:?}: mean {average}");
        assert!(
            (variance - cv2).abs() < 0.01 + 0.06 * cv2,
            "{time:?}: {variance}"
        );
    }
}

#[test]
fn impossible_models_are_refused_with_the_value() {
    let mean = Nanos::from_millis(1);
    let fine = Model::station(1, ServiceTime::Exponential { mean });
    assert_eq!(fine.check(), Ok(()));
    for (model, fragment) in [
        (
            Model {
                servers: 0,
                ..fine.clone()
            },
            "servers is 0",
        ),
        (
            Model {
                passes: 0,
                ..fine.clone()
            },
            "passes is 0",
        ),
        (
            Model {
                speed_noise: 1.5,
                ..fine.clone()
            },
            "speed noise is 1.5",
        ),
        (
            Model {
                contention: f64::NAN,
                ..fine.clone()
            },
            "contention is NaN",
        ),
        (
            Model {
                service: ServiceTime::Pareto { mean, shape: 1.0 },
                ..fine.clone()
            },
            "shape is 1",
        ),
        (
            Model {
                rate_rule: Some(RateRule {
                    per_s: 0.0,
                    burst: 1.0,
                }),
                ..fine
            },
            "rate rule is 0",
        ),
    ] {
        let error = model.check().unwrap_err().to_string();
        assert!(error.contains(fragment), "{error}");
    }
}
