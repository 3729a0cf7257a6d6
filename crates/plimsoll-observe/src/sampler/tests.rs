//! The sampler on this process and its own sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_core::record::{ListenerSample, ProcessSample};

use super::*;

fn watch(text: &str) -> Watch {
    Watch::parse(text).unwrap()
}

fn processes(observations: &[Observation]) -> Vec<(&str, &ProcessSample)> {
    observations
        .iter()
        .filter_map(|observation| match &observation.seen {
            Seen::Process(sample) => Some((observation.tier.as_str(), sample)),
            _ => None,
        })
        .collect()
}

fn listener_of(observations: &[Observation], tier: &str, port: u16) -> ListenerSample {
    let found = observations
        .iter()
        .find_map(|observation| match &observation.seen {
            Seen::Listener(sample) if observation.tier == tier && sample.port == port => {
                Some(sample.clone())
            }
            _ => None,
        });
    found.unwrap_or_else(|| panic!("no listener {port} of {tier} in {observations:?}"))
}

#[test]
fn a_local_target_is_found_with_its_queue_and_connections() {
    let front = TcpListener::bind("127.0.0.1:0").unwrap();
    let back = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = front.local_addr().unwrap();
    let back_port = back.local_addr().unwrap().port();
    let _client = TcpStream::connect(address).unwrap();
    let _accepted = front.accept().unwrap();
    let _waiting = TcpStream::connect(address).unwrap();
    let _outgoing = TcpStream::connect(("127.0.0.1", back_port)).unwrap();

    let mut sampler = Sampler::new(Some(address), &[]).unwrap();
    let first = sampler.sample(Nanos::from_millis(10));
    assert!(processes(&first).is_empty(), "no interval yet");
    std::thread::sleep(Duration::from_millis(20));
    let second = sampler.sample(Nanos::from_millis(30));
    let own = std::process::id();
    let (tier, sample) = processes(&second)
        .into_iter()
        .find(|(_, s)| s.pid == own)
        .unwrap();
    assert_eq!(tier, TARGET_TIER);
    assert!(sample.threads_count >= 1 && !sample.threads_by_state.is_empty());
    let out = sample.connections_out.as_ref().unwrap();
    assert_eq!(out.get(&back_port), Some(&1), "{out:?}");
    let listener = listener_of(&second, TARGET_TIER, address.port());
    assert_eq!((listener.accept_queue, listener.established), (1, 1));
    assert!(listener.accept_queue_max > 0);
    assert!(
        second
            .iter()
            .all(|seen| seen.length_ns == Nanos::from_millis(20))
    );
    assert!(
        second
            .iter()
            .any(|o| matches!(&o.seen, Seen::Host(host) if host.cores > 0))
    );
}

#[test]
fn a_watch_renames_the_target_and_metrics_join_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let port = address.port();
    let answers = std::thread::spawn(move || {
        for value in [5, 8] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let _read = stream.read(&mut request).unwrap();
            let text = format!("HTTP/1.0 200 OK\r\n\r\npool_in_use {value}\nwaits_total {value}\n");
            stream.write_all(text.as_bytes()).unwrap();
        }
    });
    let watches = [
        watch(&format!("app=port:{port}")),
        watch(&format!("metrics:http://127.0.0.1:{port}/metrics")),
    ];
    let mut sampler = Sampler::new(Some(address), &watches).unwrap();
    let mut found = None;
    for step in 1..200_u64 {
        let seen = sampler.sample(Nanos::from_millis(step * 10));
        found = seen
            .into_iter()
            .find(|o| matches!(o.seen, Seen::Metrics(_)));
        if found.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let found = found.expect("metrics within two seconds");
    let Seen::Metrics(metrics) = &found.seen else {
        unreachable!()
    };
    assert_eq!(found.tier, "app");
    assert!((metrics.values["pool_in_use"] - 8.0).abs() < 1e-9);
    assert!((metrics.values["waits_total"] - 3.0).abs() < 1e-9);
    answers.join().unwrap();
}

