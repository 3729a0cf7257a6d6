//! Servers that misbehave, in URL and script mode alike: what the server saw is what was counted, each in its right class.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Folder, command, finished, plimsoll};

const REQUESTS: u64 = 60;
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What a server does with the `n`-th request of a connection, counted from 1; false ends the connection.
type Manner = fn(&mut TcpStream, u64) -> bool;

/// A server, and how many requests it has seen.
struct Server {
    port: u16,
    seen: Arc<AtomicU64>,
}

impl Server {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || talk(stream, manner, &counter));
            }
        });
        Self { port, seen }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

fn talk(mut stream: TcpStream, manner: Manner, counter: &AtomicU64) {
    let _best_effort = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for n in 1.. {
        let (mut length, mut lines) = (0, 0);
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(read) if read > 0 => lines += 1,
                _ => return,
            }
            let (name, value) = line.split_once(':').unwrap_or((line.trim(), ""));
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        assert!(lines > 1, "a request has a head");
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        counter.fetch_add(1, Ordering::SeqCst);
        if !manner(&mut stream, n) {
            return;
        }
    }
}

fn say(stream: &mut TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).is_ok()
}

/// Ends the connection with a reset instead of an end.
fn reset(stream: &TcpStream) -> bool {
    let linger = Some(Duration::ZERO);
    let _best_effort = rustix::net::sockopt::set_socket_linger(stream, linger);
    false
}

/// Every other request of a connection is answered by its silent end.
fn silent_end(stream: &mut TcpStream, n: u64) -> bool {
    n % 2 == 1 && say(stream, OK)
}

fn silent_reset(stream: &mut TcpStream, n: u64) -> bool {
    if n % 2 == 1 {
        say(stream, OK)
    } else {
        reset(stream)
    }
}

/// Whole answers, however odd: all of them count as answered.
const ODD: [(&str, Manner); 10] = [
    ("surplus", |stream, _| say(stream, &format!("{OK}{OK}"))),
    ("informational", |stream, _| {
        let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
        say(stream, &format!("{early}{OK}"))
    }),
    ("204 with a body", |stream, _| {
        let head = "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok";
        say(stream, head)
    }),
    ("folded", |stream, _| {
        let head = "HTTP/1.1 200 OK\r\nX: one\r\n two\r\nContent-Length: 0\r\n\r\n";
        say(stream, head)
    }),
    ("300 headers", |stream, _| {
        let many = "X: 1\r\n".repeat(300);
        say(
            stream,
            &format!("HTTP/1.1 200 OK\r\n{many}Content-Length: 0\r\n\r\n"),
        )
    }),
    ("large head", |stream, _| {
        let long = "a".repeat(200_000);
        say(
            stream,
            &format!("HTTP/1.1 200 OK\r\nX: {long}\r\nContent-Length: 0\r\n\r\n"),
        )
    }),
    ("huge head", |stream, _| {
        let long = "a".repeat(2_000_000);
        say(
            stream,
            &format!("HTTP/1.1 200 OK\r\nX: {long}\r\nContent-Length: 0\r\n\r\n"),
        )
    }),
    ("a space behind a name", |stream, _| {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nX : 1\r\nContent-Length: 0\r\n\r\n",
        )
    }),
    ("a length beside chunks", |stream, _| {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        )
    }),
    ("until the end", |stream, _| {
        say(stream, "HTTP/1.1 200 OK\r\n\r\nok");
        false
    }),
];

/// Answers that are none, and their class.
const BROKEN: [(&str, &str, Manner); 6] = [
    ("no answer", "eof", |_, _| false),
    ("short", "eof", |stream, _| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok");
        false
    }),
    ("reset in the head", "reset", |stream, _| {
        say(stream, "HTTP/1.1 200 OK\r\nConte");
        std::thread::sleep(Duration::from_millis(2));
        reset(stream)
    }),
    ("reset in the body", "reset", |stream, _| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok");
        std::thread::sleep(Duration::from_millis(2));
        reset(stream)
    }),
    ("garbage", "protocol", |stream, _| {
        say(stream, "\0\u{1}garbage\r\n\r\n");
        false
    }),
    ("two lengths", "protocol", |stream, _| {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        );
        false
    }),
];

