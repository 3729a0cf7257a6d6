//! Clients that send rubbish, stop half-way, do not read, or come by the thousand.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use bson::doc;

use crate::client::{Client, config, message, serve, start};
use crate::folder::Folder;

/// The flag of `w: 0`: no reply.
const MORE_TO_COME: u32 = 2;

#[test]
fn rubbish_ends_its_connection_and_no_other() {
    let (_folder, server, mut good) = serve();
    good.ok("admin", doc! { "ping": 1 });
    let valid = message(0, &doc! { "ping": 1, "$db": "admin" });
    let mut bad_bson = valid.clone();
    let at = bad_bson.len() - 6;
    bad_bson[at] = 0xff;
    let mut too_long = valid.clone();
    too_long[..4].copy_from_slice(&i32::MAX.to_le_bytes());
    let mut unknown = valid.clone();
    unknown[12..16].copy_from_slice(&2001_i32.to_le_bytes());
    for rubbish in [vec![0; 64], vec![0xff; 64], bad_bson, too_long, unknown] {
        let mut client = Client::connect(server.address());
        client.stream.write_all(&rubbish).unwrap();
        assert!(client.is_closed(), "{rubbish:?}");
    }
    good.ok("admin", doc! { "ping": 1 });
    server.stop().unwrap();
}

#[test]
fn a_message_may_come_byte_by_byte_and_two_at_once() {
    let (_folder, server, mut client) = serve();
    let ping = message(0, &doc! { "ping": 1, "$db": "admin" });
    for byte in &ping {
        client.stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(client.reply().unwrap().get_f64("ok").unwrap(), 1.0);
    client
        .stream
        .write_all(&[ping.clone(), ping.clone(), ping].concat())
        .unwrap();
    for _ in 0..3 {
        assert_eq!(client.reply().unwrap().get_f64("ok").unwrap(), 1.0);
    }
    server.stop().unwrap();
}

#[test]
fn a_client_that_closes_half_way_leaves_nothing_behind() {
    let folder = Folder::new("it");
    let server = start(config(&folder));
    let ping = message(0, &doc! { "ping": 1, "$db": "admin" });
    for end in [1, 10, 16, 20, ping.len() - 1] {
        let mut client = Client::connect(server.address());
        client.stream.write_all(&ping[..end]).unwrap();
        client.stream.shutdown(Shutdown::Write).unwrap();
        assert!(client.is_closed());
    }
    let mut client = Client::connect(server.address());
    client.stream.write_all(&ping).unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert!(
        client.reply().is_some(),
        "a whole message is answered although the client sends no more"
    );
    drop(client);
    let mut last = Client::connect(server.address());
    // A closed connection is noticed when its loop comes round.
    let alone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let status = last.ok("admin", doc! { "serverStatus": 1 });
        status
            .get_document("connections")
            .unwrap()
            .get_i32("current")
            .unwrap()
            == 1
    });
    assert!(alone, "a closed connection is still counted");
    server.stop().unwrap();
}

#[test]
fn writes_without_replies_keep_their_order_and_answer_nothing() {
    let (_folder, server, mut client) = serve();
    let mut bytes = Vec::new();
    for id in 0..500 {
        let insert = doc! { "insert": "c", "documents": [{ "_id": id }], "writeConcern": { "w": 0 }, "$db": "db" };
        bytes.extend(message(MORE_TO_COME, &insert));
        // An error, too, gets no answer.
        bytes.extend(message(MORE_TO_COME, &doc! { "nonsense": 1, "$db": "db" }));
    }
    client.stream.write_all(&bytes).unwrap();
    assert_eq!(client.count("db", "c"), 500);
    server.stop().unwrap();
}

#[test]
fn a_client_that_does_not_read_blocks_nobody_else() {
    let (_folder, server, mut other) = serve();
    let wide: String = "x".repeat(1 << 20);
    for id in 0..8 {
        other.insert("db", "wide", vec![doc! { "_id": id, "text": &wide }]);
    }
    let mut slow = Client::connect(server.address());
    let find = message(0, &doc! { "find": "wide", "$db": "db" });
    for _ in 0..4 {
        slow.stream.write_all(&find).unwrap();
    }
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..50 {
        other.ok("admin", doc! { "ping": 1 });
    }
    for _ in 0..4 {
        let batch = slow.reply().unwrap();
        assert_eq!(
            batch
                .get_document("cursor")
                .unwrap()
                .get_array("firstBatch")
                .unwrap()
                .len(),
            8
        );
    }
    server.stop().unwrap();
}