#[test]
fn a_process_that_ends_is_told_once() {
    let mut child = Command::new("sleep").arg("30").spawn().unwrap();
    let watches = [watch(&format!("worker=pid:{}", child.id()))];
    let mut sampler = Sampler::new(None, &watches).unwrap();
    sampler.sample(Nanos(1));
    assert_eq!(processes(&sampler.sample(Nanos(2))).len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let after: Vec<_> = (3..6).flat_map(|at| sampler.sample(Nanos(at))).collect();
    assert!(processes(&after).is_empty());
    let ended = |o: &&Observation| matches!(&o.seen, Seen::Absent(a) if a.reason == "it ended");
    assert_eq!(after.iter().filter(ended).count(), 1);
}

/// Nodes of a ring have the same port, each at an address of its own.
#[test]
fn who_listens_on_the_same_port_of_another_address_and_has_a_name_is_another_tier() {
    let front = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = front.local_addr().unwrap();
    let other = TcpListener::bind(("127.0.0.2", address.port())).unwrap();
    let mut child = Command::new("sleep")
        .arg("30")
        .stdin(OwnedFd::from(other))
        .spawn()
        .unwrap();
    let watches = [
        watch(&format!("db=port:{}", address.port())),
        watch(&format!("db2=pid:{}", child.id())),
    ];
    let mut sampler = Sampler::new(Some(address), &watches).unwrap();
    sampler.sample(Nanos(1));
    let seen = sampler.sample(Nanos(2));
    child.kill().unwrap();
    child.wait().unwrap();
    let seen: Vec<(&str, u32)> = processes(&seen)
        .iter()
        .map(|(tier, s)| (*tier, s.pid))
        .collect();
    assert_eq!(seen, [("db", std::process::id()), ("db2", child.id())]);
}

#[test]
fn a_process_named_for_a_hidden_target_is_the_target() {
    // A port without a listener hides its process just as another user's does.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let own = std::process::id();
    let watches = [watch(&format!("pid:{own}"))];
    let mut sampler = Sampler::new(Some(address), &watches).unwrap();
    let first = sampler.sample(Nanos(1));
    let told = |o: &Observation| match &o.seen {
        Seen::Absent(absent) => absent.reason.contains("--watch pid:N"),
        _ => false,
    };
    assert!(first.iter().any(told), "{first:?}");
    let second = sampler.sample(Nanos(2));
    assert!(
        processes(&second)
            .iter()
            .any(|(tier, process)| *tier == TARGET_TIER && process.pid == own)
    );
}

#[test]
fn what_cannot_be_watched_is_an_error_with_the_fix() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (text, fragment) in [
        (format!("port:{}", free.port()), "nothing listens"),
        ("pid:4194303".to_owned(), "does not exist"),
        ("name:no-such-name".to_owned(), "no process is named"),
        ("nginx-log:/nonexistent/x".to_owned(), "log_format plimsoll"),
    ] {
        let error = Sampler::new(None, &[watch(&text)]).unwrap_err().to_string();
        assert!(error.contains(fragment), "{text}: {error}");
    }
}

#[test]
fn a_remote_target_has_no_process() {
    let remote: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let mut sampler = Sampler::new(Some(remote), &[]).unwrap();
    sampler.sample(Nanos(1));
    let seen = sampler.sample(Nanos(2));
    assert!(processes(&seen).is_empty());
}

