//! The rows of the table: what each is about, and a cell for each variant.

use std::collections::BTreeMap;

use plimsoll_core::Outcome;
use plimsoll_core::experiment::{
    Difference, Judged, NextClaim, Recovery, RunClaim, Spread, TierUse, TimeSpread, Variant,
    VariantMeaning,
};
use plimsoll_core::record::Record;
use plimsoll_core::tally::Quantile;
use plimsoll_core::verdict::Verdict;

use super::words::{self, Words, spread};
use crate::format::{self, quoted};
use crate::view::{GateTally, comparison};

/// What a row is about, in the order of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowKind {
    Goodput,
    AgainstBase,
    Throughput,
    Offered,
    Failed,
    Class(Outcome),
    Accepted,
    Stored,
    Backlog,
    Drained,
    Left,
    Lost,
    Recovery,
    Capacity,
    Predicted,
    P50,
    P95,
    P99,
    Cost,
    GoodputPerCore,
    /// The processors of a tier.
    Tier(String),
    InFlight,
    Pools,
    Objectives,
    FirstLimit,
    NextLimit,
    Gates,
    ConfinedBy,
    DiffersIn,
}

impl RowKind {
    pub(crate) fn name(&self) -> String {
        let name = match self {
            Self::Goodput => "goodput",
            Self::AgainstBase => "against its base",
            Self::Throughput => "throughput",
            Self::Offered => "offered",
            Self::Failed => "failed",
            Self::Class(outcome) => outcome.name(),
            Self::Accepted => "accepted",
            Self::Stored => "stored",
            Self::Backlog => "backlog at the end",
            Self::Drained => "drained in",
            Self::Left => "left after the wait",
            Self::Lost => "lost, at least",
            Self::Recovery => "as before after",
            Self::Capacity => "capacity at the objective",
            Self::Predicted => "predicted",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Cost => "CPU per 1,000 good answers",
            Self::GoodputPerCore => "goodput per core given",
            Self::Tier(tier) => return format!("CPU of {tier}"),
            Self::InFlight => "most in flight",
            Self::Pools => "pools in use",
            Self::Objectives => "objectives",
            Self::FirstLimit => "gives way first",
            Self::NextLimit => "then",
            Self::Gates => "gates",
            Self::ConfinedBy => "confined by",
            Self::DiffersIn => "differs in",
        };
        name.to_owned()
    }

    /// Part of the row above.
    pub(crate) fn is_part(&self) -> bool {
        matches!(self, Self::AgainstBase | Self::Class(_) | Self::Predicted)
    }

    /// Fills a page with what nobody compares; the method has it.
    pub(crate) fn is_detail(&self) -> bool {
        matches!(self, Self::ConfinedBy | Self::DiffersIn)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// How busy something is, for a bar, and whether that is full.
    pub(crate) busy: Option<(f64, bool)>,
    /// A time that is never reached.
    pub(crate) is_never: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text: format::clean(&text),
            ..Self::default()
        }
    }
}

/// What is said of every variant.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) kind: RowKind,
    /// What the row is about; a part of the row above is indented.
    pub(crate) label: String,
    pub(crate) cells: Vec<Cell>,
}

type One<'r> = (&'r Variant<'r>, &'r VariantMeaning, &'r Words);

struct Rows<'r> {
    all: Vec<One<'r>>,
    rows: Vec<Row>,
}