/// Four replies of 15 MB are more than the budget: those who do not take theirs are let go, and not who came last and reads.
#[test]
fn where_memory_is_short_who_reads_is_served_however_many_do_not() {
    let folder = Folder::new("it");
    let server = start(plimsoll_docdb::server::Config {
        memory_bytes: 40 << 20,
        ..config(&folder)
    });
    let mut client = Client::connect(server.address());
    let wide = doc! { "_id": 1, "text": "x".repeat(15 << 20) };
    client.insert("db", "wide", vec![wide]);
    let find = message(0, &doc! { "find": "wide", "$db": "db" });
    let asks = || {
        let mut asking = Client::connect(server.address());
        asking.stream.write_all(&find).unwrap();
        asking
    };
    let mut unread = Vec::new();
    for _ in 0..4 {
        unread.push(asks());
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut reading = asks();
    let mut length = [0; 4];
    reading.stream.read_exact(&mut length).unwrap();
    let mut rest = vec![0; i32::from_le_bytes(length) as usize - 4];
    assert!(rest.len() > 15 << 20);
    reading.stream.read_exact(&mut rest).unwrap();
    drop(unread);
    server.stop().unwrap();
}

#[test]
fn beyond_the_limit_connections_are_closed_and_come_again_when_there_is_room() {
    let folder = Folder::new("it");
    let server = start(plimsoll_docdb::server::Config {
        connections: 3,
        ..config(&folder)
    });
    let mut kept: Vec<_> = (0..3).map(|_| Client::connect(server.address())).collect();
    for client in &mut kept {
        client.ok("admin", doc! { "ping": 1 });
    }
    let mut refused = Client::connect(server.address());
    assert!(refused.is_closed());
    kept.pop();
    let served = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let mut client = Client::connect(server.address());
        client
            .stream
            .write_all(&message(0, &doc! { "ping": 1, "$db": "admin" }))
            .is_ok()
            && client.reply().is_some()
    });
    assert!(served);
    server.stop().unwrap();
}

#[test]
fn http_on_the_port_gets_metrics_or_a_hint() {
    let folder = Folder::new("it");
    let server = start(config(&folder));
    let get = |target: &str| {
        let mut client = Client::connect(server.address());
        client
            .stream
            .write_all(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())
            .unwrap();
        let mut text = String::new();
        client.stream.read_to_string(&mut text).unwrap();
        text
    };
    let mut client = Client::connect(server.address());
    client.insert("db", "c", vec![doc! { "_id": 1 }]);
    let metrics = get("/metrics");
    for part in [
        "docdb_info{durability=\"always\"",
        "database=\"db\",result=\"ok\",le=\"+Inf\"} 1",
    ] {
        assert!(metrics.contains(part), "{part} in {metrics}");
    }
    // That of the write, and perhaps one of the server's own work.
    let count = metrics
        .lines()
        .find_map(|line| line.strip_prefix("docdb_fsync_duration_seconds_count "));
    assert!(count.is_some_and(|count| count != "0"), "{metrics}");
    assert!(get("/").contains("mongodb://"));
    server.stop().unwrap();
}

#[test]
fn a_tls_client_is_told_at_once_that_there_is_none() {
    let (_folder, server, mut good) = serve();
    // The first record of a handshake: version 3.1, 512 bytes, a greeting for version 3.3, then chance.
    let mut greeting = vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    greeting.resize(300, 0x5a);
    let mut client = Client::connect(server.address());
    client.stream.write_all(&greeting).unwrap();
    let mut answer = [0; 7];
    client.stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [21, 3, 1, 0, 2, 2, 40], "a fatal alert");
    assert!(client.is_closed());
    // A message whose length begins with the same bytes is a message.
    let mut body = doc! { "ping": 1, "comment": "", "$db": "admin" };
    let short = message(0, &body).len();
    body.insert("comment", "x".repeat(0x316 - short));
    let alike = message(0, &body);
    assert_eq!(&alike[..2], &[0x16, 3]);
    good.stream.write_all(&alike).unwrap();
    assert_eq!(good.reply().unwrap().get_f64("ok").unwrap(), 1.0);
    server.stop().unwrap();
}

