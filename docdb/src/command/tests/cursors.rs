//! find with batches, getMore, killCursors.

use bson::{Bson, doc};

use super::harness::{Server, batch, cursor_id, ids, ints};
use crate::value::shell;

fn filled(count: i32, slice: usize) -> Server {
    let mut server = Server::with_slice(slice);
    server.insert(
        "c",
        (0..count)
            .map(|id| doc! { "_id": id, "a": count - id })
            .collect(),
    );
    server
}

#[test]
fn the_first_batch_has_101_documents_and_the_next_one_the_rest() {
    let mut server = filled(250, 7);
    let reply = server.ok(doc! { "find": "c" });
    assert_eq!(batch(&reply, "firstBatch").len(), 101);
    let id = cursor_id(&reply);
    assert!(id > 0);
    let reply = server.ok(doc! { "getMore": id, "collection": "c", "batchSize": 100 });
    assert_eq!(
        (batch(&reply, "nextBatch").len(), cursor_id(&reply)),
        (100, id)
    );
    let reply = server.ok(doc! { "getMore": id, "collection": "c" });
    assert_eq!(
        (batch(&reply, "nextBatch").len(), cursor_id(&reply)),
        (49, 0)
    );
    let (code, text) = server.fail(doc! { "getMore": id, "collection": "c" });
    assert_eq!((code, text), (43, format!("cursor id {id} not found")));
    assert!(server.slices > 30);
}

#[test]
fn batch_size_limit_and_skip_shape_the_batches() {
    let mut server = filled(10, 1000);
    // Fields, length of the first batch, whether the cursor stays open.
    let table = r"
{batchSize: 0} => 0 and more
{batchSize: 3} => 3 and more
{batchSize: 3, limit: 3} => 3
{batchSize: 3, singleBatch: true} => 3
{limit: 4} => 4
{skip: 8} => 2
{skip: 8, limit: 1} => 1
{skip: 80} => 0
{batchSize: 11} => 10
{sort: {a: 1}, batchSize: 10} => 10
";
    for (fields, expected) in shell::rows(table) {
        let mut command = doc! { "find": "c" };
        command.extend(shell::document(fields));
        let reply = server.ok(command);
        let length = batch(&reply, "firstBatch").len();
        let more = if cursor_id(&reply) == 0 {
            ""
        } else {
            " and more"
        };
        assert_eq!(format!("{length}{more}"), expected, "{fields}");
    }
}

#[test]
fn a_sort_is_stable_and_works_over_batches_and_slices() {
    for slice in [1, 3, 1000] {
        let mut server = filled(20, slice);
        let expected: Vec<i32> = (0..20).rev().collect();
        let sorted = doc! { "find": "c", "sort": { "a": 1 }, "batchSize": 3 };
        assert_eq!(server.ids(sorted), ints(&expected));
        let some = doc! { "find": "c", "sort": { "a": 1 }, "skip": 2, "limit": 3 };
        assert_eq!(server.ids(some), ints(&[17, 16, 15]));
        let backward = doc! { "find": "c", "sort": { "_id": -1 }, "limit": 2 };
        assert_eq!(server.ids(backward), ints(&[19, 18]));
    }
}

#[test]
fn a_descending_sort_takes_the_last_of_several_values_first() {
    for slice in [1, 1000] {
        let mut server = filled(20, slice);
        let index = doc! { "key": { "a": 1, "_id": 1 }, "name": "a_1" };
        server.ok(doc! { "createIndexes": "c", "indexes": [index] });
        let some = doc! { "find": "c", "filter": { "_id": { "$in": [1, 2, 3] } } };
        let with = |fields: bson::Document| {
            let mut command = some.clone();
            command.extend(fields);
            command
        };
        let down = with(doc! { "sort": { "_id": -1 } });
        assert_eq!(server.ids(down), ints(&[3, 2, 1]));
        let last = with(doc! { "sort": { "_id": -1 }, "limit": 1 });
        assert_eq!(server.ids(last), ints(&[3]));
        let by_two = with(doc! { "sort": { "_id": -1 }, "batchSize": 1, "skip": 1 });
        assert_eq!(server.ids(by_two), ints(&[2, 1]));
        let indexed = doc! { "find": "c", "filter": { "a": { "$in": [4, 1, 9] } }, "sort": { "a": -1 }, "limit": 2 };
        assert_eq!(server.ids(indexed), ints(&[11, 16]));
        let halves = doc! { "$or": [{ "_id": { "$lt": 2 } }, { "_id": { "$gt": 17 } }] };
        let outside = doc! { "find": "c", "filter": halves, "sort": { "_id": -1 } };
        assert_eq!(server.ids(outside), ints(&[19, 18, 1, 0]));
    }
}