impl<'r> Rows<'r> {
    fn add<C: Into<Cell>>(&mut self, kind: RowKind, cell: impl Fn(One<'r>) -> C) {
        let cells = self.all.iter().map(|one| cell(*one).into()).collect();
        let indent = if kind.is_part() { "  " } else { "" };
        let label = format!("{indent}{}", kind.name());
        self.rows.push(Row { kind, label, cells });
    }

    /// A row that is left out where it says nothing of any variant.
    fn add_some<C: Into<Cell>>(&mut self, kind: RowKind, cell: impl Fn(One<'r>) -> Option<C>) {
        if self.all.iter().any(|one| cell(*one).is_some()) {
            self.add(kind, |one| {
                cell(one).map_or(Cell::from(format::ABSENT.to_owned()), Into::into)
            });
        }
    }

    fn spread(
        &mut self,
        kind: RowKind,
        figure: impl Fn(&VariantMeaning) -> Spread,
        show: fn(f64) -> String,
    ) {
        self.add(kind, |(_, meaning, _)| spread(figure(meaning), show));
    }

    /// A figure that only some runs looked for.
    fn after(
        &mut self,
        kind: RowKind,
        figure: fn(&VariantMeaning) -> Spread,
        show: fn(f64) -> String,
    ) {
        self.add_some(kind, |(_, meaning, _)| {
            let figure = figure(meaning);
            figure.median.map(|_| spread(figure, show))
        });
    }

    fn times(&mut self, kind: RowKind, figure: fn(&VariantMeaning) -> Option<TimeSpread>) {
        self.add(kind, |(_, meaning, _)| {
            let spread = figure(meaning);
            Cell {
                is_never: spread.is_some_and(|spread| spread.median == Quantile::Never),
                ..Cell::from(times(spread))
            }
        });
    }
}

pub(super) fn all(judged: &Judged<'_>, words: &[Words]) -> Vec<Row> {
    let all = judged.variants().zip(words);
    let mut rows = Rows {
        all: all
            .map(|((variant, meaning), words)| (variant, meaning, words))
            .collect(),
        rows: Vec::new(),
    };
    figures(&mut rows, &judged.meaning.failures);
    after(&mut rows);
    at_the_objective(&mut rows);
    tiers(&mut rows);
    judgement(&mut rows);
    rows.rows
}

fn figures(rows: &mut Rows<'_>, failures: &[Outcome]) {
    rows.spread(RowKind::Goodput, |m| m.goodput_per_s, format::rate);
    rows.add_some(RowKind::AgainstBase, |(variant, meaning, _)| {
        Some(against_base(meaning.on_base.as_ref()?, variant.base?))
    });
    rows.spread(RowKind::Throughput, |m| m.throughput_per_s, format::rate);
    rows.spread(RowKind::Offered, |m| m.offered_per_s, format::rate);
    rows.spread(RowKind::Failed, |m| m.failed_ratio, format::percent);
    for outcome in failures {
        let share = |meaning: &VariantMeaning| {
            let mut classes = meaning.classes.iter();
            let found = classes.find(|(class, _)| class == outcome);
            found.map(|(_, spread)| *spread).unwrap_or_default()
        };
        rows.spread(RowKind::Class(*outcome), share, format::percent);
    }
}

/// `+80 % on ‘2A’ (+71 to +88 %), ▲ better`, `+80 % on ‘2A’, no interval`
fn against_base(by: &Difference, base: &str) -> String {
    let lead = words::on_other(by, base);
    let Some(tested) = by.tested else {
        return format!("{lead}, no interval");
    };
    let interval = tested.interval.map_or("no interval".to_owned(), |_| {
        comparison::range(by.scale, tested.interval)
    });
    let (sign, word) = (comparison::sign(tested.standing), tested.standing.word());
    format!("{lead} ({interval}), {sign} {word}")
}

fn after(rows: &mut Rows<'_>) {
    let count = |value: f64| format::count(value as u64);
    rows.after(RowKind::Accepted, |m| m.after.accepted_per_s, format::rate);
    rows.after(RowKind::Stored, |m| m.after.stored_per_s, format::rate);
    rows.after(RowKind::Backlog, |m| m.after.backlog_count, count);
    rows.after(
        RowKind::Drained,
        |m| m.after.drained_seconds,
        format::seconds,
    );
    rows.after(RowKind::Left, |m| m.after.left_count, count);
    rows.after(RowKind::Lost, |m| m.after.lost_count, count);
    rows.add_some(RowKind::Recovery, |(_, meaning, _)| {
        meaning.recovery.as_ref().map(recovered)
    });
}

/// `2.00 s (1.00 s–3.00 s)`, `not within 8.00 s`, `2.00 s; not within 8.00 s (1 of 3)`
fn recovered(recovery: &Recovery) -> String {
    let lost = format!("not within {}", format::seconds(recovery.watched_seconds));
    let back = spread(recovery.seconds, format::seconds);
    match (recovery.lost_count, recovery.runs_count) {
        (0, _) => back,
        (lost_count, runs_count) if lost_count == runs_count => lost,
        (lost_count, runs_count) => format!("{back}; {lost} ({lost_count} of {runs_count})"),
    }
}

fn at_the_objective(rows: &mut Rows<'_>) {
    rows.add(RowKind::Capacity, |(.., words)| words.capacity.clone());
    rows.add_some(RowKind::Predicted, |(.., words)| words.prediction.clone());
    rows.times(RowKind::P50, |m| m.p50);
    rows.times(RowKind::P95, |m| m.p95);
    rows.times(RowKind::P99, |m| m.p99);
}

fn tiers(rows: &mut Rows<'_>) {
    rows.add_some(RowKind::Cost, |(_, meaning, _)| {
        meaning
            .tiers
            .cost_seconds
            .map(|cost| format::seconds(cost * 1e3))
    });
    rows.add_some(RowKind::GoodputPerCore, |(_, meaning, _)| {
        meaning.goodput_per_core.map(format::rate)
    });
    for tier in tier_names(rows.all.iter().map(|(_, meaning, _)| *meaning)) {
        let found = |meaning: &'_ VariantMeaning| -> Option<TierUse> {
            meaning
                .tiers
                .each
                .iter()
                .find(|one| one.tier == tier)
                .cloned()
        };
        rows.add_some(RowKind::Tier(tier.clone()), |(_, meaning, _)| {
            found(meaning).map(|tier| {
                let times = match tier.instances {
                    1 => String::new(),
                    n => format!("{n} instances: "),
                };
                Cell {
                    busy: tier.busy_ratio.map(|busy| (busy, tier.is_full)),
                    ..Cell::from(format!("{times}{}", busy(&tier)))
                }
            })
        });
    }
    rows.add_some(RowKind::InFlight, |(_, meaning, _)| most_in_flight(meaning));
    rows.add_some(RowKind::Pools, |(_, meaning, _)| pools(meaning));
}

fn most_in_flight(meaning: &VariantMeaning) -> Option<String> {
    let bounds = meaning.tiers.each.iter().filter_map(|tier| {
        let (limit, count) = tier.takes.as_ref()?;
        Some(format!(
            "{} takes {} ({limit})",
            tier.tier,
            format::number(*count)
        ))
    });
    let parts = [format::count(meaning.wire_max)].into_iter().chain(bounds);
    let parts: Vec<String> = parts.collect();
    (meaning.wire_max > 0).then(|| parts.join("; "))
}

fn pools(meaning: &VariantMeaning) -> Option<String> {
    let pools = meaning.tiers.pools.iter().map(|pool| {
        let used = format::percent(pool.used_ratio);
        let size = pool.size.map_or(format::ABSENT.to_owned(), format::number);
        format!("{used} of {size} in {}", pool.tier)
    });
    let pools: Vec<String> = pools.collect();
    (!pools.is_empty()).then(|| pools.join("; "))
}

/// Tiers of all variants in the order of their first start.
pub(crate) fn tier_names<'m>(all: impl Iterator<Item = &'m VariantMeaning>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for tier in all.flat_map(|meaning| &meaning.tiers.each) {
        if !names.contains(&tier.tier) {
            names.push(tier.tier.clone());
        }
    }
    names
}