/// The summary of so many requests, GET or POST, and how many the server saw.
fn run(folder: &Folder, server: &Server, more: &[&str]) -> (Value, u64) {
    server.seen.store(0, Ordering::SeqCst);
    let (url, count) = (server.url(), REQUESTS.to_string());
    let mut args = vec!["run", &url, "-n", &count, "-c", "2", "--no-preflight"];
    args.extend(["--no-record", "--quiet", "--format", "json"]);
    args.extend(more);
    let (_, stdout, stderr) = plimsoll(folder, &args);
    let summary = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    (summary, server.seen.load(Ordering::SeqCst))
}

fn outcomes(summary: &Value) -> BTreeMap<String, u64> {
    let outcomes = summary["outcomes"].as_object().unwrap();
    let counts = outcomes
        .iter()
        .map(|(name, count)| (name.clone(), count.as_u64().unwrap()));
    counts.collect()
}

#[test]
fn a_request_is_sent_again_only_where_the_protocol_allows() {
    let folder = Folder::new();
    for manner in [silent_end as Manner, silent_reset] {
        let server = Server::start(manner);
        let (got, seen) = run(&folder, &server, &[]);
        let classes = outcomes(&got);
        assert_eq!(classes, BTreeMap::from([("ok".to_owned(), REQUESTS)]));
        let resent = got["resent_count"].as_u64().unwrap();
        assert!(
            resent > 0 && seen == REQUESTS + resent,
            "{seen} seen, {resent} resent"
        );
        let (got, seen) = run(&folder, &server, &["-d", "x=1"]);
        let classes = outcomes(&got);
        assert_eq!(seen, REQUESTS, "a POST is sent once: {classes:?}");
        assert_eq!(classes["ok"] + classes["stale"], REQUESTS, "{classes:?}");
        assert_eq!(got["resent_count"], 0);
        assert!(classes["stale"] > REQUESTS / 4, "{classes:?}");
    }
}

#[test]
fn odd_answers_are_answers_and_broken_ones_have_their_class() {
    let folder = Folder::new();
    for (name, manner) in ODD {
        let server = Server::start(manner);
        let (got, seen) = run(&folder, &server, &[]);
        assert_eq!(
            outcomes(&got),
            BTreeMap::from([("ok".to_owned(), REQUESTS)]),
            "{name}"
        );
        assert_eq!(seen, REQUESTS, "{name}");
    }
    for (name, class, manner) in BROKEN {
        let server = Server::start(manner);
        for more in [&[][..], &["-d", "x=1"]] {
            let (got, seen) = run(&folder, &server, more);
            assert_eq!(
                outcomes(&got),
                BTreeMap::from([(class.to_owned(), REQUESTS)]),
                "{name}"
            );
            assert_eq!(seen, REQUESTS, "{name}");
        }
    }
}

const SCRIPT: &str = "
import http from 'k6/http';
export const options = { vus: 2, iterations: 60 };
export default function () {
  if (__ENV.METHOD === 'POST') http.post(__ENV.AT, 'x=1'); else http.get(__ENV.AT);
}
export function handleSummary(data) {
  const values = (name) => data.metrics[name].values;
  return { stdout: JSON.stringify([values('http_reqs').count, values('http_req_failed').passes]) };
}
";

const ONE_SUMMED: &str = "
import http from 'k6/http';
export const options = { iterations: 20 };
export default function () { http.get(__ENV.AT); }
";

/// Requests that a script counted, those of them that failed, and how many the server saw.
fn script(folder: &Folder, server: &Server, method: &str) -> (u64, u64, u64) {
    server.seen.store(0, Ordering::SeqCst);
    let env = [format!("AT={}", server.url()), format!("METHOD={method}")];
    let args = [
        "run",
        "mis.js",
        "--quiet",
        "--no-record",
        "-e",
        &env[0],
        "-e",
        &env[1],
    ];
    let (_, stdout, stderr) = plimsoll(folder, &args);
    let counts: (u64, u64) = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
    (counts.0, counts.1, server.seen.load(Ordering::SeqCst))
}

