//! Several upstreams: all are used, the sick ones are left out, and routes lead where they should.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_control::admission::{Class, Rule};
use plimsoll_control::balance::Balance;
use plimsoll_guard::{Check, ClassRule, Config, Group, Match, Origin, Retries, Route, TenantKey};
use serde_json::Value;

use crate::streams::{SWITCHED, UPGRADE, until};
use crate::support::{
    Guard, OK, Upstream, answer, config, connect, eventually, metric, page, sent, start,
};

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
}

fn ask(guard: &Guard, times: usize) -> Vec<String> {
    (0..times).map(|_| sent(guard.proxy, &get("/"))).collect()
}

fn explained(guard: &Guard) -> Value {
    let text = page(guard, "/explain");
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// An address where nobody listens.
fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

#[test]
fn all_upstreams_of_a_group_are_used() {
    for balance in Balance::ALL {
        let ups: Vec<Upstream> = (0..3).map(|_| Upstream::answering(OK)).collect();
        let addresses: Vec<SocketAddr> = ups.iter().map(|up| up.address).collect();
        let mut told = config(&addresses, Rule::HalfLoad);
        told.groups[0].balance = balance;
        let guard = start(told);
        assert!(ask(&guard, 60).iter().all(|text| text.ends_with("ok\n")));
        for up in &ups {
            let count = up.requests().matches("GET / ").count();
            assert!(count >= 5, "{count} of 60 with {}", balance.name());
        }
    }
}

/// What stays open is no work, so that the limit says nothing about it; it is spread all the same.
#[test]
fn tunnels_and_streams_of_events_are_spread() {
    const ASKED: &str =
        "GET /events HTTP/1.1\r\nHost: a\r\nAccept: text/html, text/event-stream\r\n\r\n";
    const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
    for request in [UPGRADE, ASKED] {
        let start_one = |_| {
            Upstream::start(Arc::new(|stream, read| {
                let is_chat = read.starts_with(b"GET /chat ");
                let answer = if is_chat { SWITCHED } else { EVENTS };
                read.ends_with(b"\r\n\r\n") && stream.write_all(answer.as_bytes()).is_ok()
            }))
        };
        let ups: Vec<Upstream> = (0..3).map(start_one).collect();
        let addresses: Vec<SocketAddr> = ups.iter().map(|up| up.address).collect();
        let guard = start(config(&addresses, Rule::Fixed(8)));
        let mut open = Vec::new();
        for _ in 0..30 {
            let mut client = connect(guard.proxy);
            client.write_all(request.as_bytes()).unwrap();
            until(&mut client, "\r\n\r\n");
            open.push(client);
        }
        let counts: Vec<usize> = ups
            .iter()
            .map(|up| up.requests().matches("GET /").count())
            .collect();
        assert_eq!(counts, [10, 10, 10], "{request}");
    }
}

/// Somebody else uses the first of them, too, and it says so: the next requests go to the other.
#[test]
fn an_upstream_that_says_that_it_is_full_is_spared() {
    const FULL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\
        Endpoint-Load-Metrics: TEXT application_utilization=0.95\r\n\r\nok\n";
    let ups = [Upstream::answering(FULL), Upstream::answering(OK)];
    let guard = start(config(&[ups[0].address, ups[1].address], Rule::HalfLoad));
    assert!(ask(&guard, 60).iter().all(|text| text.ends_with("ok\n")));
    let counts = ups.map(|up| up.requests().matches("GET / ").count());
    // It is asked again now and then: what it said is soon old.
    assert!((1..=10).contains(&counts[0]), "{counts:?}");
    assert!(metric(&guard, "reported_load") > 0.9);
}

#[test]
fn one_that_nobody_can_reach_costs_no_request_and_is_left_out() {
    let up = Upstream::answering(OK);
    let guard = start(config(&[up.address, nowhere()], Rule::HalfLoad));
    assert!(ask(&guard, 60).iter().all(|text| text.ends_with("ok\n")));
    assert!(metric(&guard, "sent_again_total") > 2.5);
    eventually("the ejection", || {
        ask(&guard, 4);
        metric(&guard, "out{reason=\"unreachable\"") > 0.5
    });
    let group = &explained(&guard)["groups"][0]["upstreams"];
    assert!(group[0]["out"] == "unreachable" || group[1]["out"] == "unreachable");
    assert!(
        group[0]["ejected_count"].as_u64() > Some(0)
            || group[1]["ejected_count"].as_u64() > Some(0)
    );
}

#[test]
fn without_retries_an_upstream_that_is_away_costs_its_requests_until_it_is_left_out() {
    let up = Upstream::answering(OK);
    let mut told = config(&[up.address, nowhere()], Rule::HalfLoad);
    told.retries = Retries {
        attempts: 0,
        ..Retries::default()
    };
    let guard = start(told);
    let answers = ask(&guard, 40);
    let lost = answers
        .iter()
        .filter(|text| text.starts_with("HTTP/1.1 502 "))
        .count();
    assert!((1..40).contains(&lost), "{lost}");
    assert!(metric(&guard, "sent_again_total") < 0.5);
}

/// With room for none, bad answers leave nobody out.
#[test]
fn as_many_as_may_be_are_left_out_for_bad_answers() {
    let up = Upstream::answering(OK);
    let broken = Upstream::start(Arc::new(|stream, _| {
        drop(stream.shutdown(std::net::Shutdown::Both));
        true
    }));
    for (ratio, is_left_out) in [(0.0, false), (0.5, true)] {
        let mut told = config(&[up.address, broken.address], Rule::HalfLoad);
        told.groups[0].out_most_ratio = ratio;
        let guard = start(told);
        // It comes back after a second, and is taken out again.
        eventually("what is expected while it is out", || {
            let before = metric(&guard, "sent_again_total");
            ask(&guard, 4);
            let is_asked = metric(&guard, "sent_again_total") > before + 0.5;
            metric(&guard, "out{reason=\"failing\"") > 0.5 && is_asked != is_left_out
        });
    }
}

/// What was read of a request may have been done: only what changes nothing is sent to another.
#[test]
fn a_broken_answer_is_asked_of_another_only_if_that_is_harmless() {
    let well = Upstream::answering(OK);
    let broken = Upstream::start(Arc::new(|stream, read| {
        if read.ends_with(b"\r\n\r\n") {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
        true
    }));
    let guard = start(config(&[well.address, broken.address], Rule::HalfLoad));
    let mut lost = 0;
    for _ in 0..8 {
        assert!(sent(guard.proxy, &get("/")).ends_with("ok\n"));
        let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        lost += usize::from(sent(guard.proxy, post).starts_with("HTTP/1.1 502 "));
    }
    let seen = broken.requests().matches("POST / ").count();
    assert_eq!(lost, seen);
}

/// A check takes an upstream out that still answers, and brings it back.
#[test]
fn a_check_decides() {
    let is_well = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_well);
    let sick = Upstream::start(Arc::new(move |stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        let is_check = read.starts_with(b"GET /health ");
        let text = if is_check && !told.load(Ordering::SeqCst) {
            "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
        } else {
            OK
        };
        stream.write_all(text.as_bytes()).is_ok()
    }));
    let well = Upstream::answering(OK);
    let mut told = config(&[well.address, sick.address], Rule::HalfLoad);
    told.groups[0].slow_start = Duration::from_millis(200);
    told.groups[0].check = Some(Check {
        path: "/health".to_owned(),
        every: Duration::from_millis(20),
        timeout: Duration::from_millis(500),
    });
    let guard = start(told);
    eventually("the failed checks", || {
        metric(&guard, "out{reason=\"unwell\"") > 0.5
    });
    let before = sick.requests().matches("GET / ").count();
    ask(&guard, 20);
    assert_eq!(sick.requests().matches("GET / ").count(), before);
    is_well.store(true, Ordering::SeqCst);
    eventually("the return", || {
        metric(&guard, "out{reason=\"unwell\"") < 0.5
    });
    eventually("its share", || {
        ask(&guard, 10);
        sick.requests().matches("GET / ").count() > before
    });
}