fn judgement(rows: &mut Rows<'_>) {
    rows.add_some(RowKind::Objectives, |(variant, ..)| {
        let is_asked = variant.verdicts().any(|f| !f.objectives.is_empty());
        is_asked.then(|| {
            of_runs(variant, |_, verdict| {
                let parts: Vec<String> = verdict
                    .objectives
                    .iter()
                    .map(|o| format!("{}: {:?}", o.clause, o.judgement).to_lowercase())
                    .collect();
                parts.join(", ")
            })
        })
    });
    rows.add(RowKind::FirstLimit, |(_, meaning, _)| first_limit(meaning));
    rows.add(RowKind::NextLimit, |(_, meaning, _)| {
        let next = meaning.limits.next.as_ref();
        next.map_or(format::ABSENT.to_owned(), next_limit)
    });
    rows.add(RowKind::Gates, |(variant, ..)| {
        of_runs(variant, |_, verdict| GateTally::new(&verdict.gates).words())
    });
    rows.add_some(RowKind::ConfinedBy, |(_, meaning, _)| confined(meaning));
    rows.add(RowKind::DiffersIn, |(variant, ..)| {
        match (variant.base, variant.changes) {
            (None, _) => format::ABSENT.to_owned(),
            (Some(base), []) => format!("nothing from {}", quoted(base)),
            (Some(_), changes) => changes.join("; "),
        }
    });
}

