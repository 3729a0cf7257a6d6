//! Plays the runs of a comparison in their order, and pairs beyond it in place of those that are not valid.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use plimsoll_analysis::compare;
use plimsoll_core::{Nanos, Tally};

use super::Loaded;
use super::series::{Series, Target};
use crate::args::{Args, OutputArgs};
use crate::measure::{Measured, Setting, measure, refuse_the_dead};
use crate::output;
use crate::page::Page;
use crate::recipe::WarmUp;
use crate::reuse::Reused;
use crate::script::console;

/// Every pair. Those that are kept in reserve are played in place of pairs that are not valid, while they can make up for them, or
/// because pairs differ among themselves by more than the margin.
pub(super) fn all(
    args: &Args,
    series: &mut Series,
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<()> {
    for number in 0..series.order.len() {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        if number >= series.pairs {
            let Some(why) = reason(args, series, number) else {
                break;
            };
            say(args, &format!("pair {} {why}", number + 1));
        }
        pair(args, series, number, reused, interrupt)?;
    }
    Ok(())
}

/// Why a pair of those in reserve is played.
fn reason(args: &Args, series: &Series, number: usize) -> Option<&'static str> {
    let valid = valid_pairs(series);
    if helps(series.order.len() - number, series.pairs, valid) {
        return Some("replaces one that is not valid");
    }
    let scatters = valid >= series.pairs && is_scattered(args, series);
    scatters
        .then_some("more, because the pairs before differ among themselves by more than the margin")
}

/// In the figure that decides, of any variant beside the first.
fn is_scattered(args: &Args, series: &Series) -> bool {
    let first = series
        .targets
        .first()
        .and_then(|target| target.runs.first());
    let Some(figure) = first.map(|loaded| loaded.primary(args.compare.primary)) else {
        return false;
    };
    let value = |loaded: &Loaded| {
        let is_used = loaded.run.excluded.is_none();
        loaded.run.figures.get(&figure).copied().filter(|_| is_used)
    };
    let (baseline, variants) = series.targets.split_at(1);
    let mut scattered = variants.iter().map(|variant| {
        let both = baseline[0].runs.iter().zip(&variant.runs);
        let pairs: Vec<_> = both.filter_map(|(a, b)| value(a).zip(value(b))).collect();
        compare::is_scattered(&pairs, args.compare.margin)
    });
    scattered.any(|scattered| scattered)
}

/// Can the pairs in reserve make up for what is lacking? What is hardly ever valid will not be the next time either.
fn helps(reserve: usize, planned: usize, valid: usize) -> bool {
    (1..=reserve).contains(&planned.saturating_sub(valid))
}

/// Pairs of which every run counts.
fn valid_pairs(series: &Series) -> usize {
    let played = series.targets.iter().map(|target| target.runs.len()).min();
    let counts = |pair: &usize| {
        let mut runs = series.targets.iter().map(|target| target.runs.get(*pair));
        runs.all(|run| run.is_some_and(|run| run.run.excluded.is_none()))
    };
    (0..played.unwrap_or(0)).filter(counts).count()
}

fn say(args: &Args, text: &str) {
    if !args.output.quiet {
        output::progress(text);
    }
}

