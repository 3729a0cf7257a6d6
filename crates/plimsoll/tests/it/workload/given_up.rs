//! What becomes of operations whose client gives up before the store answers: seen from a relay in front of DocDB that
//! holds every answer back, and counts the connections it is asked for.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use super::{gate, server, summary};
use crate::support::plimsoll;

/// How long an answer is held back: longer than a try may take below.
const HELD: Duration = Duration::from_millis(60);

/// A relay to that address, and how many connections it was asked for.
fn relay(to: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            count.fetch_add(1, Ordering::Relaxed);
            let Ok(store) = TcpStream::connect(&to) else {
                continue;
            };
            let (from, into) = (client.try_clone().unwrap(), store.try_clone().unwrap());
            spawn(move || pass_on(from, into, Duration::ZERO));
            spawn(move || pass_on(store, client, HELD));
        }
    });
    (address, asked)
}

fn pass_on(mut from: TcpStream, mut into: TcpStream, held: Duration) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count) = from.read(&mut buffer)
        && count > 0
    {
        sleep(held);
        if into.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _gone_already = into.shutdown(Shutdown::Write);
}

const WORKLOAD: &str = "connections = 8\nworkers = 8\ndocuments = 300\nduration = \"3s\"\n\
                        client = { try_timeout = \"30ms\", retries = 5, driver_retries = false";

#[test]
fn clients_that_give_up_keep_their_connections_unless_asked_to_close_them() {
    let (server, folder) = server();
    let mut asked = Vec::new();
    for given_up in ["finish", "close"] {
        let (address, count) = relay(server.address.clone());
        let text =
            format!("store = \"mongodb://{address}\"\n{WORKLOAD}, given_up = \"{given_up}\" }}\n");
        std::fs::write(folder.0.join("w.toml"), text).unwrap();
        let record = format!("{given_up}.plimsoll.jsonl");
        let args = ["run", "w.toml", "--format", "json", "-o", &record];
        let (code, stdout, stderr) = plimsoll(&folder, &args);
        assert!([0, 3, 99].contains(&code), "{given_up} {code}: {stderr}");
        let summary = summary(&stdout);
        let outcomes = summary["outcomes"].as_object().unwrap();
        let late = outcomes.contains_key("timeout") || outcomes.contains_key("dropped");
        assert!(late, "{given_up}: {summary}");
        assert_eq!(gate(&summary, 12), "pass", "{given_up}: {summary}");
        let effects = &summary["store"]["databases"][0]["effects"];
        let most = effects["wire_max"].as_u64().unwrap();
        assert!(most <= 8, "{given_up}: {summary}");
        asked.push((
            count.load(Ordering::Relaxed),
            effects["commands_count"].as_u64().unwrap(),
        ));
    }
    let [(finished, sent), (closed, sent_closing)] = asked.as_slice() else {
        unreachable!("two were played");
    };
    // The pool, what fills and what verifies, and the driver's watchers.
    assert!(*finished <= 30 && *closed > *finished, "{asked:?}");
    // All 8 connections are busy throughout, some 8 × 3 s ÷ 60 ms commands; closing them, hardly any try finds one.
    assert!(*sent > 60 && *sent > sent_closing * 3, "{asked:?}");
}
