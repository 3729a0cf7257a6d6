//! Sweeps of real services: every point a record, models over them, what goes wrong in the middle, and going on.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::support::{
    Folder, Service, closed_port, command, interrupted_at, listener, plimsoll, started,
};

fn document(folder: &Folder, name: &str) -> Value {
    let path = folder.0.join(name).join("sweep.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn records(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".plimsoll.jsonl"))
        .collect();
    names.sort();
    names
}

/// A pool of connections is full at as many requests as it has.
#[test]
fn the_knee_of_a_small_pool_is_its_size() {
    let folder = Folder::new();
    let pool = [
        "small-pool",
        "--set",
        "pool=4",
        "--set",
        "query=20",
        "--set",
        "wait_timeout=600",
    ];
    let service = Service::start(&pool);
    let load = [
        "--vary",
        "connections=1..32:x2",
        "-z",
        "1s",
        "--repeat",
        "1",
        "--seed",
        "3",
        "-o",
        "kept",
        "--slo",
        "p99<2s",
        "--clients",
        "2",
        "--stop-on",
        "never",
    ];
    let args = [&["sweep", &service.url], &load[..]].concat();
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(matches!(code, 0 | 3), "{code} {stdout}{stderr}");
    assert!(stderr.contains("6 points, each once"), "{stderr}");
    assert_eq!(
        records(&folder.0.join("kept")).len(),
        7,
        "each is kept, and the first once more"
    );
    let page = std::fs::read_to_string(folder.0.join("kept/report.html")).unwrap();
    assert!(
        page.contains("plimsoll sweep") && page.contains("<svg"),
        "the curves are drawn"
    );
    let sweep = document(&folder, "kept");
    assert_eq!(sweep["points"].as_array().unwrap().len(), 6);
    if code == 3 {
        // The machine changed meanwhile: then nothing is concluded.
        assert!(
            stdout.contains("changed") || stdout.contains("not used"),
            "{stdout}"
        );
        return;
    }
    let line = &sweep["lines"][0];
    assert_eq!(line["fits"].as_array().unwrap().len(), 4, "{line}");
    let knee = line["knee"]["in_flight"]["estimate"].as_f64().unwrap();
    assert!(
        (3.2..=5.0).contains(&knee),
        "four are served at once, and the knee is {knee}"
    );
    assert!(
        stdout.contains("let at most") && stdout.contains("a pool of"),
        "{stdout}"
    );
}

/// What an interruption leaves is gone on with: whole records are not played again.
#[test]
fn an_interrupted_sweep_goes_on_where_it_ended() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let load = [
        "--vary",
        "connections=1,2",
        "--vary",
        "timeout=4s,5s",
        "-z",
        "1s",
        "--repeat",
        "1",
        "-o",
        "kept",
    ];
    let args = [&["sweep", &service.url], &load[..]].concat();
    let (code, rest) = interrupted_at(&folder, &args, |line| line.contains("run 3 of 5"));
    assert_eq!(code, Some(105), "{rest:?}");
    let said = rest.iter().find(|line| line.contains("go on with:"));
    assert!(
        said.is_some_and(|line| line.contains("-o kept --resume")),
        "{rest:?}"
    );
    let first = folder
        .0
        .join("kept")
        .join(&records(&folder.0.join("kept"))[0]);
    let before = std::fs::read(&first).unwrap();

    let longer = args
        .iter()
        .map(|word| if *word == "1s" { "2s" } else { word });
    let changed: Vec<&str> = longer.chain(["--resume"]).collect();
    let (code, _, stderr) = plimsoll(&folder, &changed);
    assert!(
        code == 104 && stderr.contains("played differently"),
        "{code} {stderr}"
    );

    let (code, stdout, stderr) = plimsoll(&folder, &[&args[..], &["--resume"]].concat());
    assert!(matches!(code, 0 | 3), "{code} {stdout}{stderr}");
    assert!(
        !stderr.contains("run 1 of 5") && stderr.contains("run 5 of 5"),
        "{stderr}"
    );
    assert_eq!(std::fs::read(&first).unwrap(), before, "it is as it was");
    assert!(
        stdout.contains("timeout=4s") && stdout.contains("carried by connections"),
        "{stdout}"
    );
}

/// Answers so many requests, and then nobody is there any more.
fn mortal(answers: u32) -> u16 {
    static LEFT: AtomicU32 = AtomicU32::new(0);
    LEFT.store(answers, Ordering::Relaxed);
    listener(|mut stream| {
        let mut request = [0; 4096];
        while stream.read(&mut request).is_ok_and(|count| count > 0) {
            let left = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            if left.is_err() || stream.write_all(answer).is_err() {
                return;
            }
        }
    })
}

