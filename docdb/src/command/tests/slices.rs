//! Long commands give way, and end when they should.

use bson::{Bson, doc};

use super::harness::{Server, batch, cursor_id};
use crate::budget::SLICE_TIME;
use crate::scheduler::{Backend, Interrupt, Step};
use crate::value::shell;

fn filled(count: i32, slice: usize) -> Server {
    let mut server = Server::with_slice(slice);
    let row = |id: i32| doc! { "_id": id, "a": id % 10, "text": "a".repeat(60) };
    server.insert("c", (0..count).map(row).collect());
    server
}

#[test]
fn a_slice_ends_by_time_although_few_documents_were_seen() {
    let mut server = filled(40, usize::MAX);
    server.options.slice_time = SLICE_TIME;
    server.reopen();
    // Each document costs this filter about a million steps, more than a slice's time.
    let dear = doc! { "$expr": { "$gt": [{ "$size": { "$map": { "input": { "$range": [0, 20_000] }, "in": { "$add": ["$$this", "$a"] } } } }, 0] } };
    let reply = server.ok(doc! { "count": "c", "query": dear });
    assert_eq!(reply.get_i32("n").unwrap(), 40);
    assert!(server.slices >= 10, "{} slices", server.slices);
}

#[test]
fn a_large_document_comes_out_whole_however_often_others_had_their_turn() {
    let mut server = Server::with_slice(2);
    let row = |id: i32| doc! { "_id": id, "text": "x".repeat(3 << 20) };
    (0..7).for_each(|id| server.insert("c", vec![row(id)]));
    let mut step = server.begin(doc! { "find": "c" });
    let (mut slices, mut kept) = (1, 0);
    let first = loop {
        match step {
            Step::Done(reply) => break bson::Document::try_from(&*reply).unwrap(),
            Step::More(task) => {
                let context = server.context();
                kept += usize::from(server.shard().keeps_turn(&task));
                step = server.shard().go_on(task, &context, None);
                slices += 1;
            }
        }
    };
    assert!(slices >= 30 && kept >= 25, "{kept} of {slices} slices");
    let found = batch(&first, "firstBatch");
    assert_eq!(found, (0..5).map(row).collect::<Vec<_>>());
    let more = doc! { "getMore": cursor_id(&first), "collection": "c" };
    let last = server.ok(more);
    assert_eq!(
        batch(&last, "nextBatch"),
        (5..7).map(row).collect::<Vec<_>>()
    );
    assert_eq!(cursor_id(&last), 0);
}

#[test]
fn a_killed_command_ends_and_an_index_half_built_is_gone() {
    let mut server = filled(100, 10);
    let step = server
        .begin(doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] });
    let Step::More(task) = step else {
        panic!("it has more than a slice to do");
    };
    let context = server.context();
    let step = server
        .shard()
        .go_on(task, &context, Some(Interrupt::Killed));
    let Step::Done(reply) = step else {
        panic!("it ends at once");
    };
    assert_eq!(reply.get_i32("code").unwrap(), 11601);
    assert_eq!(server.indexes().len(), 1, "only that of _id");
    server.ok(doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] });
    server.validate("c");
}

#[test]
fn who_left_ends_a_read_and_not_a_write() {
    let commands = [
        (doc! { "count": "c", "query": { "a": 1 } }, Some(279)),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": { "$inc": { "n": 1 } }, "multi": true }] },
            None,
        ),
    ];
    for (command, code) in commands {
        let mut server = filled(100, 10);
        let mut step = server.begin(command);
        let context = server.context();
        let reply = loop {
            match step {
                Step::Done(reply) => break reply,
                Step::More(task) => {
                    step = server
                        .shard()
                        .go_on(task, &context, Some(Interrupt::ClientLeft));
                }
            }
        };
        assert_eq!(reply.get_i32("code").ok(), code, "{reply:?}");
    }
}

#[test]
fn a_regex_that_takes_too_many_steps_is_an_error() {
    let mut server = filled(3, 1000);
    let bomb = Bson::from(r"^(a+)+\1b$");
    for query in [
        doc! { "text": { "$regex": bomb.clone() } },
        doc! { "text": { "$not": { "$regex": bomb.clone() } } },
        doc! { "$expr": { "$regexMatch": { "input": "$text", "regex": bomb.clone() } } },
    ] {
        let (code, text) = server.fail(doc! { "find": "c", "filter": query.clone() });
        assert_eq!(code, 51156, "{query}: {text}");
        assert!(text.contains("too many steps"), "{text}");
    }
    assert_eq!(
        server.n(doc! { "count": "c", "query": { "text": { "$regex": "^a+$" } } }),
        3
    );
}

