//! `plimsoll compare`: variants beside each other, played in turns or read from records.

mod live;
mod order;
mod pictured;
mod play;
mod saved;
mod script;
mod series;

use anyhow::{Result, bail};
use plimsoll_analysis::compare::{self, Fingerprint, Question};
use plimsoll_core::comparison::{Comparison, Design, Effect, Figure, Standing, Variant};
use plimsoll_core::objective::{Clause, Objectives};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::Verdict;
use plimsoll_report::terminal::Style;
use plimsoll_report::view::comparison as words;
use plimsoll_report::{html, json, markdown, terminal};

use pictured::Pictured;

use crate::args::{Args, FailOn, Format};
use crate::exit::Exit;
use crate::form::Form;
use crate::output;

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let saved = &args.compare;
    if let Some(path) = &saved.report {
        output::refuse_existing(path, args.output.force)?;
    }
    let (of_sides, of_history) = (!saved.a.is_empty(), !saved.history.is_empty());
    match (of_sides || of_history, args.words.is_empty()) {
        (true, false) => bail!(
            "{} and targets together: give either records, or targets to play",
            if of_sides { "--a and --b" } else { "--history" }
        ),
        (true, _) if of_history => saved::history(args),
        (true, _) => saved::sides(args),
        (_, true) => bail!(
            "nothing to compare: give two URLs or two scripts, or records with --a FILES --b FILES; see plimsoll \
             compare --help"
        ),
        _ if args.form == Some(Form::Records) => saved::singles(args),
        _ => live::execute(args),
    }
}

/// A run with what it was played on and under.
pub(crate) struct Loaded {
    pub(crate) run: plimsoll_core::comparison::Run,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) objectives: Option<Objectives>,
}

impl Loaded {
    pub(crate) fn new(name: &str, record: &Record, verdict: &Verdict) -> Self {
        Self {
            run: compare::of_record(name, record, verdict),
            fingerprint: Fingerprint::from_record(&record.header),
            objectives: record.header.test.objectives().cloned(),
        }
    }

    /// The figure that decides unless another was `declared`: what `Question` says too.
    fn primary(&self, declared: Option<Figure>) -> Figure {
        let capacities = [Figure::Capacity, Figure::CapacityVus];
        let capacity = capacities
            .into_iter()
            .find(|figure| self.run.figures.contains_key(figure));
        let late = self.fingerprint.is_open();
        let percentile = || self.objectives.as_ref().map_or(Figure::P99, percentile);
        let of_load = || if late { percentile() } else { Figure::Goodput };
        declared.or(capacity).unwrap_or_else(of_load)
    }
}

/// How the runs belong together, beside what the flags say.
pub(crate) struct Pairing {
    pub(crate) design: Design,
    pub(crate) is_calibration: bool,
    pub(crate) seed: u64,
    /// See `Question`.
    pub(crate) pairs: Option<Vec<(String, String)>>,
}

/// From runs to the comparison; refused where the figures do not mean the same.
pub(crate) fn judged(
    sides: Vec<(String, Vec<Loaded>)>,
    primary: Option<Figure>,
    margin_ratio: f64,
    asked: &Pairing,
) -> Result<Comparison> {
    let first = sides.iter().flat_map(|(_, runs)| runs).next();
    let objectives = first.and_then(|loaded| loaded.objectives.clone());
    let load = first.and_then(|loaded| loaded.fingerprint.load().map(str::to_owned));
    let is_open = first.is_some_and(|loaded| loaded.fingerprint.is_open());
    let share_margin = objectives.as_ref().and_then(error_budget);
    let (mut variants, mut fingerprints) = (Vec::new(), Vec::new());
    for (name, loaded) in sides {
        let (runs, prints) = loaded
            .into_iter()
            .map(|one| (one.run, one.fingerprint))
            .unzip();
        fingerprints.push((name.clone(), prints));
        variants.push(Variant { name, runs });
    }
    let mismatches = compare::mismatches(&fingerprints);
    let refused: Vec<String> = mismatches
        .iter()
        .filter(|mismatch| mismatch.effect == Effect::Incomparable)
        .map(words::mismatch)
        .collect();
    if !refused.is_empty() {
        bail!(
            "these runs cannot be compared: {}; measure both alike",
            refused.join("; ")
        );
    }
    let question = Question {
        design: asked.design,
        primary,
        percentile: objectives.as_ref().map_or(Figure::P99, percentile),
        margin_ratio,
        share_margin: share_margin.unwrap_or(compare::SHARE_MARGIN),
        seed: asked.seed,
        is_calibration: asked.is_calibration,
        is_open,
        objective: objectives.map(|objectives| objectives.to_string()),
        load: load.unwrap_or_default(),
        pairs: asked.pairs.clone(),
    };
    Ok(compare::compare(variants, mismatches, &question))
}

/// The first percentile of the objective that is a figure.
fn percentile(objectives: &Objectives) -> Figure {
    let quantiles = objectives
        .clauses()
        .iter()
        .filter_map(|clause| match clause {
            Clause::ResponseTime { quantile, .. } => Some(*quantile),
            Clause::Errors { .. } => None,
        });
    let figures = quantiles.filter_map(Figure::of_quantile);
    figures.into_iter().next().unwrap_or(Figure::P99)
}

fn error_budget(objectives: &Objectives) -> Option<f64> {
    objectives.clauses().iter().find_map(|clause| match clause {
        Clause::Errors { ratio } => Some(*ratio),
        Clause::ResponseTime { .. } => None,
    })
}

/// Prints the comparison, then writes the page if one is asked for, and says how it ends: whatever becomes of the page, the
/// comparison has been said.
fn conclude(comparison: &Comparison, args: &Args, page: Option<&std::path::Path>) -> Exit {
    output::data(&match args.output.format {
        Format::Json => json::comparison(comparison),
        Format::Markdown => markdown::comparison(comparison),
        Format::Text => terminal::comparison(comparison, &style(page)),
    });
    if let Some(path) = page {
        let pictured = Pictured::of(comparison);
        let runs = pictured.as_ref().map(Pictured::experiment);
        let html = html::comparison(comparison, runs.as_ref(), env!("CARGO_PKG_VERSION"));
        output::keep("the report", path, html.as_bytes());
    }
    exit_of(comparison, args.compare.fail_on)
}

fn style(page: Option<&std::path::Path>) -> Style {
    Style {
        colour: output::colour_on_stdout(),
        width: output::terminal_columns().min(120),
        quiet: false,
        record: None,
        report: page.map(|path| path.display().to_string()),
    }
}

fn exit_of(comparison: &Comparison, fail_on: FailOn) -> Exit {
    if comparison.is_withheld {
        return Exit::RunInvalid;
    }
    let blind = comparison.primaries().any(|contrast| {
        contrast
            .detectable
            .is_none_or(|least| least > contrast.margin)
    });
    // The same target is neither better nor worse than itself: then, or where a change of the margin
    // would not show, the environment is what is not good enough.
    let standing = match comparison.standing {
        Standing::Better | Standing::Worse if comparison.is_calibration => Standing::Inconclusive,
        _ if comparison.is_calibration && blind => Standing::Inconclusive,
        standing => standing,
    };
    match (standing, fail_on) {
        (Standing::Worse, FailOn::Worse | FailOn::Inconclusive) => Exit::Worse,
        (Standing::Inconclusive, FailOn::Inconclusive) => Exit::Inconclusive,
        _ => Exit::Passed,
    }
}
