//! createIndexes, dropIndexes, listIndexes, collMod; uniqueness, sparseness, time to live.

use bson::{Bson, Document, doc};

use super::harness::{Server, ints, write_error};
use crate::scheduler::{Backend, Step};
use crate::value::shell;

fn create(server: &mut Server, spec: Document) -> Document {
    server.run(doc! { "createIndexes": "c", "indexes": [spec] })
}

fn code(reply: &Document) -> i32 {
    reply.get_i32("code").unwrap_or(0)
}

#[test]
fn indexes_are_listed_with_every_option_also_after_reopening() {
    let mut server = Server::new();
    let specs = [
        doc! { "v": 2, "key": { "a": 1 }, "name": "a_1" },
        doc! { "v": 2, "key": { "a": 1, "b.c": -1 }, "name": "ab", "unique": true },
        doc! { "v": 2, "key": { "d": 1 }, "name": "d_1", "sparse": true },
        doc! { "v": 2, "key": { "e": 1 }, "name": "e_1", "expireAfterSeconds": 60 },
        doc! { "v": 2, "key": { "f": 1 }, "name": "f_1", "partialFilterExpression": { "f": { "$gt": 5 } } },
    ];
    let reply = server.ok(doc! { "createIndexes": "c", "indexes": specs.to_vec() });
    let expected = doc! { "numIndexesBefore": 1, "numIndexesAfter": 6, "createdCollectionAutomatically": true, "ok": 1.0 };
    assert_eq!(reply, expected);
    let reply = server.ok(doc! { "createIndexes": "c", "indexes": specs.to_vec() });
    assert_eq!(reply.get_str("note").unwrap(), "all indexes already exist");
    server.reopen();
    let mut expected = vec![doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" }];
    expected.extend(specs);
    assert_eq!(server.indexes(), expected);
}

#[test]
fn what_cannot_be_an_index_is_refused() {
    let mut server = Server::new();
    create(&mut server, doc! { "key": { "a": 1 }, "name": "a_1" });
    create(
        &mut server,
        doc! { "key": { "t": 1 }, "name": "t_1", "expireAfterSeconds": 5 },
    );
    let table = r#"
{key: {b: 1}, name: "a_1"} => 86
{key: {a: 1}, name: "a_1", unique: true} => 86
{key: {a: 1}, name: "other"} => 85
{key: {t: 1}, name: "t_1", expireAfterSeconds: 6} => 85
{key: {a: "text"}, name: "x"} => 67
{key: {a: "2dsphere"}, name: "x"} => 67
{key: {a: "hashed"}, name: "x"} => 67
{key: {a: 0}, name: "x"} => 67
{key: {a: true}, name: "x"} => 67
{key: {"a..b": 1}, name: "x"} => 67
{key: {$a: 1}, name: "x"} => 67
{key: {"$**": 1}, name: "x"} => 67
{key: {}, name: "x"} => 67
{key: {x: 1, y: 1}, name: "x", expireAfterSeconds: 1} => 67
{key: {x: 1}, name: "x", expireAfterSeconds: -1} => 67
{key: {x: 1}, name: "x", sparse: true, partialFilterExpression: {x: 1}} => 67
{key: {x: 1}, name: "x", hidden: true} => 197
{key: {x: 1}, name: "x", nonsense: true} => 197
{key: {_id: 1}, name: "_id_", sparse: true} => 197
{key: {x: 1}, name: "_id_"} => 2
{key: {x: 1}} => 9
{name: "x"} => 9
"#;
    for (spec, expected) in shell::rows(table) {
        let reply = create(&mut server, shell::document(spec));
        assert_eq!(code(&reply).to_string(), expected, "{spec}");
    }
    for (option, value) in [
        ("hidden", Bson::from(true)),
        ("prepareUnique", true.into()),
        ("wildcardProjection", doc! { "a": 1 }.into()),
        ("collation", doc! { "locale": "de" }.into()),
        ("weights", doc! { "a": 1 }.into()),
    ] {
        let reply = create(
            &mut server,
            doc! { "key": { "x": 1 }, "name": "x", option: value },
        );
        assert_eq!(
            reply.get_str("errmsg").unwrap(),
            format!("{option} is not supported here")
        );
        assert_eq!(code(&reply), 197);
    }
    let ok = create(
        &mut server,
        doc! { "key": { "_id": 1 }, "name": "whatever" },
    );
    assert_eq!(ok.get_i32("numIndexesAfter").unwrap(), 3, "{ok}");
    assert_eq!(
        code(&create(
            &mut server,
            doc! { "key": { "a": 1 }, "name": "u", "unique": true }
        )),
        0
    );
}

#[test]
fn an_index_over_existing_documents_is_complete_and_used() {
    for slice in [1, 7, 1000] {
        let mut server = Server::with_slice(slice);
        let documents = (0..50).map(|id| doc! { "_id": id, "a": id % 5, "t": [id % 3, id % 4] });
        server.insert("c", documents.collect());
        create(&mut server, doc! { "key": { "a": 1 }, "name": "a_1" });
        create(&mut server, doc! { "key": { "t": 1 }, "name": "t_1" });
        server.validate("c");
        let expected = ints(&[3, 8, 13, 18, 23, 28, 33, 38, 43, 48]);
        let found = server.ids(doc! { "find": "c", "filter": { "a": 3 }, "hint": "a_1" });
        assert_eq!(found, expected);
        let once = server.ids(doc! { "find": "c", "filter": { "t": 1 }, "hint": "t_1" });
        assert_eq!(
            once,
            server.ids(doc! { "find": "c", "filter": { "t": 1 }, "hint": { "$natural": 1 } })
        );
    }
}

#[test]
fn writes_during_an_index_build_are_in_the_index() {
    let mut server = Server::with_slice(3);
    server.insert("c", (0..30).map(|id| doc! { "_id": id, "a": id }).collect());
    let spec = doc! { "key": { "a": 1 }, "name": "a_1" };
    let mut step = server.begin(doc! { "createIndexes": "c", "indexes": [spec] });
    let mut round = 0;
    while let Step::More(task) = step {
        server.shard().commit().unwrap();
        let id = (round * 17) % 40;
        server.ok(doc! { "delete": "c", "deletes": [{ "q": { "_id": id }, "limit": 1 }] });
        server.ok(doc! { "update": "c", "updates": [
            { "q": { "_id": (round * 11) % 40 }, "u": { "$set": { "a": 100 + round } }, "upsert": true },
        ] });
        assert_eq!(server.indexes().len(), 1);
        round += 1;
        step = server.go_on(task);
    }
    assert!(round > 5);
    server.validate("c");
    server.reopen();
    server.validate("c");
    assert_eq!(server.indexes().len(), 2);
}

#[test]
fn an_index_build_that_meets_duplicates_leaves_nothing_behind() {
    let mut server = Server::with_slice(2);
    server.insert(
        "c",
        (0..9).map(|id| doc! { "_id": id, "a": id % 7 }).collect(),
    );
    let reply = create(
        &mut server,
        doc! { "key": { "a": 1 }, "name": "a_1", "unique": true },
    );
    assert_eq!(code(&reply), 11000, "{reply}");
    assert_eq!(reply.get_document("keyValue").unwrap(), &doc! { "a": 0 });
    assert_eq!(server.indexes().len(), 1);
    server.validate("c");
    server.insert("c", vec![doc! { "_id": 99, "a": 1 }]);
}

#[test]
fn an_unfinished_build_is_given_up_when_the_shard_is_opened_again() {
    let mut server = Server::with_slice(2);
    server.insert("c", (0..9).map(|id| doc! { "_id": id, "a": id }).collect());
    let spec = doc! { "key": { "a": 1 }, "name": "a_1" };
    let step = server.begin(doc! { "createIndexes": "c", "indexes": [spec.clone()] });
    assert!(matches!(step, Step::More(_)));
    server.shard().commit().unwrap();
    drop(step);
    server.reopen();
    assert_eq!(server.indexes().len(), 1);
    assert_eq!(code(&create(&mut server, spec)), 0);
    server.validate("c");
}

#[test]
fn missing_counts_as_null_in_a_unique_index_unless_it_is_sparse() {
    let mut server = Server::new();
    create(
        &mut server,
        doc! { "key": { "u": 1 }, "name": "u_1", "unique": true },
    );
    server.insert("c", vec![doc! { "_id": 1 }]);
    for document in [doc! { "_id": 2 }, doc! { "_id": 2, "u": null }] {
        let reply = server.ok(doc! { "insert": "c", "documents": [document] });
        let error = write_error(&reply);
        assert_eq!(
            error.get_document("keyValue").unwrap(),
            &doc! { "u": null },
            "{reply}"
        );
    }
    server.ok(doc! { "dropIndexes": "c", "index": "u_1" });
    create(
        &mut server,
        doc! { "key": { "u": 1 }, "name": "u_1", "unique": true, "sparse": true },
    );
    server.insert(
        "c",
        vec![
            doc! { "_id": 2 },
            doc! { "_id": 3 },
            doc! { "_id": 4, "u": null },
        ],
    );
    server.validate("c");
}

#[test]
fn multikey_uniqueness_holds_between_documents_and_not_within_one() {
    let mut server = Server::new();
    create(
        &mut server,
        doc! { "key": { "t": 1 }, "name": "t_1", "unique": true },
    );
    server.insert(
        "c",
        vec![
            doc! { "_id": 1, "t": [1, 1, 2] },
            doc! { "_id": 2, "t": [3] },
        ],
    );
    let reply = server.ok(doc! { "insert": "c", "documents": [{ "_id": 3, "t": [4, 2] }] });
    assert!(reply.contains_key("writeErrors"), "{reply}");
    server.ok(doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "t": [2, 5] } } }] });
    server.insert("c", vec![doc! { "_id": 4, "t": 1 }]);
    server.validate("c");
}

