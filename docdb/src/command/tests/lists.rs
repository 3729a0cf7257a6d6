//! Commands with long lists: they give way while the lists are read, hold about what these take, and find what a loop would.

use std::sync::Arc;

use bson::{Bson, Document, doc};

use super::harness::{Server, cursor_id, ids, ints};
use crate::memory::Memory;
use crate::query::tally;
use crate::scheduler::Step;
use crate::store::Space;

/// Every third number, the last first, and some that no document has.
fn wanted() -> Vec<Bson> {
    let numbers = (0..20_000_i32).rev().map(|at| Bson::Int32(at * 3));
    numbers.collect()
}

fn filled() -> Server {
    let mut server = Server::new();
    server.insert(
        "c",
        (0..300)
            .map(|id| doc! { "_id": id, "a": id, "n": 0 })
            .collect(),
    );
    server
}

#[test]
fn every_command_gives_way_while_its_list_is_read() {
    // Of a collection that is not there, whose documents take no slice.
    let among = || doc! { "_id": { "$in": wanted() } };
    let commands = [
        doc! { "find": "d", "filter": among() },
        doc! { "find": "d", "filter": { "$or": [{ "a": 1 }, { "$and": [among()] }] } },
        doc! { "count": "d", "query": { "_id": { "$not": { "$nin": wanted() } } } },
        doc! { "distinct": "d", "key": "a", "query": among() },
        doc! { "aggregate": "d", "pipeline": [{ "$match": among() }, { "$limit": 3 }], "cursor": {} },
        doc! { "update": "d", "updates": [{ "q": among(), "u": { "$inc": { "n": 1 } }, "multi": true }] },
        doc! { "findAndModify": "d", "query": among(), "update": { "$inc": { "n": 1 } } },
        doc! { "delete": "d", "deletes": [{ "q": among(), "limit": 1 }] },
    ];
    for command in commands {
        let name = command.keys().next().unwrap().clone();
        let mut server = filled();
        server.options.slice = 10;
        server.reopen();
        let mut step = server.begin(command);
        let mut slices = 1;
        // 20,000 values, at most 64 in a piece, ten pieces in a slice; each is sorted in the next.
        while let Step::More(task) = step {
            slices += 1;
            step = server.go_on(task);
        }
        assert!(slices > 20_000 / 64 / 10 + 9, "{slices} slices of {name}");
    }
}

/// What is read before a command begins is not read again when it does.
#[test]
fn every_command_reads_its_list_once() {
    let mut server = filled();
    let among = || doc! { "_id": { "$in": wanted() } };
    let update = |many: bool| doc! { "q": among(), "u": { "$inc": { "n": 1 } }, "multi": many };
    let pipeline = |first: Document| {
        let stages = [
            first,
            doc! { "$match": among() },
            doc! { "$match": among() },
        ];
        doc! { "aggregate": "c", "pipeline": stages.to_vec(), "cursor": {} }
    };
    let commands = [
        (doc! { "find": "c", "filter": among() }, 1),
        (
            doc! { "find": "c", "filter": { "$or": [among(), { "a": { "$not": { "$nin": wanted() } } }] } },
            2,
        ),
        (doc! { "count": "c", "query": among() }, 1),
        (doc! { "distinct": "c", "key": "a", "query": among() }, 1),
        (pipeline(doc! { "$match": { "a": 3 } }), 2),
        (pipeline(doc! { "$indexStats": {} }), 2),
        (
            doc! { "listCollections": 1, "filter": { "name": { "$in": wanted() } } },
            1,
        ),
        (
            doc! { "update": "c", "updates": [update(false), update(true)] },
            2,
        ),
        // Its filter is read for the search, and for the document that it found.
        (
            doc! { "findAndModify": "c", "query": among(), "update": { "$inc": { "n": 1 } } },
            2,
        ),
        (
            doc! { "delete": "c", "deletes": [{ "q": among(), "limit": 1 }] },
            1,
        ),
    ];
    for (command, expected) in commands {
        let name = command.keys().next().unwrap().clone();
        tally();
        server.ok(command);
        assert_eq!(tally(), (expected, 0), "{name}");
    }
    let explain = doc! { "explain": { "find": "c", "filter": among() } };
    server.ok(explain);
    assert_eq!(tally(), (0, 1), "it decodes what it shows");
}

#[test]
fn a_list_is_found_in_every_statement_and_its_errors_where_they_were() {
    let mut server = filled();
    let nested: Vec<Bson> = wanted()
        .into_iter()
        .chain([doc! { "$gt": 1 }.into()])
        .collect();
    for (command, expected) in [
        (
            doc! { "find": "c", "filter": { "a": { "$in": &nested } } },
            "cannot nest $ under $in",
        ),
        (
            doc! { "count": "c", "query": { "a": { "$nin": &nested } } },
            "cannot nest $ under $nin",
        ),
        (
            doc! { "find": "c", "filter": { "$foo": [{ "a": { "$in": wanted() } }] } },
            "unknown top level operator: $foo",
        ),
    ] {
        let (code, text) = server.fail(command);
        assert!(code == 2 && text.starts_with(expected), "{code} {text}");
    }
    let statement = |least: i32| doc! { "q": { "a": { "$in": wanted(), "$gte": least } }, "u": { "$inc": { "n": 1 } }, "multi": true };
    let reply = server
        .ok(doc! { "update": "c", "updates": [statement(0), statement(150), statement(297)] });
    assert_eq!(reply.get_i32("nModified").unwrap(), 100 + 50 + 1);
    server.validate("c");
}

