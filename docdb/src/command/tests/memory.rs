//! No command and no cursor holds more than its share.

use std::sync::Arc;

use bson::{Bson, Document, Regex, doc};

use super::harness::{Server, batch, cursor_id};
use crate::command::listing::Prepared;
use crate::memory::{Memory, READ_BYTES, READ_TIMES};
use crate::scheduler::Step;

/// A budget of 8 MiB: a sort or a group holds one.
fn small() -> (Server, Arc<Memory>) {
    of_bytes(8 << 20)
}

fn of_bytes(bytes: usize) -> (Server, Arc<Memory>) {
    let mut server = Server::with_slice(100);
    let memory = Arc::new(Memory::new(bytes));
    server.options.memory = Arc::clone(&memory);
    server.reopen();
    (server, memory)
}

fn fill(server: &mut Server) {
    let row = |id: i32| doc! { "_id": id, "a": (id * 7919) % 3000, "x": "x".repeat(2000) };
    for part in 0..3 {
        server.insert("c", (part * 1000..part * 1000 + 1000).map(row).collect());
    }
}

#[test]
fn a_cursor_keeps_a_position_and_not_the_document_that_did_not_fit() {
    let (mut server, memory) = small();
    let large = "x".repeat(15 << 20);
    server.insert(
        "c",
        vec![
            doc! { "_id": 0 },
            doc! { "_id": 1, "a": [1, 2], "x": &large },
            doc! { "_id": 2, "x": &large },
        ],
    );
    server.ok(doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] });
    let finds = [
        doc! { "find": "c" },
        doc! { "find": "c", "limit": 3 },
        doc! { "find": "c", "filter": { "a": { "$in": [Bson::Null, Bson::Int32(1), Bson::Int32(2)] } } },
    ];
    for find in finds {
        let reply = server.ok(find.clone());
        assert!(cursor_id(&reply) != 0 && memory.has_room(7 << 20), "{find}");
        let mut rest = server.find(find);
        for one in &mut rest {
            one.remove("x");
            one.remove("a");
        }
        rest.sort_by_key(|one| one.get_i32("_id").unwrap());
        assert_eq!(
            rest,
            [doc! { "_id": 0 }, doc! { "_id": 1 }, doc! { "_id": 2 }]
        );
        let all: Vec<_> = batch(&reply, "firstBatch");
        assert!(all.len() < 3);
    }
}

#[test]
fn a_sort_beyond_its_share_uses_the_disk_unless_it_may_not() {
    let (mut server, memory) = small();
    fill(&mut server);
    let expected: Vec<i32> = {
        let mut ids: Vec<i32> = (0..3000).collect();
        ids.sort_by_key(|id| (id * 7919) % 3000);
        ids
    };
    let commands = [
        doc! { "find": "c", "sort": { "a": 1 }, "projection": { "_id": 1 } },
        doc! { "find": "c", "sort": { "a": 1 }, "skip": 0, "limit": 3000, "batchSize": 7 },
    ];
    for command in commands {
        let found: Vec<i32> = server
            .find(command)
            .iter()
            .map(|one| one.get_i32("_id").unwrap())
            .collect();
        assert_eq!(found, expected);
        assert!(memory.has_room((8 << 20) - 4096), "all was given back");
    }
    let pipeline = |disk: bool| doc! { "aggregate": "c", "pipeline": [{ "$sort": { "a": 1 } }, { "$project": { "_id": 1 } }], "cursor": { "batchSize": 5000 }, "allowDiskUse": disk };
    let found = batch(&server.ok(pipeline(true)), "firstBatch");
    let found: Vec<i32> = found
        .iter()
        .map(|one| one.get_i32("_id").unwrap())
        .collect();
    assert_eq!(found, expected);
    for command in [
        pipeline(false),
        doc! { "find": "c", "sort": { "a": 1 }, "allowDiskUse": false },
    ] {
        for _ in 0..3 {
            // Six megabytes fit the budget; three such sorts at once, which stay open, do not.
            server.run(command.clone());
        }
    }
    assert!(server.slices > 0);
}

#[test]
fn a_group_beyond_its_share_uses_the_disk_and_finds_the_same() {
    let (mut server, memory) = small();
    fill(&mut server);
    let group = |disk: bool| {
        doc! { "aggregate": "c", "allowDiskUse": disk, "cursor": { "batchSize": 5000 }, "pipeline": [
            { "$group": { "_id": { "$mod": ["$_id", 1500] }, "n": { "$sum": 1 }, "all": { "$push": { "$substrCP": ["$x", 0, 900] } }, "ids": { "$push": "$_id" } } },
            { "$project": { "n": 1, "ids": 1, "size": { "$size": "$all" } } },
            { "$sort": { "_id": 1 } },
        ] }
    };
    let spilled = batch(&server.ok(group(true)), "firstBatch");
    assert_eq!(spilled.len(), 1500);
    for (at, one) in spilled.iter().enumerate() {
        let at = i32::try_from(at).unwrap();
        let expected = doc! { "_id": at, "n": 2, "ids": [at, at + 1500], "size": 2 };
        assert_eq!(*one, expected);
    }
    assert!(memory.has_room((8 << 20) - 4096));
    assert_eq!(batch(&server.ok(group(false)), "firstBatch"), spilled);
}