#[test]
fn a_regex_that_gives_up_within_an_array_is_an_error_too_and_changes_nothing() {
    let mut server = filled(1, 1);
    let text = "a".repeat(1000);
    let before = doc! { "_id": 9, "text": "b", "tags": [&text, "x"], "rows": [{ "a": &text }] };
    server.insert("c", vec![before.clone()]);
    let bomb = || doc! { "$regex": r"^(a+)+\1b$" };
    for query in [
        doc! { "tags": { "$elemMatch": bomb() } },
        doc! { "rows": { "$elemMatch": { "a": bomb() } } },
        doc! { "tags": { "$not": { "$elemMatch": bomb() } } },
    ] {
        let (code, text) = server.fail(doc! { "find": "c", "filter": query.clone() });
        assert_eq!(code, 51156, "{query}: {text}");
    }
    let (code, text) = server.fail(
        doc! { "find": "c", "filter": { "_id": 9 }, "projection": { "tags": { "$elemMatch": bomb() } } },
    );
    assert_eq!(code, 51156, "{text}");
    let filtered = doc! { "q": { "_id": 9 }, "u": { "$set": { "tags.$[t]": "gone" } }, "arrayFilters": [{ "t": bomb() }] };
    for update in [
        filtered,
        doc! { "q": { "_id": 9 }, "u": { "$pull": { "tags": bomb() } } },
        doc! { "q": { "_id": 9 }, "u": { "$pull": { "rows": { "a": bomb() } } } },
    ] {
        let reply = server.run(doc! { "update": "c", "updates": [&update] });
        let errors = reply.get_array("writeErrors").expect("an error");
        let error = errors[0].as_document().unwrap();
        assert_eq!(error.get_i32("code").unwrap(), 51156, "{update}: {reply}");
    }
    let found = server.find(doc! { "find": "c", "filter": { "_id": 9 } });
    assert_eq!(found, [before]);
}

#[test]
fn the_strings_of_one_document_share_the_steps_of_a_regex() {
    let mut server = filled(1, 1);
    // Each of these takes a tenth of what a match may, and there are a thousand in one document.
    let text = "a".repeat(80);
    server.insert("c", vec![doc! { "_id": 9, "tags": vec![text; 1000] }]);
    let dear = doc! { "tags": { "$regex": r"^(a+)(a+)(a+)\1\2b$" } };
    let (code, text) = server.fail(doc! { "find": "c", "filter": dear });
    assert_eq!(code, 51156, "{text}");
    // Cheap ones are as many as they like.
    let cheap = doc! { "tags": { "$regex": r"^(a)\1b" } };
    assert_eq!(server.n(doc! { "count": "c", "query": cheap }), 0);
}

#[test]
fn loops_within_loops_end_in_an_error() {
    let mut server = filled(1, 1000);
    let range = doc! { "$range": [0, 100_000] };
    let inner = doc! { "$size": { "$map": { "input": range.clone(), "in": 1 } } };
    let nested = doc! { "$map": { "input": range, "in": inner } };
    let (code, _) = server.fail(
        doc! { "aggregate": "c", "pipeline": [{ "$project": { "x": nested } }], "cursor": {} },
    );
    assert_eq!(code, 146);
}

/// 200 documents joined to 2,000 by an equality in the pipeline: without the index that would be 400,000 documents.
#[test]
fn a_lookup_with_a_pipeline_uses_an_index_and_gives_way() {
    let mut server = filled(200, 50);
    server.insert(
        "d",
        (0..2000)
            .map(|id| doc! { "_id": id, "of": id % 200, "even": id % 2 == 0 })
            .collect(),
    );
    server.ok(doc! { "createIndexes": "d", "indexes": [{ "key": { "of": 1 }, "name": "of_1" }] });
    server.slices = 0;
    let lookup = doc! { "$lookup": {
        "from": "d", "as": "found", "let": { "id": "$_id" },
        "pipeline": [{ "$match": { "$expr": { "$eq": ["$of", "$$id"] } } }, { "$project": { "_id": 1 } }],
    } };
    let reply =
        server.ok(doc! { "aggregate": "c", "pipeline": [lookup], "cursor": { "batchSize": 1000 } });
    let found = batch(&reply, "firstBatch");
    assert_eq!(found.len(), 200);
    assert!(
        found
            .iter()
            .all(|one| one.get_array("found").unwrap().len() == 10)
    );
    assert!(
        (40..400).contains(&server.slices),
        "{} slices",
        server.slices
    );
}