#[test]
fn arrays_side_by_side_cannot_be_indexed() {
    let mut server = Server::new();
    create(
        &mut server,
        doc! { "key": { "a": 1, "b": 1 }, "name": "ab" },
    );
    let reply = server.ok(doc! { "insert": "c", "documents": [{ "a": [1, 2], "b": [3, 4] }] });
    let error = write_error(&reply);
    assert_eq!(error.get_i32("code").unwrap(), 171);
    server.insert(
        "c",
        vec![
            doc! { "_id": 1, "a": [{ "x": 1 }, { "x": 2 }], "b": 1 },
            doc! { "_id": 2, "a": 1, "b": [] },
        ],
    );
    server.validate("c");
}

#[test]
fn indexes_are_dropped_by_name_key_and_star() {
    let mut server = Server::new();
    for name in ["a", "b", "d", "e", "f"] {
        create(
            &mut server,
            doc! { "key": { name: 1 }, "name": format!("{name}_1") },
        );
    }
    server.insert("c", vec![doc! { "_id": 1, "a": 1 }]);
    let drop = |index: Bson| doc! { "dropIndexes": "c", "index": index };
    for (index, code) in [
        (Bson::from("_id_"), 72),
        (doc! { "_id": 1 }.into(), 72),
        ("nope".into(), 27),
        (doc! { "nope": 1 }.into(), 27),
        (Bson::Int32(1), 14),
    ] {
        assert_eq!(server.fail(drop(index.clone())).0, code, "{index}");
    }
    assert_eq!(
        server.fail(doc! { "dropIndexes": "none", "index": "*" }).0,
        26
    );
    let names = vec![Bson::from("e_1"), Bson::from("f_1")];
    for (index, before) in [
        (Bson::from("a_1"), 6),
        (doc! { "b": 1 }.into(), 5),
        (names.into(), 4),
        ("*".into(), 2),
    ] {
        assert_eq!(
            server.ok(drop(index)).get_i32("nIndexesWas").unwrap(),
            before
        );
    }
    server.validate("c");
}