fn below(path: &str) -> Match {
    Match {
        path: Some(path.to_owned()),
        ..Match::default()
    }
}

fn route(path: &str, group: usize) -> Route {
    Route {
        matches: below(path),
        group,
        class: None,
        timeouts: None,
        waits: false,
    }
}

fn two_groups(app: &Upstream, reports: &Upstream) -> Config {
    let mut told = config(&[app.address], Rule::HalfLoad);
    told.groups.push(Group {
        name: "reports".to_owned(),
        ..Group::simple(vec![Origin::from(reports.address)])
    });
    let mut written = route("/app/written", 1);
    written.matches.methods = vec!["POST".to_owned(), "PUT".to_owned()];
    told.routes = vec![route("/reports", 1), written, route("/app", 0)];
    told
}

#[test]
fn routes_lead_to_groups_and_nowhere_is_a_404() {
    let (app, reports) = (Upstream::answering(OK), Upstream::answering(OK));
    let guard = start(two_groups(&app, &reports));
    for path in ["/app/written", "/reports?a", "/reports/1"] {
        assert!(sent(guard.proxy, &get(path)).ends_with("ok\n"), "{path}");
    }
    let nowhere = sent(guard.proxy, &get("/reporting"));
    assert!(nowhere.starts_with("HTTP/1.1 404 ") && nowhere.contains("X-Plimsoll: no-route"));
    assert_eq!(app.requests().matches("GET ").count(), 1);
    assert_eq!(reports.requests().matches("GET ").count(), 2);
    assert!(metric(&guard, "troubles_total{trouble=\"no_route\"}") > 0.5);
    let post =
        "POST /app/written HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(sent(guard.proxy, post).ends_with("ok\n"));
    assert_eq!(reports.requests().matches("POST ").count(), 1);
}

