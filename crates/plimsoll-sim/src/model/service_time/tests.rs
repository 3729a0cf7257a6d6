//! The service times have the moments that they promise.

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
        // 90 % of 0.5 and 10 % of 5.5 on average: E X² = 2·(0.9·0.25 + 0.1·30.25) = 6.5.
        (
            ServiceTime::Mixed {
                mean,
                slow_ratio: 0.1,
                times: 11.0,
            },
            5.5,
        ),
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