#[test]
fn cursors_that_hold_more_than_there_is_are_refused() {
    let (mut server, memory) = small();
    server.insert("c", (0..10).map(|id| doc! { "_id": id }).collect());
    let wide = doc! { "find": "c", "batchSize": 1, "filter": { "_id": { "$gte": 0 }, "x": { "$ne": "y".repeat(500_000) } } };
    let refused = (0..10)
        .filter(|_| server.run(wide.clone()).get_i32("code").ok() == Some(146))
        .count();
    assert!((5..10).contains(&refused), "{refused} of ten were refused");
    assert!(
        cursor_id(&server.ok(doc! { "find": "c", "batchSize": 1 })) != 0,
        "a small one is served"
    );
    assert!(memory.has_room(1000));
}

#[test]
fn groups_that_grow_beyond_their_share_go_on_on_the_disk_in_the_order_of_arrival() {
    let (mut server, memory) = small();
    fill(&mut server);
    let group = doc! { "$group": {
        "_id": { "$mod": ["$_id", 10] }, "first": { "$first": "$_id" }, "last": { "$last": "$_id" },
        "ids": { "$push": "$_id" }, "texts": { "$push": "$x" },
    } };
    let shape =
        doc! { "$project": { "first": 1, "last": 1, "ids": 1, "texts": { "$size": "$texts" } } };
    let all = server.ok(
        doc! { "aggregate": "c", "pipeline": [group, shape, { "$sort": { "_id": 1 } }], "cursor": {} },
    );
    let found = batch(&all, "firstBatch");
    assert_eq!(found.len(), 10);
    for (at, one) in (0..10).zip(&found) {
        let ids: Vec<i32> = (0..300).map(|row| at + row * 10).collect();
        let expected = doc! { "_id": at, "first": at, "last": at + 2990, "ids": ids, "texts": 300 };
        assert_eq!(*one, expected);
    }
    assert!(memory.spilled() > 4 << 20 && memory.has_room((8 << 20) - 4096));
}

#[test]
fn a_sample_beyond_its_share_uses_the_disk() {
    let (mut server, memory) = small();
    fill(&mut server);
    let sample = doc! { "aggregate": "c", "pipeline": [{ "$sample": { "size": 2500 } }, { "$project": { "_id": 1 } }], "cursor": { "batchSize": 3000 } };
    let found = batch(&server.ok(sample), "firstBatch");
    let ids: std::collections::BTreeSet<i32> = found
        .iter()
        .map(|one| one.get_i32("_id").unwrap())
        .collect();
    assert_eq!((found.len(), ids.len()), (2500, 2500));
    assert!(memory.spilled() > 4 << 20 && memory.has_room((8 << 20) - 4096));
}

#[test]
fn what_a_stage_gathers_for_one_result_is_counted() {
    let (mut server, memory) = of_bytes(3 << 20);
    fill(&mut server);
    server.insert("one", vec![doc! { "_id": 1 }]);
    server.insert(
        "wide",
        vec![doc! { "_id": 1, "all": vec!["x".repeat(1000); 1500] }],
    );
    let all = doc! { "from": "c", "pipeline": [], "as": "all" };
    let pipelines = [
        ("c", doc! { "$facet": { "all": [{ "$match": {} }] } }),
        ("one", doc! { "$lookup": all }),
        ("wide", doc! { "$unwind": "$all" }),
    ];
    for (from, stage) in pipelines {
        let reply = server.run(doc! { "aggregate": from, "pipeline": [&stage], "cursor": {} });
        assert_eq!(reply.get_i32("code").ok(), Some(146), "{stage}: {reply}");
        assert!(memory.has_room((3 << 20) - 4096), "{stage}");
    }
}

#[test]
fn where_memory_is_short_batches_are() {
    let (mut server, memory) = of_bytes(1 << 20);
    fill(&mut server);
    let find = doc! { "find": "c", "batchSize": 3000 };
    let first = server.ok(find.clone());
    assert!(cursor_id(&first) != 0 && batch(&first, "firstBatch").len() < 1500);
    assert_eq!(server.find(find).len(), 3000);
    assert!(memory.has_room(1 << 19));
}

