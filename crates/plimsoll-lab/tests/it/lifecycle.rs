//! Every service starts, answers, stops when told, and leaves no process behind.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use plimsoll_lab::serve::catalogue;

use crate::article::Database;
use crate::support::{Served, children_of, get, gone, now, serve_to_end};

/// Services that this machine may not be able to give, with what they then say.
const DEPENDS: [(&str, &str); 2] = [
    ("cpu-quota", "error: no CPU quota can be set here: "),
    ("fsync", " is not on a disk "),
];

fn start(name: &str, arguments: &[&str]) -> Option<Served> {
    let depends = DEPENDS.iter().find(|(known, _)| *known == name);
    match (Served::try_start(name, arguments), depends) {
        (Ok(served), _) => Some(served),
        (Err(error), Some((_, words))) if error.contains(words) => None,
        (Err(error), _) => panic!("{name}: {error}"),
    }
}

#[test]
fn every_service_and_twin_starts_answers_and_ends_with_its_helpers() {
    let upstream = Served::beside("echo", &[]);
    let database = Database::start(Duration::ZERO);
    for service in catalogue::services() {
        let to = match service.name {
            "article-app" | "status-app" => vec![database.address()],
            "article-worker" => vec![upstream.address, database.address()],
            // The echo answers 200 to a push, too.
            "proxy" | "shop-app" | "article-queue" | "link" => vec![upstream.address],
            _ => Vec::new(),
        };
        for twin in [&[][..], &["--healthy"]] {
            starts_answers_and_ends(service.name, twin, &to);
        }
    }
}

fn starts_answers_and_ends(name: &str, twin: &[&str], to: &[SocketAddr]) {
    let to: Vec<String> = to.iter().map(SocketAddr::to_string).collect();
    let mut arguments = twin.to_vec();
    for address in &to {
        arguments.extend(["--upstream", address.as_str()]);
    }
    let Some(served) = start(name, &arguments) else {
        return;
    };
    let path = if name.starts_with("shop") {
        "/items/7"
    } else {
        "/"
    };
    let expected = if name == "article-queue" { 202 } else { 200 };
    assert_eq!(get(served.address, path).status, expected, "{name}");
    assert!(served.address.ip().is_loopback());
    let helpers = children_of(served.pid());
    let tiers = match name {
        "shop" => 2,
        "small-pool" | "proxy-slots" | "slow-downstream" => 1,
        _ => 0,
    };
    assert_eq!(helpers.len(), tiers, "{name}");
    assert_eq!(served.stop(), Some(0), "{name}");
    assert!(helpers.into_iter().all(gone), "{name}");
}

#[test]
fn a_link_delays_each_way_and_alters_nothing() {
    let upstream = Served::beside("echo", &[]);
    let to = upstream.address.to_string();
    let link = Served::beside("link", &["--upstream", &to, "--set", "delay=40"]);
    let begun = now();
    assert_eq!(get(link.address, "/").body, get(upstream.address, "/").body);
    assert!(begun.elapsed() >= Duration::from_millis(80));
}

#[test]
fn ctrl_c_ends_a_service_as_sigterm_does() {
    let mut served = Served::start("slow-downstream", &[]);
    let helpers = children_of(served.pid());
    served.signal("INT");
    assert_eq!(served.ended(), Some(0));
    assert!(!helpers.is_empty() && helpers.into_iter().all(gone));
}

#[test]
fn helpers_end_when_their_service_is_killed() {
    for name in ["shop", "small-pool"] {
        let mut served = Served::start(name, &[]);
        let helpers = children_of(served.pid());
        served.signal("KILL");
        assert_eq!(served.ended(), None, "killed, so without an exit code");
        assert!(
            !helpers.is_empty() && helpers.into_iter().all(gone),
            "{name}"
        );
    }
}

#[test]
fn a_helper_whose_parent_is_gone_ends_at_once() {
    let ended = serve_to_end(&["echo", "--port", "0", "--parent", "999999999"]);
    assert!(ended.status.success());
    assert!(ended.stdout.is_empty());
}

#[test]
fn the_log_of_a_proxy_goes_with_it_unless_it_was_asked_for() {
    let mut served = Served::start("proxy-slots", &[]);
    let watch = served.watch_line();
    let log = watch.split("nginx-log:").nth(1).unwrap().trim().to_owned();
    assert_eq!(get(served.address, "/").status, 200);
    let line = std::fs::read_to_string(&log).unwrap();
    assert!(line.ends_with(" us=200 st=200\n"), "{line}");
    assert_eq!(served.stop(), Some(0));
    assert!(!Path::new(&log).exists());
}

#[test]
fn cores_confine_a_service_and_its_helpers() {
    let allowed = cores_of(std::process::id());
    let core = allowed.split([',', '-']).next().unwrap();
    let served = Served::start("slow-downstream", &["--cores", core]);
    for pid in children_of(served.pid()).into_iter().chain([served.pid()]) {
        assert_eq!(cores_of(pid), core);
    }
}

fn cores_of(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let cores = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cores.unwrap().trim().to_owned()
}