#[test]
fn an_equality_in_a_lookups_pipeline_finds_what_it_did_without_an_index() {
    let table = r#"
{let: {v: "$v"}, pipeline: [{$match: {$expr: {$eq: ["$w", "$$v"]}}}]} => [[1], [2], [3], [4]]
{let: {v: "$v"}, pipeline: [{$match: {$expr: {$eq: ["$$v", "$w"]}, _id: {$gt: 1}}}]} => [[], [2], [3], [4]]
{let: {v: "$v"}, pipeline: [{$match: {$expr: {$and: [{$eq: ["$w", "$$v"]}, {$gt: ["$_id", 1]}]}}}]} => [[], [2], [3], [4]]
"#;
    for indexed in [false, true] {
        let mut server = Server::with_slice(2);
        // Null, an array, a number of another type, and a missing field: an expression and a filter see them differently.
        server.insert(
            "c",
            shell::documents(
                "[{_id: 1, v: 1.0}, {_id: 2, v: null}, {_id: 3, v: [1, 2]}, {_id: 4, v: {a: 1}}]",
            ),
        );
        server.insert("d", shell::documents("[{_id: 1, w: 1}, {_id: 2, w: null}, {_id: 3, w: [1, 2]}, {_id: 4, w: {a: 1}}, {_id: 5}]"));
        if indexed {
            server.ok(
                doc! { "createIndexes": "d", "indexes": [{ "key": { "w": 1 }, "name": "w_1" }] },
            );
        }
        for (options, expected) in shell::rows(table) {
            let mut lookup = doc! { "from": "d", "as": "found" };
            lookup.extend(shell::document(options));
            let reply = server
                .ok(doc! { "aggregate": "c", "pipeline": [{ "$lookup": lookup }], "cursor": {} });
            let ids = |one: &bson::Document| {
                let found = one.get_array("found").unwrap().iter();
                found
                    .map(|one| one.as_document().unwrap().get_i32("_id").unwrap())
                    .collect::<Vec<_>>()
            };
            let found: Vec<_> = batch(&reply, "firstBatch").iter().map(ids).collect();
            assert_eq!(format!("{found:?}"), expected, "{options} {indexed}");
        }
    }
}

#[test]
fn the_time_of_a_cursor_is_for_all_of_its_batches() {
    let mut server = filled(40, 1);
    let map =
        doc! { "$map": { "input": { "$range": [0, 3000] }, "in": { "$add": ["$$this", "$_id"] } } };
    let filter = doc! { "$expr": { "$gt": [{ "$size": map }, 0] } };
    let find = doc! { "find": "c", "filter": filter, "batchSize": 1 };
    let clock = plimsoll_base::clock::Clock::start();
    assert_eq!(server.find(find.clone()).len(), 40);
    let mut limit = i64::try_from(clock.now().0 / 3_000_000).unwrap().max(1);
    // A machine that is faster now than it was a moment ago may do it all in time; then half of the time is given.
    while let Err(took) = stopped(&mut server, find.clone(), limit) {
        assert!(took < 2 * limit && limit > 1, "{took} ms of {limit} ms");
        limit /= 2;
    }
}

/// Whether a cursor was stopped for its time, or how long the server worked on all of its batches, in milliseconds.
fn stopped(server: &mut Server, mut find: bson::Document, limit: i64) -> Result<(), i64> {
    find.insert("maxTimeMS", limit);
    let mut command = find;
    let mut took = 0;
    loop {
        let clock = plimsoll_base::clock::Clock::start();
        let reply = server.run(command);
        took += clock.now().0;
        if reply.get_f64("ok").unwrap() == 0.0 {
            assert_eq!(reply.get_i32("code").unwrap(), 50, "{reply}");
            return Ok(());
        }
        let id = cursor_id(&reply);
        if id == 0 {
            return Err(i64::try_from(took / 1_000_000).unwrap());
        }
        command = doc! { "getMore": id, "collection": "c", "batchSize": 1 };
    }
}