/// A group whose upstream stands still does not touch the other's permits.
#[test]
fn one_group_in_trouble_leaves_the_other_alone() {
    let app = Upstream::answering(OK);
    let stuck = Upstream::start(Arc::new(|_, _| false));
    let guard = start(two_groups(&app, &stuck));
    let mut waiting: Vec<_> = (0..20).map(|_| connect(guard.proxy)).collect();
    for client in &mut waiting {
        client.write_all(get("/reports").as_bytes()).unwrap();
    }
    eventually("full permits", || metric(&guard, "in_flight") > 3.5);
    for _ in 0..20 {
        assert!(sent(guard.proxy, &get("/app")).ends_with("ok\n"));
    }
}

#[test]
fn explain_says_who_holds_the_permits() {
    let stuck = Upstream::start(Arc::new(|_, _| false));
    let mut told = config(&[stuck.address], Rule::Fixed(3));
    told.tenant = TenantKey::Header("X-Tenant".to_owned());
    told.classes = vec![ClassRule {
        matches: below("/pay"),
        class: Class::Critical,
    }];
    let guard = start(told);
    let mut clients = Vec::new();
    for tenant in ["ann", "ann", "bob"] {
        let mut client = connect(guard.proxy);
        let request = format!("GET /pay/17 HTTP/1.1\r\nHost: a\r\nX-Tenant: {tenant}\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        clients.push(client);
    }
    eventually("three permits", || metric(&guard, "in_flight") > 2.5);
    let explained = explained(&guard);
    let upstream = &explained["groups"][0]["upstreams"][0];
    assert_eq!(upstream["in_flight_count"], 3);
    assert_eq!(upstream["limit"], 3);
    assert_eq!(upstream["permits_by_route"][0]["name"], "GET /pay/:id");
    assert_eq!(upstream["permits_by_route"][0]["count"], 3);
    assert_eq!(upstream["permits_by_tenant"][0]["name"], "ann");
    assert_eq!(upstream["permits_by_tenant"][0]["count"], 2);
    let ready = page(&guard, "/ready");
    assert!(
        ready.starts_with("HTTP/1.1 200 OK") && ready.contains("\"saturation\":"),
        "{ready}"
    );
    eventually("saturation", || metric(&guard, "saturation") > 50.0);
}

#[test]
fn what_lets_a_tenant_in_is_told_apart_and_not_shown() {
    for (key, field) in [
        (TenantKey::Cookie("session".to_owned()), "Cookie: session"),
        (TenantKey::Header("X-Api-Key".to_owned()), "X-Api-Key: key"),
    ] {
        let stuck = Upstream::start(Arc::new(|_, _| false));
        let mut told = config(&[stuck.address], Rule::Fixed(3));
        told.tenant = key;
        let guard = start(told);
        let mut clients = Vec::new();
        for tenant in ["5ecret", "5ecret", "0ther"] {
            let mut client = connect(guard.proxy);
            let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{field}={tenant}\r\n\r\n");
            client.write_all(request.as_bytes()).unwrap();
            clients.push(client);
        }
        eventually("three permits", || metric(&guard, "in_flight") > 2.5);
        let explained = explained(&guard);
        let tenants = &explained["groups"][0]["upstreams"][0]["permits_by_tenant"];
        assert_eq!(tenants[0]["count"], 2, "{tenants}");
        assert_eq!(tenants[1]["count"], 1, "{tenants}");
        let text = explained.to_string();
        assert!(
            !text.contains("5ecret") && !text.contains("0ther"),
            "{text}"
        );
    }
}

#[test]
fn a_trial_refuses_nobody_and_counts_who_would_have_been() {
    let slow = Upstream::start(Arc::new(|stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        std::thread::sleep(Duration::from_millis(500));
        stream.write_all(OK.as_bytes()).is_ok()
    }));
    let mut told = config(&[slow.address], Rule::Fixed(1));
    told.shadow = true;
    let guard = start(told);
    let mut clients: Vec<_> = (0..8).map(|_| connect(guard.proxy)).collect();
    for client in &mut clients {
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
    }
    for client in &mut clients {
        assert!(answer(client).ends_with("ok\n"));
    }
    assert!(metric(&guard, "shadow_refused_total") > 1.5);
    assert!(metric(&guard, "shadow_passed_total") > 1.5);
    assert!(metric(&guard, "refused_total") < 0.5);
    assert_eq!(explained(&guard)["shadow"], true);
    eventually("all permits", || metric(&guard, "in_flight") < 0.5);
}

