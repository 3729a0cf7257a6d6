//! A comparison in words and figures, as every rendering shows it.

use std::collections::BTreeSet;

use plimsoll_core::Nanos;
use plimsoll_core::comparison::{
    Change, Comparison, Contrast, Design, Figure, History, Interval, MetricRow, Mismatch,
    NamedContrast, RUNS_THAT_SHOW, Scale, Standing,
};

use crate::format::{self, NBSP, quoted};

/// From here on a ratio is said as such: 4,300 % more is harder to read than 44 times as much.
const TIMES_FROM: f64 = 3.0;

/// `1,210/s`, `0.07 %`, `243 ms`, `never`
pub fn value(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Capacity | Figure::Goodput | Figure::Throughput => format::rate(value),
        Figure::CapacityVus => format!("{}{NBSP}VUs", format::number(value)),
        Figure::Failures | Figure::ChecksFailed | Figure::Class(_) => format::percent(value),
        _ if value == f64::INFINITY => "never".to_owned(),
        _ => format::time(Nanos::from_secs_f64(value)),
    }
}

/// `+23 %`, `−0.4 %`, `× 12`, `+1.2 points`; what became infinite says so.
pub fn change(scale: Scale, value: f64) -> String {
    let (amount, unit) = match scale {
        Scale::Ratio => ((value - 1.0) * 100.0, "%"),
        Scale::Difference => (value * 100.0, "points"),
    };
    if value == f64::INFINITY {
        return "to never".to_owned();
    }
    if scale == Scale::Ratio && value == 0.0 {
        return "from never".to_owned();
    }
    if scale == Scale::Ratio && value >= TIMES_FROM {
        return format!("×{NBSP}{}", format::number(value));
    }
    let sign = match amount {
        _ if amount.abs() < 0.005 => "±",
        _ if amount < 0.0 => "−",
        _ => "+",
    };
    let amount = if sign == "±" { 0.0 } else { amount.abs() };
    format!("{sign}{}{NBSP}{unit}", format::number(rounded(amount)))
}

/// Hundredths are enough of a change; whole percents of a large one.
fn rounded(amount: f64) -> f64 {
    let grain = if amount < 10.0 { 100.0 } else { 10.0 };
    (amount * grain).round() / grain
}

/// `+17 to +29 %`
pub fn range(scale: Scale, interval: Option<Interval>) -> String {
    interval.map_or(format::ABSENT.to_owned(), |interval| {
        let (lower, upper) = (change(scale, interval.lower), change(scale, interval.upper));
        let (number, unit) = lower.split_once(NBSP).unwrap_or((&lower, ""));
        if matches!(unit, "%" | "points") && upper.ends_with(unit) {
            format!("{number} to {upper}")
        } else {
            format!("{lower} to {upper}")
        }
    })
}

/// `6 pairs`, `5 + 7 runs`
pub fn effort(contrast: &Contrast, design: Design) -> String {
    let (a, b) = (contrast.baseline_count, contrast.variant_count);
    match design {
        Design::Paired => format::plural(a as u64, "pair", "pairs"),
        Design::Unpaired => format!("{a}{NBSP}+{NBSP}{b} runs"),
    }
}