#[test]
fn expired_documents_go_and_others_stay() {
    let mut server = Server::new();
    create(
        &mut server,
        doc! { "key": { "t": 1 }, "name": "t_1", "expireAfterSeconds": 10 },
    );
    let now = server.now;
    let date = |millis: i64| Bson::DateTime(bson::DateTime::from_millis(millis));
    server.insert(
        "c",
        vec![
            doc! { "_id": 1, "t": date(now - 10_001) },
            doc! { "_id": 2, "t": date(now - 9_000) },
            doc! { "_id": 3, "t": "text" },
            doc! { "_id": 4 },
            doc! { "_id": 5, "t": [date(now + 5), date(now - 20_000)] },
            doc! { "_id": 6, "t": date(now - 10_000) },
        ],
    );
    let date_now = bson::DateTime::from_millis(now);
    while server.shard().tend_once(date_now).unwrap() {}
    server.shard().commit().unwrap();
    assert_eq!(server.ids(doc! { "find": "c" }), ints(&[2, 3, 4]));
    server.validate("c");
    let reply =
        server.ok(doc! { "collMod": "c", "index": { "name": "t_1", "expireAfterSeconds": 5 } });
    assert_eq!(
        (
            reply.get_i64("expireAfterSeconds_old").unwrap(),
            reply.get_i64("expireAfterSeconds_new").unwrap()
        ),
        (10, 5)
    );
    assert_eq!(
        server
            .fail(doc! { "collMod": "c", "index": { "name": "no", "expireAfterSeconds": 5 } })
            .0,
        27
    );
    let listed = server.indexes();
    assert_eq!(listed[1].get_i32("expireAfterSeconds").unwrap(), 5);
}

