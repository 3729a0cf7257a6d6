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
fn bursts_are_told_from_noise() {
    let even = [1, 0, 2, 1, 1, 0, 1, 2, 1, 1];
    assert!(variance_to_mean(&even) < 1.0);
    let burst = [0, 0, 0, 50, 0, 0, 0, 0, 0, 0];
    assert!((variance_to_mean(&burst) - 50.0).abs() < 1e-12);
    assert!(variance_to_mean(&[0, 0, 0]) < 1e-12);
}

#[test]
fn mean_intervals_by_hand() {
    let bounds = mean_interval(&[4.0, 5.0, 6.0]).unwrap();
    assert!((bounds.upper.unwrap() - 7.484).abs() < 1e-3, "{bounds:?}");
    let bounds = mean_interval(&[5.0, 5.0, 5.0]).unwrap();
    assert_eq!(
        (bounds.estimate, bounds.lower, bounds.upper),
        (5.0, Some(5.0), Some(5.0))
    );
    assert_eq!(mean_interval(&[]), None);
}
