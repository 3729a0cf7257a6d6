//! The three arrangements keep the same data in the same way; only who is served next differs.

use std::time::Duration;

use bson::doc;
use plimsoll_docdb::server::{Config, Durability, Scheduler, Server};

use crate::client::{Client, config, start};
use crate::folder::Folder;

#[test]
fn every_arrangement_keeps_what_it_acknowledged_across_a_restart() {
    for scheduler in Scheduler::ALL {
        let folder = Folder::new("it");
        let config = Config {
            scheduler,
            ..config(&folder)
        };
        let server = start(config.clone());
        let mut client = Client::connect(server.address());
        for database in ["one", "two", "Three-3"] {
            for id in 0..20 {
                client.insert(database, "c", vec![doc! { "_id": id, "of": database }]);
            }
        }
        server.stop().unwrap();
        let server = start(config);
        let mut client = Client::connect(server.address());
        let listed = client.ok("admin", doc! { "listDatabases": 1, "nameOnly": true });
        let names: Vec<_> = listed
            .get_array("databases")
            .unwrap()
            .iter()
            .map(|one| {
                one.as_document()
                    .unwrap()
                    .get_str("name")
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(names, ["Three-3", "one", "two"], "{scheduler:?}");
        for database in ["one", "two", "Three-3"] {
            assert_eq!(client.count(database, "c"), 20, "{scheduler:?}");
            assert_eq!(
                client.find(database, "c", doc! { "_id": 7 })[0]
                    .get_str("of")
                    .unwrap(),
                database
            );
        }
        server.stop().unwrap();
    }
}

#[test]
fn shards_share_databases_and_any_connection_reaches_all() {
    let folder = Folder::new("it");
    let server = start(Config {
        shards: Some(3),
        ..config(&folder)
    });
    let mut clients: Vec<_> = (0..6).map(|_| Client::connect(server.address())).collect();
    for (at, client) in clients.iter_mut().enumerate() {
        for database in 0..7 {
            client.insert(
                &format!("db{database}"),
                "c",
                vec![doc! { "_id": at as i32 }],
            );
        }
    }
    for client in &mut clients {
        for database in 0..7 {
            assert_eq!(client.count(&format!("db{database}"), "c"), 6);
        }
    }
    let folders = std::fs::read_dir(folder.path().join("data"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count();
    assert_eq!(folders, 3);
    server.stop().unwrap();
}

#[test]
fn a_folder_keeps_its_arrangement_and_its_owner() {
    let folder = Folder::new("it");
    let server = start(config(&folder));
    let second = Server::start(config(&folder)).unwrap_err().to_string();
    assert!(
        second.contains("lock") || second.contains("use"),
        "{second}"
    );
    server.stop().unwrap();
    let other = Server::start(Config {
        scheduler: Scheduler::Shared,
        ..config(&folder)
    })
    .unwrap_err()
    .to_string();
    assert!(other.contains("--scheduler sharded"), "{other}");
}

#[test]
fn an_interval_is_labelled_wherever_a_write_is_acknowledged() {
    let folder = Folder::new("it");
    let durability = Durability::Interval(20);
    let server = start(Config {
        durability,
        ..config(&folder)
    });
    let mut client = Client::connect(server.address());
    let writes = [
        doc! { "insert": "c", "documents": [{ "_id": 1 }] },
        doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "a": 1 } } }] },
        doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": { "$set": { "a": 2 } } },
        doc! { "delete": "c", "deletes": [{ "q": { "_id": 1 }, "limit": 1 }] },
    ];
    for write in writes {
        let reply = client.ok("db", write);
        let label = reply
            .get_document("docdb")
            .and_then(|docdb| docdb.get_str("durability"));
        assert_eq!(label.unwrap(), "interval=20ms", "{reply}");
    }
    let hello = client.ok("admin", doc! { "hello": 1 });
    assert_eq!(
        hello
            .get_document("docdb")
            .unwrap()
            .get_str("durability")
            .unwrap(),
        "interval=20ms"
    );
    server.stop().unwrap();
    let server = start(Config {
        durability,
        ..config(&folder)
    });
    assert_eq!(Client::connect(server.address()).count("db", "c"), 0);
    server.stop().unwrap();
}

/// What is acknowledged is counted against fsyncs in one run: with 16 writers far fewer fsyncs than writes.
#[test]
fn writers_that_come_together_share_an_fsync() {
    let folder = Folder::new("it");
    let slow_fsync = Duration::from_millis(2);
    let server = start(Config {
        slow_fsync,
        ..config(&folder)
    });
    let address = server.address();
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                for id in 0..40 {
                    client.insert("db", "c", vec![doc! { "_id": writer * 1000 + id }]);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let mut client = Client::connect(address);
    assert_eq!(client.count("db", "c"), 640);
    let status = client.ok("admin", doc! { "serverStatus": 1 });
    let fsyncs = status
        .get_document("docdb")
        .unwrap()
        .get_i64("fsyncs")
        .unwrap();
    assert!(
        fsyncs * 4 < 640,
        "{fsyncs} fsyncs for 640 writes of 16 writers"
    );
    server.stop().unwrap();
}
