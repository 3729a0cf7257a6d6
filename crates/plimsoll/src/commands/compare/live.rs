//! Comparison of targets that are played now, in turns, each run a record of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use plimsoll_analysis::compare;
use plimsoll_core::Nanos;
use plimsoll_core::comparison::{Design, Figure, Stopped};
use plimsoll_report::view::comparison as words;

use super::series::{BETWEEN, Series, Target};
use super::{Pairing, conclude, judged, order, percentile, play, script};
use crate::args::Args;
use crate::exit::Exit;
use crate::form::Form;
use crate::page::Page;
use crate::reach::{self, Leave};
use crate::recipe::WARM_STOP;
use crate::reuse::Reused;
use crate::session::interrupt_flag;
use crate::{from_args, output, selfcheck};

/// One pair in reserve for so many, in place of pairs with a run that is not valid, and where pairs scatter.
const RESERVE: u32 = 3;
const VARIANTS_MAX: usize = 12;
/// Before the first run each target gets a tenth of a run that is not kept, within these bounds.
const WARM_LEAST: Nanos = Nanos::from_secs(2);
const WARM_MOST: Nanos = Nanos::from_secs(10);
/// What the self-check before the searches takes.
const SELF_CHECK: Nanos = Nanos::from_secs(6);

pub(super) fn execute(args: &Args) -> Result<Exit> {
    let mut series = series(args)?;
    for target in &mut series.targets {
        let leave = Leave::of(args);
        reach::check(&mut target.first, leave)?;
    }
    let interrupt = interrupt_flag()?;
    if let Some(report) = &args.compare.report {
        output::writable(report)?;
    }
    output::folder(&series.folder, args.output.force)?;
    if !args.output.quiet {
        announce(args, &series);
    }
    series.page = Page::of_series(args.output.live)?;
    let reused = prepare(args, &series, &interrupt)?;
    play::all(args, &mut series, &reused, &interrupt)?;
    let asked = Pairing {
        design: Design::Paired,
        is_calibration: args.compare.aa,
        seed: series.seed,
        pairs: None,
    };
    let page = series.folder.join("report.html");
    let live = series.page.take();
    let stopped = Stopped {
        begun_count: series.targets.iter().map(|target| target.runs.len()).sum(),
        planned_count: series.pairs * series.targets.len(),
    };
    let sides = series
        .targets
        .into_iter()
        .map(|target| (target.name, target.runs));
    let mut comparison = judged(
        sides.collect(),
        args.compare.primary,
        args.compare.margin,
        &asked,
    )?;
    if interrupt.load(Ordering::Relaxed) {
        comparison = comparison.stopped(stopped);
    }
    let page = args.compare.report.clone().unwrap_or(page);
    let exit = conclude(&comparison, args, Some(&page));
    let kept = series.folder.join("comparison.json");
    let document = plimsoll_report::json::comparison(&comparison);
    output::keep("the comparison", &kept, document.as_bytes());
    if let Some(live) = live {
        let shown = page.display().to_string();
        live.end(
            &words::headline(&comparison),
            exit == Exit::Passed,
            Some(&shown),
        );
    }
    Ok(if interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit
    })
}

fn series(args: &Args) -> Result<Series> {
    let texts = texts(args)?;
    let count = texts.len();
    let seed = args.seed();
    let targets = texts.into_iter().enumerate().map(|(index, text)| {
        let name = match (args.compare.aa, index) {
            (true, 1) => "A again".to_owned(),
            _ => order::letter(index),
        };
        target(args, name, text, seed)
    });
    let targets: Vec<Target> = targets.collect::<Result<_>>()?;
    if !args.compare.aa {
        refuse_same(&targets)?;
    }
    let comparisons = count * (count - 1) / 2;
    let figures = figures_corrected(args, &targets[0]);
    let needed = || compare::runs_needed(Design::Paired, comparisons * figures, compare::ALPHA);
    let pairs = args.compare.pairs.unwrap_or_else(needed);
    let default = || output::fresh_folder("plimsoll-compare");
    Ok(Series {
        order: order::drawn(count, pairs + pairs.div_ceil(RESERVE), seed),
        pairs: pairs as usize,
        targets,
        folder: args.output.out.clone().unwrap_or_else(default),
        seed,
        page: None,
    })
}

/// A search has its capacity alone; runs of a set load are guarded in other figures, which are corrected together.
fn figures_corrected(args: &Args, target: &Target) -> usize {
    if args.compare.find {
        return 1;
    }
    let objectives = target.first.test.objectives();
    let percentile = objectives.map_or(Figure::P99, percentile);
    // The failed checks of a script are one more.
    let has_checks = usize::from(args.form == Some(Form::Script));
    compare::guarded_most(args.compare.primary, percentile) + has_checks
}