#[test]
fn a_target_that_goes_away_ends_the_sweep_and_what_was_played_stays() {
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{}/", mortal(60));
    let load = [
        "--vary",
        "rate=10,20",
        "-z",
        "1s",
        "--repeat",
        "3",
        "-o",
        "kept",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &[&["sweep", &url], &load[..]].concat());
    assert_eq!(code, 7, "{stdout}{stderr}");
    assert!(stderr.contains("not used: "), "{stderr}");
    assert!(stdout.contains("of 7 runs were played"), "{stdout}");
    assert!(!records(&folder.0.join("kept")).is_empty());
    // The run that it died in is no whole one: going on plays it again, and those before it are kept.
    let begun = |stderr: &str| -> Vec<String> {
        let words = stderr.lines().filter(|line| line.starts_with("run "));
        let numbers = words.filter_map(|line| line.split(':').next());
        numbers.map(str::to_owned).collect()
    };
    let last = begun(&stderr).pop();
    let again = [&["sweep", &url], &load[..], &["--resume"]].concat();
    let (code, stdout, stderr) = plimsoll(&folder, &again);
    assert_eq!(code, 7, "{stdout}{stderr}");
    assert_eq!(begun(&stderr), last.as_slice(), "{stderr}");
}

/// A Ctrl-C ends what `--before` has started, too: that is an interruption, and no command that failed.
#[test]
fn a_sweep_that_is_interrupted_while_the_target_is_made_anew_says_so() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let load = ["--vary", "rate=50,100", "-z", "1s", "-o", "kept"];
    let before = ["--before", "sleep 5"];
    let args = [&["sweep", &service.url], &load[..], &before].concat();
    let mut child = started(command(&folder, &args).process_group(0));
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = said.map_while(Result::ok);
    assert!(said.any(|line| line.starts_with("run 1 of")));
    std::thread::sleep(Duration::from_millis(500));
    let group = Pid::from_child(&child);
    rustix::process::kill_process_group(group, Signal::INT).unwrap();
    let rest: Vec<String> = said.collect();
    assert_eq!(child.wait().unwrap().code(), Some(105), "{rest:?}");
    assert!(
        rest.iter().any(|line| line.starts_with("go on with:")),
        "{rest:?}"
    );
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_is_sent() {
    let folder = Folder::new();
    let gone = format!("http://127.0.0.1:{}/", closed_port());
    let script = folder.file("shop.js");
    std::fs::write(&script, "export default function () {}").unwrap();
    let cases: [(&[&str], i32, &str); 12] = [
        (&[&gone], 104, "needs --vary"),
        (&[&gone, "--vary", "connections=4"], 104, "one value"),
        (
            &[&gone, "--vary", "conections=4,5"],
            104,
            "did you mean `connections`?",
        ),
        (
            &[&gone, "--vary", "connections=4,x"],
            104,
            "`x` is not a count",
        ),
        (&[&gone, "--vary", "connections=1..8"], 104, "1..64:x2"),
        (
            &[&gone, "--vary", "connections=1,99999999"],
            104,
            "connections=99999999",
        ),
        (&[&gone, "--vary", "vus=1,2"], 104, "is for scripts"),
        (&[&script, "--vary", "connections=1,2"], 104, "is for URLs"),
        (
            &[&gone, "--vary", "rate=1,2", "--vary", "rate=3,4"],
            104,
            "given twice",
        ),
        (
            &[&gone, "--vary", "connections=1,2", "--find"],
            104,
            "--find needs --slo",
        ),
        (
            &[&gone, "--vary", "connections=1,2", "--resume", "-o", "none"],
            104,
            "no sweep",
        ),
        (
            &[&gone, "--vary", "connections=1,2"],
            7,
            "is the service running",
        ),
    ];
    for (words, expected, fragment) in cases {
        let (code, stdout, stderr) = plimsoll(&folder, &[&["sweep"], words].concat());
        assert!(
            code == expected && stderr.contains(fragment),
            "{words:?}: {code} {stderr}"
        );
        assert_eq!(stdout, "", "{words:?}");
    }
    let left = std::fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(left, 1, "only the script is there");
}

/// `--before` runs before every run and knows its point.
#[test]
fn the_target_is_made_anew_before_each_run() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let load = [
        "--vary",
        "rate=50,100",
        "-z",
        "1s",
        "--repeat",
        "1",
        "-o",
        "kept",
        "--before",
        // Where the report would be there is a folder: it costs the report, and nothing that is said.
        "echo \"$PLIMSOLL_POINT\" >> points; mkdir -p kept/report.html",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &[&["sweep", &service.url], &load[..]].concat());
    assert!(matches!(code, 0 | 3), "{code} {stdout}{stderr}");
    assert!(stderr.contains("the report is not written"), "{stderr}");
    assert_eq!(document(&folder, "kept")["points"][1]["values"][0], 1);
    let points = std::fs::read_to_string(folder.0.join("points")).unwrap();
    let points: Vec<&str> = points.lines().collect();
    assert!(points.len() == 3 && points[0] == points[2], "{points:?}");
    assert!(
        points.contains(&"rate=50") && points.contains(&"rate=100"),
        "{points:?}"
    );
    assert!(!stdout.contains("--before COMMAND"), "{stdout}");
    assert!(
        stdout.contains("no model") && stdout.contains("not how many requests are in flight"),
        "{stdout}"
    );
}
