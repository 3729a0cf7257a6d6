//! Fuzzes one target or all for a while: `cargo run -p plimsoll-fuzz -- response --seconds 5`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a command-line tool"
)]

mod corpus;
mod drive;
mod mutate;
mod targets;

use std::fs;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, anyhow, bail};
use plimsoll_base::clock::Clock;
use plimsoll_core::units::Nanos;

use crate::drive::{Drive, Failure, shrink};
use crate::targets::{Outcome, TARGETS, Target};

const USAGE: &str = "usage: plimsoll-fuzz --list | TARGET|all [--seconds N] [--seed N] [--jobs N] [--write-first] | TARGET FILE

--jobs is how many targets run at once, as many as there are cores unless said otherwise.
--write-first saves each input as fuzz/crashes/TARGET-last before it is fed: for a fault that ends the process at once.";

/// What was asked for.
#[derive(Debug)]
struct Asked {
    targets: Vec<Target>,
    file: Option<PathBuf>,
    seconds: u32,
    seed: u64,
    jobs: usize,
    write_first: bool,
}

/// Of the threads that targets run on: what a program's first has.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--list"] {
        for target in TARGETS {
            println!("{}", target.name);
        }
        return ExitCode::SUCCESS;
    }
    match parse(&arguments).and_then(|asked| run(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> anyhow::Result<Asked> {
    let (name, rest) = arguments.split_first().context("no target named")?;
    let targets = match (name.as_str(), targets::find(name)) {
        ("all", _) => TARGETS.to_vec(),
        (_, Some(target)) => vec![target],
        _ => bail!("no target `{name}`; --list names them"),
    };
    let mut asked = Asked {
        targets,
        file: None,
        seconds: 5,
        seed: 1,
        jobs: thread::available_parallelism().map_or(1, NonZero::get),
        write_first: false,
    };
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> anyhow::Result<u64> {
            let text = rest
                .next()
                .with_context(|| format!("{argument} needs a number"))?;
            text.parse()
                .map_err(|_| anyhow!("{argument} needs a number, not `{text}`"))
        };
        match argument.as_str() {
            "--seconds" => asked.seconds = u32::try_from(number()?).context("--seconds")?,
            "--seed" => asked.seed = number()?,
            "--jobs" => {
                asked.jobs = NonZero::new(number()? as usize)
                    .context("--jobs needs at least one")?
                    .get();
            }
            "--write-first" => asked.write_first = true,
            path => asked.file = Some(PathBuf::from(path)),
        }
    }
    Ok(asked)
}

/// Whether every target passed.
fn run(asked: &Asked) -> anyhow::Result<bool> {
    let mut passed = true;
    if let Some(path) = &asked.file {
        for target in &asked.targets {
            passed &= replay(*target, path)?;
        }
        return Ok(passed);
    }
    for (target, outcome) in at_once(asked) {
        // Here, where no other target runs any more: shrinking silences whoever panics.
        if let Some(failure) = outcome? {
            passed = report(target, &failure)?;
        }
    }
    Ok(passed)
}

/// Runs the targets on a few threads and returns what each came to.
fn at_once(asked: &Asked) -> Vec<(Target, anyhow::Result<Option<Failure>>)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(target) = asked.targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*target, fuzz(*target, asked)));
        }
        done
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..asked.jobs.min(asked.targets.len()))
            .map(|_| {
                let builder = thread::Builder::new().stack_size(STACK);
                builder.spawn_scoped(scope, work).expect("start a thread")
            })
            .collect();
        let mut done = Vec::new();
        for thread in threads {
            done.extend(thread.join().expect("a target's panic is caught"));
        }
        done
    })
}

fn replay(target: Target, path: &Path) -> anyhow::Result<bool> {
    let input = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let outcome: Outcome = (target.body)(&input);
    println!("{}: {outcome}", target.name);
    Ok(true)
}

/// The input that failed, if one did.
fn fuzz(target: Target, asked: &Asked) -> anyhow::Result<Option<Failure>> {
    let corpus = corpus::read(target.name)?;
    let clock = Clock::start();
    let end = Nanos(u64::from(asked.seconds) * 1_000_000_000);
    let mut drive = match Drive::start(target, corpus, asked.seed) {
        Ok(drive) => drive,
        Err(failure) => return Ok(Some(failure)),
    };
    let last = crashes().join(format!("{}-last", target.name));
    if asked.write_first {
        fs::create_dir_all(crashes()).context("make fuzz/crashes")?;
    }
    while clock.now() < end {
        let input = drive.next_input();
        if asked.write_first {
            fs::write(&last, &input).with_context(|| format!("write {}", last.display()))?;
        }
        if let Err(failure) = drive.take(input) {
            return Ok(Some(failure));
        }
    }
    println!(
        "{:<10} {:>9} inputs in {} s, {} outcomes, seed {}",
        target.name,
        drive.fed_count,
        asked.seconds,
        drive.outcomes_count(),
        asked.seed
    );
    Ok(None)
}

/// Saves the smallest input that fails and says how to see it again.
fn report(target: Target, failure: &Failure) -> anyhow::Result<bool> {
    std::panic::set_hook(Box::new(|_| {}));
    let small = shrink(target, &failure.input);
    drop(std::panic::take_hook());
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&small);
    let path = crashes().join(format!("{}-{hash:016x}", target.name));
    fs::create_dir_all(crashes()).context("make fuzz/crashes")?;
    fs::write(&path, &small).with_context(|| format!("write {}", path.display()))?;
    eprintln!(
        "{} failed on {} bytes ({} before shrinking): {:?}\nsee it again:  \
         cargo run -p plimsoll-fuzz -- {} fuzz/crashes/{}-{hash:016x}",
        target.name,
        small.len(),
        failure.input.len(),
        String::from_utf8_lossy(small.get(..small.len().min(400)).unwrap_or_default()),
        target.name,
        target.name,
    );
    Ok(false)
}

fn crashes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes")
}