fn target(args: &Args, name: String, text: String, seed: u64) -> Result<Target> {
    let (recipe, first, identity) = if args.form == Some(Form::Script) {
        let (recipe, first, identity) = script::side(&text, args, seed)?;
        (recipe, first, Some(identity))
    } else {
        let recipe = from_args::compared_url(args, &text)?;
        let first = recipe.prepare(seed)?;
        (recipe, first, None)
    };
    Ok(Target {
        name,
        text,
        recipe,
        length: identity
            .as_ref()
            .filter(|_| !args.compare.find)
            .map_or_else(|| first.test.length().unwrap_or_default(), script::longest),
        identity,
        first,
        runs: Vec::new(),
    })
}

/// Two names of one script are one variant.
fn refuse_same(targets: &[Target]) -> Result<()> {
    for (index, target) in targets.iter().enumerate() {
        let same = |other: &&Target| target.identity.is_some() && other.identity == target.identity;
        if let Some(other) = targets[..index].iter().find(same) {
            bail!(
                "`{}` and `{}` are the same script with the same options and environment; --aa plays one target \
                 against itself",
                other.text,
                target.text
            );
        }
    }
    Ok(())
}

/// The targets as they were typed, checked as a set.
fn texts(args: &Args) -> Result<Vec<String>> {
    let words = args.words.iter().map(|word| word.to_string_lossy());
    let mut texts: Vec<String> = words.map(Into::into).collect();
    match (args.compare.aa, texts.len()) {
        (true, 1) => texts.extend(texts.clone()),
        (true, _) => bail!("--aa plays one target against itself: give one URL or one script"),
        (false, 1) => {
            bail!(
                "{} is the only target: give another, or --aa to compare it with itself",
                texts[0]
            )
        }
        (false, count) if count > VARIANTS_MAX => bail!("more than {VARIANTS_MAX} variants"),
        (false, _) => {
            for (index, text) in texts.iter().enumerate() {
                if texts[..index].contains(text) {
                    bail!("{text} is given twice; --aa plays one target against itself");
                }
            }
        }
    }
    Ok(texts)
}

fn warm_up(length: Nanos) -> Nanos {
    Nanos(length.0 / 10).clamp(WARM_LEAST, WARM_MOST)
}

fn time_for(args: &Args, series: &Series) -> Nanos {
    let before = if args.compare.find {
        SELF_CHECK
    } else {
        let each = series.targets.iter().map(|target| {
            let stop = if target.is_script() {
                WARM_STOP
            } else {
                Nanos::ZERO
            };
            (warm_up(target.length) + stop + BETWEEN).0
        });
        Nanos(each.sum())
    };
    before + series.time_left(0, series.pairs)
}

/// What will happen, and how long it takes, before it begins.
fn announce(args: &Args, series: &Series) {
    let planned = series.order.iter().take(series.pairs);
    let order: Vec<String> = planned
        .map(|pair| {
            let names: Vec<&str> = pair
                .iter()
                .map(|index| series.targets[*index].name.as_str())
                .collect();
            names.join(" ")
        })
        .collect();
    // Iterations may be over before their time.
    let is_bound = args.compare.find || series.targets.iter().any(Target::is_script);
    let at_most = if is_bound { "at most " } else { "" };
    let mut lengths: Vec<String> = series
        .targets
        .iter()
        .map(|target| target.length.to_string())
        .collect();
    lengths.dedup();
    output::progress(&format!(
        "compare: {} {} of {} variants, {} runs of {at_most}{}; {at_most}{} in all",
        series.pairs,
        if series.pairs == 1 { "pair" } else { "pairs" },
        series.targets.len(),
        series.pairs * series.targets.len(),
        lengths.join(" and "),
        time_for(args, series),
    ));
    let reserve = series.time_left(series.pairs * series.targets.len(), series.order.len());
    output::progress(&format!(
        "  up to {} more, {reserve}, in place of pairs with a run that is not valid, or because pairs differ among themselves by more than the margin",
        series.order.len() - series.pairs
    ));
    for target in &series.targets {
        output::progress(&format!("  {:<8} {}", target.name, target.text));
    }
    output::progress(&format!("  order    {}", order.join(" · ")));
    output::progress(&format!("  records  {}", series.folder.display()));
}

/// Both sides warm before the first run that counts; the generator checked before the first search.
fn prepare(args: &Args, series: &Series, interrupt: &Arc<AtomicBool>) -> Result<Reused> {
    let mut reused = Reused::default();
    if args.compare.find {
        // The same for all targets.
        let first = series.targets.first().context("no target")?;
        let workers = first.first.test.generator.workers;
        reused.self_check = Some(selfcheck::measure(workers, interrupt)?);
        return Ok(reused);
    }
    for target in &series.targets {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        play::warm_up(target, warm_up(target.length), series, interrupt)
            .with_context(|| format!("warm-up of {}", target.name))?;
    }
    Ok(reused)
}