#[test]
fn what_a_walk_over_a_multikey_index_remembers_is_counted() {
    let (mut server, memory) = of_bytes(2 << 20);
    let row = |id: i32| doc! { "_id": format!("{id:0>800}"), "tags": [id % 5, id % 7, id % 11] };
    for part in 0..4 {
        server.insert("c", (part * 500..part * 500 + 500).map(row).collect());
    }
    let index = doc! { "key": { "tags": 1 }, "name": "tags_1" };
    server.ok(doc! { "createIndexes": "c", "indexes": [index] });
    let count = |most: i32| doc! { "count": "c", "query": { "tags": { "$gte": 0, "$lt": most } } };
    let some = server.ok(count(1));
    let with_zero = (0..2000).filter(|id| id % 5 == 0 || id % 7 == 0 || id % 11 == 0);
    let n = usize::try_from(some.get_i32("n").unwrap()).unwrap();
    assert_eq!(n, with_zero.count());
    // Of a hundred such walks at once each fits alone.
    let mut held = memory.claim();
    held.hold(1 << 20);
    let refused = server.run(count(12));
    assert_eq!(refused.get_i32("code").ok(), Some(146), "{refused}");
    drop(held);
    assert_eq!(server.ok(count(12)).get_i32("n").unwrap(), 2000);
}

#[test]
fn the_keys_in_write_errors_are_counted_with_their_texts() {
    let (mut server, memory) = of_bytes(64 << 20);
    let index = doc! { "key": { "x": 1 }, "name": "x_1", "unique": true };
    server.ok(doc! { "createIndexes": "c", "indexes": [index] });
    let value = vec![doc! { "y": "z".repeat(1 << 20) }];
    server.insert("c", vec![doc! { "_id": 0, "x": value.clone() }]);
    let again: Vec<_> = (1..20)
        .map(|id| doc! { "_id": id, "x": value.clone() })
        .collect();
    let insert = doc! { "insert": "c", "documents": again, "ordered": false };
    let bytes = |reply: &Document| {
        bson::RawDocumentBuf::try_from(reply)
            .unwrap()
            .as_bytes()
            .len()
    };
    let reply = server.ok(insert.clone());
    assert_eq!(reply.get_array("writeErrors").unwrap().len(), 19);
    assert!(bytes(&reply) < 9 << 20, "{} bytes", bytes(&reply));
    // Where memory is short, only codes are told.
    let mut held = memory.claim();
    held.hold(64 << 20);
    let reply = server.ok(insert);
    assert_eq!(reply.get_array("writeErrors").unwrap().len(), 19);
    assert!(bytes(&reply) < 1 << 20, "{} bytes", bytes(&reply));
    drop(held);
    assert!(memory.has_room((64 << 20) - 4096));
}

#[test]
fn a_cursor_over_prepared_documents_counts_them() {
    let prepared = Prepared::boxed(
        [doc! { "text": "x".repeat(1000) }]
            .map(|one| bson::RawDocumentBuf::try_from(&one).unwrap()),
    );
    assert!(prepared.held() > 1000);
}

#[test]
fn a_long_list_is_counted_while_its_command_goes_on() {
    let (mut server, memory) = of_bytes(2 << 20);
    server.insert("c", (0..10).map(|id| doc! { "_id": id }).collect());
    let among = |count: i32| doc! { "_id": { "$in": (5..count).collect::<Vec<_>>() } };
    let before = memory.held();
    let step = server.begin(doc! { "count": "c", "query": among(20_000) });
    let Step::More(task) = step else {
        panic!("it looks for more than a slice's keys");
    };
    // A slice is a hundred pieces of 64 values, each of which has a key of 10 bytes.
    let held = memory.held() - before;
    assert!(held > 100 * 64 * 10, "{held} bytes");
    drop(task);
    assert_eq!(memory.held(), before);
    assert_eq!(server.n(doc! { "count": "c", "query": among(20_000) }), 5);
    assert_eq!(memory.held(), before);
    let all = doc! { "q": among(200_000), "limit": 0 };
    for command in [
        doc! { "find": "c", "filter": among(200_000) },
        doc! { "distinct": "c", "key": "a", "query": { "$nor": [among(200_000)] } },
        doc! { "delete": "c", "deletes": [all] },
    ] {
        let reply = server.run(command);
        assert_eq!(reply.get_i32("code").ok(), Some(146), "{reply}");
    }
    assert_eq!(memory.held(), before);
}

