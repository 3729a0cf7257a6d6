//! Points along one dimension: how they scale, where the knee is, and which model follows them.

use plimsoll_core::sweep::{Dimension, Estimate, Fit, HeldOut, Knee, Line, Modelled, Point, Sweep};

use super::point::done;
use crate::models::{Curve, Dealt, Ranked, Sample, bootstrap, select};

/// A level that carries this share of the most carries as much as there is to carry.
const FULL: f64 = 0.95;
/// As many such levels show that there is no more.
const FULL_LEVELS: usize = 2;
/// With so many levels the upper two are held out, and with one less the last.
const HOLD_TWO: usize = 8;
/// Places of a curve that are drawn.
const DRAWN: usize = 60;

const OF_SEARCH: &str = "each point is the result of a search, whose loads differ: sweep a set load with more and more in flight, without --find";
const NOT_CONCURRENCY: &str = "what is varied is not how many requests are in flight, and the models are about that: vary connections, streams or virtual users";
const DRIFTED: &str = "the target changed while it was swept: sweep it again while nothing else uses it, or with --before COMMAND";

/// One line for each choice of the other values.
pub(super) fn lines(sweep: &Sweep) -> Vec<Line> {
    let along = along(sweep);
    let mut lines: Vec<Line> = Vec::new();
    for (place, point) in sweep.points.iter().enumerate() {
        let name = name(&sweep.dimensions, point, along);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(place),
            None => lines.push(Line {
                along,
                name,
                points: vec![place],
                efficiency: Vec::new(),
                modelled: Modelled::default(),
            }),
        }
    }
    for line in &mut lines {
        let points: Vec<&Point> = line
            .points
            .iter()
            .filter_map(|at| sweep.points.get(*at))
            .collect();
        line.efficiency = efficiency(&points);
        line.modelled = modelled(sweep, &points);
    }
    lines
}

/// The dimension that changes how many are in flight; else the first.
fn along(sweep: &Sweep) -> usize {
    let Some(first) = sweep.points.first() else {
        return 0;
    };
    let changes = |dimension: &usize| {
        let same_else = |point: &&Point| {
            let mut values = point.values.iter().zip(&first.values).enumerate();
            values.all(|(index, (a, b))| index == *dimension || a == b)
        };
        let concurrency = |point: &Point| point.figures.and_then(|figures| figures.concurrency);
        let mut found = sweep
            .points
            .iter()
            .filter(same_else)
            .filter_map(concurrency);
        let one = found.next();
        found.any(|other| one.is_some_and(|one| one.total_cmp(&other).is_ne()))
    };
    (0..sweep.dimensions.len()).find(changes).unwrap_or(0)
}

