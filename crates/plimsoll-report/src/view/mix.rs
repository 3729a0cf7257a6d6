//! What was done, operation by operation or request by request and database by database, and what was found stored.

use plimsoll_core::Tally;
use plimsoll_core::record::{Record, Verified};
use plimsoll_core::test::workload::Operation;
use plimsoll_core::window::{Effects, merge_effects};

use crate::format;

/// A workload's part of a view, or that of requests by name: of the level that the summary describes.
#[derive(Debug)]
pub(crate) struct MixView {
    pub(crate) operations: Vec<(String, Tally)>,
    pub(crate) databases: Vec<DatabaseRow>,
    pub(crate) verified: Option<Verified>,
    seconds: f64,
    pub(crate) is_store: bool,
}

#[derive(Debug)]
pub(crate) struct DatabaseRow {
    pub(crate) name: String,
    pub(crate) effects: Effects,
    /// In the mean.
    pub(crate) wire: f64,
    pub(crate) acknowledged_per_s: f64,
}

const OPERATION_HEADS: [&str; 7] = [
    "<operation",
    "per second",
    "ended",
    "failed",
    "p50",
    "p95",
    "p99",
];
pub(crate) const DATABASE_HEADS: [&str; 7] = [
    "<database",
    "acknowledged/s",
    "on the wire",
    "at most",
    "commands/operation",
    "documents asked for",
    "done",
];

impl MixView {
    /// None where all requests have one name.
    pub(super) fn new(record: &Record, level: u32) -> Option<Self> {
        let test = &record.header.test;
        let workload = test.workload();
        let names: Vec<String> = match (workload, test.url()) {
            (Some(_), _) => Operation::ALL.map(|it| it.name().to_owned()).into(),
            (_, Some(url)) => url.variation.mix.as_ref()?.names.clone(),
            (None, None) => return None,
        };
        let mut operations: Vec<(String, Tally)> = names
            .into_iter()
            .map(|name| (name, Tally::default()))
            .collect();
        let (mut effects, mut seconds) = (Vec::new(), 0.0);
        for window in record.judged_windows(level) {
            for ((_, mine), theirs) in operations.iter_mut().zip(&window.operations) {
                mine.merge(theirs);
            }
            merge_effects(&mut effects, &window.databases);
            seconds += window.length_ns.as_secs_f64();
        }
        let per_s = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let databases = workload
            .into_iter()
            .flat_map(|workload| &workload.databases)
            .zip(effects)
            .map(|(database, effects)| DatabaseRow {
                name: database.name.clone(),
                wire: per_s(effects.wire_seconds),
                acknowledged_per_s: per_s(effects.acknowledged_count as f64),
                effects,
            });
        let played = operations
            .into_iter()
            .filter(|(_, tally)| tally.attempts() > 0);
        Some(Self {
            databases: databases.collect(),
            operations: played.collect(),
            verified: record.after.as_ref().and_then(|after| after.verified),
            seconds,
            is_store: workload.is_some(),
        })
    }

    pub(crate) fn title(&self) -> &'static str {
        if self.is_store {
            "The store"
        } else {
            "The requests"
        }
    }

    /// What [`Self::operation_cells`] are.
    pub(crate) fn operation_heads(&self) -> [&'static str; 7] {
        let mut heads = OPERATION_HEADS;
        if !self.is_store {
            heads[0] = "<request";
        }
        heads
    }

    /// In the order of the heads.
    pub(crate) fn operation_cells(&self, (operation, tally): &(String, Tally)) -> [String; 7] {
        let per_s = if self.seconds > 0.0 {
            tally.attempts() as f64 / self.seconds
        } else {
            0.0
        };
        let [p50, p95, p99] =
            [0.5, 0.95, 0.99].map(|q| format::quantile(tally.response_quantile(q)));
        [
            operation.clone(),
            format::number(per_s),
            format::count(tally.attempts()),
            format::percent(tally.failed_ratio().unwrap_or(0.0)),
            p50,
            p95,
            p99,
        ]
    }

    /// `12 check_failed, 3 timeout`
    pub(crate) fn kinds(tally: &Tally) -> String {
        let kinds = tally.occurred().filter(|(kind, _)| kind.is_failure());
        let kinds: Vec<String> = kinds
            .map(|(kind, class)| {
                let count = format::count(class.count);
                format!("{count}{}{}", format::NBSP, kind.name())
            })
            .collect();
        kinds.join(", ")
    }

    /// What the documents were found to be.
    pub(crate) fn verified_words(&self) -> Option<(bool, String)> {
        let verified = self.verified?;
        let broken = verified.broken_count();
        let unknown = match verified.unknown_count {
            0 => String::new(),
            count => format!(
                "; {} left out, whose last operation ended without an answer",
                format::count(count)
            ),
        };
        let intact = format::count(verified.intact_count);
        let expected = format::count(verified.expected_count);
        let words = if broken == 0 {
            format!("all {expected} documents are there with every acknowledged write{unknown}")
        } else {
            format!(
                "{intact} of {expected} documents are there with every acknowledged write: {} missing, {} without an acknowledged \
                 update, {} deleted and there, {} not asked for{unknown}",
                format::count(verified.missing_count),
                format::count(verified.stale_count),
                format::count(verified.undead_count),
                format::count(verified.unasked_count)
            )
        };
        Some((broken == 0, words))
    }
}

impl DatabaseRow {
    /// In the order of [`DATABASE_HEADS`].
    pub(crate) fn cells(&self) -> [String; 7] {
        let effects = &self.effects;
        let commands = effects.commands_count as f64 / (effects.attempts_count.max(1)) as f64;
        [
            self.name.clone(),
            format::number(self.acknowledged_per_s),
            plimsoll_core::units::three_digits(self.wire),
            format::count(effects.wire_max),
            format!("{commands:.2}"),
            format::count(effects.asked_count),
            format::count(effects.done()),
        ]
    }
}
