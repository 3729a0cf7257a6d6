//! The verdict of an experiment in a paragraph: what carries most, what fails, what gives way, and how sure that is.

use plimsoll_core::Outcome;
use plimsoll_core::comparison::{Design, Scale, Standing};
use plimsoll_core::verdict::{Cause, Confidence, GateState};

use super::cell::spread;
use super::rows::{prediction, ratio_to};
use super::{Capacity, Experiment, LoadLines, Variant, failed_ratio, share};
use crate::format;
use crate::view::{comparison as words, unbroken};

/// Variants closer than this are not called different on the strength of their medians.
const CLOSE: f64 = 1.05;
/// From here on failures, or answers that are not good, are worth a sentence.
const FAILED: f64 = 0.01;
const APART: f64 = 0.05;

/// One sentence, what was found beside it, and what it is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) headline: String,
    pub(crate) findings: Vec<String>,
    pub(crate) caveats: Vec<String>,
}

impl Answer {
    pub(crate) fn of(experiment: &Experiment<'_>, lines: Option<&LoadLines>) -> Self {
        let measured: Vec<(&Variant<'_>, f64)> = measured(experiment, lines);
        let (mut findings, mut caveats) = (Vec::new(), Vec::new());
        if !measured.is_empty() {
            findings.extend(failing(&measured));
            findings.extend(giving_way(&measured));
            findings.extend(predicted(experiment, lines));
            caveats.push(replication(experiment));
            caveats.extend(others(experiment, &measured));
            caveats.extend(several_changes(experiment));
            caveats.extend(generator(&measured));
        }
        caveats.extend(not_valid(experiment));
        let real: Vec<(&Variant<'_>, f64)> = measured
            .iter()
            .copied()
            .filter(|(variant, _)| !variant.probe)
            .collect();
        Self {
            headline: headline(experiment, &real, lines),
            findings,
            caveats,
        }
    }

    /// All of it.
    pub(crate) fn paragraph(&self) -> String {
        format!("{} {}", self.headline, self.rest())
    }

    /// All but the headline.
    pub(crate) fn rest(&self) -> String {
        let all: Vec<&str> = self
            .findings
            .iter()
            .chain(&self.caveats)
            .map(String::as_str)
            .collect();
        all.join(" ")
    }
}

/// Capacities if every variant was searched, else goodputs.
fn is_searched(experiment: &Experiment<'_>, lines: Option<&LoadLines>) -> bool {
    let mut valid = experiment.variants.iter().filter(|v| v.is_valid());
    valid.all(|v| {
        let capacity = Capacity::of(experiment, v, lines);
        matches!(capacity, Capacity::Found { .. }) && capacity.per_s().is_some()
    })
}

/// Variants with a valid run and what they carry, the most first.
fn measured<'e, 'a>(
    experiment: &'e Experiment<'a>,
    lines: Option<&LoadLines>,
) -> Vec<(&'e Variant<'a>, f64)> {
    let searched = is_searched(experiment, lines);
    let carried = |v: &Variant<'_>| {
        if searched {
            Capacity::of(experiment, v, lines).per_s()
        } else {
            v.median(|f| f.goodput_per_s)
        }
    };
    let valid = experiment.variants.iter().filter(|v| v.is_valid());
    let mut measured: Vec<(&Variant<'_>, f64)> =
        valid.filter_map(|v| Some((v, carried(v)?))).collect();
    measured.sort_by(|one, other| other.1.total_cmp(&one.1));
    measured
}

fn headline(
    experiment: &Experiment<'_>,
    measured: &[(&Variant<'_>, f64)],
    lines: Option<&LoadLines>,
) -> String {
    let unit = if is_searched(experiment, lines) {
        "requests per second at the objective"
    } else {
        "good answers per second"
    };
    let amount = |value: f64| format!("{} {unit}", format::number(value));
    match measured {
        [] => "No verdict: no run is valid.".to_owned(),
        [(only, value)] if experiment.variants.len() == 1 => {
            format!("{} carries {}.", only.name, amount(*value))
        }
        [(only, value)] => format!(
            "{} carries {}; nothing else has a valid run to hold it against.",
            only.name,
            amount(*value)
        ),
        [(best, most), rest @ ..] => {
            let near = near(experiment, &(best, *most), rest);
            if !near.is_empty() {
                let names = [best.name]
                    .into_iter()
                    .chain(near.iter().map(|(v, _)| v.name));
                let names: Vec<String> = names.map(str::to_owned).collect();
                let least = near.last().map_or(*most, |(_, value)| *value);
                let all = near.iter().map(|(v, _)| *v);
                return format!(
                    "{} carry most and are not told apart, {} to {}{}.",
                    format::list(&names),
                    format::number(least),
                    amount(*most),
                    but_fails([*best].into_iter().chain(all))
                );
            }
            format!(
                "{} carries most: {}{}{}.",
                best.name,
                amount(*most),
                ahead(experiment, best, *most, rest),
                but_fails([*best].into_iter())
            )
        }
    }
}

/// The others that nothing tells from the best.
fn near<'e, 'a>(
    experiment: &Experiment<'_>,
    best: &(&Variant<'_>, f64),
    others: &[(&'e Variant<'a>, f64)],
) -> Vec<(&'e Variant<'a>, f64)> {
    let others = others.iter().filter(|(v, _)| v.name != best.0.name);
    others
        .filter(|(v, value)| is_close(experiment, *best, (v, *value)))
        .copied()
        .collect()
}

/// Whoever carries most and fails must not be read as the better one.
fn but_fails<'e>(variants: impl Iterator<Item = &'e Variant<'e>>) -> String {
    let fails: Vec<String> = variants
        .filter_map(|v| Some((v.name, v.median(failed_ratio)?)))
        .filter(|(_, failed)| *failed >= FAILED)
        .map(|(name, failed)| format!("{name} fails {} of its attempts", format::percent(failed)))
        .collect();
    if fails.is_empty() {
        String::new()
    } else {
        format!(", but {}", format::list(&fails))
    }
}

/// What the best one is ahead of: its base, else the next.
fn ahead(
    experiment: &Experiment<'_>,
    best: &Variant<'_>,
    most: f64,
    rest: &[(&Variant<'_>, f64)],
) -> String {
    let of_base = experiment
        .base_of(best)
        .and_then(|base| rest.iter().find(|(v, _)| v.name == base.name));
    if let Some(text) = on_base(experiment, best) {
        return format!(", {text}");
    }
    let Some((other, value)) = of_base.or(rest.first()).filter(|(_, v)| *v > 0.0) else {
        return String::new();
    };
    let change = words::change(Scale::Ratio, most / value);
    format!(", {change} on {}", other.name)
}

/// `+80 % on 2A`, with the interval and the word where there are several runs.
fn on_base(experiment: &Experiment<'_>, variant: &Variant<'_>) -> Option<String> {
    let base = experiment.base_of(variant).filter(|base| base.is_valid())?;
    let Some(contrast) = experiment.contrast(variant) else {
        let ratio = ratio_to(variant, base)?;
        return Some(format!(
            "{} on {}",
            words::change(Scale::Ratio, ratio),
            base.name
        ));
    };
    let change = words::change(contrast.scale, contrast.estimate);
    let range = contrast.interval.map_or(String::new(), |_| {
        let range = words::range(contrast.scale, contrast.interval);
        let pairs = words::effort(contrast, Design::Paired);
        format!("95{}% interval {range}, {pairs}: ", format::NBSP)
    });
    let word = contrast.standing.word();
    Some(format!("{change} on {} ({range}{word})", base.name))
}

/// Nothing that was measured tells the two apart.
fn is_close(
    experiment: &Experiment<'_>,
    (best, most): (&Variant<'_>, f64),
    (other, value): (&Variant<'_>, f64),
) -> bool {
    let is_pair = |v: &Variant<'_>, base: &Variant<'_>| v.base == Some(base.name);
    let contrast = [(best, other), (other, best)]
        .into_iter()
        .find(|(v, base)| is_pair(v, base))
        .and_then(|(v, _)| experiment.contrast(v));
    if let Some(contrast) = contrast.filter(|contrast| contrast.runs_needed.is_none()) {
        return !matches!(contrast.standing, Standing::Better | Standing::Worse);
    }
    let range = |v: &Variant<'_>| spread(&v.figures(|f| f.goodput_per_s));
    let overlap = range(best).low.zip(range(other).high);
    let overlap = overlap.is_some_and(|(low, high)| low <= high);
    most < value * CLOSE || overlap && best.verdicts().count() > 1
}

/// What a difference is worth.
fn replication(experiment: &Experiment<'_>) -> String {
    let runs = experiment.most_runs();
    if runs <= 1 {
        return "Each variant ran once: no difference has an interval.".to_owned();
    }
    let shown = format::plural(runs, "interleaved run", "interleaved runs");
    let needed = experiment
        .variants
        .iter()
        .filter_map(|v| experiment.contrast(v)?.runs_needed);
    needed.max().map_or_else(
        || format!("Figures are medians of {shown}."),
        |needed| {
            format!(
                "Figures are medians of {shown}; so few cannot make a difference certain, which takes {needed}."
            )
        },
    )
}

/// Every variant against its base, but for the one of which the headline says it.
fn others(experiment: &Experiment<'_>, measured: &[(&Variant<'_>, f64)]) -> Option<String> {
    let best = measured
        .first()
        .filter(|best| near(experiment, best, measured).is_empty());
    let rest = experiment.variants.iter().filter(|v| {
        let is_best = best.is_some_and(|(best, _)| best.name == v.name);
        !is_best && v.is_valid()
    });
    let parts: Vec<String> = rest
        .filter_map(|v| Some(format!("{} {}", v.name, on_base(experiment, v)?)))
        .collect();
    (!parts.is_empty()).then(|| format!("Goodput against its base: {}.", format::list(&parts)))
}

/// Throughput and goodput told apart, and failures by kind.
fn failing(measured: &[(&Variant<'_>, f64)]) -> Vec<String> {
    let mut sentences = Vec::new();
    let (mut clean, mut most) = (Vec::new(), 0.0_f64);
    for (variant, _) in measured {
        if let Some(sentence) = troubles(variant) {
            sentences.push(sentence);
        } else {
            clean.push(variant.name.to_owned());
            most = most.max(variant.median(failed_ratio).unwrap_or_default());
        }
    }
    if !clean.is_empty() {
        let names = format::list(&clean);
        let one = clean.len() == 1;
        let verb = if one { "fails" } else { "fail" };
        sentences.push(if most == 0.0 {
            format!("{names} {verb} no attempt.")
        } else {
            format!(
                "{names} {verb} at most {} of attempts.",
                format::percent(most)
            )
        });
    }
    sentences
}

/// `2A answers 7,175/s, but only 1,341/s are correct and in time: 62 % of its attempts fail (eof 60 %).`
fn troubles(variant: &Variant<'_>) -> Option<String> {
    let throughput = variant.median(|f| f.throughput_per_s)?;
    let goodput = variant.median(|f| f.goodput_per_s)?;
    let failed = variant.median(failed_ratio)?;
    let is_apart = throughput - goodput > APART * throughput;
    if !is_apart && failed < FAILED {
        return None;
    }
    let mut reasons = Vec::new();
    if failed > 0.0 {
        let classes = classes(variant);
        reasons.push(format!(
            "{} of its attempts fail ({})",
            format::percent(failed),
            classes.join(", ")
        ));
    }
    let answered: f64 = Outcome::ALL
        .into_iter()
        .filter(|outcome| outcome.is_failure() && outcome.has_answer())
        .filter_map(|outcome| variant.median(|f| share(f, outcome) * f.offered_per_s))
        .sum();
    let accepted = variant
        .median(|f| share(f, Outcome::Accepted) * f.offered_per_s)
        .unwrap_or_default();
    let late = throughput - goodput - answered - accepted;
    if accepted > APART * throughput {
        let accepted = format::rate(accepted);
        reasons.push(format!("{accepted} are only accepted (202), not done"));
    }
    if late > FAILED * throughput {
        reasons.push(format!("{} come too late", format::rate(late)));
    }
    let lead = if is_apart {
        format!(
            "{} answers {}, but only {} are correct and in time",
            variant.name,
            format::rate(throughput),
            format::rate(goodput)
        )
    } else {
        format!("{} carries {}", variant.name, format::rate(goodput))
    };
    let reasons = format::list(&reasons);
    Some(if is_apart {
        format!("{lead}: {reasons}.")
    } else {
        format!("{lead}, but {reasons}.")
    })
}

/// Classes of failure with their shares, the most frequent first.
fn classes(variant: &Variant<'_>) -> Vec<String> {
    let mut shares: Vec<(Outcome, f64)> = Outcome::ALL
        .into_iter()
        .filter(|outcome| outcome.is_failure())
        .filter_map(|outcome| Some((outcome, variant.median(|f| share(f, outcome))?)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let shown = shares.iter().take(3);
    shown
        .map(|(outcome, share)| format!("{} {}", outcome.name(), format::percent(*share)))
        .collect()
}

/// The first limits, variants with the same one together, in the order of the experiment.
fn giving_way(measured: &[(&Variant<'_>, f64)]) -> Option<String> {
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    for (variant, _) in measured {
        let said = variant.first();
        let text = match &said {
            Some(said) if said.is_known() => format!("{} ({})", said.place(), said.sureness()),
            Some(said) if said.limit.cause == Cause::NotReached => "nothing yet".to_owned(),
            _ => "not known".to_owned(),
        };
        match places.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(variant.name.to_owned()),
            None => places.push((text, vec![variant.name.to_owned()])),
        }
    }
    let parts: Vec<String> = places
        .iter()
        .map(|(place, names)| format!("in {} {place}", format::list(names)))
        .collect();
    let tried = measured.iter().filter_map(|(variant, _)| {
        let said = variant.first()?;
        let word = if said.confidence == Confidence::Confirmed {
            "Confirmed"
        } else {
            "Not confirmed"
        };
        let text = unbroken(said.experiment()?);
        Some(format!(" {word} for {}: {text}.", variant.name))
    });
    let confirmed: String = tried.collect();
    (!parts.is_empty()).then(|| format!("What gives way first: {}.{confirmed}", parts.join("; ")))
}

/// Where our own thread was full, the service was not asked for all it has.
fn generator(measured: &[(&Variant<'_>, f64)]) -> Option<String> {
    let is_full = |v: &Variant<'_>| {
        let mut gates = v.verdicts().flat_map(|verdict| &verdict.gates);
        gates.any(|gate| gate.number == 6 && gate.state == GateState::Warning)
    };
    let names: Vec<String> = measured
        .iter()
        .filter(|(v, _)| is_full(v))
        .map(|(v, _)| v.name.to_owned())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "The load generator warns of itself in {} (gate 6): what they carry is a lower bound.",
            format::list(&names)
        )
    })
}

fn several_changes(experiment: &Experiment<'_>) -> Option<String> {
    let parts: Vec<String> = experiment
        .variants
        .iter()
        .filter(|v| v.changes.len() > 1)
        .filter_map(|v| Some(format!("{} and {}", v.name, v.base?)))
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Between {} more than one thing differs, so the difference cannot be put down to one of them.",
            parts.join(", and between ")
        )
    })
}

fn predicted(experiment: &Experiment<'_>, lines: Option<&LoadLines>) -> Option<String> {
    let parts: Vec<String> = experiment
        .variants
        .iter()
        .filter(|v| v.is_valid())
        .filter_map(|v| Some(format!("{} {}", v.name, prediction(experiment, v, lines)?)))
        .collect();
    (!parts.is_empty()).then(|| format!("Predicted before it was measured: {}.", parts.join("; ")))
}

fn not_valid(experiment: &Experiment<'_>) -> Option<String> {
    let mut parts = Vec::new();
    for variant in &experiment.variants {
        let invalid = variant.runs.iter().filter(|run| !run.is_valid()).count();
        if variant.runs.is_empty() || invalid == 0 {
            continue;
        }
        parts.push(if variant.is_valid() {
            let runs = format::plural(variant.runs.len() as u64, "run", "runs");
            let are = if invalid == 1 { "is" } else { "are" };
            format!(
                "{invalid} of {runs} of {} {are} not valid and not used",
                variant.name
            )
        } else {
            format!("{} has no valid run and carries no claim", variant.name)
        });
    }
    (!parts.is_empty()).then(|| {
        format!(
            "{}.",
            crate::view::sentence(&parts.join("; ")).trim_end_matches('.')
        )
    })
}
