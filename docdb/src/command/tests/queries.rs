//! aggregate and explain; which index a query uses.

use bson::{Document, doc};

use super::harness::{Server, batch, cursor_id, ids, ints};
use crate::value::shell;

fn filled(slice: usize) -> Server {
    let mut server = Server::with_slice(slice);
    let index = |key: Document, name: &str| doc! { "key": key, "name": name };
    let indexes = vec![
        index(doc! { "a": 1 }, "a_1"),
        index(doc! { "a": 1, "b": -1 }, "a_1_b_-1"),
        index(doc! { "t": 1 }, "t_1"),
    ];
    server.ok(doc! { "createIndexes": "c", "indexes": indexes });
    let documents =
        (0..60).map(|id| doc! { "_id": id, "a": id % 6, "b": id % 4, "t": [id, id + 1] });
    server.insert("c", documents.collect());
    server
}

/// The stages of a winning plan from the top, and the index at its end.
fn plan(reply: &Document) -> (Vec<String>, String) {
    let planner = reply.get_document("queryPlanner").unwrap();
    let mut stage = planner.get_document("winningPlan").unwrap();
    let (mut stages, mut index) = (Vec::new(), String::new());
    loop {
        stages.push(stage.get_str("stage").unwrap().to_owned());
        if let Ok(name) = stage.get_str("indexName") {
            name.clone_into(&mut index);
        }
        match stage.get_document("inputStage") {
            Ok(inner) => stage = inner,
            Err(_) => return (stages, index),
        }
    }
}

/// Fields of a find; stages of its plan and the index; keys and documents examined, documents returned.
const PLANS: &str = r#"
{} => COLLSCAN [0, 60, 60]
{filter: {_id: 5}} => IDHACK [1, 1, 1]
{filter: {_id: {$gt: 55}}} => FETCH IXSCAN _id_ [4, 4, 4]
{filter: {a: 1}} => FETCH IXSCAN a_1 [10, 10, 10]
{filter: {a: 1, b: 1}} => FETCH IXSCAN a_1_b_-1 [5, 5, 5]
{filter: {a: 1, b: {$gt: 1}}} => FETCH IXSCAN a_1_b_-1 [5, 5, 5]
{filter: {b: 1}} => COLLSCAN [0, 60, 15]
{filter: {a: {$in: [1, 2]}}} => FETCH IXSCAN a_1 [20, 20, 20]
{filter: {t: 7}} => FETCH IXSCAN t_1 [2, 2, 2]
{filter: {a: 1}, hint: {$natural: 1}} => COLLSCAN [0, 60, 10]
{filter: {a: 1}, hint: "t_1"} => FETCH IXSCAN t_1 [120, 60, 10]
{sort: {a: 1}, limit: 3} => LIMIT FETCH IXSCAN a_1 [3, 3, 3]
{sort: {a: -1, b: 1}} => FETCH IXSCAN a_1_b_-1 [60, 60, 60]
{filter: {a: 1}, sort: {b: 1}} => FETCH IXSCAN a_1_b_-1 [10, 10, 10]
{sort: {b: 1}} => SORT COLLSCAN [0, 60, 60]
{sort: {_id: -1}, limit: 1} => LIMIT COLLSCAN [0, 1, 1]
{projection: {a: 1}} => PROJECTION_DEFAULT COLLSCAN [0, 60, 60]
"#;

#[test]
fn the_planner_takes_the_index_that_narrows_most() {
    let mut server = filled(1000);
    for (fields, expected) in shell::rows(PLANS) {
        let mut find = doc! { "find": "c" };
        find.extend(shell::document(fields));
        let reply = server.ok(doc! { "explain": find, "verbosity": "executionStats" });
        let (stages, index) = plan(&reply);
        let stats = reply.get_document("executionStats").unwrap();
        let names = ["totalKeysExamined", "totalDocsExamined", "nReturned"];
        let counts = names.map(|name| stats.get_i64(name).unwrap());
        let found = format!("{} {index}", stages.join(" "));
        let found = format!("{} {counts:?}", found.trim_end());
        assert_eq!(found, expected, "{fields}");
    }
}