fn name(dimensions: &[Dimension], point: &Point, along: usize) -> String {
    let values = dimensions.iter().zip(&point.values).enumerate();
    let others = values.filter(|(index, _)| *index != along);
    let texts = others.map(|(_, (dimension, value))| {
        let text = dimension.values.get(*value).map_or("", String::as_str);
        format!("{}={text}", dimension.name)
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// (X ÷ N) over the (X ÷ N) of the first; intervals add as squares.
fn efficiency(points: &[&Point]) -> Vec<Option<Estimate>> {
    let per_unit = |point: &Point| {
        let figures = point.figures?;
        let concurrency = figures.concurrency.filter(|n| *n > 0.0)?;
        let value = figures.done_per_s / concurrency;
        let half = figures
            .done_interval
            .map(|(_, high)| high / figures.done_per_s - 1.0);
        (value > 0.0).then_some((concurrency, value, half))
    };
    let each: Vec<_> = points.iter().map(|point| per_unit(point)).collect();
    let mut different: Vec<f64> = each.iter().flatten().map(|(n, ..)| *n).collect();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if different.len() < 2 {
        // Nothing was scaled.
        return vec![None; points.len()];
    }
    let mut known = each.iter().flatten();
    let Some(&first) = known.next() else {
        return vec![None; points.len()];
    };
    let against = |found: Option<(f64, f64, Option<f64>)>| {
        let (concurrency, value, half) = found?;
        let estimate = value / first.1;
        let is_first = concurrency.total_cmp(&first.0).is_eq();
        let wide = half.zip(first.2).filter(|_| !is_first);
        let wide = wide.map(|(a, b)| estimate * a.hypot(b));
        Some(Estimate {
            estimate,
            interval: wide.map(|wide| ((estimate - wide).max(0.0), estimate + wide)),
        })
    };
    each.into_iter().map(against).collect()
}

fn modelled(sweep: &Sweep, points: &[&Point]) -> Modelled {
    let samples = samples(points);
    let refused = if sweep.is_search {
        Some(OF_SEARCH)
    } else if distinct(&samples) < 2 {
        Some(NOT_CONCURRENCY)
    } else if sweep.drift.as_ref().is_some_and(|drift| drift.is_exceeded) {
        Some(DRIFTED)
    } else {
        None
    };
    if let Some(why) = refused {
        return Modelled {
            no_fit: Some(why.to_owned()),
            ..Modelled::default()
        };
    }
    let selection = select(&samples);
    let (held_out, no_held_out) = held_out(&samples);
    let knee = knee(points, &samples, &selection.ranked);
    Modelled {
        no_fit: selection.refused.map(|refusal| refusal.to_string()),
        fits: selection
            .ranked
            .iter()
            .map(|one| fit(one, &samples))
            .collect(),
        no_knee: knee.as_ref().err().cloned(),
        knee: knee.ok(),
        held_out,
        no_held_out,
    }
}

/// Every valid run by itself: repetitions are the spread that a fit is judged by.
fn samples(points: &[&Point]) -> Vec<Sample> {
    let of = |point: &&Point| {
        let n = point.figures.and_then(|figures| figures.concurrency);
        let each = n.map(|n| done(point).into_iter().map(move |x| Sample { n, x }));
        each.into_iter().flatten().collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}

fn levels(samples: &[Sample]) -> Vec<f64> {
    let mut levels: Vec<f64> = samples.iter().map(|sample| sample.n).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

fn distinct(samples: &[Sample]) -> usize {
    levels(samples).len()
}

fn fit(ranked: &Ranked, samples: &[Sample]) -> Fit {
    let levels = levels(samples);
    let (low, high) = (
        levels.first().copied().unwrap_or(0.0),
        levels.last().copied().unwrap_or(0.0),
    );
    let at = |step: usize| low + (high - low) * step as f64 / DRAWN as f64;
    Fit {
        model: ranked.curve.model(),
        coefficients: coefficients(&ranked.curve),
        aicc: ranked.aicc,
        residual_per_s: ranked.residual_error,
        refused: ranked.refused.clone(),
        curve: (0..=DRAWN)
            .map(at)
            .map(|n| (n, ranked.curve.throughput(n)))
            .collect(),
    }
}

fn coefficients(curve: &Curve) -> Vec<(&'static str, f64, &'static str)> {
    match curve {
        Curve::Hinge(hinge) => vec![
            ("Z + R₀", hinge.base_seconds, "s"),
            ("Xmax", hinge.max_per_s, "/s"),
        ],
        Curve::Mva(mva) => vec![("Z + R₀", mva.base_seconds, "s"), ("D", mva.demand, "s")],
        Curve::Amdahl(usl) => vec![("γ", usl.gamma, "/s"), ("α", usl.alpha, "")],
        Curve::Usl(usl) => vec![
            ("γ", usl.gamma, "/s"),
            ("α", usl.alpha, ""),
            ("β", usl.beta, ""),
        ],
    }
}

/// By the better of the two models that have a knee; with few levels by their bounds alone. Only where the limit was seen.
fn knee(points: &[&Point], samples: &[Sample], ranked: &[Ranked]) -> Result<Knee, String> {
    let means: Vec<(f64, f64)> = points
        .iter()
        .filter_map(|point| point.figures)
        .filter_map(|figures| Some((figures.concurrency?, figures.done_per_s)))
        .collect();
    let most = means.iter().map(|(_, x)| *x).fold(0.0, f64::max);
    if most <= 0.0 {
        return Err("no level carried anything".to_owned());
    }
    let full = means.iter().filter(|(_, x)| *x >= FULL * most).count();
    let is_last_the_most = means
        .iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .is_some_and(|(_, x)| *x >= most);
    if is_last_the_most && full < FULL_LEVELS {
        return Err("the largest concurrency still carried more than all others: the limit was not reached, add larger values".to_owned());
    }
    let has_knee = |one: &&Ranked| figures(&one.curve).iter().all(Option::is_some);
    if let Some(one) = ranked.iter().find(has_knee) {
        let model = one.curve.model();
        let dealt = bootstrap(model, samples, figures);
        return by_model(&one.curve, dealt).ok_or_else(|| "no model has a knee here".to_owned());
    }
    let few = means.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let &(n, x) = few
        .filter(|(_, x)| *x > 0.0)
        .ok_or("the smallest concurrency carried nothing")?;
    let alone = |estimate| Estimate {
        estimate,
        interval: None,
    };
    Ok(Knee {
        in_flight: alone(most * n / x),
        max_per_s: alone(most),
        base_seconds: alone(n / x),
        model: None,
    })
}

/// Knee, most and base of a model that has them.
fn figures(curve: &Curve) -> [Option<f64>; 3] {
    match curve {
        Curve::Hinge(it) => [it.knee(), it.max_per_s, it.base_seconds].map(Some),
        Curve::Mva(it) => [it.knee(), it.max_per_s(), it.base_seconds].map(Some),
        Curve::Amdahl(_) | Curve::Usl(_) => [None; 3],
    }
}

fn by_model(curve: &Curve, dealt: [Dealt; 3]) -> Option<Knee> {
    let [in_flight, most, base] = figures(curve);
    let with = |estimate: Option<f64>, dealt: Dealt| {
        Some(Estimate {
            estimate: estimate?,
            interval: dealt.interval,
        })
    };
    let [of_in_flight, of_most, of_base] = dealt;
    Some(Knee {
        in_flight: with(in_flight, of_in_flight)?,
        max_per_s: with(most, of_most)?,
        base_seconds: with(base, of_base)?,
        model: Some(curve.model()),
    })
}

/// The upper levels as the best model of the lower ones foretells them, beside what they carried.
fn held_out(samples: &[Sample]) -> (Vec<HeldOut>, Option<String>) {
    let levels = levels(samples);
    let held = match levels.len() {
        HOLD_TWO.. => 2,
        count if count + 1 == HOLD_TWO => 1,
        count => {
            let needed = HOLD_TWO - 1;
            let why = format!(
                "{count} levels are too few to leave one out and still choose a model: {needed} are needed"
            );
            return (Vec::new(), Some(why));
        }
    };
    let kept = levels.len() - held;
    let is_known = |sample: &&Sample| levels[..kept].contains(&sample.n);
    let known: Vec<Sample> = samples.iter().filter(is_known).copied().collect();
    let selection = select(&known);
    let Some(best) = selection.ranked.first() else {
        let why = selection.refused.map(|refusal| refusal.to_string());
        return (Vec::new(), why);
    };
    let mean = |n: f64| {
        let at = samples
            .iter()
            .filter(|sample| sample.n.total_cmp(&n).is_eq());
        let values: Vec<f64> = at.map(|sample| sample.x).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let foretold = |n: &f64| HeldOut {
        model: best.curve.model(),
        concurrency: *n,
        predicted_per_s: best.curve.throughput(*n),
        measured_per_s: mean(*n),
    };
    (levels[kept..].iter().map(foretold).collect(), None)
}