/// A database on a Unix socket has no port: only how many connections there are can be told.
#[test]
fn connections_over_unix_sockets_are_told_by_their_number() {
    let path = std::env::temp_dir().join(format!("plimsoll-unix-{}", std::process::id()));
    let database = UnixListener::bind(&path).unwrap();
    let connect = || UnixStream::connect(&path).unwrap();
    let (one, two) = (connect(), connect());
    std::fs::remove_file(&path).unwrap();
    let accepted = [database.accept().unwrap().0, database.accept().unwrap().0];
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let three = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
    let sleep = |stdin: OwnedFd, stdout: OwnedFd, stderr: Stdio| {
        let mut command = Command::new("sleep");
        command.arg("30").stdin(stdin).stdout(stdout).stderr(stderr);
        command.spawn().unwrap()
    };
    let mut service = sleep(one.into(), two.into(), OwnedFd::from(three).into());
    let [first, second] = accepted;
    let mut behind = sleep(first.into(), second.into(), Stdio::null());
    let watches = [service.id(), behind.id()].map(|pid| watch(&format!("pid:{pid}")));
    let mut sampler = Sampler::new(None, &watches).unwrap();
    sampler.sample(Nanos(1));
    let seen = sampler.sample(Nanos(2));
    for child in [&mut service, &mut behind] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let of = |pid: u32| {
        let all = processes(&seen).into_iter();
        let mut own = all.filter(|(_, process)| process.pid == pid);
        own.next().unwrap().1.clone()
    };
    let calls = of(service.id());
    assert_eq!(calls.connections_unnamed, 2);
    let out: u32 = calls.connections_out.unwrap().values().sum();
    assert_eq!(out, 1, "that over TCP");
    assert_eq!(of(behind.id()).connections_unnamed, 0, "it was called");
}

const TARGET: &str = "PLIMSOLL_TEST_TARGET";

/// A test that serves and starts the generator: the generator is its child, and no part of the tier.
#[test]
fn a_generator_that_the_service_started_is_not_of_its_tier() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sampler::tests::as_a_generator", "--nocapture"])
        .env(TARGET, port.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

/// Does its work only as the process that the test above starts.
#[test]
fn as_a_generator() {
    let Ok(port) = std::env::var(TARGET) else {
        return;
    };
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let mut sampler = Sampler::new(Some(address), &[]).unwrap();
    sampler.sample(Nanos(1));
    let seen = sampler.sample(Nanos(2));
    let seen: Vec<u32> = processes(&seen).iter().map(|(_, p)| p.pid).collect();
    assert!(
        seen.contains(&std::os::unix::process::parent_id()),
        "{seen:?}"
    );
    assert!(!seen.contains(&std::process::id()), "{seen:?}");
}

/// An overloaded event loop answers late: what its counters grew by is of all the time since the answer before.
#[test]
fn a_late_answer_of_metrics_counts_over_all_its_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let answers = std::thread::spawn(move || {
        for value in [5, 35] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let _read = stream.read(&mut request).unwrap();
            if value > 5 {
                released.recv().unwrap();
            }
            let text = format!("HTTP/1.0 200 OK\r\n\r\nwaits_total {value}\n");
            stream.write_all(text.as_bytes()).unwrap();
        }
    });
    let watches = [watch(&format!("metrics:http://{address}/metrics"))];
    let mut sampler = Sampler::new(None, &watches).unwrap();
    let mut second = 0;
    let mut sample = |sampler: &mut Sampler| {
        second += 1;
        std::thread::sleep(Duration::from_millis(10));
        let seen = sampler.sample(Nanos::from_secs(second));
        let mut seen = seen.into_iter();
        seen.find(|o| matches!(o.seen, Seen::Metrics(_)))
    };
    while sampler.scrapers[0].1.earlier.is_none() {
        assert_eq!(sample(&mut sampler), None);
    }
    let begin = sampler.scrapers[0].1.earlier.as_ref().unwrap().0;
    for _ in 0..2 {
        assert_eq!(sample(&mut sampler), None, "it has not answered");
    }
    release.send(()).unwrap();
    let mut late = None;
    for _ in 0..200 {
        late = late.or_else(|| sample(&mut sampler));
    }
    answers.join().unwrap();
    let late = late.expect("metrics within two seconds");
    assert!(late.length_ns >= Nanos::from_secs(3));
    assert_eq!(late.length_ns, late.at_ns - begin);
    let Seen::Metrics(metrics) = &late.seen else {
        unreachable!()
    };
    assert!((metrics.values["waits_total"] - 30.0).abs() < 1e-9);
}
