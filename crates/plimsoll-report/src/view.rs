//! The one reading of a record that every rendering shares.

mod admission;
pub mod comparison;
mod curve;
mod figures;
mod gates;
mod level;
mod limit;
mod mix;
mod script;
mod spectrum;

pub mod sweep;
mod timeline;
mod varied;
mod words;

pub(crate) use admission::{Admission, Moment, Rates, admissions};
pub(crate) use curve::CurvePoint;
pub use figures::{Figure, FigureKind};
pub use gates::GateTally;
pub(crate) use gates::{state_sign, state_word};
pub use level::LevelView;
pub(crate) use level::{load_words, phase_word};
pub(crate) use limit::{TierRow, confidence_sentence, limit_sentence};
pub(crate) use mix::{DATABASE_HEADS, DatabaseRow, MixView};
pub(crate) use script::{NameRow, ScriptView, group_name};
pub(crate) use spectrum::Spectrum;

pub(crate) use timeline::{Bin, Lane, Span, Timeline};
pub(crate) use varied::Varied;
pub(crate) use words::left_out;

use plimsoll_core::Nanos;
use plimsoll_core::guarding;
use plimsoll_core::record::{Record, Remark, Said};
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Judgement, Verdict};
use serde_json::{Value, json};

use crate::format;

/// What kind of question the run asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A search for the load line.
    Find,
    /// One load, played once.
    Run,
}

/// What can be said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// A search with both bounds, or a run whose objective was held.
    Held,
    /// A run whose objective was missed, or a search in which no rate held it.
    Missed,
    /// A search that held the highest rate it was allowed to offer.
    NotReached,
    /// The evidence does not decide.
    Undecided,
    /// A run without objectives.
    Measured,
    /// A gate failed.
    Invalid,
    /// A signal ended the run, or the record ends without a verdict.
    Interrupted,
}

/// A record, read for showing. Numbers stay numbers; [`mod@format`] makes them text.
#[derive(Debug)]
pub struct View<'a> {
    pub(crate) record: &'a Record,
    pub(crate) kind: Kind,
    pub conclusion: Conclusion,
    /// The verdict as one sentence.
    pub headline: String,
    /// At most four sentences below it.
    pub(crate) lede: Vec<String>,
    pub figures: Vec<Figure>,
    /// Levels against the target in the order they were played.
    pub levels: Vec<LevelView>,
    /// What the points of the load line differ in.
    pub(crate) varied: Varied,
    /// Index in `levels` of the level that the summary describes.
    deciding: Option<LevelView>,
    pub gates: GateTally,
    /// What a script counted itself, in the levels that the summary describes.
    pub(crate) script: Option<ScriptView>,
    /// What a workload did to its databases, or each request by its name, in the level that the summary describes.
    pub(crate) mix: Option<MixView>,
    /// From the start of the run to the end of its last window.
    pub(crate) elapsed: Nanos,
    /// What a reader has to know before believing anything else.
    pub(crate) warnings: Vec<String>,
}

impl<'a> View<'a> {
    /// Reads a record for showing. A record without a verdict, or without a single window, has a
    /// view too: it says so.
    pub fn new(record: &'a Record) -> Self {
        let kind = kind_of(record);
        let conclusion = conclusion_of(record, kind);
        let levels = level::all(record);
        let deciding = match &record.verdict {
            Some(verdict) => level::deciding(record, verdict),
            None => levels.last().cloned(),
        };
        let gates = GateTally::new(record.verdict.as_ref().map_or(&[], |v| &v.gates));
        let elapsed = record
            .windows
            .iter()
            .map(plimsoll_core::Window::end_ns)
            .max();
        let shown = deciding.as_ref().map(|level| level.level);
        let mut view = Self {
            record,
            kind,
            conclusion,
            headline: String::new(),
            lede: Vec::new(),
            figures: Vec::new(),
            varied: Varied::new(&levels, record.header.test.workload().is_some()),
            levels,
            deciding,
            gates,
            script: ScriptView::new(record),
            mix: shown.and_then(|level| MixView::new(record, level)),
            elapsed: elapsed.unwrap_or_default(),
            warnings: warnings(record),
        };
        view.headline = words::headline(&view);
        view.lede = words::lede(&view);
        view.figures = figures::all(&view);
        view
    }

    pub fn verdict(&self) -> Option<&'a Verdict> {
        self.record.verdict.as_ref()
    }

    /// Whether anything may be concluded: not from a run that is not valid, nor from one that did not come to its end.
    pub(crate) fn concludes(&self) -> bool {
        !matches!(
            self.conclusion,
            Conclusion::Invalid | Conclusion::Interrupted
        )
    }

    /// The command that starts a guard at the load line that was found; without a path the record is `RECORD`.
    pub(crate) fn guard_line(&self, path: Option<&str>) -> Option<String> {
        let is_found = self.kind == Kind::Find && self.concludes();
        let record = self.record;
        is_found.then(|| guarding::guard_line(record, path.unwrap_or("RECORD")))?
    }

    /// The same with its figures, for machines.
    pub(crate) fn guard(&self) -> Option<Value> {
        let command = self.guard_line(None)?;
        let start = guarding::guard_start(self.record).ok()?;
        Some(json!({
            "command": command,
            "limit_start": start.limit,
            "limit_start_from": start.from.name(),
            "load_line_per_s": start.load_line_per_s,
        }))
    }

    pub(crate) fn title(&self) -> &'a str {
        &self.record.header.title
    }

    pub fn deciding_level(&self) -> Option<&LevelView> {
        self.deciding.as_ref()
    }

    /// The objectives as written: `p99 < 250 ms, errors < 0.1 %`.
    pub(crate) fn objective(&self) -> Option<String> {
        let objectives = self.record.header.test.objectives()?;
        Some(unbroken(&objectives.to_string()))
    }

    /// Levels that count as points of the load line: one rate or one number of virtual users, played to
    /// be judged.
    pub fn load_line(&self) -> Vec<&LevelView> {
        let mut points: Vec<&LevelView> = self
            .levels
            .iter()
            .filter(|level| level.is_point())
            .collect();
        points.sort_by(|a, b| a.size.total_cmp(&b.size));
        points
    }

    /// The load line with trials of one rate merged; the repeated first level is left out.
    pub(crate) fn curve(&self) -> Vec<CurvePoint> {
        let mut levels = self.load_line();
        levels.retain(|level| level.phase != Phase::Repeat);
        curve::points(&levels)
    }

    pub(crate) fn voids(&self) -> usize {
        self.levels.iter().filter(|level| level.is_void()).count()
    }
}