/// `0.031`, `<0.001`: a p value to three places.
pub fn chance(p: f64) -> String {
    if p < 0.001 {
        "<0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

/// The sign that goes with the word: nothing is told by colour alone.
pub const fn sign(standing: Standing) -> &'static str {
    match standing {
        Standing::Better => "▲",
        Standing::Worse => "▼",
        Standing::Equivalent => "=",
        Standing::Inconclusive => "?",
    }
}

/// The answer: of every other variant against the first, in the primary figure, and where it is worse in a guarded one or
/// that is not clear.
pub fn headline(comparison: &Comparison) -> String {
    let first = comparison.variants.first().map(|variant| &variant.name);
    let against: Vec<String> = comparison
        .primaries()
        .filter(|contrast| Some(&contrast.baseline) == first)
        .flat_map(|contrast| {
            let worse = worse_guards(contrast, comparison);
            let unclear = unclear_guards(contrast, comparison);
            let answer = Some(sentence(contrast, comparison));
            match contrast.standing {
                Standing::Worse => [answer, worse, unclear],
                _ => [worse, answer, unclear],
            }
        })
        .flatten()
        .chain(without_primary(comparison))
        .collect();
    if let Some(stopped) = comparison.stopped {
        return format!(
            "No verdict: interrupted in run {} of {}; below is what was seen until then.",
            format::count(stopped.begun_count as u64),
            format::count(stopped.planned_count as u64)
        );
    }
    if comparison.is_withheld {
        return "No verdict: too few valid runs are left.".to_owned();
    }
    if against.is_empty() {
        return "No verdict: these runs have no figure that can be compared.".to_owned();
    }
    against.join(" ")
}

/// The guarded figures of the same two variants.
fn guards_of<'c>(
    one: &'c Contrast,
    comparison: &'c Comparison,
) -> impl Iterator<Item = &'c Contrast> {
    comparison
        .guards()
        .filter(|contrast| contrast.variant == one.variant && contrast.baseline == one.baseline)
}

/// In what guarded figures the variant is worse.
fn worse_guards(one: &Contrast, comparison: &Comparison) -> Option<String> {
    let worse: Vec<String> = guards_of(one, comparison)
        .filter(|contrast| contrast.standing == Standing::Worse)
        .map(measured)
        .collect();
    let (b, a) = (quoted(&one.variant), quoted(&one.baseline));
    (!worse.is_empty()).then(|| format!("{b} is worse than {a} in {}.", format::list(&worse)))
}

/// What is not clear in them where the primary figure is equivalent.
fn unclear_guards(primary: &Contrast, comparison: &Comparison) -> Option<String> {
    let mut unclear: Vec<String> = guards_of(primary, comparison)
        .filter(|contrast| contrast.standing == Standing::Inconclusive)
        .map(measured)
        .collect();
    let is_compared = |figure: &&Figure| {
        let mut guards = guards_of(primary, comparison);
        guards.any(|contrast| contrast.figure == **figure)
    };
    let missing = comparison
        .guarded
        .iter()
        .filter(|figure| !is_compared(figure));
    unclear.extend(missing.map(|figure| format!("{figure} (not compared)")));
    (primary.standing == Standing::Equivalent && !unclear.is_empty())
        .then(|| format!("Not clear is {}.", unclear.join(", ")))
}

/// Of variants that have not the primary figure, or have it where the first has not: in what they are worse, which decides.
fn without_primary(comparison: &Comparison) -> Vec<String> {
    let first = comparison.variants.first().map(|variant| &variant.name);
    let has_primary = |one: &Contrast| {
        comparison
            .primaries()
            .any(|primary| primary.variant == one.variant && primary.baseline == one.baseline)
    };
    let mut said = BTreeSet::new();
    comparison
        .guards()
        .filter(|one| Some(&one.baseline) == first && !has_primary(one))
        .filter(|one| said.insert(&one.variant))
        .filter_map(|one| worse_guards(one, comparison))
        .collect()
}

/// `p99 over attempts +100 % (+90 % to +110 %)`
fn measured(contrast: &Contrast) -> String {
    format!(
        "{} {} ({})",
        contrast.figure,
        change(contrast.scale, contrast.estimate),
        range(contrast.scale, contrast.interval)
    )
}

/// `‘B’ is better than ‘A’: goodput +23 % (+17 % to +29 %, 6 pairs).`
fn sentence(contrast: &Contrast, comparison: &Comparison) -> String {
    let (b, a) = (quoted(&contrast.variant), quoted(&contrast.baseline));
    let what = format!(
        "{} {} ({}, {})",
        contrast.figure,
        change(contrast.scale, contrast.estimate),
        range(contrast.scale, contrast.interval),
        effort(contrast, comparison.design)
    );
    match contrast.standing {
        Standing::Better | Standing::Worse => {
            format!("{b} is {} than {a}: {what}.", contrast.standing.word())
        }
        Standing::Equivalent => format!("{b} is equivalent to {a} in {what}."),
        Standing::Inconclusive => format!("Inconclusive, {b} against {a}: {what}."),
    }
}

