//! create, drop, rename, list, statistics.

use std::ops::Bound;

use bson::{Bson, Document, doc};

use super::harness::{Server, batch, cursor_id, ints};
use crate::scheduler::Backend;
use crate::store::Space;

fn names(server: &mut Server) -> Vec<String> {
    let reply = server.ok(doc! { "listCollections": 1, "nameOnly": true });
    batch(&reply, "firstBatch")
        .iter()
        .map(|one| one.get_str("name").unwrap().to_owned())
        .collect()
}

#[test]
fn collections_are_created_listed_renamed_and_dropped() {
    let mut server = Server::new();
    server.ok(doc! { "create": "b" });
    server.insert("a", vec![doc! { "_id": 1 }]);
    // A second time with the same options is fine, and changes nothing.
    server.ok(doc! { "create": "b" });
    assert_eq!(names(&mut server), ["a", "b"]);
    let rename = |from: &str, to: &str| doc! { "renameCollection": from, "to": to, "$db": "admin" };
    assert_eq!(server.fail(rename("db.a", "db.b")).0, 48);
    assert_eq!(server.fail(rename("db.x", "db.y")).0, 26);
    assert_eq!(server.fail(rename("db.a", "db.a")).0, 20);
    assert_eq!(server.fail(rename("db.a", "other.a")).0, 115);
    assert_eq!(server.fail(rename("db.a", "x")).0, 73);
    let mut over = rename("db.a", "db.b");
    over.insert("dropTarget", true);
    server.ok(over);
    server.reopen();
    assert_eq!(names(&mut server), ["b"]);
    assert_eq!(server.ids(doc! { "find": "b" }), ints(&[1]));
    let reply = server.ok(doc! { "drop": "b" });
    assert_eq!(reply, doc! { "nIndexesWas": 1, "ns": "db.b", "ok": 1.0 });
    assert_eq!(server.fail(doc! { "drop": "b" }).0, 26);
    assert!(server.shard().databases().is_empty());
}

#[test]
fn a_collection_is_listed_with_uuid_options_and_id_index() {
    let mut server = Server::new();
    server.ok(doc! { "create": "a" });
    let reply = server.ok(doc! { "listCollections": 1, "filter": { "name": "a" } });
    let listed = &batch(&reply, "firstBatch")[0];
    assert_eq!(listed.get_str("type").unwrap(), "collection");
    assert_eq!(listed.get_document("options").unwrap(), &Document::new());
    let info = listed.get_document("info").unwrap();
    assert!(matches!(info.get("uuid"), Some(Bson::Binary(uuid)) if uuid.bytes.len() == 16));
    let id_index = doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" };
    assert_eq!(listed.get_document("idIndex").unwrap(), &id_index);
    let reply = server.ok(doc! { "listCollections": 1, "filter": { "name": "b" } });
    assert!(batch(&reply, "firstBatch").is_empty());
    for name in ["b", "c"] {
        server.ok(doc! { "create": name });
    }
    let reply = server.ok(doc! { "listCollections": 1, "cursor": { "batchSize": 2 } });
    let id = cursor_id(&reply);
    let reply = server.ok(doc! { "getMore": id, "collection": "$cmd.listCollections" });
    assert_eq!(batch(&reply, "nextBatch").len(), 1);
}

#[test]
fn kinds_of_collections_that_are_not_supported_are_refused() {
    let mut server = Server::new();
    for option in [
        doc! { "capped": true, "size": 1000 },
        doc! { "viewOn": "a", "pipeline": [] },
        doc! { "timeseries": { "timeField": "t" } },
        doc! { "validator": { "a": 1 } },
        doc! { "collation": { "locale": "de" } },
        doc! { "expireAfterSeconds": 5 },
    ] {
        let mut command = doc! { "create": "a" };
        command.extend(option.clone());
        assert_eq!(server.fail(command).0, 115, "{option}");
    }
    server.ok(doc! { "create": "a", "capped": false, "validator": {} });
    assert_eq!(server.fail(doc! { "create": "b", "nonsense": 1 }).0, 40415);
    assert_eq!(server.fail(doc! { "create": "b", "$db": "DB" }).0, 13297);
}

#[test]
fn what_a_dropped_collection_leaves_is_swept_and_never_seen_again() {
    let mut server = Server::new();
    let index = doc! { "key": { "a": 1 }, "name": "a_1" };
    server.ok(doc! { "createIndexes": "c", "indexes": [index] });
    server.insert(
        "c",
        (0..2500).map(|id| doc! { "_id": id, "a": id }).collect(),
    );
    server.ok(doc! { "dropDatabase": 1 });
    server.insert("c", vec![doc! { "_id": 1, "a": 1 }]);
    assert_eq!(server.ids(doc! { "find": "c" }), ints(&[1]));
    server.reopen();
    let now = bson::DateTime::from_millis(server.now);
    let mut calls = 0;
    while server.shard().tend_once(now).unwrap() {
        calls += 1;
        server.shard().commit().unwrap();
    }
    assert!(calls > 4, "{calls}");
    let store = server.shard().store();
    let left = |space| {
        store
            .scan(space, Bound::Unbounded, Bound::Unbounded)
            .count()
    };
    assert_eq!((left(Space::Documents), left(Space::Indexes)), (1, 0));
    server.validate("c");
}

#[test]
fn statistics_are_those_of_the_documents() {
    let mut server = Server::new();
    server.ok(doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] });
    server.insert("c", (0..10).map(|id| doc! { "_id": id, "a": id }).collect());
    server.reopen();
    let stats = server.ok(doc! { "collStats": "c" });
    let size = 10
        * i32::try_from(
            bson::RawDocumentBuf::try_from(&doc! { "_id": 1, "a": 1 })
                .unwrap()
                .as_bytes()
                .len(),
        )
        .unwrap();
    assert_eq!(
        (
            stats.get_i32("count").unwrap(),
            stats.get_i32("size").unwrap()
        ),
        (10, size)
    );
    assert_eq!(stats.get_i32("nindexes").unwrap(), 2);
    assert!(
        stats
            .get_document("indexSizes")
            .unwrap()
            .get_i32("a_1")
            .unwrap()
            > 100
    );
    let stats = server.ok(doc! { "dbStats": 1 });
    assert_eq!(
        (
            stats.get_i32("objects").unwrap(),
            stats.get_f64("dataSize").unwrap()
        ),
        (10, f64::from(size))
    );
    let stats = server.ok(doc! { "collStats": "none" });
    assert_eq!(stats.get_i32("count").unwrap(), 0);
    assert_eq!(
        server
            .ok(doc! { "dbStats": 1, "$db": "none" })
            .get_i32("objects")
            .unwrap(),
        0
    );
    assert_eq!(server.fail(doc! { "collStats": "c", "scale": 0 }).0, 2);
    assert_eq!(server.fail(doc! { "validate": "none" }).0, 26);
    let databases = server.shard().databases();
    assert_eq!((databases.len(), databases[0].bytes > 200), (1, true));
}
