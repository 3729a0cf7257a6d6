//! What every client relies on: the handshake, unknown commands, errors that are visible.

use bson::doc;

use crate::client::serve;

#[test]
fn the_handshake_says_what_drivers_need() {
    let (_folder, server, mut client) = serve();
    let hello = client.ok(
        "admin",
        doc! { "hello": 1, "compression": ["zstd", "zlib", "snappy"] },
    );
    assert_eq!(hello.get_i32("maxWireVersion").unwrap(), 21);
    assert!(hello.get_bool("isWritablePrimary").unwrap());
    let agreed: Vec<_> = hello
        .get_array("compression")
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(agreed, ["zlib", "snappy"]);
    let old = client.ok("admin", doc! { "isMaster": 1 });
    assert!(old.get_bool("ismaster").unwrap() && !old.contains_key("compression"));
    server.stop().unwrap();
}

#[test]
fn what_does_not_exist_fails_with_mongodbs_code() {
    let (_folder, server, mut client) = serve();
    for name in ["mapReduce", "$eval", "replSetGetStatus", "", "shutdown"] {
        let reply = client.command("admin", doc! { name: 1 });
        assert_eq!(reply.get_i32("code").unwrap(), 59, "{reply}");
        assert_eq!(reply.get_str("codeName").unwrap(), "CommandNotFound");
    }
    server.stop().unwrap();
}

#[test]
fn every_command_of_the_table_answers_something_definite() {
    let (_folder, server, mut client) = serve();
    for entry in plimsoll_docdb::server::listed() {
        let reply = client.command("db", doc! { entry.name: 1 });
        let ok = reply.get_f64("ok").unwrap();
        let explained =
            reply.get_i32("code").is_ok_and(|code| code != 1) && reply.get_str("errmsg").is_ok();
        assert!(ok > 0.0 || explained, "{}: {reply}", entry.name);
    }
    server.stop().unwrap();
}
