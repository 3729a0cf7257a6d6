//! Comparison of targets that are played now, in turns, each run a record of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use plimsoll_analysis::compare::{self, Fingerprint};
use plimsoll_core::Nanos;
use plimsoll_core::comparison::Design;
use plimsoll_core::plan::{Plan, Until};
use plimsoll_core::units::{parse_count, parse_duration};
use plimsoll_core::verdict::Verdict;
use plimsoll_engine::Options;
use plimsoll_observe::Watch;

use super::{Asked, Loaded, compared, conclude, margin, order, primary};
use crate::args::{CompareArgs, FindArgs, Format, OutputArgs, RequestArgs, RunArgs, WatchArgs};
use crate::commands::{find, run};
use crate::exit::Exit;
use crate::reuse::Reused;
use crate::session::{Session, interrupt_flag};
use crate::{machine, output, plan, reach, selfcheck, watching};

/// Nobody waits for more, and the tests are not made for more.
const PAIRS_MAX: u64 = 200;
const VARIANTS_MAX: usize = 12;
/// Between the end of a run and the start of the next: what is in flight ends, the record is written.
const BETWEEN: Nanos = Nanos::from_secs(1);
/// Before the first run each target gets a tenth of a run that is not kept, within these bounds.
const WARM_LEAST: Nanos = Nanos::from_secs(2);
const WARM_MOST: Nanos = Nanos::from_secs(10);
/// What the self-check before the searches takes.
const SELF_CHECK: Nanos = Nanos::from_secs(6);

/// Everything that is to be played.
struct Series {
    targets: Vec<Target>,
    /// Which target is played when, in every pair.
    order: Vec<Vec<usize>>,
    watches: Vec<Watch>,
    folder: PathBuf,
    /// Of one run.
    length: Nanos,
    seed: u64,
}

struct Target {
    name: String,
    url: String,
    plan: Plan,
    runs: Vec<Loaded>,
}

pub(super) fn execute(args: &CompareArgs) -> Result<Exit> {
    // Refused now rather than after the last run.
    primary(&args.judge)?;
    margin(&args.judge)?;
    let mut series = series(args)?;
    for target in &series.targets {
        let options = Options::new(&target.plan, None)?;
        if args.live.find {
            let find = find_args(args, &target.url);
            find::config(&find, &target.plan)?;
            find::ask_for_remote(&find, options.setup.address)?;
        }
        reach::check(&target.plan, &options)?;
    }
    let interrupt = interrupt_flag()?;
    std::fs::create_dir_all(&series.folder)
        .with_context(|| format!("create folder {}", series.folder.display()))?;
    if !args.judge.quiet {
        announce(args, &series);
    }
    let reused = prepare(args, &series, &interrupt)?;
    play_all(args, &mut series, &reused, &interrupt)?;
    let asked = Asked {
        design: Design::Paired,
        is_calibration: args.live.aa,
        seed: series.seed,
        pairs: None,
    };
    let page = series.folder.join("report.html");
    let sides = series
        .targets
        .into_iter()
        .map(|target| (target.name, target.runs));
    let comparison = compared(sides.collect(), &args.judge, &asked)?;
    let kept = series.folder.join("comparison.json");
    std::fs::write(&kept, plimsoll_report::json::comparison(&comparison))
        .with_context(|| format!("write {}", kept.display()))?;
    let page = args.judge.report.clone().unwrap_or(page);
    let exit = conclude(&comparison, args, Some(&page))?;
    Ok(if interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit
    })
}