#[test]
fn a_script_counts_what_the_server_saw() {
    let folder = Folder::new();
    std::fs::write(folder.file("mis.js"), SCRIPT).unwrap();
    for manner in [silent_end as Manner, silent_reset] {
        let server = Server::start(manner);
        let (requests, failed, seen) = script(&folder, &server, "GET");
        assert_eq!((requests, failed), (REQUESTS, 0));
        assert!(seen > REQUESTS, "{seen} seen");
        let (requests, failed, seen) = script(&folder, &server, "POST");
        assert_eq!(
            (requests, seen),
            (REQUESTS, REQUESTS),
            "a POST is sent once"
        );
        assert!(failed > REQUESTS / 4, "{failed} failed");
    }
    let server = Server::start(silent_end);
    let (summed, at) = (ONE_SUMMED, format!("AT={}", server.url()));
    std::fs::write(folder.file("summed.js"), summed).unwrap();
    let args = ["run", "summed.js", "--quiet", "--no-record", "-e", &at];
    let (_, stdout, stderr) = plimsoll(&folder, &args);
    let words = stdout.replace('\u{a0}', " ");
    assert!(words.contains(" written once more"), "{words}{stderr}");
    for (name, manner) in ODD {
        let server = Server::start(manner);
        let counted = script(&folder, &server, "GET");
        assert_eq!(counted, (REQUESTS, 0, REQUESTS), "{name}");
    }
    for (name, _, manner) in BROKEN {
        let server = Server::start(manner);
        let counted = script(&folder, &server, "POST");
        assert_eq!(counted, (REQUESTS, REQUESTS, REQUESTS), "{name}");
    }
}

/// Every other request of a connection is asked who it is.
fn challenging(stream: &mut TcpStream, n: u64) -> bool {
    let challenge = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\
         WWW-Authenticate: Digest realm=\"r\", nonce=\"abc\", qop=\"auth\"\r\n\r\n";
    say(stream, if n % 2 == 1 { challenge } else { OK })
}

/// Each of them counted as failed, in the metrics and in the outcomes, and none of the answers as expected.
#[test]
fn a_challenge_that_is_answered_is_no_failure() {
    let (folder, server) = (Folder::new(), Server::start(challenging));
    let text = "import http from 'k6/http';
        export const options = { iterations: 10, thresholds: { http_req_failed: ['rate==0'] } };
        export default () => { http.get(`http://${__ENV.WHO}${__ENV.AT}`, { auth: __ENV.AUTH }); }";
    std::fs::write(folder.file("digest.js"), text).unwrap();
    let (record, at) = (
        folder.file("run.jsonl"),
        format!("AT=127.0.0.1:{}/", server.port),
    );
    let outcomes_as = |who: &str, auth: &str| {
        let (who, auth) = (format!("WHO={who}"), format!("AUTH={auth}"));
        let args = [
            "run",
            "digest.js",
            "--quiet",
            "--force",
            "--record",
            &record,
        ];
        let env = ["-e", &at, "-e", &who, "-e", &auth];
        let (code, out, err) = plimsoll(&folder, &[&args[..], &env].concat());
        let lines = std::fs::read_to_string(&record).unwrap_or_else(|_| panic!("{out}{err}"));
        let verdict: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        (code, outcomes(&verdict))
    };
    let of = |counts: &[(&str, u64)]| {
        let counts = counts.iter();
        counts
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(
        outcomes_as("user:secret@", "digest"),
        (0, of(&[("ok", 20)]))
    );
    // Whoever has nothing to say to it is refused, and so is who did not expect it.
    let (_, nobody) = outcomes_as("", "digest");
    assert_eq!(nobody, of(&[("http_4xx", 5), ("ok", 5)]));
    let basic = outcomes_as("user:secret@", "basic");
    assert_eq!(basic, (99, of(&[("http_4xx", 5), ("ok", 5)])));
}

/// Sends whoever asks for anything else to `/end`.
fn redirecting() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || redirect(stream));
        }
    });
    port
}

