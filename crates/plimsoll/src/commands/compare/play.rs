//! Plays the runs of a comparison in their order, and pairs beyond it in place of those that are not valid.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use plimsoll_analysis::compare::{self, Fingerprint};
use plimsoll_core::objective::Objectives;
use plimsoll_core::plan::Plan;
use plimsoll_core::verdict::Verdict;
use plimsoll_observe::Watch;

use super::live::{Series, Target, Test};
use super::terms::{find_args, kept_in, script_find_args};
use super::{Loaded, script};
use crate::args::{CompareArgs, FindArgs};
use crate::commands::{find, run};
use crate::output;
use crate::reuse::Reused;
use crate::script::console;
use crate::session::Session;

/// Every pair; and while as many are valid as the rest can make up for, the pairs that are kept in reserve.
pub(super) fn all(
    args: &CompareArgs,
    series: &mut Series,
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<()> {
    for number in 0..series.order.len() {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        if number >= series.pairs {
            let reserve = series.order.len() - number;
            if !helps(reserve, series.pairs, valid_pairs(series)) {
                break;
            }
            say(
                args,
                &format!("pair {} replaces one that is not valid", number + 1),
            );
        }
        pair(args, series, number, reused, interrupt)?;
    }
    Ok(())
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

fn say(args: &CompareArgs, text: &str) {
    if !args.judge.quiet {
        output::progress(text);
    }
}

fn pair(
    args: &CompareArgs,
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
            watches: &series.watches,
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
    watches: &'a [Watch],
    reused: &'a Reused,
    interrupt: &'a Arc<AtomicBool>,
}

fn play(args: &CompareArgs, target: &Target, one: &One<'_>) -> Result<Loaded> {
    let kept = kept_in(Some(one.path.clone()));
    let interrupt = one.interrupt;
    let (session, verdict) = match &target.test {
        Test::Url(plan) => {
            let plan = Plan {
                seed: one.seed,
                ..(**plan).clone()
            };
            if args.live.find {
                let find = FindArgs {
                    output: kept,
                    ..find_args(args, &target.text)
                };
                find::measure(&find, &plan, one.watches, one.reused, interrupt)?
            } else {
                judged(run::measure(&plan, one.watches, &kept, interrupt)?)
            }
        }
        Test::Script(asked) => {
            let _logged = console::Logged::into(&one.log)?;
            if args.live.find {
                let mut find = FindArgs {
                    output: kept,
                    // Who let the first run go to another host let all of them.
                    yes: args.live.yes || !target.runs.is_empty(),
                    ..script_find_args(args, asked)
                };
                find.request.with.seed = Some(one.seed);
                let prepared = find::script::prepare(&find)?;
                find::script::measure(&find, prepared, one.reused, interrupt)?
            } else {
                let slo = args.live.slo.as_deref().map(Objectives::parse);
                let slo = slo.transpose().context("--slo")?;
                let slo = slo.as_ref();
                let loaded = script::loaded(asked, one.seed, args.with.insecure, slo)?;
                judged(script::measure(loaded, slo, one.watches, &kept, interrupt)?)
            }
        }
    };
    keep(session, verdict, &one.path)
}

fn judged(session: Session) -> (Session, Verdict) {
    let verdict = run::verdict(&session);
    (session, verdict)
}

/// Ends the record, writes its report beside it, and takes its figures.
fn keep(mut session: Session, verdict: Verdict, path: &Path) -> Result<Loaded> {
    let name = path.display().to_string();
    let loaded = Loaded {
        run: compare::of_record(&name, &session.record, &verdict),
        fingerprint: Fingerprint::of_record(&session.record.header),
        objectives: session.record.header.plan.objectives.clone(),
    };
    session.close(verdict)?;
    Ok(loaded)
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