#[test]
fn explain_takes_every_command_that_searches_and_changes_nothing() {
    let mut server = filled(7);
    let table = r#"
{count: "c", query: {a: 1}} => COUNT FETCH IXSCAN
{count: "c"} => COUNT RECORD_STORE_FAST_COUNT
{distinct: "c", key: "b", query: {a: 1}} => FETCH IXSCAN
{delete: "c", deletes: [{q: {a: 1}, limit: 0}]} => DELETE FETCH IXSCAN
{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 9}}}]} => UPDATE IDHACK
{findAndModify: "c", query: {a: 1}, remove: true} => DELETE LIMIT FETCH IXSCAN
{aggregate: "c", pipeline: [{$match: {a: 1}}], cursor: {}} => FETCH IXSCAN
{aggregate: "c", pipeline: [{$match: {a: 1}}, {$sort: {a: 1}}], cursor: {}} => FETCH IXSCAN
{aggregate: "c", pipeline: [{$sort: {a: -1}}], cursor: {}} => FETCH IXSCAN
{find: "none"} => EOF
"#;
    for (command, stages) in shell::rows(table) {
        let explained = shell::document(command);
        let reply = server.ok(doc! { "explain": &explained, "verbosity": "queryPlanner" });
        assert_eq!(plan(&reply).0.join(" "), stages, "{command}");
        assert!(!reply.contains_key("executionStats"));
        server.ok(doc! { "explain": explained });
    }
    assert_eq!(server.n(doc! { "count": "c" }), 60);
    assert_eq!(server.fail(doc! { "explain": { "ping": 1 } }).0, 59);
    let unknown = doc! { "explain": { "find": "c" }, "verbosity": "x" };
    assert_eq!(server.fail(unknown).0, 2);
    let pipeline = vec![
        doc! { "$match": { "a": 1 } },
        doc! { "$group": { "_id": "$b" } },
    ];
    let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {}, "explain": true };
    let stages = server.ok(command).get_array("stages").unwrap().clone();
    assert!(stages[0].as_document().unwrap().contains_key("$cursor"));
    assert_eq!(stages.len(), 2);
}

#[test]
fn a_sort_that_an_index_yields_looks_only_at_what_is_wanted() {
    let mut server = filled(1000);
    for (order, indexed) in [(doc! { "a": -1 }, true), (doc! { "b": 1, "_id": 1 }, false)] {
        let pipeline = vec![
            doc! { "$sort": order },
            doc! { "$limit": 5 },
            doc! { "$project": { "a": 1, "b": 1 } },
        ];
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        let found = batch(&server.ok(command.clone()), "firstBatch");
        let mut all = batch(
            &server.ok(doc! { "find": "c", "projection": { "a": 1, "b": 1 }, "batchSize": 100 }),
            "firstBatch",
        );
        let key = |one: &Document, field| one.get_i32(field).unwrap();
        if indexed {
            all.sort_by_key(|one| -key(one, "a"));
        } else {
            all.sort_by_key(|one| key(one, "b"));
        }
        let sorted: Vec<i32> = all.iter().take(5).map(|one| key(one, "a")).collect();
        let given: Vec<i32> = found.iter().map(|one| key(one, "a")).collect();
        assert_eq!(given, sorted);
        let stages = server.ok(doc! { "explain": command, "verbosity": "queryPlanner" });
        let stages = stages.get_array("stages").unwrap();
        let left: Vec<&str> = stages
            .iter()
            .map(|one| one.as_document().unwrap().keys().next().unwrap().as_str())
            .collect();
        let expected: &[&str] = if indexed {
            &["$cursor", "$limit", "$project"]
        } else {
            &["$cursor", "$sort", "$limit", "$project"]
        };
        assert_eq!(left, expected);
    }
}