/// What a reader must know before any figure: `request: ‘A’ … · ‘B’ …`.
pub fn mismatch(mismatch: &Mismatch) -> String {
    let values: Vec<String> = mismatch
        .values
        .iter()
        .map(|(variant, values)| format!("{} {}", quoted(variant), values.join(" and ")))
        .collect();
    format!("{}: {}", mismatch.fact, values.join(" · "))
}

/// From so many runs on that are not used for one reason they are counted instead of listed.
const LISTED_MAX: usize = 2;

/// Every run that was not used, with its reason: one line for each, or for all that share a reason.
pub fn excluded(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for variant in &comparison.variants {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for run in &variant.runs {
            let Some(reason) = run.excluded.as_deref() else {
                continue;
            };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, runs)) => runs.push(&run.name),
                None => reasons.push((reason, vec![&run.name])),
            }
        }
        for (reason, runs) in reasons {
            match runs.as_slice() {
                [first, .., last] if runs.len() > LISTED_MAX => lines.push(format!(
                    "{} of {} runs of {} ({first} to {last}): {reason}",
                    runs.len(),
                    variant.runs.len(),
                    quoted(&variant.name)
                )),
                all => {
                    let line =
                        |name: &&str| format!("{name} ({}): {reason}", quoted(&variant.name));
                    lines.extend(all.iter().map(line));
                }
            }
        }
    }
    lines
}

/// How many runs were not used.
pub fn excluded_count(comparison: &Comparison) -> u64 {
    let runs = comparison.variants.iter().flat_map(|variant| &variant.runs);
    runs.filter(|run| run.excluded.is_some()).count() as u64
}

/// Whether and where the figure changed.
pub fn headline_of_history(history: &History) -> String {
    let count = history.moments.len() as u64;
    let runs = format::plural(count, "run", "runs");
    match history.changes.len() {
        0 => match history.detectable {
            None => format!(
                "Not decided: {runs} show no change in {}, however large; {RUNS_THAT_SHOW} are the fewest that do.",
                history.figure
            ),
            Some(size) => format!(
                "No change in {} over {runs}; one of ±{}{NBSP}{} in the middle would have shown in four of five cases.",
                history.figure,
                format::number(size * 100.0),
                match history.figure.scale() {
                    Scale::Ratio => "%",
                    Scale::Difference => "points",
                }
            ),
        },
        changes => format!(
            "{} in {} over {runs}.",
            capitalised(&format::plural(changes as u64, "change", "changes")),
            history.figure
        ),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// `−12 % between a.jsonl and b.jsonl (p 0.001); at 95 % between runs 7 and 9 of 15`
pub fn change_point(change: &Change, history: &History) -> String {
    let place = if change.earliest_index == change.latest_index {
        format!(
            "with run {} of {}",
            change.first_index + 1,
            history.moments.len()
        )
    } else {
        format!(
            "at 95{NBSP}% with one of the runs {} to {} of {}",
            change.earliest_index + 1,
            change.latest_index + 1,
            history.moments.len()
        )
    };
    format!(
        "{} between {} and {}, {place} (p{NBSP}{})",
        self::change(change.scale, change.estimate),
        change.before,
        change.after,
        chance(change.p)
    )
}

/// Rows by name: worse, better, then the others.
pub(crate) fn named(comparison: &Comparison) -> Vec<&NamedContrast> {
    let mut rows: Vec<&NamedContrast> = comparison.named.iter().collect();
    rows.sort_by_key(|named| match named.contrast.standing {
        Standing::Worse => 0,
        Standing::Better => 1,
        Standing::Inconclusive => 2,
        Standing::Equivalent => 3,
    });
    rows
}

/// `p95 12.4 → 18.1`, one median for each variant.
pub(crate) fn medians(row: &MetricRow) -> String {
    let values = row
        .medians
        .iter()
        .map(|median| median.map_or_else(|| format::ABSENT.to_owned(), format::number));
    let values: Vec<String> = values.collect();
    format!("{} {}", row.figure, values.join(" → "))
}