#[test]
fn more_expired_documents_than_a_slice_go_all_in_one_round() {
    let mut server = Server::new();
    let index = doc! { "key": { "t": 1 }, "name": "t_1", "expireAfterSeconds": 10 };
    create(&mut server, index);
    let date = bson::DateTime::from_millis(server.now - 20_000);
    server.insert(
        "c",
        (0..900).map(|id| doc! { "_id": id, "t": date }).collect(),
    );
    let now = bson::DateTime::from_millis(server.now);
    // What was deleted before stays behind as deleted keys, more of them than a slice looks at.
    let mut rounds = 0;
    while server.shard().tend_once(now).unwrap() {
        server.shard().commit().unwrap();
        rounds += 1;
        assert!(rounds < 100_000, "it does not come further");
    }
    assert_eq!(server.n(doc! { "count": "c" }), 0);
}

/// Longer than a key of the store may be, with one beginning.
fn long(end: &str) -> String {
    format!("{}{end}", "x".repeat(200_000))
}

#[test]
fn values_of_any_length_are_indexed_found_and_kept_unique() {
    for (unique, direction) in [(false, 1), (true, 1), (true, -1)] {
        let mut server = Server::new();
        let middle = "x".repeat(33_000);
        let row = |id: i32, text: &str| doc! { "_id": id, "s": text };
        server.insert("c", vec![row(1, &long("a")), row(2, &long("b"))]);
        let index = doc! { "key": { "s": direction }, "name": "s", "unique": unique };
        assert_eq!(code(&create(&mut server, index)), 0);
        server.insert("c", vec![row(3, &middle), row(4, "short")]);
        let by = |filter: Bson| doc! { "find": "c", "filter": { "s": filter }, "hint": "s" };
        for (filter, expected) in [
            (Bson::from(long("a")), vec![1]),
            (Bson::from(long("c")), vec![]),
            (Bson::from(middle.clone()), vec![3]),
            (
                doc! { "$in": [long("a"), long("b"), long("c")] }.into(),
                vec![1, 2],
            ),
            (doc! { "$gt": long("a") }.into(), vec![2]),
            (doc! { "$gte": long("a"), "$lt": long("b") }.into(), vec![1]),
            (doc! { "$lt": long("a") }.into(), vec![3, 4]),
            (doc! { "$regex": "^xxx" }.into(), vec![1, 2, 3]),
        ] {
            let mut found = server.ids(by(filter));
            found.sort_by_key(Bson::as_i32);
            assert_eq!(found, ints(&expected), "unique {unique}");
        }
        for (order, expected) in [(1, [4, 3, 1, 2]), (-1, [2, 1, 3, 4])] {
            let sorted = doc! { "find": "c", "sort": { "s": order }, "hint": "s" };
            assert_eq!(server.ids(sorted), ints(&expected));
        }
        let again = server.run(doc! { "insert": "c", "documents": [row(5, &long("a"))] });
        assert_eq!(again.contains_key("writeErrors"), unique, "{unique}");
        let change = doc! { "q": { "_id": 1 }, "u": { "$set": { "s": long("z") } } };
        assert_eq!(server.n(doc! { "update": "c", "updates": [change] }), 1);
        assert_eq!(server.ids(by(long("z").into())), ints(&[1]));
        server.reopen();
        server.n(doc! { "delete": "c", "deletes": [{ "q": { "s": long("a") }, "limit": 0 }] });
        assert_eq!(server.ids(by(long("a").into())), ints(&[]));
        server.validate("c");
    }
}

#[test]
fn the_error_of_a_long_duplicate_shows_its_key() {
    let mut server = Server::new();
    create(
        &mut server,
        doc! { "key": { "s": 1 }, "name": "s", "unique": true },
    );
    server.insert("c", vec![doc! { "_id": 1, "s": [long("a"), "b"] }]);
    let twice = server.run(doc! { "insert": "c", "documents": [{ "_id": 2, "s": long("a") }] });
    let error = write_error(&twice);
    assert_eq!(error.get_i32("code").unwrap(), 11000);
    let key = error.get_document("keyValue").unwrap();
    assert_eq!(key.get_str("s").unwrap(), long("a"));
}