#[test]
fn pipelines_run_in_batches_and_slices() {
    for slice in [1, 5, 1000] {
        let mut server = filled(slice);
        server.insert(
            "names",
            (0..6)
                .map(|id| doc! { "_id": id, "name": format!("n{id}") })
                .collect(),
        );
        let pipeline = vec![
            doc! { "$match": { "a": { "$lt": 2 } } },
            doc! { "$group": { "_id": "$a", "n": { "$sum": 1 } } },
            doc! { "$sort": { "_id": 1 } },
            doc! { "$lookup": { "from": "names", "localField": "_id", "foreignField": "_id", "as": "name" } },
        ];
        let reply = server.ok(doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} });
        let name = |id: i32| vec![doc! { "_id": id, "name": format!("n{id}") }];
        let expected = [
            doc! { "_id": 0, "n": 10, "name": name(0) },
            doc! { "_id": 1, "n": 10, "name": name(1) },
        ];
        assert_eq!(batch(&reply, "firstBatch"), expected);
        assert_eq!(cursor_id(&reply), 0);
        let pipeline = vec![doc! { "$project": { "_id": 1 } }, doc! { "$skip": 50 }];
        let cursor = doc! { "batchSize": 4 };
        let reply = server.ok(doc! { "aggregate": "c", "pipeline": pipeline, "cursor": cursor });
        let mut found = batch(&reply, "firstBatch");
        assert_eq!(found.len(), 4);
        let more = doc! { "getMore": cursor_id(&reply), "collection": "c" };
        found.extend(batch(&server.ok(more), "nextBatch"));
        let ids = ids(&found);
        assert_eq!(ids, ints(&[50, 51, 52, 53, 54, 55, 56, 57, 58, 59]));
    }
}

#[test]
fn pipelines_that_cannot_be_run_are_refused() {
    let mut server = filled(1000);
    let run =
        |pipeline: Vec<Document>| doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
    assert_eq!(server.fail(doc! { "aggregate": "c", "pipeline": [] }).0, 9);
    assert_eq!(server.fail(run(vec![doc! { "$nonsense": 1 }])).0, 40324);
    assert_eq!(server.fail(run(vec![doc! { "$out": "x" }])).0, 115);
    let sessions =
        doc! { "aggregate": 1, "pipeline": [{ "$listLocalSessions": {} }], "cursor": {} };
    assert_eq!(server.fail(sessions).0, 115);
    let database = doc! { "aggregate": 1, "pipeline": [{ "$match": {} }], "cursor": {} };
    assert_eq!(server.fail(database).0, 73);
    let none = doc! { "aggregate": "none", "pipeline": [{ "$count": "n" }], "cursor": {} };
    assert!(batch(&server.ok(none), "firstBatch").is_empty());
    let stats = run(vec![doc! { "$collStats": { "count": {} } }]);
    let reply = server.ok(stats);
    assert_eq!(batch(&reply, "firstBatch")[0].get_i32("count").unwrap(), 60);
}

#[test]
fn variables_of_let_reach_filters_updates_and_pipelines() {
    let mut server = filled(1000);
    let equal = doc! { "$expr": { "$eq": ["$_id", "$$wanted"] } };
    let variables = doc! { "wanted": 7 };
    let find = doc! { "find": "c", "filter": equal.clone(), "let": variables.clone() };
    assert_eq!(server.ids(find), ints(&[7]));
    let pipeline = vec![doc! { "$match": equal.clone() }];
    let aggregate =
        doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {}, "let": variables.clone() };
    assert_eq!(batch(&server.ok(aggregate), "firstBatch").len(), 1);
    let set = vec![doc! { "$set": { "z": "$$wanted" } }];
    let update = doc! { "q": equal.clone(), "u": set };
    let reply = server.ok(doc! { "update": "c", "updates": [update], "let": variables.clone() });
    assert_eq!(reply.get_i32("nModified").unwrap(), 1, "{reply}");
    assert_eq!(
        server.ids(doc! { "find": "c", "filter": { "z": 7 } }),
        ints(&[7])
    );
    let delete = doc! { "q": equal, "limit": 0 };
    let reply = server.ok(doc! { "delete": "c", "deletes": [delete], "let": variables });
    assert_eq!(reply.get_i32("n").unwrap(), 1);
}