#[test]
fn ranges_without_a_document_take_from_the_slice_too() {
    let mut server = filled(10, 50);
    server.ok(doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] });
    server.slices = 0;
    let absent: Vec<i32> = (1000..2000).collect();
    for name in ["_id", "a"] {
        let before = server.slices;
        let filter = doc! { name: { "$in": absent.clone() } };
        assert_eq!(server.n(doc! { "count": "c", "query": filter }), 0);
        let slices = server.slices - before;
        assert!((15..30).contains(&slices), "{name}: {slices} slices");
    }
    let some: Vec<i32> = (5..2000).collect();
    let find = doc! { "find": "c", "filter": { "_id": { "$in": some } }, "batchSize": 2 };
    assert_eq!(server.find(find).len(), 5);
}

#[test]
fn deleted_keys_take_from_the_slice_and_are_passed_once() {
    let mut server = filled(1000, 50);
    server.ok(doc! { "delete": "c", "deletes": [{ "q": { "_id": { "$lt": 990 } }, "limit": 0 }] });
    for command in [
        doc! { "find": "c" },
        doc! { "find": "c", "sort": { "_id": -1 } },
        doc! { "find": "c", "batchSize": 3 },
    ] {
        server.slices = 0;
        assert_eq!(server.find(command.clone()).len(), 10);
        assert!(
            (15..40).contains(&server.slices),
            "{command}: {}",
            server.slices
        );
    }
    // A write lets go of its scan between slices: it goes on behind what it passed.
    let update =
        doc! { "q": { "text": { "$exists": true } }, "u": { "$set": { "b": 1 } }, "multi": true };
    assert_eq!(server.n(doc! { "update": "c", "updates": [update] }), 10);
}

/// Sixteen times the values were 256 times the work while each was compared with each.
#[test]
fn many_values_for_one_array_are_looked_up_and_not_compared_each_with_each() {
    let mut server = Server::new();
    let mut id = 0;
    let mut took = |count: i32| {
        id += 1;
        server.insert("c", vec![doc! { "_id": id, "s": [-1] }]);
        let values: Vec<i32> = (0..count).chain(0..count).collect();
        let clock = plimsoll_base::clock::Clock::start();
        for (change, length) in [
            (
                doc! { "$addToSet": { "s": { "$each": &values } } },
                count + 1,
            ),
            (doc! { "$pullAll": { "s": values } }, 1),
        ] {
            server.ok(doc! { "update": "c", "updates": [{ "q": { "_id": id }, "u": change }] });
            let sized = doc! { "_id": id, "s": { "$size": length } };
            assert_eq!(server.n(doc! { "count": "c", "query": sized }), 1);
        }
        clock.now().0
    };
    let few = (0..5).map(|_| took(1500)).min().unwrap();
    let many = (0..2).map(|_| took(24_000)).min().unwrap();
    assert!(many < 90 * few, "{many} ns against {few} ns");
}

#[test]
fn the_elements_of_one_document_take_from_the_slice_of_a_distinct() {
    let mut server = Server::with_slice(100);
    let numbers: Vec<i32> = (0..5000).chain(0..5000).collect();
    let rows: Vec<_> = numbers.iter().map(|n| doc! { "b": *n }).collect();
    server.insert(
        "c",
        vec![
            doc! { "_id": 1, "a": 7, "rows": { "b": 7 } },
            doc! { "_id": 2, "a": numbers, "rows": rows },
            doc! { "_id": 3, "a": [1, 1.0, 5001], "rows": [{ "b": 5001 }] },
        ],
    );
    let mut expected: Vec<Bson> = vec![7.into()];
    expected.extend((0..5000).filter(|n| *n != 7).map(Bson::Int32));
    expected.push(5001.into());
    for key in ["a", "rows.b"] {
        server.slices = 0;
        let reply = server.ok(doc! { "distinct": "c", "key": key });
        assert_eq!(*reply.get_array("values").unwrap(), expected, "{key}");
        // 10,000 elements, and then a slice for each 1,600 keys that are given back.
        assert!(server.slices >= 103, "{key}: {} slices", server.slices);
    }
}
