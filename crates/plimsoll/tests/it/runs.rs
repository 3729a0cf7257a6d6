//! Runs over real sockets: verdicts, formats, interruption.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use plimsoll_core::record::{EventKind, Record};
use serde_json::Value;

use crate::support::{Folder, Service, command, finished, plimsoll};

fn read(folder: &Folder, name: &str) -> Record {
    let file = std::fs::File::open(folder.0.join(name)).unwrap();
    Record::read(std::io::BufReader::new(file)).unwrap()
}

#[test]
fn objectives_decide_the_exit_code() {
    let folder = Folder::new();
    let service = Service::start(&["echo"]);
    for (slo, code, verdict) in [
        ("p90<2s,errors<10%", 0, "pass"),
        ("p50<1us", 99, "fail"),
        ("p99.99<5s", 5, "inconclusive"),
    ] {
        // A closed loop: a busy machine then makes it slow, not invalid.
        let args = ["run", &service.url, "-c", "2", "-n", "2000", "--slo", slo];
        let args = [&args[..], &["--format", "json", "--quiet"]].concat();
        let (mut got, mut stdout, mut stderr) = plimsoll(&folder, &args);
        // A run as short as this, in which the generator itself stood still, decides nothing.
        for _ in 0..4 {
            if got == 5 && code != 5 {
                (got, stdout, stderr) = plimsoll(&folder, &args);
            }
        }
        let summary: Value = serde_json::from_str(&stdout).expect("one document");
        assert_eq!(
            (got, summary["verdict"].as_str()),
            (code, Some(verdict)),
            "{slo}: {stderr}{stdout}"
        );
        assert_eq!(summary["valid"], true, "{stdout}");
        for key in [
            "throughput_per_s",
            "goodput_per_s",
            "attempts_count",
            "outcomes",
            "gates",
        ] {
            assert!(!summary[key].is_null(), "{key} is missing");
        }
        assert!(summary["response_time_ns"]["p99"].is_object(), "{stdout}");
        assert!(
            summary["knee_per_s"].is_null(),
            "what was not measured is absent"
        );
    }
}

/// Answers 202 to everything, until the test ends.
fn accepting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answer_all = |mut client: TcpStream| {
        let mut head = [0; 4096];
        // A head comes in one piece here: requests are short and wait for their answer.
        while client.read(&mut head).is_ok_and(|count| count > 0) {
            let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
            if client.write_all(answer).is_err() {
                break;
            }
        }
    };
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || answer_all(client));
        }
    });
    url
}

#[test]
fn work_that_is_taken_in_within_the_bound_meets_the_objective_and_is_no_goodput() {
    let folder = Folder::new();
    let url = accepting();
    let asked = ["-c", "2", "-n", "1000", "--slo", "p90<2s,errors<10%"];
    let args = [&["run", &url], &asked[..], &["--format", "json", "--quiet"]].concat();
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    let summary: Value = serde_json::from_str(&stdout).expect("one document");
    assert_eq!(
        (code, summary["verdict"].as_str()),
        (0, Some("pass")),
        "{stderr}{stdout}"
    );
    assert_eq!(summary["outcomes"]["accepted"], 1000, "{stdout}");
    assert_eq!(summary["goodput_per_s"].as_f64(), Some(0.0), "{stdout}");
    let gates = summary["gates"].as_array().unwrap();
    assert!(gates.iter().any(|gate| gate["number"] == 11), "{stdout}");
}

#[test]
fn a_count_of_requests_is_sent_and_recorded_exactly() {
    let folder = Folder::new();
    let service = Service::start(&["echo"]);
    let (code, stdout, _) = plimsoll(
        &folder,
        &[
            "run",
            &service.url,
            "-n",
            "1234",
            "-c",
            "7",
            "-o",
            "a.jsonl",
        ],
    );
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("1,234"), "{stdout}");
    let record = read(&folder, "a.jsonl");
    assert_eq!(record.judged_tally(0).ok(), 1234);
    assert!(record.remarks.is_empty(), "{:?}", record.remarks);
    let (code, stdout, _) = plimsoll(&folder, &["audit", "a.jsonl"]);
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("1234 against 1234"), "{stdout}");
}