#[test]
fn what_is_nested_too_deep_is_an_error_and_the_connection_stays() {
    let (_folder, server, mut client) = serve();
    let deep = (0..200).fold(doc! { "a": 1 }, |inner, _| doc! { "a": inner });
    let insert = doc! { "insert": "c", "documents": [deep] };
    let reply = client.command("db", insert.clone());
    assert_eq!(reply.get_i32("code").unwrap(), 15, "{reply}");
    assert!(
        reply.get_str("errmsg").unwrap().contains("nested"),
        "{reply}"
    );
    let mut silent = insert;
    silent.insert("$db", "db");
    client
        .stream
        .write_all(&message(MORE_TO_COME, &silent))
        .unwrap();
    assert_eq!(client.count("db", "c"), 0);
    server.stop().unwrap();
}

/// A filter that takes long on each document, so that a few hundred make a long query.
fn dear(name: &str) -> bson::Document {
    let map =
        doc! { "$map": { "input": { "$range": [0, 2000] }, "in": { "$add": ["$$this", "$_id"] } } };
    doc! { name: "c", "query": { "$expr": { "$gt": [{ "$size": map }, 0] } }, "$db": "db" }
}

#[test]
fn a_point_read_does_not_wait_for_a_long_query_of_its_own_database() {
    let (_folder, server, mut client) = serve();
    client.insert("db", "c", (0..5000).map(|id| doc! { "_id": id }).collect());
    let mut long = Client::connect(server.address());
    long.stream.write_all(&message(0, &dear("count"))).unwrap();
    let running = |client: &mut Client| {
        let listed = client.ok("admin", doc! { "currentOp": 1 });
        let listed = listed.get_array("inprog").unwrap();
        listed.first().map(|one| one.as_document().unwrap().clone())
    };
    while running(&mut client).is_none() {}
    // Each of these would have waited for the whole count; together they are a fraction of it.
    for id in 0..50 {
        assert_eq!(client.find("db", "c", doc! { "_id": id }).len(), 1);
    }
    let count = running(&mut client).expect("the count is still under way");
    let stages = doc! { "aggregate": 1, "cursor": {}, "pipeline": [
        { "$currentOp": { "allUsers": true, "localOps": true } }, { "$match": { "ns": "db.c" } }, { "$project": { "opid": 1 } },
    ] };
    let listed = client.ok("admin", stages.clone());
    let listed = listed.get_document("cursor").unwrap();
    let same = doc! { "opid": count.get_i32("opid").unwrap() };
    assert_eq!(listed.get_array("firstBatch").unwrap(), &[same.into()]);
    let elsewhere = client.command("db", stages);
    assert_eq!(elsewhere.get_i32("code").unwrap(), 73, "{elsewhere}");
    assert_eq!(count.get_str("ns").unwrap(), "db.c");
    for (filter, found) in [
        (doc! { "ns": "db.c", "secs_running": { "$gte": 0 } }, 1),
        (
            doc! { "$ownOps": false, "comment": "x", "command.count": "c" },
            1,
        ),
        (
            doc! { "$or": [{ "op": "query" }, { "ns": { "$regex": "^db" } }] },
            1,
        ),
        (doc! { "ns": "shop.orders" }, 0),
        (doc! { "ns": "db.c", "secs_running": { "$gt": 3600 } }, 0),
    ] {
        let mut command = doc! { "currentOp": 1 };
        command.extend(filter.clone());
        let listed = client.ok("admin", command);
        assert_eq!(listed.get_array("inprog").unwrap().len(), found, "{filter}");
    }
    let wrong = doc! { "currentOp": 1, "ns": { "$nonsense": 1 } };
    let wrong = client.command("admin", wrong);
    assert_eq!(wrong.get_i32("code").unwrap(), 2, "{wrong}");
    client.ok(
        "admin",
        doc! { "killOp": 1, "op": count.get_i32("opid").unwrap() },
    );
    assert_eq!(long.reply().unwrap().get_i32("code").unwrap(), 11601);
    assert!(running(&mut client).is_none());
    server.stop().unwrap();
}

