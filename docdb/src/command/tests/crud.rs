//! insert, update, delete, findAndModify, count, distinct.

use bson::{Bson, Document, doc};

use super::harness::{Server, ints, write_error};
use crate::value::shell;

/// Code and index of each write error.
fn write_errors(reply: &Document) -> Vec<(i32, i32)> {
    let Ok(errors) = reply.get_array("writeErrors") else {
        return Vec::new();
    };
    errors
        .iter()
        .map(|error| {
            let error = error.as_document().unwrap();
            (
                error.get_i32("index").unwrap(),
                error.get_i32("code").unwrap(),
            )
        })
        .collect()
}

#[test]
fn an_insert_is_found_and_counted_also_after_reopening() {
    let mut server = Server::new();
    server.insert(
        "c",
        vec![doc! { "_id": 1, "a": "x" }, doc! { "a": "y", "_id": 2 }],
    );
    server.reopen();
    let expected = vec![doc! { "_id": 1, "a": "x" }, doc! { "_id": 2, "a": "y" }];
    assert_eq!(server.find(doc! { "find": "c" }), expected);
    assert_eq!(
        server.find(doc! { "find": "c", "filter": { "_id": 2.0 } }),
        expected[1..]
    );
    assert_eq!(server.n(doc! { "count": "c" }), 2);
    assert!(server.find(doc! { "find": "other" }).is_empty());
}

#[test]
fn a_missing_id_is_made_and_comes_first() {
    let mut server = Server::new();
    server.insert("c", vec![doc! { "a": 1, "b": 2 }]);
    let found = server.find(doc! { "find": "c" });
    let keys: Vec<&String> = found[0].keys().collect();
    assert_eq!(keys, ["_id", "a", "b"]);
    assert!(matches!(found[0].get("_id"), Some(Bson::ObjectId(_))));
}

#[test]
fn ordered_inserts_stop_at_the_first_error_and_unordered_ones_go_on() {
    for (ordered, n, errors) in [
        (true, 1, vec![(1, 11000)]),
        (false, 2, vec![(1, 11000), (2, 2)]),
    ] {
        for slice in [1, 1000] {
            let mut server = Server::with_slice(slice);
            let documents = vec![
                doc! { "_id": 1 },
                doc! { "_id": 1.0 },
                doc! { "_id": [1] },
                doc! { "_id": 2 },
            ];
            let command = doc! { "insert": "c", "documents": documents, "ordered": ordered };
            let reply = server.ok(command);
            assert_eq!(reply.get_i32("n").unwrap(), n, "{reply}");
            assert_eq!(write_errors(&reply), errors, "{reply}");
            assert_eq!(server.n(doc! { "count": "c" }), n);
            server.validate("c");
        }
    }
}

#[test]
fn a_duplicate_key_is_reported_as_mongodb_reports_it() {
    let mut server = Server::new();
    let index = doc! { "key": { "email": 1 }, "name": "email_1", "unique": true };
    server.ok(doc! { "createIndexes": "c", "indexes": [index] });
    server.insert("c", vec![doc! { "_id": 1, "email": "a@x" }]);
    let reply = server.ok(doc! { "insert": "c", "documents": [{ "_id": 2, "email": "a@x" }] });
    let error = write_error(&reply);
    let expected = doc! {
        "index": 0, "code": 11000, "keyPattern": { "email": 1 }, "keyValue": { "email": "a@x" },
        "errmsg": "E11000 duplicate key error collection: db.c index: email_1 dup key: { email: \"a@x\" }",
    };
    assert_eq!(error, &expected);
    let reply = server.ok(doc! { "insert": "c", "documents": [{ "_id": 1 }] });
    let error = write_error(&reply);
    let text = "E11000 duplicate key error collection: db.c index: _id_ dup key: { _id: 1 }";
    assert_eq!(error.get_str("errmsg").unwrap(), text);
}

#[test]
fn ids_that_mongodb_refuses_are_refused() {
    let mut server = Server::new();
    let regex = Bson::RegularExpression(bson::Regex {
        pattern: bson::raw::cstr!("a").into(),
        options: bson::raw::cstr!("").into(),
    });
    for (id, code) in [
        (Bson::from(vec![Bson::Int32(1)]), 2),
        (regex, 2),
        (Bson::Undefined, 2),
        (doc! { "$a": 1 }.into(), 52),
    ] {
        let reply = server.ok(doc! { "insert": "c", "documents": [{ "_id": id.clone() }] });
        assert_eq!(write_errors(&reply), [(0, code)], "{id}");
    }
}

