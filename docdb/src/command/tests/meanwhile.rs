//! What others do while a long command gave way.

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::harness::{Server, batch, cursor_id, ints};
use crate::backend::Task;
use crate::scheduler::{Backend, Step};

fn filled(count: i32) -> Server {
    let mut server = Server::with_slice(10);
    let row = |id: i32| doc! { "_id": id, "g": 1, "n": 0 };
    server.insert("c", (0..count).map(row).collect());
    server
}

/// Begins a command that takes several slices.
fn begun(server: &mut Server, command: Document) -> Task {
    match server.begin(command) {
        Step::More(task) => task,
        Step::Done(reply) => panic!("it is done in a slice: {reply:?}"),
    }
}

fn finished(server: &mut Server, mut task: Task) -> Document {
    loop {
        server.shard().commit().unwrap();
        match server.go_on(task) {
            Step::Done(reply) => {
                server.shard().commit().unwrap();
                return as_document(&reply);
            }
            Step::More(next) => task = next,
        }
    }
}

fn as_document(reply: &RawDocumentBuf) -> Document {
    Document::try_from(reply.as_ref()).unwrap()
}

/// Another writer, while a command over all documents of `g: 1` is at one of the first.
fn write_meanwhile(server: &mut Server) {
    let updates = vec![
        doc! { "q": { "_id": 95 }, "u": { "$set": { "x": 1 } } },
        doc! { "q": { "_id": 97 }, "u": { "g": 2, "text": "longer than it was" } },
    ];
    server.ok(doc! { "update": "c", "updates": updates });
    server.ok(doc! { "delete": "c", "deletes": [{ "q": { "_id": 96 }, "limit": 1 }] });
    server.insert("c", vec![doc! { "_id": 200, "g": 1, "n": 5 }]);
}

#[test]
fn an_update_of_many_keeps_what_others_wrote_while_it_gave_way() {
    for hint in [doc! { "$natural": 1 }, doc! { "_id": 1 }, doc! { "n": 1 }] {
        let mut server = filled(100);
        let index = doc! { "key": { "n": 1 }, "name": "n_1" };
        server.ok(doc! { "createIndexes": "c", "indexes": [index] });
        let all =
            doc! { "q": { "g": 1 }, "u": { "$inc": { "n": 1 } }, "multi": true, "hint": &hint };
        let task = begun(&mut server, doc! { "update": "c", "updates": [all] });
        write_meanwhile(&mut server);
        finished(&mut server, task);
        let found = server.find(doc! { "find": "c", "filter": { "_id": { "$gte": 94 } } });
        let mut expected: Vec<Document> = [94, 95, 98, 99]
            .map(|id| doc! { "_id": id, "g": 1, "n": 1 })
            .into();
        expected[1].insert("x", 1);
        expected.insert(2, doc! { "_id": 97, "g": 2, "text": "longer than it was" });
        // A walk through an index may have begun before this one was there.
        let last = found.last().unwrap().get_i32("n").unwrap();
        assert!(last == 6 || (last == 5 && hint.contains_key("n")), "{hint}");
        expected.push(doc! { "_id": 200, "g": 1, "n": last });
        assert_eq!(found, expected, "{hint}");
        server.validate("c");
    }
}

#[test]
fn a_delete_of_many_spares_what_no_longer_matches() {
    let mut server = filled(100);
    let index = doc! { "key": { "text": 1 }, "name": "text_1" };
    server.ok(doc! { "createIndexes": "c", "indexes": [index] });
    let all = doc! { "q": { "g": 1 }, "limit": 0 };
    let task = begun(&mut server, doc! { "delete": "c", "deletes": [all] });
    write_meanwhile(&mut server);
    let reply = finished(&mut server, task);
    assert_eq!(reply.get_i32("n").unwrap(), 99, "{reply}");
    assert_eq!(server.ids(doc! { "find": "c" }), ints(&[97]));
    server.validate("c");
}

#[test]
fn a_cursor_that_is_killed_while_its_batch_is_filled_is_gone() {
    let mut server = filled(100);
    let id = cursor_id(&server.ok(doc! { "find": "c", "batchSize": 1 }));
    let more = doc! { "getMore": id, "collection": "c", "batchSize": 50 };
    let task = begun(&mut server, more.clone());
    let other = server.ok(doc! { "killCursors": "d", "cursors": [id] });
    assert!(other.get_array("cursorsKilled").unwrap().is_empty());
    let reply = server.ok(doc! { "killCursors": "c", "cursors": [id] });
    let killed = Bson::from(vec![Bson::Int64(id)]);
    assert_eq!(reply.get("cursorsKilled"), Some(&killed));
    let reply = finished(&mut server, task);
    assert_eq!(reply.get_i32("code").unwrap(), 237, "{reply}");
    assert_eq!(server.fail(more).0, 43);
    assert_eq!(server.shard().open_cursors(), 0);
}

#[test]
fn a_cursor_of_a_session_that_ends_while_its_first_batch_is_filled_does_not_stay() {
    let mut server = filled(100);
    server.session = Some([1; 16]);
    let find = doc! { "find": "c", "batchSize": 50 };
    let (ends, stays) = (begun(&mut server, find.clone()), {
        server.session = Some([2; 16]);
        begun(&mut server, find)
    });
    server.end_sessions([[1; 16]]);
    let reply = finished(&mut server, ends);
    assert_eq!(reply.get_i32("code").unwrap(), 237, "{reply}");
    assert_eq!(server.shard().open_cursors(), 0);
    let reply = finished(&mut server, stays);
    assert_eq!(batch(&reply, "firstBatch").len(), 50);
    assert_eq!(server.shard().open_cursors(), 1);
}