#[test]
fn a_cursor_goes_on_where_it_was_whatever_was_written_meanwhile() {
    let mut server = filled(10, 1000);
    let reply = server.ok(doc! { "find": "c", "batchSize": 3 });
    let id = cursor_id(&reply);
    server.ok(doc! { "delete": "c", "deletes": [{ "q": { "_id": 2 }, "limit": 1 }, { "q": { "_id": 4 }, "limit": 1 }] });
    server.insert("c", vec![doc! { "_id": 3.5 }]);
    let reply = server.ok(doc! { "getMore": id, "collection": "c" });
    let ids = ids(&batch(&reply, "nextBatch"));
    let mut expected = ints(&[3, 5, 6, 7, 8, 9]);
    expected.insert(1, Bson::Double(3.5));
    assert_eq!(ids, expected);
}

#[test]
fn a_cursor_belongs_to_its_session_and_its_collection() {
    let mut server = filled(10, 1000);
    server.session = Some([1; 16]);
    let id = cursor_id(&server.ok(doc! { "find": "c", "batchSize": 3 }));
    let more = doc! { "getMore": id, "collection": "c", "batchSize": 1 };
    server.session = Some([2; 16]);
    assert_eq!(server.fail(more.clone()).0, 50738);
    server.session = None;
    assert_eq!(server.fail(more.clone()).0, 50737);
    server.session = Some([1; 16]);
    assert_eq!(server.fail(doc! { "getMore": id, "collection": "d" }).0, 13);
    server.ok(more.clone());
    server.end_sessions([[1; 16]]);
    assert_eq!(server.fail(more).0, 43);
}

#[test]
fn killed_and_dropped_cursors_are_gone() {
    let mut server = filled(10, 1000);
    let id = cursor_id(&server.ok(doc! { "find": "c", "batchSize": 3 }));
    let reply = server.ok(doc! { "killCursors": "c", "cursors": [id, 5_i64] });
    let killed = Bson::from(vec![Bson::Int64(id)]);
    let missing = Bson::from(vec![Bson::Int64(5)]);
    assert_eq!(reply.get("cursorsKilled"), Some(&killed));
    assert_eq!(reply.get("cursorsNotFound"), Some(&missing));
    let id = cursor_id(&server.ok(doc! { "find": "c", "batchSize": 3 }));
    server.ok(doc! { "drop": "c" });
    assert_eq!(server.fail(doc! { "getMore": id, "collection": "c" }).0, 43);
    assert_eq!(server.shard().open_cursors(), 0);
}

#[test]
fn a_batch_stays_within_16_megabytes() {
    let mut server = Server::new();
    let large = "x".repeat(3 << 20);
    server.insert(
        "c",
        (0..12).map(|id| doc! { "_id": id, "x": &large }).collect(),
    );
    let reply = server.ok(doc! { "find": "c" });
    assert_eq!(batch(&reply, "firstBatch").len(), 5);
    let id = cursor_id(&reply);
    let reply = server.ok(doc! { "getMore": id, "collection": "c", "batchSize": 1000 });
    assert_eq!(batch(&reply, "nextBatch").len(), 5);
    let reply = server.ok(doc! { "getMore": id, "collection": "c", "batchSize": 1000 });
    assert_eq!(
        (batch(&reply, "nextBatch").len(), cursor_id(&reply)),
        (2, 0)
    );
}