#[test]
fn update_counts_what_it_matched_and_what_it_changed() {
    let mut server = Server::with_slice(2);
    server.insert("c", (0..5).map(|id| doc! { "_id": id, "a": 1 }).collect());
    let reply = server.ok(doc! { "update": "c", "updates": [
        { "q": { "_id": 0 }, "u": { "$set": { "a": 2 } } },
        { "q": { "_id": 0 }, "u": { "$set": { "a": 2 } } },
        { "q": { "a": 1 }, "u": { "$set": { "b": 1 } }, "multi": true },
        { "q": { "a": 1 }, "u": { "$set": { "b": 2 } } },
        { "q": { "_id": 99 }, "u": { "$set": { "b": 2 } } },
    ] });
    assert_eq!(reply.get_i32("n").unwrap(), 7, "{reply}");
    assert_eq!(reply.get_i32("nModified").unwrap(), 6, "{reply}");
    assert_eq!(server.n(doc! { "count": "c", "query": { "b": 1 } }), 3);
    server.validate("c");
}

#[test]
fn an_upsert_inserts_what_filter_and_update_say() {
    let mut server = Server::new();
    let reply = server.ok(doc! { "update": "c", "updates": [
        { "q": { "_id": 7 }, "u": { "$set": { "b": 2 } }, "upsert": true },
        { "q": { "_id": 7 }, "u": { "$set": { "b": 3 } }, "upsert": true },
        { "q": { "$and": [{ "a": 5 }], "_id": 8 }, "u": { "$inc": { "b": 2 } }, "upsert": true },
    ] });
    assert_eq!(reply.get_i32("n").unwrap(), 3, "{reply}");
    assert_eq!(reply.get_i32("nModified").unwrap(), 1, "{reply}");
    let upserted = Bson::from(vec![
        Bson::from(doc! { "index": 0, "_id": 7 }),
        Bson::from(doc! { "index": 2, "_id": 8 }),
    ]);
    assert_eq!(reply.get("upserted"), Some(&upserted));
    let expected = [doc! { "_id": 7, "b": 3 }, doc! { "_id": 8, "a": 5, "b": 2 }];
    assert_eq!(server.find(doc! { "find": "c" }), expected);
}

#[test]
fn an_update_that_breaks_a_unique_index_changes_nothing() {
    let mut server = Server::new();
    let index = doc! { "key": { "a": 1 }, "name": "a_1", "unique": true };
    server.ok(doc! { "createIndexes": "c", "indexes": [index] });
    server.insert(
        "c",
        vec![doc! { "_id": 1, "a": 1 }, doc! { "_id": 2, "a": 2 }],
    );
    let reply = server.ok(doc! { "update": "c", "updates": [
        { "q": { "_id": 2 }, "u": { "$set": { "a": 1 } } },
        { "q": { "_id": 2 }, "u": { "$set": { "a": 3 } } },
    ], "ordered": false });
    assert_eq!(write_errors(&reply), [(0, 11000)]);
    assert_eq!(
        (
            reply.get_i32("n").unwrap(),
            reply.get_i32("nModified").unwrap()
        ),
        (1, 1),
        "{reply}"
    );
    assert_eq!(
        server.ids(doc! { "find": "c", "filter": { "a": 3 } }),
        ints(&[2])
    );
    server.validate("c");
}

#[test]
fn delete_removes_one_or_all() {
    let mut server = Server::with_slice(2);
    server.insert(
        "c",
        (0..7).map(|id| doc! { "_id": id, "a": id % 2 }).collect(),
    );
    let reply = server.ok(doc! { "delete": "c", "deletes": [
        { "q": { "_id": 0 }, "limit": 1 },
        { "q": { "a": 1 }, "limit": 1 },
        { "q": { "a": 1 }, "limit": 0 },
        { "q": { "_id": 55 }, "limit": 0 },
    ] });
    assert_eq!(reply.get_i32("n").unwrap(), 4, "{reply}");
    assert_eq!(server.ids(doc! { "find": "c" }), ints(&[2, 4, 6]));
    server.validate("c");
    server.ok(doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] });
    assert_eq!(server.n(doc! { "count": "c" }), 0);
    server.validate("c");
}

#[test]
fn find_and_modify_returns_the_old_or_the_new_document() {
    let mut server = Server::with_slice(2);
    server.insert(
        "c",
        (0..5).map(|id| doc! { "_id": id, "a": 10 - id }).collect(),
    );
    let table = r"
{query: {_id: 1}, update: {$set: {b: 1}}} => {n: 1, updatedExisting: true} and {_id: 1, a: 9}
{query: {_id: 1}, update: {$set: {b: 2}}, new: true} => {n: 1, updatedExisting: true} and {_id: 1, a: 9, b: 2}
{query: {}, sort: {a: 1}, remove: true} => {n: 1} and {_id: 4, a: 6}
{query: {_id: 77}, remove: true} => {n: 0} and null
{query: {_id: 77}, update: {$set: {b: 2}}} => {n: 0, updatedExisting: false} and null
{query: {_id: 77}, update: {$set: {b: 2}}, upsert: true} => {n: 1, updatedExisting: false, upserted: 77} and null
{query: {_id: 78}, update: {$set: {b: 2}}, upsert: true, new: true, fields: {b: 1}} => {n: 1, updatedExisting: false, upserted: 78} and {_id: 78, b: 2}
";
    for (fields, answer) in shell::rows(table) {
        let (last_error, value) = answer.split_once(" and ").expect("a value");
        let mut command = doc! { "findAndModify": "c" };
        command.extend(shell::document(fields));
        let reply = server.ok(command);
        let found = reply.get_document("lastErrorObject").unwrap();
        assert_eq!(found, &shell::document(last_error), "{fields}");
        assert_eq!(reply.get("value"), Some(&shell::value(value)), "{fields}");
    }
    server.validate("c");
}