fn redirect(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while let Some(Ok(first)) = lines.next() {
        let is_end = |line: &std::io::Result<String>| line.as_ref().is_ok_and(String::is_empty);
        lines.find(is_end);
        let answer = if first.contains(" /end ") {
            OK
        } else {
            "HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n"
        };
        say(&mut stream, answer);
    }
}

#[test]
fn a_redirect_is_no_success_unless_it_is_followed_or_asked_for() {
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{}/start?key=hidden", redirecting());
    let run = |more: &[&str]| {
        let mut args = vec![
            "run",
            &*url,
            "-n",
            "50",
            "-c",
            "2",
            "--no-record",
            "--format",
            "json",
        ];
        args.extend(more);
        let (_, stdout, stderr) = plimsoll(&folder, &args);
        let summary: Value = serde_json::from_str(&stdout).unwrap();
        (summary, stderr)
    };
    let (refused, said) = run(&[]);
    assert_eq!(
        outcomes(&refused),
        BTreeMap::from([("http_3xx".to_owned(), 50)])
    );
    assert_eq!(refused["status"]["302"], 50);
    assert!(
        said.contains("answers 302, leading to") && said.contains("--redirects"),
        "{said}"
    );
    assert!(!said.contains("hidden"), "{said}");
    let (followed, _) = run(&["--redirects", "2"]);
    assert_eq!(outcomes(&followed), BTreeMap::from([("ok".to_owned(), 50)]));
    assert_eq!(followed["followed_count"], 50);
    let (asked_for, _) = run(&["--slo", "errors<1%,status=302"]);
    assert_eq!(
        outcomes(&asked_for),
        BTreeMap::from([("ok".to_owned(), 50)])
    );
    let (missed, _) = run(&["--slo", "errors<1%,status=404"]);
    assert_eq!(
        outcomes(&missed),
        BTreeMap::from([("http_3xx".to_owned(), 50)])
    );
}

#[test]
fn what_is_kept_holds_no_secret() {
    let folder = Folder::new();
    let server = Server::start(|stream, _| say(stream, OK));
    let url = format!("{}?token=hidden-1", server.url());
    let mut args = vec![
        "run",
        &*url,
        "-n",
        "20",
        "-o",
        "run.plimsoll.jsonl",
        "-d",
        "hidden-2",
    ];
    args.extend([
        "-H",
        "Authorization: Bearer hidden-3",
        "-H",
        "X-Api-Key: hidden-4",
    ]);
    let (_, stdout, stderr) = plimsoll(&folder, &args);
    let mut all = stdout + &stderr;
    for name in ["run.plimsoll.jsonl", "report.html"] {
        all += &std::fs::read_to_string(folder.file(name)).unwrap();
    }
    assert!(!all.contains("hidden-"), "a secret is kept");
    assert!(all.contains("masked:8:") && all.contains("8 bytes, sha256 "));
    args.extend(["--show-secrets", "--force"]);
    let _shown = plimsoll(&folder, &args);
    let record = std::fs::read_to_string(folder.file("run.plimsoll.jsonl")).unwrap();
    assert!(record.contains("hidden-1") && record.contains("hidden-3"));
}

