//! The status service answers from memory what its documents were a second ago, as large as the published page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bson::{Document, doc};

use crate::article::Database;
use crate::support::{Served, get, metric, now, serve_to_end};

fn status(database: &Database, arguments: &[&str]) -> Served {
    let to = database.address().to_string();
    Served::start("status-app", &[&["--upstream", &to], arguments].concat())
}

/// The answer to one command.
fn command(address: SocketAddr, command: &Document) -> Document {
    let body = command.to_vec().unwrap();
    let length = i32::try_from(21 + body.len()).unwrap();
    let mut message = Vec::new();
    for number in [length, 1, 0, 2013, 0] {
        message.extend_from_slice(&number.to_le_bytes());
    }
    message.push(0);
    message.extend_from_slice(&body);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&message).unwrap();
    let mut head = [0; 21];
    stream.read_exact(&mut head).unwrap();
    let length = usize::try_from(i32::from_le_bytes(head[..4].try_into().unwrap())).unwrap();
    let mut body = vec![0; length - head.len()];
    stream.read_exact(&mut body).unwrap();
    Document::from_reader(body.as_slice()).unwrap()
}

#[test]
fn a_page_has_31_kilobytes_and_made_ahead_it_is_the_same() {
    let database = Database::start(Duration::ZERO);
    let mut first = status(&database, &["--set", "serialise=0"]);
    assert!(first.watch_line().contains("--watch database=port:"));
    let page = get(first.address, "/");
    assert_eq!(page.header("content-type"), Some("application/json"));
    assert!((30_000..33_000).contains(&page.body.len()));
    let parsed: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
    assert_eq!(parsed["sites"].as_array().unwrap().len(), 8);
    assert_eq!(parsed["sites"][7]["points"].as_array().unwrap().len(), 60);
    let to = database.address().to_string();
    // The documents are there already: a second instance shows the same ones.
    let ahead = ["--upstream", &to, "--set", "preserialised=1"];
    let second = Served::beside("status-app", &ahead);
    assert_eq!(get(second.address, "/").body, page.body);
    assert!((metric(second.address, "status_points") - 480.0).abs() < 0.5);
    assert_eq!(get(second.address, "/else").status, 404);
    assert_eq!(second.stop(), Some(0));
    assert_eq!(first.stop(), Some(0));
}

#[test]
fn what_changes_in_the_database_is_seen_without_a_request_that_reads_it() {
    let database = Database::start(Duration::ZERO);
    for kind in ["preserialised=0", "preserialised=1"] {
        let app = status(&database, &["--set", kind]);
        let code = 700 + i32::from(kind.ends_with('1'));
        let change = doc! {
            "update": "points",
            "updates": [{ "q": { "_id": 3 }, "u": { "$set": { "status": code } } }],
            "$db": "status",
        };
        let answer = command(database.address(), &change);
        assert_eq!(answer.get_f64("ok").ok(), Some(1.0), "{answer}");
        let wanted = format!("\"status\":{code}");
        let start = now();
        while !get(app.address, "/").text().contains(&wanted) {
            assert!(start.elapsed() < Duration::from_secs(20), "{kind}");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(metric(app.address, "status_refreshes_total") >= 2.0);
        assert_eq!(app.stop(), Some(0));
    }
}

#[test]
fn without_its_database_it_does_not_start() {
    let ended = serve_to_end(&["status-app", "--port", "0", "--upstream", "127.0.0.1:1"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(said.contains("fill the database at 127.0.0.1:1"), "{said}");
    let ended = serve_to_end(&["status-app", "--port", "0", "--set", "preserialised=0.5"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("preserialised=0.5 is not a whole number"),
        "{said}"
    );
}
