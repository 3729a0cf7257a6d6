//! A sweep by hand: known curves in, knee, efficiency, refusals and advice out.

use plimsoll_core::Nanos;
use plimsoll_core::sweep::{Dimension, Figures, Model, Run, Says, Sweep};
use plimsoll_core::tally::Quantile;

use super::{Asked, judged};
use crate::advice::Declared;
use crate::models::Repairman;

fn run(per_s: f64, concurrency: Option<f64>) -> Run {
    Run {
        record: "a".to_owned(),
        excluded: None,
        figures: Some(Figures {
            carried_per_s: per_s,
            carried_interval: None,
            done_per_s: per_s,
            done_interval: None,
            throughput_per_s: per_s,
            failed_ratio: 0.0,
            in_flight: concurrency.unwrap_or(0.0),
            concurrency,
            little: Some(1.0),
            mean_seconds: concurrency.map(|n| n / per_s),
            p50: None,
            p99: None,
            p99_9: Some(Quantile::At(Nanos::from_millis(30))),
        }),
    }
}

fn asked(values: &[f64]) -> Asked {
    Asked {
        test: "GET http://127.0.0.1/".to_owned(),
        is_search: false,
        dimensions: vec![Dimension {
            name: "connections".to_owned(),
            values: values.iter().map(ToString::to_string).collect(),
        }],
        remarks: Vec::new(),
        stopped: None,
        declared: Declared::default(),
    }
}

/// Two runs of each value, one a little above and one a little below.
fn played(values: &[f64], throughput: impl Fn(f64) -> f64) -> Vec<(Vec<usize>, Vec<Run>)> {
    let runs = |n: f64| {
        [0.99, 1.01]
            .map(|off| run(off * throughput(n), Some(n)))
            .to_vec()
    };
    values
        .iter()
        .enumerate()
        .map(|(at, n)| (vec![at], runs(*n)))
        .collect()
}

const SEVEN: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// One resource of 5 ms behind a delay of 15 ms: 200/s, full with four.
fn repairman(n: f64) -> f64 {
    let mva = Repairman {
        demand: 0.005,
        base_seconds: 0.02,
    };
    mva.throughput(n)
}

fn needs(sweep: &Sweep) -> Vec<String> {
    let each = sweep.advice.iter();
    each.filter_map(|counsel| match &counsel.says {
        Says::Needs(text) => Some(format!("{} {text}", counsel.rule.name())),
        Says::Advice(_) => None,
    })
    .collect()
}

fn advised(sweep: &Sweep) -> Vec<&str> {
    let each = sweep.advice.iter();
    each.filter_map(|counsel| match &counsel.says {
        Says::Needs(_) => None,
        Says::Advice(advice) => Some(advice.action.as_str()),
    })
    .collect()
}

#[test]
fn a_known_queue_is_found_again() {
    let mut asked = asked(&SEVEN);
    asked.declared = Declared {
        clients: Some(3),
        server_timeout: Some(Nanos::from_secs(5)),
        bound: Some(Nanos::from_millis(250)),
    };
    let sweep = judged(asked, played(&SEVEN, repairman), None);
    let line = &sweep.lines[0];
    assert_eq!(line.modelled.fits[0].model, Model::Mva, "{line:?}");
    let knee = line.modelled.knee.expect("it is full");
    assert_eq!(knee.model, Some(Model::Mva));
    assert!((knee.in_flight.estimate - 4.0).abs() < 0.2, "{knee:?}");
    assert!((knee.max_per_s.estimate - 200.0).abs() < 2.0, "{knee:?}");
    let (low, high) = knee.in_flight.interval.expect("it was dealt out");
    assert!(low < 4.0 && 4.0 < high && high - low < 1.5, "{knee:?}");
    let [held] = line.modelled.held_out[..] else {
        panic!("one of seven levels is held out: {line:?}");
    };
    assert!(
        held.off().abs() < 0.02 && held.concurrency > 63.0,
        "{held:?}"
    );
    let last = line.efficiency[6].expect("every level carries something");
    assert!(
        (last.estimate - 200.0 / 64.0 / 50.0).abs() < 1e-3,
        "{last:?}"
    );
    assert!(
        last.interval
            .is_some_and(|(low, high)| low < last.estimate && last.estimate < high)
    );
    assert_eq!(needs(&sweep), Vec::<String>::new());
    assert_eq!(
        advised(&sweep),
        [
            "let at most 4 to 8 requests be in flight",
            "a pool of 2 connections in each of 3 processes",
            "let at most 40 requests wait, and refuse more at once",
            "client timeout of at least 5.00 s",
            "retry in one layer, twice at most, within a budget of 10 % of the requests",
        ]
    );
}

#[test]
fn few_levels_have_bounds_and_no_model() {
    let few = [1.0, 2.0, 4.0, 8.0];
    let sweep = judged(asked(&few), played(&few, |n| (50.0 * n).min(110.0)), None);
    let modelled = &sweep.lines[0].modelled;
    assert_eq!(modelled.fits.len(), 0);
    assert!(
        modelled
            .no_fit
            .as_ref()
            .is_some_and(|why| why.contains("needs 6")),
        "{modelled:?}"
    );
    assert!(modelled.no_held_out.is_some());
    let knee = modelled.knee.expect("two levels are full");
    assert!(
        knee.model.is_none() && (knee.in_flight.estimate - 2.2).abs() < 1e-9,
        "{knee:?}"
    );
}