#[test]
fn the_query_of_a_client_that_left_ends() {
    let (_folder, server, mut client) = serve();
    client.insert("db", "c", (0..5000).map(|id| doc! { "_id": id }).collect());
    let mut long = Client::connect(server.address());
    long.stream.write_all(&message(0, &dear("count"))).unwrap();
    let running = |client: &mut Client| {
        let listed = client.ok("admin", doc! { "currentOp": 1 });
        listed.get_array("inprog").unwrap().len()
    };
    while running(&mut client) == 0 {}
    drop(long);
    // A whole count would outlast these questions by far.
    let ended = (0..200).any(|_| running(&mut client) == 0);
    assert!(ended, "it goes on for nobody");
    let mut late = dear("count");
    late.insert("maxTimeMS", 1);
    late.remove("$db");
    let reply = client.command("db", late);
    assert_eq!(reply.get_i32("code").unwrap(), 50, "{reply}");
    server.stop().unwrap();
}

/// What needs no login is read where connections are served, so a stranger's message must be short.
#[test]
fn who_did_not_log_in_cannot_send_long_commands() {
    let folder = Folder::new("it");
    let server = start(plimsoll_docdb::server::Config {
        auth: true,
        ..config(&folder)
    });
    let mut client = Client::connect(server.address());
    let session = doc! { "id": bson::Uuid::new() };
    let few = doc! { "endSessions": vec![session.clone(); 50] };
    client.ok("admin", few);
    let padded = doc! { "endSessions": [session], "padding": vec![0; 100_000] };
    for command in [padded, doc! { "ping": 1, "padding": "x".repeat(20_000) }] {
        let reply = client.command("admin", command);
        assert_eq!(reply.get_i32("code").unwrap(), 13, "{reply}");
    }
    client.ok("admin", doc! { "ping": 1 });
    server.stop().unwrap();
}

#[test]
fn long_commands_of_the_server_take_only_what_they_need() {
    let (_folder, server, mut client) = serve();
    let padding = bson::Bson::Array(vec![0.into(); 200_000]);
    for command in [
        doc! { "killOp": 1, "op": 7 },
        doc! { "killOp": 1, "op": 7.0 },
        doc! { "getParameter": 1, "featureCompatibilityVersion": 1 },
        doc! { "listDatabases": 1, "nameOnly": 1 },
        doc! { "usersInfo": 1 },
        doc! { "refreshSessions": [{ "id": bson::Uuid::new() }] },
        doc! { "createUser": "ann", "pwd": "secret", "roles": ["read"] },
    ] {
        let mut command = command;
        command.insert("padding", padding.clone());
        client.ok("admin", command);
    }
    let wide = doc! { "usersInfo": "x".repeat(2 << 20) };
    let reply = client.command("admin", wide);
    assert_eq!(reply.get_i32("code").unwrap(), 10334, "{reply}");
    for wrong in [
        doc! { "endSessions": 1 },
        doc! { "endSessions": [1] },
        doc! { "endSessions": [{ "id": 1 }] },
    ] {
        let reply = client.command("admin", wrong);
        assert_eq!(reply.get_i32("code").unwrap(), 14, "{reply}");
    }
    server.stop().unwrap();
}

#[test]
fn a_command_longer_than_a_document_is_refused_and_the_connection_stays() {
    let (_folder, server, mut client) = serve();
    let long = doc! { "find": "c", "filter": { "a": { "$in": ["x".repeat(17 << 20)] } } };
    let reply = client.command("db", long);
    assert_eq!(reply.get_i32("code").unwrap(), 10334, "{reply}");
    client.ok("admin", doc! { "ping": 1 });
    server.stop().unwrap();
}
