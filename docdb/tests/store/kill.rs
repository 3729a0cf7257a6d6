//! A process that writes is killed at random moments; what it acknowledged is there, and nothing else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_docdb::internals::store::Store;

use super::folder::Folder;
use super::workload::{Model, Random, options, rounds};

const DIRECTORY: &str = "PLIMSOLL_STORE_CHILD";

/// Not a test by itself: what the killed process does. It prints the number of each batch that is committed.
#[test]
fn child() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    let mut store = Store::open(Path::new(&directory), &options()).unwrap();
    let mut model = Model::default();
    model.follow(&store, 0, u64::MAX, "the child");
    let mut out = std::io::stdout();
    loop {
        model.write_next(Some(&mut store));
        store.commit().unwrap();
        writeln!(out, "\ncommitted {}", model.batches).unwrap();
        out.flush().unwrap();
    }
}

/// Runs the child until it is killed; returns the number of the last batch that it acknowledged.
fn run_and_kill(directory: &Path, random: &mut Random) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let numbers = lines.map_while(Result::ok).filter_map(|line| {
        let number = line.strip_prefix("committed ")?;
        number.parse::<u64>().ok()
    });
    // Sometimes while it opens, mostly after some batches, and then at any point of the next.
    let (after, pause) = (random.below(60), random.below(3_000));
    let mut last = None;
    let mut numbers = numbers.inspect(|number| last = Some(*number));
    if after > 3 {
        numbers.by_ref().take(after as usize).for_each(drop);
    }
    std::thread::sleep(Duration::from_micros(pause));
    child.kill().unwrap();
    child.wait().unwrap();
    numbers.for_each(drop);
    last
}

#[test]
fn no_acknowledged_batch_is_lost_by_a_kill() {
    let folder = Folder::new("kill");
    let mut random = Random(77);
    let mut model = Model::default();
    for round in 0..rounds(8, 400) {
        let acknowledged = run_and_kill(folder.path(), &mut random);
        let least = acknowledged.unwrap_or(model.batches);
        // The last batch may be durable although its number was not read; without any, two may be.
        let most = if acknowledged.is_some() {
            least + 1
        } else {
            u64::MAX
        };
        let note = format!("round {round}");
        let store = Store::open(folder.path(), &options()).unwrap();
        model.follow(&store, least, most, &note);
    }
    assert!(model.batches > 30);
}