/// Documents by their `a`, through whatever index there is: what a loop over them finds.
#[test]
fn an_index_is_walked_for_the_values_of_a_long_list_once() {
    let long = |end: &str| Bson::from(format!("{}{end}", "k".repeat(40_000)));
    let row = |id: i32| match id % 5 {
        0 => doc! { "_id": id, "a": [id, id + 1] },
        1 => doc! { "_id": id, "a": f64::from(id) },
        2 => doc! { "_id": id },
        3 => doc! { "_id": id, "a": [[id], [7, 8]] },
        _ => doc! { "_id": id, "a": i64::from(id) },
    };
    let mut rows: Vec<Document> = (0..300).map(row).collect();
    for (id, end) in (1000_i32..).zip(["x", "y", "y", "z"]) {
        rows.push(doc! { "_id": id, "a": long(end) });
    }
    let mut list: Vec<Bson> = ints(&(100..2000).filter(|n| n % 2 == 0).collect::<Vec<_>>());
    list.extend((3000..3900).map(Bson::Int64));
    for more in [
        vec![],
        vec![long("x"), long("y")],
        vec![Bson::Null],
        vec![Bson::from(ints(&[7, 8])), Bson::from(ints(&[13]))],
    ] {
        let mut list = list.clone();
        list.extend(more);
        let query = |sort: i32| doc! { "find": "c", "filter": { "a": { "$in": &list } }, "sort": { "a": sort, "_id": 1 }, "batchSize": 7 };
        let mut plain = Server::with_slice(7);
        plain.insert("c", rows.clone());
        let expected = [1, -1].map(|sort| plain.ids(query(sort)));
        assert!(expected[0].len() > 50);
        for key in [doc! { "a": 1 }, doc! { "a": -1 }, doc! { "a": 1, "_id": 1 }] {
            let mut server = Server::with_slice(7);
            server.insert("c", rows.clone());
            server.ok(doc! { "createIndexes": "c", "indexes": [{ "key": &key, "name": "i" }] });
            for (sort, expected) in [1, -1].into_iter().zip(&expected) {
                assert_eq!(server.ids(query(sort)), *expected, "{key} sorted {sort}");
            }
            let count = server.n(doc! { "count": "c", "query": { "a": { "$in": &list } } });
            assert_eq!(count as usize, expected[0].len(), "{key}");
        }
    }
}

#[test]
fn a_long_list_finds_ids_forward_and_backward() {
    let mut server = filled();
    for sort in [1, -1] {
        let query = doc! { "find": "c", "filter": { "_id": { "$in": wanted() } }, "sort": { "_id": sort }, "batchSize": 9 };
        let mut expected: Vec<i32> = (0..100).map(|at| at * 3).collect();
        if sort < 0 {
            expected.reverse();
        }
        assert_eq!(server.ids(query), ints(&expected));
    }
    let store = server.shard().store();
    let key = [0, 0, 0, 9];
    let (lower, upper) = (
        std::ops::Bound::Included(&key[..]),
        std::ops::Bound::Excluded(&key[..]),
    );
    let mut nothing = store.scan(Space::Documents, lower, upper);
    assert!(
        nothing.entry(false).is_none(),
        "a range with nothing in it is one"
    );
}

#[test]
fn a_cursor_over_a_long_list_holds_little_more_than_the_list_has_bytes() {
    let mut server = filled();
    let memory = Arc::new(Memory::new(16 << 20));
    server.options.memory = Arc::clone(&memory);
    server.reopen();
    let count = 100_000;
    let list: Vec<i32> = (0..count).map(|at| at * 31 % count).collect();
    let command = doc! { "find": "c", "filter": { "_id": { "$in": list } }, "batchSize": 2 };
    let bytes = bson::RawDocumentBuf::try_from(&command)
        .unwrap()
        .as_bytes()
        .len();
    let before = memory.held();
    let reply = server.ok(command);
    assert_ne!(cursor_id(&reply), 0);
    let held = memory.held() - before;
    assert!(
        held > bytes / 2 && held < 3 * bytes,
        "{held} for a command of {bytes} bytes"
    );
    server.ok(doc! { "killCursors": "c", "cursors": [cursor_id(&reply)] });
    assert_eq!(memory.held(), before);
}

#[test]
fn who_leaves_while_a_list_is_read_leaves_nothing() {
    let mut server = filled();
    server.options.slice = 10;
    server.reopen();
    let memory = Arc::clone(server.shard().memory());
    let step = server.begin(doc! { "find": "c", "filter": { "a": { "$in": wanted() } } });
    let Step::More(task) = step else {
        panic!("a slice is not enough for the list");
    };
    assert!(memory.held() > 0);
    drop(task);
    assert_eq!(memory.held(), 0);
    assert_eq!(
        ids(&server.find(doc! { "find": "c", "filter": { "_id": 4 } })),
        ints(&[4])
    );
}