/// A figure that came as text: whole numbers get their thousands, units stay on the line.
pub(crate) fn figure(text: &str) -> String {
    text.parse().map_or_else(|_| unbroken(text), format::count)
}

/// Keeps every number of an objective on a line with its unit.
pub(crate) fn unbroken(text: &str) -> String {
    let space = format::NBSP.to_string();
    let text = text.replace(" < ", &format!("{space}<{space}"));
    ["ms", "s", "µs", "ns", "%"]
        .into_iter()
        .fold(text, |text, unit| {
            text.replace(&format!(" {unit}"), &format!("{space}{unit}"))
        })
}

fn kind_of(record: &Record) -> Kind {
    let found = record
        .verdict
        .as_ref()
        .is_some_and(|verdict| verdict.found.capacity().is_some() || verdict.found.converged);
    if record.header.test.is_search() || found {
        Kind::Find
    } else {
        Kind::Run
    }
}

fn conclusion_of(record: &Record, kind: Kind) -> Conclusion {
    let Some(verdict) = &record.verdict else {
        return Conclusion::Interrupted;
    };
    if record.interrupted_at().is_some() {
        return Conclusion::Interrupted;
    }
    if !verdict.valid || verdict.verdict == Judgement::Invalid {
        return Conclusion::Invalid;
    }
    if kind == Kind::Find {
        return match verdict.found.capacity() {
            _ if verdict.found.is_hopeless() || verdict.found.is_refuted() => Conclusion::Missed,
            None if verdict.verdict == Judgement::Fail => Conclusion::Missed,
            None => Conclusion::Undecided,
            Some(bounds) if bounds.lower.is_none() || !verdict.found.converged => {
                Conclusion::Undecided
            }
            Some(bounds) if bounds.upper.is_none() && verdict.found.is_at_least() => {
                Conclusion::NotReached
            }
            Some(_) => Conclusion::Held,
        };
    }
    match verdict.verdict {
        Judgement::Pass => Conclusion::Held,
        Judgement::Fail => Conclusion::Missed,
        Judgement::None => Conclusion::Measured,
        Judgement::Inconclusive | Judgement::Invalid => Conclusion::Undecided,
    }
}

fn warnings(record: &Record) -> Vec<String> {
    let mut warnings: Vec<String> = record
        .remarks
        .iter()
        .filter_map(|remark| match remark {
            Remark::TornLastLine { line } => Some(format!(
                "Line {} of the record was cut off while it was written; it is left out.",
                format::count(*line as u64)
            )),
            Remark::UnknownKind { line, kind } => Some(format!(
                "Line {} of the record is of a kind this version does not know (`{kind}`); it is left out.",
                format::count(*line as u64)
            )),
            Remark::FoundAsStored => Some(
                "What the search found is taken from its verdict line: this version cannot play the search again, because the record lacks what that takes or its search went by other rules."
                    .to_owned(),
            ),
            Remark::Says(said) => Some(sentence(&stored_words(said))),
            // The headline says it, or gate 2.
            Remark::NoVerdict
            | Remark::SecondVerdict { .. }
            | Remark::Altered { .. }
            | Remark::Departs { .. } => None,
        })
        .collect();
    if let Some(verdict) = &record.verdict {
        warnings.extend(
            verdict
                .found
                .remarks
                .iter()
                .map(|remark| sentence(&remark.to_string())),
        );
    }
    if record.windows.is_empty() {
        warnings.push("The record holds no window: nothing was measured.".to_owned());
    }
    warnings
}

/// `its verdict line says otherwise than its windows: goodput 812/s instead of 406/s`
pub fn stored_words(said: &[Said]) -> String {
    const TOLD_MOST: usize = 6;
    let told = said.iter().take(TOLD_MOST).map(|said| {
        let Said {
            what,
            stored,
            computed,
        } = said;
        format!("{what} {stored} instead of {computed}")
    });
    let told: Vec<String> = told.collect();
    let rest = match said.len().saturating_sub(TOLD_MOST) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(
        "the verdict line of the record says otherwise than its windows, which are shown: {}{rest}",
        told.join("; ")
    )
}

/// Starts with a capital and ends with a stop, as the sentences around it do.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    // A name such as p99 keeps its case; an article is a word.
    let word = letters
        .as_str()
        .starts_with(|next: char| next.is_lowercase() || next == ' ');
    let stop = if text.ends_with(['.', '!', '?', ':']) {
        ""
    } else {
        "."
    };
    let first = if word {
        first.to_uppercase().to_string()
    } else {
        first.to_string()
    };
    format!("{first}{}{stop}", letters.as_str())
}
