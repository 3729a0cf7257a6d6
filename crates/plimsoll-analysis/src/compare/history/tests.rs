//! Change points: found where they were put, and seldom where there are none.

use std::collections::BTreeMap;

use super::*;

/// Runs at the levels, each with a spread of 2 % from a fixed seed.
fn runs(levels: &[f64], seed: u64) -> Vec<Run> {
    let mut rng = Rng::new(seed, 9);
    let run = |(index, level): (usize, &f64)| Run {
        name: format!("run {index}"),
        started_at: format!("2026-03-{:02}T10:00:00Z", index + 1),
        excluded: None,
        figures: BTreeMap::from([(Figure::Goodput, level * (0.02 * rng.normal()).exp())]),
    };
    levels.iter().enumerate().map(run).collect()
}

fn found(levels: &[f64], seed: u64) -> History {
    let mut runs = runs(levels, seed);
    // Order of arrival does not matter: time does.
    runs.reverse();
    history(runs, Vec::new(), None, seed).unwrap()
}

#[test]
fn a_change_is_found_where_it_was_put() {
    let levels = [[100.0; 8].as_slice(), &[88.0; 7]].concat();
    let mut others = 0;
    for seed in 0..20 {
        let history = found(&levels, seed);
        let change = history
            .changes
            .iter()
            .find(|change| change.first_index == 8);
        let change = change.unwrap_or_else(|| panic!("seed {seed}: {:?}", history.changes));
        assert!(change.earliest_index <= 8 && change.latest_index >= 8);
        assert_eq!(
            (change.before.as_str(), change.after.as_str()),
            ("run 7", "run 8")
        );
        assert!((change.estimate - 0.88).abs() < 0.03);
        assert_eq!(change.standing, Standing::Worse);
        others += history.changes.len() - 1;
    }
    // Each further look is wrong once in twenty.
    assert!(others <= 3, "{others} in 20 rows");
}

#[test]
fn two_changes_are_two() {
    let levels = [[100.0; 8].as_slice(), &[80.0; 8], &[100.0; 8]].concat();
    let changes = found(&levels, 5).changes;
    let at: Vec<usize> = changes.iter().map(|change| change.first_index).collect();
    assert_eq!(at, [8, 16]);
    let standings: Vec<Standing> = changes.iter().map(|change| change.standing).collect();
    assert_eq!(standings, [Standing::Worse, Standing::Better]);
}

#[test]
fn steady_runs_and_one_odd_run_are_no_change() {
    let steady = (0..100).filter(|seed| !found(&[100.0; 16], *seed).changes.is_empty());
    let false_alarms = steady.count();
    assert!(false_alarms <= 8, "{false_alarms} of 100 at 5 %");
    let mut levels = [100.0; 15];
    levels[14] = 60.0;
    assert!(
        found(&levels, 2).changes.is_empty(),
        "one new point is no change"
    );
}

#[test]
fn what_is_no_history_is_refused() {
    let few = history(runs(&[1.0; 5], 0), Vec::new(), None, 0);
    assert_eq!(few.unwrap_err(), HistoryError::TooFew(5));
    let other = history(runs(&[1.0; 8], 0), Vec::new(), Some(Figure::P99), 0);
    assert_eq!(
        other.unwrap_err().to_string(),
        "no figure is in all runs: p99 over attempts"
    );
}

#[test]
fn a_percentile_that_is_never_reached_is_a_change() {
    let mut runs = runs(&[1.0; 14], 0);
    for (index, run) in runs.iter_mut().enumerate() {
        let p99 = if index < 7 { 0.05 } else { f64::INFINITY };
        run.figures.insert(Figure::P99, p99);
    }
    let history = history(runs, Vec::new(), Some(Figure::P99), 0).unwrap();
    assert_eq!(history.changes.len(), 1);
    assert_eq!(history.changes[0].standing, Standing::Worse);
}
