//! Thousands of connections at once, most of them idle, some of them half a message: the others are served.

use bson::doc;

use super::Server;
use super::client::Client;
use crate::support::Folder;

/// Connections that begin a message and say no more.
const STUCK: usize = 50;

/// In `make soak` ten thousand. The server is a process of its own, with descriptors of its own.
fn crowd() -> i32 {
    if std::env::var_os("PLIMSOLL_SOAK").is_some() {
        10_000
    } else {
        400
    }
}

#[test]
fn thousands_of_connections_are_served() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let all = rustix::process::Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, all).unwrap();
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &[]);
    let mut stuck: Vec<Client> = (0..STUCK)
        .map(|_| Client::connect(&server.address).unwrap())
        .collect();
    for client in &mut stuck {
        client.send(&[200, 0, 0, 0, 1, 0]).unwrap();
    }
    let mut clients: Vec<Client> = (0..crowd())
        .map(|_| Client::connect(&server.address).unwrap())
        .collect();
    for (id, client) in (0..crowd()).zip(&mut clients) {
        let document = doc! { "_id": id };
        let insert = doc! { "insert": "crowd", "documents": [document], "$db": "db" };
        let answer = client.command(&insert).unwrap();
        assert_eq!(answer.get_i32("n").ok(), Some(1), "{answer}");
    }
    let count = doc! { "count": "crowd", "$db": "db" };
    let answer = clients[0].command(&count).unwrap();
    assert_eq!(answer.get_i32("n").ok(), Some(crowd()), "{answer}");
    drop(clients);
    assert_eq!(
        server.stop(),
        Some(0),
        "half a message does not hold up the end"
    );
}