/// `app: quota of 0.35 core; db: quota of 0.3 core`
fn confined(meaning: &VariantMeaning) -> Option<String> {
    let words: Vec<String> = meaning
        .tiers
        .each
        .iter()
        .map(|tier| format!("{}: {}", tier.tier, tier.isolation.join(", ")))
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn times(spread: Option<TimeSpread>) -> String {
    spread.map_or(format::ABSENT.to_owned(), |spread| {
        let show = |quantile| format::quantile(Some(quantile));
        let (low, high) = (show(spread.low), show(spread.high));
        words::ranged(show(spread.median), Some(low), Some(high))
    })
}

fn first_limit(meaning: &VariantMeaning) -> String {
    let moved = meaning.limits.first.as_ref();
    if let Some(claim) = moved.filter(|claim| claim.limit.experiment().is_some()) {
        return format!("{}, {}", words::limit(claim), words::sureness(claim));
    }
    counted(meaning.limits.of_runs.iter().map(|claim| match claim {
        RunClaim::Nothing => "not said".to_owned(),
        RunClaim::NotValid => "not said: the run is not valid".to_owned(),
        RunClaim::Limit(claim) if claim.limit.cause.is_known() => {
            format!("{}, {}", words::limit(claim), words::sureness(claim))
        }
        RunClaim::Limit(claim) => words::limit(claim),
    }))
}

fn next_limit(next: &NextClaim) -> String {
    format!(
        "{} of {}, predicted full at {}",
        next.resource,
        words::location(&next.location),
        format::rate(next.full_at_per_s)
    )
}

/// `97 % of 0.35 cores, throttled in 80 % of periods`
fn busy(tier: &TierUse) -> String {
    let Some(used) = tier.cores_used else {
        return "not seen".to_owned();
    };
    let mut text = match (tier.busy_ratio, tier.cores_given) {
        (Some(busy), Some(given)) => {
            format!("{} of {}", format::percent(busy), format::cores(given))
        }
        _ => format!("{} used", format::cores(used)),
    };
    if let Some(throttled) = tier.throttled_ratio.filter(|_| tier.is_throttled) {
        let share = format::percent(throttled);
        put!(text, ", throttled in {share} of periods");
    }
    text
}

/// What the runs that are shown say, each text with how often it occurred, the most frequent first.
fn of_runs(variant: &Variant<'_>, say: impl Fn(&Record, &Verdict) -> String) -> String {
    let records = variant.shown().map(|run| run.record);
    counted(records.filter_map(|record| Some(say(record, record.verdict.as_ref()?))))
}

fn counted(texts: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let mut texts: Vec<(u64, String)> = counts.into_iter().map(|(t, n)| (n, t)).collect();
    texts.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    match texts.as_slice() {
        [] => format::ABSENT.to_owned(),
        [(_, text)] => text.clone(),
        several => {
            let parts: Vec<String> = several
                .iter()
                .map(|(count, text)| format!("{text} ({count}×)"))
                .collect();
            parts.join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Nanos;
    use plimsoll_core::tally::Quantile;

    use super::*;

    #[test]
    fn one_run_shows_no_range_and_several_show_theirs() {
        let of = |median, low, high| Spread {
            median: Some(median),
            low: Some(low),
            high: Some(high),
        };
        assert_eq!(spread(of(412.0, 412.0, 412.0), format::rate), "412/s");
        assert_eq!(
            spread(of(412.0, 404.0, 421.0), format::rate),
            "412/s (404/s–421/s)"
        );
        assert_eq!(spread(Spread::default(), format::rate), format::ABSENT);
    }

    #[test]
    fn runs_that_did_not_come_back_are_not_averaged_away() {
        let of = |lost_count, runs_count| Recovery {
            seconds: Spread {
                median: Some(2.0),
                low: Some(1.0),
                high: Some(3.0),
            },
            lost_count,
            runs_count,
            watched_seconds: 8.0,
        };
        let back = spread(of(0, 3).seconds, format::seconds);
        assert_eq!(recovered(&of(0, 3)), back);
        let lost = format!("not within {}", format::seconds(8.0));
        assert_eq!(recovered(&of(3, 3)), lost);
        assert_eq!(recovered(&of(1, 3)), format!("{back}; {lost} (1 of 3)"));
    }

    #[test]
    fn never_ends_a_range_of_times() {
        let at = |ms| Quantile::At(Nanos::from_millis(ms));
        let (low, median) = (at(10), at(20));
        let high = Quantile::Never;
        let spread = TimeSpread { median, low, high };
        assert_eq!(times(Some(spread)), "20.0\u{a0}ms (10.0\u{a0}ms–never)");
        assert_eq!(times(None), format::ABSENT);
    }
}