/// Half of so many connections may be polls, or go on without a permit otherwise.
fn trial_of_polls(upstreams: &[SocketAddr], connections_max: usize) -> Config {
    let mut told = config(upstreams, Rule::Fixed(1));
    told.shadow = true;
    told.connections_max = connections_max;
    told.routes = vec![Route {
        waits: true,
        ..route("/poll", 0)
    }];
    told
}

/// Of those that go on without a permit too: three where half of the connections are, and three more.
#[test]
fn a_trial_refuses_no_poll_and_no_upgrade_either() {
    let is_time = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_time);
    let upstream = Upstream::start(Arc::new(move |stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        if read.starts_with(b"GET /chat ") {
            return stream.write_all(SWITCHED.as_bytes()).is_ok();
        }
        while !ends.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        stream.write_all(OK.as_bytes()).is_ok()
    }));
    let guard = start(trial_of_polls(&[upstream.address], 6));
    let ask = |request: &str| {
        let mut client = connect(guard.proxy);
        client.write_all(request.as_bytes()).unwrap();
        client
    };
    let is = |name: &str, count: f64| (metric(&guard, name) - count).abs() < 0.5;
    let mut polls = Vec::new();
    for count in 1..=5 {
        polls.push(ask(&get("/poll")));
        eventually("a poll", || is("outside", f64::from(count)));
    }
    let mut tunnel = ask(UPGRADE);
    assert_eq!(answer(&mut tunnel), SWITCHED);
    assert!(is("outside", 6.0) && is("in_flight", 0.0));
    assert!(is("shadow_refused_total{reason=\"streams\"}", 3.0));
    // Who would have been refused takes nobody's room.
    drop(polls.remove(0));
    eventually("room for one", || is("connections", 5.0));
    polls.push(ask(&get("/poll")));
    eventually("one more", || is("outside", 6.0));
    is_time.store(true, Ordering::SeqCst);
    for poll in &mut polls {
        assert!(answer(poll).ends_with("ok\n"));
    }
    drop((polls, tunnel));
    eventually("their end", || is("outside", 0.0));
    assert!(is("shadow_refused_total", 3.0) && is("shadow_passed_total", 3.0));
    assert!(is("refused_total", 0.0) && is("arrived_total", 0.0));
}

/// The one that nobody can reach is chosen first, because nobody polls it.
#[test]
fn a_poll_of_a_trial_that_is_sent_again_is_counted_once() {
    let stuck = Upstream::start(Arc::new(|_, _| false));
    let guard = start(trial_of_polls(&[stuck.address, nowhere()], 2));
    let is = |name: &str, count: f64| (metric(&guard, name) - count).abs() < 0.5;
    let mut polls = Vec::new();
    for count in 1..=2 {
        let mut client = connect(guard.proxy);
        client.write_all(get("/poll").as_bytes()).unwrap();
        polls.push(client);
        eventually("a poll", || {
            stuck.requests().matches("GET /poll").count() == count
        });
    }
    assert!(metric(&guard, "sent_again_total") > 0.5 && is("outside", 2.0));
    drop(polls);
    eventually("their end", || is("outside", 0.0));
    assert!(is("shadow_refused_total", 1.0) && is("shadow_passed_total", 1.0));
}

