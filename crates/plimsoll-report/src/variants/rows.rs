//! The rows of the table: what each is about, and a cell for each variant.

use plimsoll_core::Outcome;
use plimsoll_core::experiment::{Judged, Spread, TierUse, TimeSpread, Variant, VariantMeaning};
use plimsoll_core::tally::Quantile;

use super::words;
use crate::format::{self, quoted};
use crate::view::GateTally;

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
            text,
            ..Self::default()
        }
    }
}

/// What is said of every variant.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) kind: RowKind,
    pub(crate) cells: Vec<Cell>,
}

type One<'r, 'a> = (&'r Variant<'a>, &'r VariantMeaning);

struct Rows<'r, 'a> {
    experiment: &'r Judged<'a>,
    rows: Vec<Row>,
}

impl<'r, 'a> Rows<'r, 'a> {
    fn add<C: Into<Cell>>(&mut self, kind: RowKind, cell: impl Fn(One<'r, 'a>) -> C) {
        let cells = self.experiment.variants().map(|one| cell(one).into());
        let cells = cells.collect();
        self.rows.push(Row { kind, cells });
    }

    /// A row that is left out where it says nothing of any variant.
    fn add_some<C: Into<Cell>>(&mut self, kind: RowKind, cell: impl Fn(One<'r, 'a>) -> Option<C>) {
        if self.experiment.variants().any(|one| cell(one).is_some()) {
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
        self.add(kind, |(_, meaning)| words::spread(figure(meaning), show));
    }

    /// A figure that only some runs looked for.
    fn after(
        &mut self,
        kind: RowKind,
        figure: fn(&VariantMeaning) -> Spread,
        show: fn(f64) -> String,
    ) {
        self.add_some(kind, |(_, meaning)| {
            let spread = figure(meaning);
            spread.median.map(|_| words::spread(spread, show))
        });
    }

    fn times(&mut self, kind: RowKind, figure: fn(&VariantMeaning) -> Option<TimeSpread>) {
        self.add(kind, |(_, meaning)| {
            let spread = figure(meaning);
            Cell {
                is_never: spread.is_some_and(|spread| spread.median == Quantile::Never),
                ..Cell::from(words::times(spread))
            }
        });
    }
}

pub(crate) fn all(experiment: &Judged<'_>) -> Vec<Row> {
    let mut rows = Rows {
        experiment,
        rows: Vec::new(),
    };
    figures(&mut rows);
    after(&mut rows);
    at_the_objective(&mut rows);
    tiers(&mut rows);
    judgement(&mut rows);
    rows.rows
}

fn figures(rows: &mut Rows<'_, '_>) {
    let experiment = rows.experiment;
    rows.spread(RowKind::Goodput, |m| m.goodput_per_s, format::rate);
    rows.add_some(RowKind::AgainstBase, |(_, meaning)| {
        let difference = meaning.on_base.as_ref()?;
        Some(words::against_base(experiment, difference))
    });
    rows.spread(RowKind::Throughput, |m| m.throughput_per_s, format::rate);
    rows.spread(RowKind::Offered, |m| m.offered_per_s, format::rate);
    rows.spread(RowKind::Failed, |m| m.failed_ratio, format::percent);
    for outcome in &experiment.meaning.failures {
        let share = |meaning: &VariantMeaning| {
            let mut classes = meaning.classes.iter();
            let found = classes.find(|(class, _)| class == outcome);
            found.map(|(_, spread)| *spread).unwrap_or_default()
        };
        rows.spread(RowKind::Class(*outcome), share, format::percent);
    }
}

fn after(rows: &mut Rows<'_, '_>) {
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
}

fn at_the_objective(rows: &mut Rows<'_, '_>) {
    rows.add(RowKind::Capacity, |(_, meaning)| {
        words::capacity(&meaning.capacity)
    });
    rows.add_some(RowKind::Predicted, |(_, meaning)| {
        meaning.foreseen.as_ref().map(words::prediction)
    });
    rows.times(RowKind::P50, |m| m.p50);
    rows.times(RowKind::P95, |m| m.p95);
    rows.times(RowKind::P99, |m| m.p99);
}

fn tiers(rows: &mut Rows<'_, '_>) {
    rows.add_some(RowKind::Cost, |(_, meaning)| {
        meaning.cost_seconds.map(|cost| format::seconds(cost * 1e3))
    });
    rows.add_some(RowKind::GoodputPerCore, |(_, meaning)| {
        meaning.goodput_per_core.map(format::rate)
    });
    for tier in tier_names(rows.experiment) {
        let found = |meaning: &'_ VariantMeaning| -> Option<TierUse> {
            meaning.tiers.iter().find(|one| one.tier == tier).cloned()
        };
        rows.add_some(RowKind::Tier(tier.clone()), |(_, meaning)| {
            found(meaning).map(|tier| {
                let times = match tier.instances {
                    1 => String::new(),
                    n => format!("{n} instances: "),
                };
                Cell {
                    busy: tier.busy_ratio.map(|busy| (busy, tier.is_full)),
                    ..Cell::from(format!("{times}{}", words::busy(&tier)))
                }
            })
        });
    }
    rows.add_some(RowKind::InFlight, |(_, meaning)| most_in_flight(meaning));
    rows.add_some(RowKind::Pools, |(_, meaning)| pools(meaning));
}

fn most_in_flight(meaning: &VariantMeaning) -> Option<String> {
    let bounds = meaning.tiers.iter().filter_map(|tier| {
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
    let pools = meaning.pools.iter().map(|pool| {
        let used = format::percent(pool.used_ratio);
        let size = pool.size.map_or(format::ABSENT.to_owned(), format::number);
        format!("{used} of {size} in {}", pool.tier)
    });
    let pools: Vec<String> = pools.collect();
    (!pools.is_empty()).then(|| pools.join("; "))
}

/// Tiers of all variants in the order of their first start.
pub(crate) fn tier_names(experiment: &Judged<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for tier in experiment.meaning.variants.iter().flat_map(|m| &m.tiers) {
        if !names.contains(&tier.tier) {
            names.push(tier.tier.clone());
        }
    }
    names
}

fn judgement(rows: &mut Rows<'_, '_>) {
    rows.add_some(RowKind::Objectives, |(variant, _)| {
        let is_asked = variant.verdicts().any(|f| !f.objectives.is_empty());
        is_asked.then(|| {
            words::of_runs(variant, |_, verdict| {
                let parts: Vec<String> = verdict
                    .objectives
                    .iter()
                    .map(|o| format!("{}: {:?}", o.clause, o.judgement).to_lowercase())
                    .collect();
                parts.join(", ")
            })
        })
    });
    rows.add(RowKind::FirstLimit, |(_, meaning)| {
        words::first_limit(meaning)
    });
    rows.add(RowKind::NextLimit, |(_, meaning)| {
        let next = meaning.next_limit.as_ref();
        next.map_or(format::ABSENT.to_owned(), words::next_limit)
    });
    rows.add(RowKind::Gates, |(variant, _)| {
        words::of_runs(variant, |_, verdict| GateTally::new(&verdict.gates).words())
    });
    rows.add_some(RowKind::ConfinedBy, |(_, meaning)| confined(meaning));
    rows.add(RowKind::DiffersIn, |(variant, _)| {
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
        .iter()
        .map(|tier| format!("{}: {}", tier.tier, tier.isolation.join(", ")))
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}