fn series(args: &CompareArgs) -> Result<Series> {
    let urls = urls(args)?;
    let count = urls.len();
    let comparisons = count * (count - 1) / 2;
    let pairs = match args.live.pairs.as_deref() {
        None => compare::runs_needed(Design::Paired, comparisons, compare::ALPHA),
        Some(text) => match parse_count(text).context("--pairs")? {
            pairs if pairs <= PAIRS_MAX => pairs as u32,
            pairs => bail!("--pairs {pairs} is more than {PAIRS_MAX}"),
        },
    };
    let seed = args.with.seed.unwrap_or_else(machine::fresh_seed);
    let targets: Vec<Target> = urls
        .into_iter()
        .enumerate()
        .map(|(index, url)| {
            let plan = plan_of(args, &url)?;
            let name = match (args.live.aa, index) {
                (true, 1) => "A again".to_owned(),
                _ => order::letter(index),
            };
            Ok(Target {
                name,
                url,
                plan,
                runs: Vec::new(),
            })
        })
        .collect::<Result<_>>()?;
    let length = match targets.first().and_then(|target| target.plan.until) {
        Some(Until::DurationNs(length)) => length,
        _ => parse_duration(&args.live.within).context("--within")?,
    };
    let default = || PathBuf::from(format!("plimsoll-compare-{}", machine::wall_time_compact()));
    Ok(Series {
        order: order::blocks(count, pairs, seed),
        targets,
        watches: watching::parse(&args.watch)?,
        folder: args.live.out.clone().unwrap_or_else(default),
        length,
        seed,
    })
}

fn urls(args: &CompareArgs) -> Result<Vec<String>> {
    let mut urls = args.targets.clone();
    match (args.live.aa, urls.len()) {
        (true, 1) => urls.extend(urls.clone()),
        (true, _) => bail!("--aa plays one target against itself: give one URL"),
        (false, 1) => {
            bail!("one URL is nothing to compare: give another, or --aa to play it against itself")
        }
        (false, count) if count > VARIANTS_MAX => bail!("more than {VARIANTS_MAX} variants"),
        (false, _) => {
            for (index, url) in urls.iter().enumerate() {
                if urls[..index].contains(url) {
                    bail!("{url} is given twice; --aa plays one target against itself");
                }
            }
        }
    }
    Ok(urls)
}

/// What is done to one target in one run.
fn plan_of(args: &CompareArgs, url: &str) -> Result<Plan> {
    let live = &args.live;
    match (live.find, live.rate.is_some(), live.connections.is_some()) {
        (true, true, _) => bail!("--find seeks the rate, --rate sets it: give one of them"),
        (true, ..) if live.slo.is_none() => {
            bail!("--find needs --slo, such as 'p99<250ms,errors<0.1%'")
        }
        (true, ..) if live.duration.is_some() => {
            bail!("-z is for a set load; --within is the time of a search")
        }
        (false, false, false) => bail!(
            "say the load: --rate 200/s or -c 16, the same for all, or --find for a search in each run"
        ),
        (true, ..) => plan::of_find(&find_args(args, url)),
        _ => plan::of_run(&run_args(args, url)),
    }
}

fn request_args(args: &CompareArgs, url: &str) -> RequestArgs {
    RequestArgs {
        url: url.to_owned(),
        with: args.with.clone(),
    }
}

fn run_args(args: &CompareArgs, url: &str) -> RunArgs {
    let live = &args.live;
    RunArgs {
        request: request_args(args, url),
        connections: live.connections.clone(),
        duration: Some(live.duration.clone().unwrap_or_else(|| "60s".to_owned())),
        requests: None,
        rate: live.rate.clone(),
        arrivals: live.arrivals,
        ramp: None,
        timeout: live.timeout.clone(),
        slo: live.slo.clone(),
        watch: WatchArgs {
            watch: args.watch.watch.clone(),
        },
        output: kept_in(None),
    }
}

fn find_args(args: &CompareArgs, url: &str) -> FindArgs {
    let live = &args.live;
    FindArgs {
        request: request_args(args, url),
        slo: live.slo.clone().unwrap_or_default(),
        within: live.within.clone(),
        goal_width: "5%".to_owned(),
        rate: None,
        over: None,
        vus: None,
        max_rate: live.max_rate.clone(),
        // What lies beyond the capacity is not compared, and takes time.
        no_overshoot: true,
        connections: live.connections.clone(),
        arrivals: live.arrivals,
        reuse: None,
        yes: live.yes,
        env: Vec::new(),
        scenario: None,
        watch: WatchArgs {
            watch: args.watch.watch.clone(),
        },
        output: kept_in(None),
    }
}

/// A record in the folder, or none; no live view, because there is one line for every run.
fn kept_in(out: Option<PathBuf>) -> OutputArgs {
    OutputArgs {
        no_record: out.is_none(),
        out,
        note: String::new(),
        hlog: None,
        format: Format::Text,
        quiet: true,
        lab: None,
    }
}

