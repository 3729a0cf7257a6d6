//! The worked numbers of the statistics.

use super::*;

#[test]
fn the_worked_ratio_and_its_interval() {
    let share = bad_share([(9, 100), (11, 100)].into_iter());
    assert!((share.estimate - 0.10).abs() < 1e-12);
    assert!((share.upper.unwrap() - 0.22706).abs() < 1e-4, "{share:?}");
    assert_eq!(share.lower, Some(0.0));
    let none = bad_share([(0, 100); 5].into_iter());
    assert_eq!((none.lower, none.upper), (Some(0.0), Some(0.0)));
    assert_eq!(
        bad_share([(0, 0)].into_iter()).upper,
        Some(1.0),
        "nothing known"
    );
    assert_eq!(
        bad_share([(1, 10)].into_iter()).upper,
        Some(1.0),
        "one window says nothing"
    );
}

#[test]
fn students_t_goes_down_to_the_normal_quantile() {
    let values: Vec<_> = (1..200).map(t_975).collect();
    assert!(values.is_sorted_by(|a, b| a > b));
    assert!((t_975(120) - 1.9799).abs() < 0.001);
}

#[test]
fn trend_of_a_line_and_of_nothing() {
    let (slope, t) = trend(&[1.0, 3.0, 5.0, 7.0, 9.0]).unwrap();
    assert!((slope - 2.0).abs() < 1e-12 && t > 1e6);
    let (slope, t) = trend(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]).unwrap();
    assert!(slope.abs() < 0.01 && t.abs() < 1.0);
    assert_eq!(trend(&[1.0, 2.0]), None);
}

#[test]
fn bursts_are_told_from_noise() {
    let even = [1, 0, 2, 1, 1, 0, 1, 2, 1, 1];
    assert!(variance_to_mean(&even) < 1.0 && carrying_share(&even) > 0.5);
    let burst = [0, 0, 0, 50, 0, 0, 0, 0, 0, 0];
    assert!(variance_to_mean(&burst) > 20.0);
    assert!((carrying_share(&burst) - 0.1).abs() < 1e-12);
    assert!(variance_to_mean(&[0, 0, 0]) < 1e-12);
}

#[test]
fn mean_interval_of_equal_values_is_a_point() {
    let bounds = mean_interval(&[5.0, 5.0, 5.0]).unwrap();
    assert_eq!(
        (bounds.estimate, bounds.lower, bounds.upper),
        (5.0, Some(5.0), Some(5.0))
    );
    assert_eq!(mean_interval(&[]), None);
}
