//! Options of scripts that reach beyond the script: limits, logs, parts, addresses, TLS.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex};

use crate::support::{Folder, Service, plimsoll};

const GET: &str = "import http from 'k6/http';
    export default function () { http.get(__ENV.TARGET); console.log('from the script'); }";

/// Runs [`GET`] against `target` without a record; gives back what it said on stderr, and the flat summary.
fn get(folder: &Folder, target: &str, args: &[&str]) -> (String, String) {
    let (script, target) = (script(folder, GET), format!("TARGET={target}"));
    let export = folder.file("export.json");
    let all = ["run", &script, "-e", &target, "--summary-export", &export];
    let quiet = ["--quiet", "--no-record"];
    let (code, out, err) = plimsoll(folder, &[&all[..], args, &quiet[..]].concat());
    assert_eq!(code, 0, "{out}{err}");
    (err, export)
}

fn script(folder: &Folder, text: &str) -> String {
    let path = folder.file("script.js");
    std::fs::write(&path, text).unwrap();
    path
}

/// A count of the flat summary.
fn count(export: &str, metric: &str) -> f64 {
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(export).unwrap()).unwrap();
    json["metrics"][metric]["count"].as_f64().unwrap()
}

#[test]
fn rps_bounds_requests_whatever_the_virtual_users_do() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let args = ["-u", "6", "-d", "3s", "--rps", "40", "--workers", "2"];
    let (_, export) = get(&folder, &served.url, &args);
    let requests = count(&export, "http_reqs");
    // One per worker may go at once, and what was granted before the end goes after it.
    assert!((60.0..=40.0 * 3.0 + 8.0).contains(&requests), "{requests}");
}

#[test]
fn console_lines_and_traffic_go_where_they_are_told() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let log = folder.file("console.log");
    let args = ["-i", "1", "--console-output", &log, "--http-debug=full"];
    let (err, _) = get(&folder, &served.url, &args);
    let lines = std::fs::read_to_string(&log).unwrap();
    // As k6 writes it: the file holds nothing but the console.
    let wanted = "level=info msg=\"from the script\"\n";
    assert!(lines.ends_with(wanted), "{lines}");
    assert!(!err.contains("from the script"), "{err}");
    for part in [
        "Request:\\nGET / HTTP/1.1",
        "Host: 127.0.0.1",
        "Response:\\nHTTP/1.1 200 OK",
    ] {
        assert!(err.contains(part), "{part} in {err}");
    }
}

#[test]
fn parts_of_a_test_add_up() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let mut sum = 0.0;
    for part in ["0:1/3", "1/3:2/3", "2/3:1"] {
        let args = [
            "-u",
            "6",
            "-i",
            "20",
            "--execution-segment",
            part,
            "--workers",
            "1",
        ];
        let (_, export) = get(&folder, &served.url, &args);
        let iterations = count(&export, "iterations");
        assert!((6.0..=8.0).contains(&iterations), "{part}: {iterations}");
        sum += iterations;
    }
    assert_eq!(sum as u64, 20);
}

#[test]
fn requests_leave_from_the_addresses_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            noted
                .lock()
                .unwrap()
                .insert(stream.peer_addr().unwrap().ip());
            let mut head = [0; 4096];
            let _bytes = stream.read(&mut head).unwrap();
            let _sent = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let args = [
        "-u",
        "2",
        "-i",
        "8",
        "--workers",
        "1",
        "--local-ips",
        "127.0.0.5-127.0.0.6",
    ];
    get(&Folder::new(), &format!("http://{address}/"), &args);
    let expected: BTreeSet<IpAddr> = ["127.0.0.5", "127.0.0.6"]
        .map(|ip| ip.parse().unwrap())
        .into();
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn options_that_cannot_be_followed_are_refused_before_the_load() {
    let folder = Folder::new();
    for (options, fragment) in [
        ("tlsVersion: 'tls1.1'", "not spoken here"),
        ("tlsVersion: { min: 'tls1.4' }", "none of tls1.0, tls1.1"),
        ("tlsCipherSuites: ['NONE_OF_THEM']", "known are TLS_"),
        (
            "tlsAuth: [{ cert: 'no PEM', key: 'no PEM' }]",
            "tlsAuth: the certificate cannot be used: it holds no certificate",
        ),
        ("tlsAuth: [{ cert: 'x' }]", "tlsAuth[0]: key is missing"),
        (
            "tlsAuth: [{ cert: 'x', key: 'y', password: 'z' }]",
            "openssl pkey",
        ),
        ("localIPs: ['203.0.113.9']", "no address of this host"),
        (
            "localIPs: ['10.0.0.9-10.0.0.1']",
            "no address, range or network",
        ),
    ] {
        let text =
            format!("export const options = {{ {options} }}; export default function () {{}}");
        let script = script(&folder, &text);
        let (code, _, err) = plimsoll(&folder, &["run", &script, "-i", "1", "--no-record"]);
        assert_eq!(code, 104, "{options}: {err}");
        assert!(err.contains(fragment), "{options}: {err}");
    }
}