fn warm_up(length: Nanos) -> Nanos {
    Nanos(length.0 / 10).clamp(WARM_LEAST, WARM_MOST)
}

fn time_for(args: &CompareArgs, series: &Series) -> Nanos {
    let count = series.targets.len() as u64;
    let runs = series.order.len() as u64 * count;
    let before = if args.live.find {
        SELF_CHECK
    } else {
        Nanos((warm_up(series.length) + BETWEEN).0 * count)
    };
    before + Nanos((series.length + BETWEEN).0 * runs)
}

/// What will happen, and how long it takes, before it begins.
fn announce(args: &CompareArgs, series: &Series) {
    let order: Vec<String> = series
        .order
        .iter()
        .map(|pair| {
            let names: Vec<&str> = pair
                .iter()
                .map(|index| series.targets[*index].name.as_str())
                .collect();
            names.join(" ")
        })
        .collect();
    let at_most = if args.live.find { "at most " } else { "" };
    output::progress(&format!(
        "compare: {} pairs of {} variants, {} runs of {at_most}{}; {at_most}{} in all",
        series.order.len(),
        series.targets.len(),
        series.order.len() * series.targets.len(),
        series.length,
        time_for(args, series),
    ));
    for target in &series.targets {
        output::progress(&format!("  {:<8} {}", target.name, target.url));
    }
    output::progress(&format!("  order    {}", order.join(" · ")));
    output::progress(&format!("  records  {}", series.folder.display()));
}

/// Both sides warm before the first run that counts; the generator checked before the first search.
fn prepare(args: &CompareArgs, series: &Series, interrupt: &Arc<AtomicBool>) -> Result<Reused> {
    let mut reused = Reused::default();
    if args.live.find {
        let workers = series.targets.first().map(|target| target.plan.workers);
        let workers = workers.context("no target")?;
        reused.self_check = Some(selfcheck::measure(workers, interrupt)?);
        return Ok(reused);
    }
    for target in &series.targets {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        let mut plan = target.plan.clone();
        plan.until = Some(Until::DurationNs(warm_up(series.length)));
        run::measure(&plan, &[], &kept_in(None), interrupt)
            .with_context(|| format!("warm-up of {}", target.name))?;
    }
    Ok(reused)
}

fn play_all(
    args: &CompareArgs,
    series: &mut Series,
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<()> {
    let count = series.order.len() * series.targets.len();
    let mut number = 0;
    for (pair, order) in series.order.clone().into_iter().enumerate() {
        for index in order {
            if interrupt.load(Ordering::Relaxed) {
                return Ok(());
            }
            number += 1;
            let target = &series.targets[index];
            let left = Nanos((series.length + BETWEEN).0 * (count - number + 1) as u64);
            if !args.judge.quiet {
                let name = &target.name;
                output::progress(&format!(
                    "run {number} of {count}: pair {}, {name}; {left} left",
                    pair + 1
                ));
            }
            let file = format!(
                "{number:02}-{}.plimsoll.jsonl",
                target.name.replace(' ', "-")
            );
            let path = series.folder.join(file);
            // The same seed for all runs of a pair: the same arrivals at the same instants.
            let seed = series.seed.wrapping_add(pair as u64);
            let loaded = play(
                args,
                target,
                &path,
                (seed, &series.watches),
                reused,
                interrupt,
            )
            .with_context(|| format!("run {number} ({})", target.name))?;
            series.targets[index].runs.push(loaded);
        }
    }
    Ok(())
}

fn play(
    args: &CompareArgs,
    target: &Target,
    path: &Path,
    (seed, watches): (u64, &[Watch]),
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<Loaded> {
    let plan = Plan {
        seed,
        ..target.plan.clone()
    };
    let kept = kept_in(Some(path.to_owned()));
    let (session, verdict) = if args.live.find {
        let find = FindArgs {
            output: kept,
            ..find_args(args, &target.url)
        };
        find::measure(&find, &plan, watches, reused, interrupt)?
    } else {
        let session = run::measure(&plan, watches, &kept, interrupt)?;
        let verdict = run::verdict(&session);
        (session, verdict)
    };
    keep(session, verdict, path)
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