#[test]
fn the_patterns_of_a_long_list_are_counted_while_it_is_read() {
    let (mut server, memory) = of_bytes(4 << 20);
    let pattern = |at: i32| {
        let pattern = format!("x{at}").try_into().unwrap();
        let options = "".try_into().unwrap();
        Bson::RegularExpression(Regex { pattern, options })
    };
    let list: Vec<Bson> = (0..6000).map(pattern).collect();
    let before = memory.held();
    for operator in ["$in", "$nin"] {
        server.slices = 0;
        let command = doc! { "find": "c", "filter": { "a": { operator: &list } } };
        let (code, text) = server.fail(command);
        assert!(code == 146 && text.starts_with("a long query"), "{text}");
        // A slice has a hundred pieces, and a pattern is one.
        assert!((2..40).contains(&server.slices), "{} slices", server.slices);
        assert_eq!(memory.held(), before);
    }
}

/// As keys it would fit.
#[test]
fn a_list_that_is_not_kept_as_keys_is_counted_in_full() {
    let (mut server, memory) = of_bytes(2 << 20);
    let before = memory.held();
    let among = || doc! { "a": { "$in": (0..20_000).collect::<Vec<_>>() } };
    let within = |stage: Document| doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
    let inner = || doc! { "$match": among() };
    let mut shown = within(inner());
    shown.insert("explain", true);
    for command in [
        within(doc! { "$lookup": { "from": "c", "pipeline": [inner()], "as": "b" } }),
        within(doc! { "$unionWith": { "coll": "c", "pipeline": [inner()] } }),
        within(doc! { "$facet": { "b": [inner()] } }),
        within(doc! { "$project": { "b": { "$literal": among() } } }),
        doc! { "find": "c", "projection": { "b": { "$elemMatch": among() } } },
        doc! { "find": "c", "filter": { "b": { "$eq": among() } } },
        doc! { "find": "c", "filter": { "$expr": { "$eq": ["$b", { "$literal": among() }] } } },
        doc! { "count": "c", "query": { "b": { "$all": [among(), 1] } } },
        doc! { "explain": { "find": "c", "filter": among() } },
        shown,
    ] {
        let reply = server.run(command);
        assert_eq!(reply.get_i32("code").ok(), Some(146), "{reply}");
        assert_eq!(memory.held(), before);
    }
    for command in [
        doc! { "find": "c", "filter": among() },
        doc! { "count": "c", "query": { "b": { "$elemMatch": among() } } },
        doc! { "count": "c", "query": { "b": { "$all": [{ "$elemMatch": among() }] } } },
        doc! { "count": "c", "query": { "b": { "$elemMatch": { "$not": among().get_document("a").unwrap() } } } },
        doc! { "distinct": "c", "key": "a", "query": { "$nor": [{ "$and": [among()] }] } },
        within(inner()),
    ] {
        server.ok(command);
        assert_eq!(memory.held(), before);
    }
}

#[test]
fn what_stands_beside_a_list_is_counted_as_without_one() {
    let (mut server, memory) = of_bytes(16 << 20);
    server.insert("c", (0..10).map(|id| doc! { "_id": id }).collect());
    let list: Vec<i32> = (0..1100).collect();
    let others: Vec<Document> = (0..3000).map(|at| doc! { "b": { "$ne": at } }).collect();
    let mut cursor = |filter: Document| {
        let command = doc! { "find": "c", "filter": filter, "batchSize": 1 };
        let bytes = bson::RawDocumentBuf::try_from(&command).unwrap();
        let before = memory.held();
        assert_ne!(cursor_id(&server.ok(command)), 0);
        (bytes.as_bytes().len(), memory.held() - before)
    };
    let (short, alone) = cursor(doc! { "$and": &others[..2150] });
    assert!(short < READ_BYTES && alone > short * READ_TIMES);
    let mut all = others[..2150].to_vec();
    all.push(doc! { "_id": { "$in": &list } });
    let (bytes, held) = cursor(doc! { "$and": &all });
    assert!(
        bytes > READ_BYTES && held > alone,
        "{held} beside a list, {alone} alone"
    );
    let (bytes, held) = cursor(doc! { "$and": &others });
    assert!(bytes > READ_BYTES && held > bytes * READ_TIMES);
}

#[test]
fn the_values_of_a_distinct_are_counted() {
    let (mut server, memory) = of_bytes(3 << 20);
    let numbers = |from: i32| (from..from + 15_000).collect::<Vec<i32>>();
    server.insert("one", vec![doc! { "_id": 1, "a": numbers(0) }]);
    server.insert(
        "many",
        (0..5)
            .map(|at| doc! { "_id": at, "a": numbers(at * 15_000) })
            .collect(),
    );
    let (code, text) = server.fail(doc! { "distinct": "many", "key": "a" });
    assert_eq!(code, 146, "{text}");
    assert!(memory.has_room((3 << 20) - 4096), "all was given back");
    let reply = server.ok(doc! { "distinct": "one", "key": "a" });
    assert_eq!(reply.get_array("values").unwrap().len(), 15_000);
    assert!(memory.has_room((3 << 20) - 4096));
}