#[test]
fn an_expression_within_an_or_sees_the_variables_of_its_command_and_of_its_lookup() {
    let mut server = filled(7);
    server.insert("one", vec![doc! { "_id": 1, "of": 3 }]);
    let either = |condition: Document| doc! { "$or": [{ "_id": -1 }, { "$expr": condition }] };
    let aggregate = |from: &str, pipeline: Vec<Document>| doc! { "aggregate": from, "pipeline": pipeline, "cursor": { "batchSize": 100 }, "let": { "v": 3 } };
    let matched = doc! { "$match": either(doc! { "$eq": ["$_id", "$$v"] }) };
    let found = batch(
        &server.ok(aggregate("c", vec![matched.clone()])),
        "firstBatch",
    );
    assert_eq!(ids(&found), ints(&[3]));
    let later = vec![doc! { "$limit": 50 }, matched];
    let found = batch(&server.ok(aggregate("c", later)), "firstBatch");
    assert_eq!(ids(&found), ints(&[3]));
    let now = doc! { "$eq": ["$$NOW", bson::DateTime::from_millis(server.now)] };
    let nor = doc! { "$match": { "$nor": [{ "$expr": { "$not": [now] } }] } };
    let found = batch(&server.ok(aggregate("one", vec![nor])), "firstBatch");
    assert_eq!(ids(&found), ints(&[1]));
    let of = either(doc! { "$eq": ["$_id", "$$of"] });
    for pipeline in [
        vec![doc! { "$match": of.clone() }],
        vec![doc! { "$limit": 60 }, doc! { "$match": of }],
    ] {
        let lookup =
            doc! { "from": "c", "let": { "of": "$of" }, "pipeline": pipeline, "as": "found" };
        let reply = server.ok(aggregate("one", vec![doc! { "$lookup": lookup }]));
        let found = &batch(&reply, "firstBatch")[0];
        let found = found.get_array("found").unwrap();
        assert_eq!(found.len(), 1, "{reply}");
        assert_eq!(found[0].as_document().unwrap().get_i32("_id").unwrap(), 3);
    }
}

/// `value` in so many documents, one in the other.
fn wrapped(levels: usize, value: impl Into<bson::Bson>) -> bson::Bson {
    (0..levels).fold(value.into(), |inner, _| doc! { "a": inner }.into())
}

#[test]
fn stages_that_wrap_a_document_again_and_again_are_refused() {
    let mut server = Server::new();
    server.insert("c", vec![doc! { "_id": 1 }]);
    let replace = doc! { "$replaceWith": wrapped(150, "$$ROOT") };
    let set = doc! { "$set": { "a": wrapped(150, "$$ROOT") } };
    let group = doc! { "$group": { "_id": wrapped(150, "$$ROOT") } };
    let reduce = doc! { "$reduce": { "input": { "$range": [0, 100_000] }, "initialValue": 1, "in": { "a": "$$value" } } };
    for stages in [
        vec![replace.clone(); 1000],
        vec![set; 1000],
        vec![group; 1000],
        vec![doc! { "$project": { "x": reduce } }],
    ] {
        let aggregate = doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
        let (code, text) = server.fail(aggregate);
        assert_eq!(code, 15, "{text}");
        assert!(text.contains("200 levels"), "{text}");
    }
    let update =
        |stages: Vec<Document>| doc! { "update": "c", "updates": [{ "q": {}, "u": stages }] };
    for (stages, code) in [
        (vec![replace.clone(); 1000], 15),
        (vec![replace; 1001], 7_749_501),
    ] {
        let reply = server.run(update(stages));
        let error = super::harness::write_error(&reply);
        assert_eq!(error.get_i32("code").unwrap(), code, "{reply}");
    }
    let deep = doc! { "aggregate": "c", "pipeline": [{ "$replaceWith": wrapped(199, "$$ROOT") }], "cursor": {} };
    assert_eq!(batch(&server.ok(deep), "firstBatch").len(), 1);
}