#[test]
fn what_was_not_saturated_advises_nothing_and_says_what_to_measure() {
    let sweep = judged(asked(&SEVEN), played(&SEVEN, |n| 50.0 * n), None);
    let modelled = &sweep.lines[0].modelled;
    assert!(
        modelled.knee.is_none() && modelled.no_knee.as_ref().unwrap().contains("larger values")
    );
    assert_eq!(advised(&sweep), Vec::<&str>::new());
    assert_eq!(needs(&sweep).len(), 5, "{:?}", needs(&sweep));
    assert!(needs(&sweep)[0].contains("add larger values"));
}

#[test]
fn without_what_only_the_user_knows_the_flag_is_named() {
    let sweep = judged(asked(&SEVEN), played(&SEVEN, repairman), None);
    let needs = needs(&sweep).join("; ");
    assert!(
        needs.contains("--clients") && needs.contains("--slo"),
        "{needs}"
    );
}

#[test]
fn a_target_that_changed_carries_no_conclusion() {
    let points = played(&SEVEN, repairman);
    let (first, same, slower) = (
        run(100.0, Some(1.0)),
        run(103.0, Some(1.0)),
        run(80.0, Some(1.0)),
    );
    let sweep = judged(asked(&SEVEN), points.clone(), Some([&first, &same]));
    assert!(sweep.is_valid() && !sweep.drift.as_ref().unwrap().is_exceeded);
    let sweep = judged(asked(&SEVEN), points, Some([&first, &slower]));
    assert!(!sweep.is_valid() && sweep.drift.as_ref().unwrap().is_exceeded);
    assert!(
        sweep.lines[0]
            .modelled
            .no_fit
            .as_ref()
            .unwrap()
            .contains("changed")
    );
    assert_eq!(advised(&sweep), Vec::<&str>::new());
}

#[test]
fn two_searches_of_one_target_may_differ_by_more() {
    let points = |per_s| {
        vec![
            (vec![0], vec![run(per_s, None)]),
            (vec![1], vec![run(90.0, None)]),
        ]
    };
    let (first, last) = (run(100.0, None), run(107.0, None));
    for (is_search, is_exceeded) in [(true, false), (false, true)] {
        let mut asked = asked(&[1.0, 2.0]);
        asked.is_search = is_search;
        let sweep = judged(asked, points(100.0), Some([&first, &last]));
        assert_eq!(sweep.drift.unwrap().is_exceeded, is_exceeded);
    }
}

#[test]
fn other_numbers_have_no_models() {
    let runs = |_| vec![run(100.0, Some(16.0))];
    let points = (0..3).map(|at| (vec![at], runs(at))).collect();
    let sweep = judged(asked(&[1.0, 2.0, 3.0]), points, None);
    assert!(
        sweep.lines[0]
            .modelled
            .no_fit
            .as_ref()
            .unwrap()
            .contains("in flight")
    );
    assert_eq!(sweep.lines[0].efficiency, [None; 3], "nothing was scaled");
}

#[test]
fn a_matrix_has_a_line_for_each_of_the_other_values() {
    let mut asked = asked(&[1.0, 2.0]);
    asked.dimensions.insert(
        0,
        Dimension {
            name: "workers".to_owned(),
            values: vec!["1".to_owned(), "2".to_owned()],
        },
    );
    let point = |workers, at: usize| (vec![workers, at], vec![run(10.0, Some(at as f64 + 1.0))]);
    let points = vec![point(0, 0), point(0, 1), point(1, 0), point(1, 1)];
    let sweep = judged(asked, points, None);
    let lines: Vec<_> = sweep
        .lines
        .iter()
        .map(|line| (line.along, line.name.as_str(), line.points.clone()))
        .collect();
    assert_eq!(
        lines,
        [(1, "workers=1", vec![0, 1]), (1, "workers=2", vec![2, 3])]
    );
}

#[test]
fn a_run_that_is_not_valid_counts_for_nothing() {
    let mut points = played(&SEVEN, repairman);
    for run in &mut points[3].1 {
        run.excluded = Some("not valid: gate 6 failed".to_owned());
    }
    let sweep = judged(asked(&SEVEN), points, None);
    let point = &sweep.points[3];
    assert!(point.figures.is_none() && point.excluded() == Some("not valid: gate 6 failed"));
    assert!(!sweep.is_valid());
    assert_eq!(sweep.lines[0].efficiency[3], None);
    assert_eq!(sweep.lines[0].modelled.fits.len(), 4, "six levels are left");
}

/// With an objective a full system carries less than it does: its answers are late, and the models are not about that.
#[test]
fn late_answers_count_for_the_models() {
    let mut points = played(&SEVEN, repairman);
    for run in points[5..].iter_mut().flat_map(|(_, runs)| runs) {
        if let Some(figures) = &mut run.figures {
            figures.carried_per_s = 0.0;
        }
    }
    let sweep = judged(asked(&SEVEN), points, None);
    let line = &sweep.lines[0];
    assert_eq!(line.modelled.fits[0].model, Model::Mva, "{line:?}");
    let most = line.modelled.knee.unwrap().max_per_s.estimate;
    assert!((most - 200.0).abs() < 2.0, "{most}");
    assert!(sweep.best().unwrap().1.carried_per_s > 190.0);
}