#[test]
fn an_answer_that_takes_too_long_is_a_504() {
    let stuck = Upstream::start(Arc::new(|_, _| false));
    for whole in [true, false] {
        let mut told = config(&[stuck.address], Rule::HalfLoad);
        if whole {
            told.timeouts.whole = Some(Duration::from_millis(200));
        } else {
            told.timeouts.head = Duration::from_millis(200);
        }
        let guard = start(told);
        let text = sent(guard.proxy, &get("/"));
        assert!(
            text.starts_with("HTTP/1.1 504 ") && text.contains("too-slow"),
            "{text}"
        );
    }
}

/// A sidecar is up before its service, and may outlive it: requests that come then would only be lost.
#[test]
fn it_is_not_ready_while_nobody_is_behind_it() {
    // An address of its own: nobody else is given the port while nobody listens there.
    let taken = TcpListener::bind("127.0.0.77:0").unwrap();
    let address = taken.local_addr().unwrap();
    drop(taken);
    let guard = start(config(&[address], Rule::HalfLoad));
    let is_ready = || page(&guard, "/ready").starts_with("HTTP/1.1 200 OK");
    let is_not = || page(&guard, "/ready").starts_with("HTTP/1.1 503 ");
    assert!(is_not());
    let service = TcpListener::bind(address).unwrap();
    assert!(is_ready());
    // What was reached is taken for there until a request finds that it is not.
    drop(service);
    assert!(is_ready());
    assert!(ask(&guard, 1)[0].contains("X-Plimsoll: unreachable"));
    assert!(is_not());
    assert_eq!(explained(&guard)["ready"], false);
    // One of several is enough.
    let other = Upstream::answering(OK);
    let both = start(config(&[address, other.address], Rule::HalfLoad));
    assert!(page(&both, "/ready").starts_with("HTTP/1.1 200 OK"));
}

/// A check that fails says so too, though somebody listens.
#[test]
fn it_is_not_ready_while_its_check_fails() {
    let upstream = Upstream::answering("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
    let mut config = config(&[upstream.address], Rule::HalfLoad);
    config.groups[0].check = Some(Check {
        path: "/health".to_owned(),
        every: Duration::from_millis(20),
        timeout: Duration::from_secs(5),
    });
    let guard = start(config);
    eventually("the check", || {
        page(&guard, "/ready").starts_with("HTTP/1.1 503 ")
    });
}

/// One of two is busy with a single request: that is no reason to send it no poll at all.
#[test]
fn polls_of_a_route_that_waits_are_spread() {
    let stuck = || Upstream::start(Arc::new(|_, _| false));
    let ups = [stuck(), stuck()];
    let mut told = config(&ups.each_ref().map(|up| up.address), Rule::Fixed(4));
    told.routes = vec![Route {
        waits: true,
        ..route("/poll", 0)
    }];
    let guard = start(told);
    let ask = |path: &str| {
        let mut client = connect(guard.proxy);
        client.write_all(get(path).as_bytes()).unwrap();
        client
    };
    let _busy = ask("/");
    eventually("a permit", || metric(&guard, "in_flight") > 0.5);
    let _polls: Vec<_> = (0..21).map(|_| ask("/poll")).collect();
    let polls = || {
        ups.each_ref()
            .map(|up| up.requests().matches("GET /poll ").count())
    };
    eventually("all polls", || polls().iter().sum::<usize>() == 21);
    assert!(polls().iter().all(|count| *count >= 10), "{:?}", polls());
}

/// There is room for one of them in all, which is its own.
#[test]
fn a_poll_is_sent_to_another_upstream_without_room_for_a_second() {
    let up = Upstream::answering(OK);
    let mut told = config(&[up.address, nowhere()], Rule::Fixed(4));
    told.connections_max = 2;
    told.routes = vec![Route {
        waits: true,
        ..route("/poll", 0)
    }];
    let guard = start(told);
    let mut client = connect(guard.proxy);
    for _ in 0..20 {
        let request = b"GET /poll HTTP/1.1\r\nHost: a\r\n\r\n";
        client.write_all(request).unwrap();
        let text = answer(&mut client);
        assert!(text.ends_with("ok\n"), "{text}");
    }
    assert!(metric(&guard, "sent_again_total") > 0.5);
    eventually("its end", || metric(&guard, "outside") < 0.5);
}
