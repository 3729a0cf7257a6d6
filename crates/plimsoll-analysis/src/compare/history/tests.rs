//! Change points: found where they were put, and seldom where there are none.

use std::collections::BTreeMap;

use super::*;

/// Runs at the levels, each with a spread of 2 % from a fixed seed.
fn runs(levels: &[f64], seed: u64) -> Vec<Run> {
    let mut rng = Rng::new(seed, 9);
    let run = |(index, level): (usize, &f64)| Run {
        name: format!("run {index}"),
        started_at: format!("2026-03-{:02}T10:00:00Z", index + 1),
        figures: BTreeMap::from([(Figure::Goodput, level * (0.02 * rng.normal()).exp())]),
        ..Run::default()
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

/// Independent from run to run, or like the one before by `phi`.
fn noise(count: usize, phi: f64, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed, 21);
    let mut before = rng.normal();
    let step = |_| {
        before = phi * before + (1.0 - phi * phi).sqrt() * rng.normal();
        100.0 * (0.02 * before).exp()
    };
    (0..count).map(step).collect()
}

fn of_values(values: &[f64], seed: u64) -> History {
    let mut runs = runs(&vec![1.0; values.len()], seed);
    for (run, value) in runs.iter_mut().zip(values) {
        run.figures.insert(Figure::Goodput, *value);
    }
    history(runs, Vec::new(), None, seed).unwrap()
}

/// 1000, 1003, 998, 500, 501, 499 was "no change".
#[test]
fn too_few_runs_claim_nothing() {
    let few = of_values(&[1000.0, 1003.0, 998.0, 500.0, 501.0, 499.0], 1);
    assert!(few.changes.is_empty() && few.detectable.is_none());
    let enough = of_values(
        &[1000.0, 1003.0, 998.0, 1001.0, 500.0, 501.0, 499.0, 502.0],
        1,
    );
    assert_eq!(enough.changes.len(), 1);
}

#[test]
fn a_change_of_the_size_that_is_said_is_found_in_four_of_five_cases() {
    for count in [8, 14, 26] {
        let rows = 60;
        let said: Vec<f64> = (0..rows)
            .map(|seed| {
                of_values(&noise(count, 0.0, seed), seed)
                    .detectable
                    .unwrap()
            })
            .collect();
        let size = plimsoll_core::statistics::median(said).unwrap();
        let changed = (0..rows).filter(|seed| {
            let mut values = noise(count, 0.0, 1_000 + seed);
            values[count / 2..]
                .iter_mut()
                .for_each(|value| *value *= 1.0 + size);
            !of_values(&values, *seed).changes.is_empty()
        });
        let found = changed.count();
        assert!(
            (40..=58).contains(&found),
            "{found} of {rows} at {size:.3} with {count} runs"
        );
    }
}

/// Shuffling takes runs for independent: 22 to 27 % of rows without a change had one at 0.5, 39 to 73 % at 0.9.
#[test]
fn runs_that_resemble_their_neighbours_raise_few_false_alarms() {
    for (phi, most) in [(0.0, 5), (0.5, 12), (0.9, 32)] {
        let alarms =
            (0..80).filter(|seed| !of_values(&noise(20, phi, *seed), *seed).changes.is_empty());
        let alarms = alarms.count();
        assert!(alarms <= most, "{alarms} of 80 at {phi}");
    }
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