fn pair(
    args: &Args,
    series: &mut Series,
    pair: usize,
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<()> {
    let size = series.targets.len();
    // Those beyond the planned ones are not foreseen.
    let last = series.pairs.max(pair + 1);
    for (place, index) in series.order[pair].clone().into_iter().enumerate() {
        if interrupt.load(Ordering::Relaxed) {
            return Ok(());
        }
        let number = pair * size + place + 1;
        let target = &series.targets[index];
        say(
            args,
            &format!(
                "run {number} of {}: pair {}, {}; {} left",
                last * size,
                pair + 1,
                target.name,
                series.time_left(number - 1, last)
            ),
        );
        let file = format!("{number:02}-{}", target.name.replace(' ', "-"));
        let one = One {
            // The same seed for all runs of a pair: the same arrivals at the same instants.
            seed: series.seed.wrapping_add(pair as u64),
            path: series.folder.join(format!("{file}.plimsoll.jsonl")),
            log: series.folder.join(format!("{file}.log")),
            page: series.page.as_ref(),
            reused,
            interrupt,
        };
        let loaded =
            play(args, target, &one).with_context(|| format!("run {number} ({})", target.name))?;
        // Said now: who waits for the end learns nothing from runs that do not count.
        if let Some(reason) = &loaded.run.excluded {
            say(args, &format!("  this run will not be used: {reason}"));
        }
        series.targets[index].runs.push(loaded);
    }
    Ok(())
}

/// What is of one run only, and what all have.
struct One<'a> {
    seed: u64,
    path: PathBuf,
    /// What a script prints.
    log: PathBuf,
    page: Option<&'a Arc<Page>>,
    reused: &'a Reused,
    interrupt: &'a Arc<AtomicBool>,
}

fn play(args: &Args, target: &Target, one: &One<'_>) -> Result<Loaded> {
    let _logged = logged(target, &one.log)?;
    let prepared = target.recipe.prepare(one.seed)?;
    let setting = Setting {
        output: &OutputArgs {
            force: args.output.force,
            ..OutputArgs::part(Some(one.path.clone()), one.page)
        },
        watches: &args.watch,
        outs: &[],
        reused: one.reused,
        // A URL was asked for before; who let the first run of a script go to another host let all of them.
        may_load_remote: args.yes || !target.is_script() || !target.runs.is_empty(),
        interrupt: one.interrupt,
        on_load: &|| Ok(()),
    };
    let measured = measure(&prepared, &setting)?;
    measured.refuse_unfinished()?;
    Ok(keep(measured, &one.path))
}

/// What a script prints goes there.
fn logged(target: &Target, log: &Path) -> Result<Option<console::Logged>> {
    let script = target.is_script();
    script.then(|| console::Logged::into(log)).transpose()
}

/// A load that is not kept; of a script also the proof that something answers.
pub(super) fn warm_up(
    target: &Target,
    length: Nanos,
    series: &Series,
    interrupt: &Arc<AtomicBool>,
) -> Result<()> {
    let log = format!("warm-up-{}.log", target.name.replace(' ', "-"));
    let _logged = logged(target, &series.folder.join(log))?;
    let prepared = target.recipe.warm_up(series.seed, WarmUp::Time(length))?;
    let setting = Setting {
        output: &OutputArgs::part(None, None),
        watches: &[],
        outs: &[],
        reused: &Reused::default(),
        may_load_remote: true,
        interrupt,
        on_load: &|| Ok(()),
    };
    let measured = measure(&prepared, &setting)?;
    measured.refuse_unfinished()?;
    if !target.is_script() {
        return Ok(());
    }
    let mut tally = Tally::default();
    for window in &measured.session.record.windows {
        tally.merge(&window.total());
    }
    refuse_the_dead(&tally, "script")
}

/// Ends the record, writes its report beside it, and takes its figures.
fn keep(measured: Measured, path: &Path) -> Loaded {
    let verdict = measured.verdict();
    let mut session = measured.session;
    let name = path.display().to_string();
    let loaded = Loaded::new(&name, &session.record, &verdict);
    session.close(verdict);
    loaded
}

#[cfg(test)]
mod tests {
    use super::helps;

    #[test]
    fn the_reserve_is_played_only_where_it_can_make_up_for_what_is_lacking() {
        assert!(!helps(2, 6, 6), "nothing is lacking");
        assert!(helps(2, 6, 5) && helps(2, 6, 4) && helps(1, 6, 5));
        assert!(!helps(2, 6, 3), "three are lacking");
        assert!(!helps(1, 6, 4), "one of the two was not valid either");
    }
}
