//! The access log: a line for each request, a new file after a rotation, and no request that waits for a disk.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{AccessLogConfig, Config, LogTo};
use serde_json::Value;

use crate::sockets::Folder;
use crate::support::{
    Guard, OK, Upstream, answer, config, connect, eventually, metric, sent, start,
};

fn logged(path: &Path, rule: Rule) -> (Guard, Upstream) {
    let upstream = Upstream::answering(OK);
    let log = AccessLogConfig {
        to: LogTo::File(path.to_owned()),
        mask: |target| target.split('?').next().unwrap_or_default().to_owned(),
    };
    let config = config(&[upstream.address], rule);
    let started = start(Config {
        access_log: Some(log),
        ..config
    });
    (started, upstream)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_request_has_a_line_and_a_moved_file_a_successor() {
    let folder = Folder::new("log");
    let (path, moved) = (folder.0.join("log"), folder.0.join("log.1"));
    let (listening, _upstream) = logged(&path, Rule::HalfLoad);
    let get = "GET /a?key=secret HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n";
    assert!(sent(listening.proxy, get).ends_with("ok\n"));
    sent(listening.proxy, "GET /\r\n\r\n");
    let mut leaves = connect(listening.proxy);
    let post = b"POST /c HTTP/1.1\r\nHost: b\r\nContent-Length: 9\r\n\r\nabc";
    leaves.write_all(post).unwrap();
    drop(leaves);
    eventually("three lines", || lines(&path).len() == 3);
    let written = lines(&path);
    let line = &written[0];
    for (key, value) in [
        ("method", "GET"),
        ("path", "/a"),
        ("host", "b"),
        ("protocol", "HTTP/1.1"),
        ("client", "127.0.0.1"),
        ("outcome", "served"),
        ("route", "GET /a"),
        ("class", "default"),
    ] {
        assert_eq!(line[key], value, "{line}");
    }
    assert_eq!(
        (&line["status"], &line["answer_bytes"]),
        (&200.into(), &3.into())
    );
    assert!(line["upstream_ns"].as_u64() > Some(0) && line["reason"].is_null());
    assert_eq!(
        (&written[1]["outcome"], &written[1]["status"]),
        (&"bad_request".into(), &400.into())
    );
    assert_eq!(
        (&written[2]["outcome"], &written[2]["status"]),
        (&"left".into(), &Value::Null)
    );
    fs::rename(&path, &moved).unwrap();
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::USR1).unwrap();
    eventually("a line in the new file", || {
        sent(listening.proxy, get);
        !lines(&path).is_empty()
    });
    assert!(lines(&moved).len() >= 3);
}

#[test]
fn a_full_disk_costs_lines_and_no_requests() {
    let (listening, _upstream) = logged(Path::new("/dev/full"), Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    for _ in 0..20 {
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        assert!(answer(&mut client).ends_with("ok\n"));
    }
    eventually("20 lost lines", || {
        metric(&listening, "access_log_dropped_total") > 19.5
    });
}