/// What a script's requests are refused with, and what `httpDebug` shows of them.
#[test]
fn the_log_of_a_script_holds_no_secret() {
    let folder = Folder::new();
    let server = Server::start(|stream, _| {
        let head = "HTTP/1.1 302 Found\r\nLocation: /?key=hidden-1\r\nSet-Cookie: a=hidden-2\r\n";
        say(stream, &format!("{head}Content-Length: 0\r\n\r\n"))
    });
    let text = "import http from 'k6/http';
        export const options = { iterations: 1, maxRedirects: 2, httpDebug: 'headers' };
        export default () => {
          http.get('http://127.0.0.1:1/?token=hidden-3');
          http.get('http://me:hidden-4@127.0.0.1:1/?token=hidden-5');
          http.get('http://127.0.0.1:1000000/?token=hidden-6');
          http.get(`${__ENV.AT}?token=hidden-7`, { headers: { Authorization: 'Bearer hidden-8' } });
        };";
    std::fs::write(folder.file("log.js"), text).unwrap();
    let at = format!("AT={}", server.url());
    let said = |more: &[&str]| {
        let args = ["run", "log.js", "--quiet", "--no-record", "-e", &at];
        let (_, stdout, stderr) = plimsoll(&folder, &[&args[..], more].concat());
        stdout + &stderr
    };
    let log = || std::fs::read_to_string(folder.file("out.log")).unwrap();
    let masked = said(&[]) + &said(&["--log-output", "file=out.log"]) + &log();
    assert!(!masked.contains("hidden-"), "a secret is shown: {masked}");
    for part in [
        "Request Failed",
        "stopped after 2 redirects",
        "Authorization",
        "masked:8:",
    ] {
        assert!(masked.contains(part), "{part} in {masked}");
    }
    let shown = said(&["--show-secrets"]);
    for part in ["hidden-1", "hidden-2", "hidden-3", "hidden-6", "hidden-8"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let (_, _, refusal) = plimsoll(&folder, &["run", "http://me:hidden-9@127.0.0.1:1/"]);
    assert!(refusal.contains("***@127.0.0.1:1"), "{refusal}");
    assert!(!refusal.contains("hidden-"), "{refusal}");
}

/// Of a sweep neither, in any of its files.
#[test]
fn what_a_sweep_keeps_holds_no_secret() {
    let folder = Folder::new();
    let server = Server::start(|stream, _| say(stream, OK));
    let url = format!("{}?token=hidden-1", server.url());
    let swept = |words: &[&str]| {
        let sweep = ["sweep", &url, "--vary", "connections=1,2", "-n", "20"];
        let sent = ["-d", "hidden-2", "-H", "X-Api-Key: hidden-3"];
        let args = [&sweep[..], &sent, &["--repeat", "1"], words].concat();
        let (_, stdout, stderr) = plimsoll(&folder, &args);
        let kept = std::fs::read_dir(folder.file(words[1])).unwrap();
        let kept = kept.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        (stdout + &stderr, kept.collect::<Vec<String>>())
    };
    let (said, kept) = swept(&["-o", "kept"]);
    // A plan, two documents of all, and three records with a report each.
    assert_eq!(kept.len(), 9, "{said}");
    let all = said + &kept.concat();
    assert!(!all.contains("hidden-"), "a secret is kept");
    assert!(
        all.contains("?token=masked:8:"),
        "and it can be told from others"
    );
    let (_, shown) = swept(&["-o", "shown", "--show-secrets"]);
    let records = shown.iter().filter(|file| file.starts_with('{'));
    let holds = |file: &&String| file.contains("hidden-1") && file.contains("hidden-3");
    assert_eq!(records.filter(holds).count(), 3);
}

/// That the record ends is no progress: it is said to whoever wants none, too.
#[test]
fn a_record_that_ends_says_so_without_progress() {
    let folder = Folder::new();
    let server = Server::start(|stream, _| say(stream, OK));
    let plimsoll = env!("CARGO_BIN_EXE_plimsoll");
    let run = format!("run {} -z 3s --quiet -o r.jsonl", server.url());
    // A file may have 8 KiB, or 16 where a block is a whole one.
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {plimsoll} {run}");
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &script]).current_dir(&folder.0);
    let (code, stdout, stderr) = finished(&limited.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    assert!(!stdout.is_empty());
    assert!(stderr.contains("r.jsonl ends here: "), "{stderr}");
}

#[test]
fn a_full_disk_costs_the_record_and_nothing_else() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new();
    let server = Server::start(|stream, _| say(stream, OK));
    let url = server.url();
    let mut full = command(&folder, &["run", &url, "-z", "1s", "--hlog", "/dev/full"]);
    full.args([
        "--csv",
        "/dev/full",
        "--slo",
        "errors<1%",
        "-o",
        "run.plimsoll.jsonl",
    ]);
    let (code, stdout, stderr) = finished(&full.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("meets its objective") || stdout.contains("passed"),
        "{stdout}"
    );
    assert!(stderr.matches("/dev/full").count() >= 2, "{stderr}");
    assert!(stderr.contains("No space left"), "{stderr}");
}