#[test]
fn commands_that_mongodb_refuses_are_refused_with_its_codes() {
    let mut server = Server::new();
    server.insert("c", vec![doc! { "_id": 1 }]);
    let table = r#"
{find: "c", nonsense: 1} => 40415
{find: ""} => 73
{find: 1} => 73
{find: "c", $db: "a b"} => 73
{find: "c", filter: 1} => 14
{find: "c", limit: -1} => 51024
{find: "c", tailable: true} => 2
{find: "c", collation: {locale: "de"}} => 115
{find: "c", hint: "nope"} => 2
{find: "c", hint: {x: 1}} => 2
{find: "c", readConcern: {level: "snapshot"}} => 123
{find: "c", txnNumber: 1L, startTransaction: true, autocommit: false} => 20
{find: "c", maxTimeMS: -1} => 2
{insert: "c", documents: []} => 16
{insert: "c"} => 40414
{insert: "system.x", documents: [{}]} => 73
{insert: "a$b", documents: [{}]} => 73
{insert: "c", documents: [{}], writeConcern: {w: 2}} => 2
{findAndModify: "c"} => 9
{findAndModify: "c", remove: true, update: {}} => 9
{findAndModify: "c", remove: true, new: true} => 9
{nonsense: 1} => 59
{distinct: "c"} => 40414
{delete: "c", deletes: [{q: {}, limit: 2}]} => 9
"#;
    for (command, code) in shell::rows(table) {
        let refused = server.fail(shell::document(command)).0;
        assert_eq!(refused.to_string(), code, "{command}");
    }
}

#[test]
fn generic_arguments_are_accepted_everywhere() {
    let mut server = Server::new();
    let generic = doc! {
        "lsid": { "id": 1 }, "comment": { "any": "thing" }, "maxTimeMS": 1000, "$readPreference": { "mode": "primary" },
        "readConcern": { "level": "majority" }, "writeConcern": { "w": "majority", "j": true }, "apiVersion": "1",
    };
    for mut command in [
        doc! { "insert": "c", "documents": [{ "_id": 1 }] },
        doc! { "find": "c" },
        doc! { "update": "c", "updates": [{ "q": {}, "u": { "$set": { "a": 1 } } }] },
        doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] },
        doc! { "count": "c" },
        doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] },
        doc! { "listIndexes": "c" },
        doc! { "listCollections": 1 },
        doc! { "dropIndexes": "c", "index": "*" },
        doc! { "drop": "c" },
        doc! { "dropDatabase": 1 },
    ] {
        command.extend(generic.clone());
        server.ok(command);
    }
}

#[test]
fn count_and_distinct_answer_for_filters_and_arrays() {
    let mut server = Server::with_slice(2);
    let tags = [vec!["x", "y"], vec!["y"], vec![]];
    let documents = (0..6).map(|id: i32| {
        let at = id % 3;
        doc! { "_id": id, "a": at, "t": tags[at as usize].clone() }
    });
    server.insert("c", documents.collect());
    for (fields, n) in [
        (doc! {}, 6),
        (doc! { "query": { "a": 1 } }, 2),
        (doc! { "skip": 4 }, 2),
        (doc! { "limit": -4 }, 4),
        (doc! { "query": { "a": 1 }, "skip": 1, "limit": 5 }, 1),
        (doc! { "hint": "_id_" }, 6),
    ] {
        let mut command = doc! { "count": "c" };
        command.extend(fields.clone());
        assert_eq!(server.n(command), n, "{fields}");
    }
    let values = |reply: Document| reply.get_array("values").unwrap().clone();
    assert_eq!(
        values(server.ok(doc! { "distinct": "c", "key": "a" })),
        ints(&[0, 1, 2])
    );
    let tags = values(server.ok(doc! { "distinct": "c", "key": "t" }));
    assert_eq!(tags, ["x", "y"].map(Bson::from));
    assert!(values(server.ok(doc! { "distinct": "none", "key": "t" })).is_empty());
}