/// The machine had "1 cores, and 2 were watched": no run under taskset was valid.
#[test]
fn a_run_that_is_confined_to_one_core_is_as_valid_as_others() {
    let folder = Folder::new();
    let service = Service::start(&["echo"]);
    let mut confined = std::process::Command::new("taskset");
    confined.args(["-c", "0", env!("CARGO_BIN_EXE_plimsoll"), "run"]);
    confined.args([&service.url, "-q", "50/s", "-z", "3s", "--format", "json"]);
    confined.current_dir(&folder.0);
    let (code, stdout, stderr) = finished(&confined.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    let summary: Value = serde_json::from_str(&stdout).unwrap();
    let gates = summary["gates"].as_array().unwrap();
    let accounts = gates.iter().find(|gate| gate["number"] == 2).unwrap();
    assert_eq!(accounts["state"], "pass", "{accounts}");
}

#[test]
fn an_interruption_leaves_a_valid_record_and_a_summary() {
    let folder = Folder::new();
    let service = Service::start(&["echo"]);
    let mut child = command(
        &folder,
        &[
            "run",
            &service.url,
            "-q",
            "500",
            "-z",
            "60s",
            "-o",
            "i.jsonl",
        ],
    )
    .stdout(std::process::Stdio::piped())
    .stderr(std::process::Stdio::piped())
    .spawn()
    .unwrap();
    let path = folder.0.join("i.jsonl");
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(50));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text
            .lines()
            .filter(|line| line.contains(r#""kind":"window""#))
            .count()
            >= 2
        {
            break;
        }
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    let output = child.wait_with_output().unwrap();
    let (_, stdout, stderr) = finished(&output);
    assert_eq!(status.code(), Some(105), "{stderr}");
    assert!(stdout.contains("goodput"), "{stdout}");
    let record = read(&folder, "i.jsonl");
    assert!(
        record
            .events
            .iter()
            .any(|event| event.what == EventKind::Interrupted)
    );
    assert!(record.verdict.is_some());
    assert!(record.judged_tally(0).ok() >= 500);
}

#[test]
fn help_is_data_and_names_every_exit_code() {
    let folder = Folder::new();
    let (code, stdout, _) = plimsoll(&folder, &["--help"]);
    assert_eq!(code, 0);
    for text in ["find", "doctor", "  7  target unreachable", "105", "109"] {
        assert!(stdout.contains(text), "{text} is missing in {stdout}");
    }
}

#[test]
fn flags_win_over_the_environment_and_both_over_defaults() {
    let folder = Folder::new();
    let explain = |args: &[&str]| {
        let mut command = command(&folder, args);
        command
            .env("PLIMSOLL_TIMEOUT", "3s")
            .env("PLIMSOLL_NO_RECORD", "true");
        let (code, stdout, stderr) = finished(&command.output().unwrap());
        assert_eq!(code, 0, "{stderr}");
        stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let table = explain(&["run", "http://a.test/", "--explain-config"]);
    assert!(table.contains("--timeout 3s environment"), "{table}");
    assert!(table.contains("--no-record true environment"), "{table}");
    let table = explain(&[
        "run",
        "http://a.test/",
        "--timeout",
        "7s",
        "--explain-config",
    ]);
    assert!(table.contains("--timeout 7s flag"), "{table}");
}

/// Requests by name: what the server saw is what was counted, each under its name, with shares that go from one to the
/// other.
#[test]
fn a_mix_of_requests_is_counted_by_name() {
    let service = Service::start(&["echo"]);
    let folder = Folder::new();
    let file = format!(
        "url = \"{}\"\noperations = 600\nconnections = 4\nseed = 3\nrows = \"rows.csv\"\n\
         mix = {{ item = 60, cart = 40 }}\n[[request]]\nname = \"item\"\npath = \"/items/{{{{row.id}}}}\"\n\
         [[request]]\nname = \"cart\"\npath = \"/cart\"\n[[request]]\nname = \"never\"\npath = \"/none\"\n",
        service.url.trim_end_matches('/')
    );
    std::fs::write(folder.0.join("mix.toml"), file).unwrap();
    std::fs::write(folder.0.join("rows.csv"), "id\n1\n2\n").unwrap();
    let line = [
        "run",
        "mix.toml",
        "--format",
        "json",
        "-o",
        "m.plimsoll.jsonl",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &line);
    assert!([0, 3].contains(&code), "{code}: {stderr}");
    let summary: Value = serde_json::from_str(&stdout).unwrap();
    let requests = summary["requests"].as_array().unwrap();
    let names: Vec<&str> = requests
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["item", "cart"], "one without a share is never sent");
    let counts: Vec<u64> = requests
        .iter()
        .map(|it| it["attempts_count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts.iter().sum::<u64>(), 600, "{stdout}");
    // Five standard deviations of a binomial of 600 with 60 %.
    assert!((300..=420).contains(&counts[0]), "{counts:?}");
    let record = std::fs::read_to_string(folder.0.join("m.plimsoll.jsonl")).unwrap();
    let header: Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
    assert_eq!(
        header["plan"]["variation"]["mix"]["names"][0], "item",
        "{header}"
    );
}

#[test]
fn a_flag_wins_over_a_file_of_requests_and_wrong_ones_are_named() {
    let folder = Folder::new();
    std::fs::write(
        folder.0.join("mix.toml"),
        "url = \"http://127.0.0.1:1\"\nduration = \"9s\"\nrate = \"7/s\"\n",
    )
    .unwrap();
    let (code, stdout, _) = plimsoll(&folder, &["run", "mix.toml", "-n", "5", "--explain-config"]);
    assert_eq!(code, 0);
    let row = |name: &str| {
        let row = stdout
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        row.unwrap_or_else(|| panic!("{name}: {stdout}"))
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(row("--rate"), "7/s file");
    assert_eq!(row("--requests"), "5 flag");
    assert_eq!(row("--duration"), "not set", "a count takes its place");
    std::fs::write(folder.0.join("rows.csv"), "id\n7\n").unwrap();
    std::fs::write(folder.0.join("sent.json"), "{{uuid").unwrap();
    for (line, fragment) in [
        ("headers = { \"a b\" = \"1\" }", "`headers`"),
        (
            "headers = { x = \"{{now}}\" }",
            "`headers`: `{{now}}` is not",
        ),
        ("path = \"/{{random:9..5}}\"", "`path`: `{{random:9..5}}`"),
        (
            "body = \"{{row.name}}\"",
            "`body`: the rows have no column `name`",
        ),
        ("body_file = \"sent.json\"", "`body_file`: `{{` without"),
    ] {
        let bad = format!(
            "url = \"http://127.0.0.1:1\"\nrows = \"rows.csv\"\n[[request]]\n\
             path = \"/{{{{row.id}}}}\"\n[[request]]\n{line}\n"
        );
        std::fs::write(folder.0.join("bad.toml"), bad).unwrap();
        let (code, _, stderr) = plimsoll(&folder, &["run", "bad.toml", "--no-record"]);
        assert_eq!(code, 104, "{stderr}");
        assert!(stderr.contains("bad.toml:6"), "{line}: {stderr}");
        assert!(stderr.contains(fragment), "{line}: {stderr}");
    }
}
