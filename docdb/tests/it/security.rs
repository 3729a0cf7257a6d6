//! Who may do what, with `--auth`. Logins themselves are tested with real drivers.

use bson::doc;
use plimsoll_docdb::server::Config;

use crate::client::{Client, config, serve, start};
use crate::folder::Folder;

#[test]
fn without_a_login_only_the_handshake_works_and_the_first_user() {
    let folder = Folder::new("it");
    let server = start(Config {
        auth: true,
        ..config(&folder)
    });
    let mut client = Client::connect(server.address());
    client.ok("admin", doc! { "hello": 1 });
    client.ok("admin", doc! { "ping": 1 });
    for command in [
        doc! { "find": "c" },
        doc! { "insert": "c", "documents": [{ "_id": 1 }] },
        doc! { "listDatabases": 1 },
    ] {
        let reply = client.command("db", command);
        assert_eq!(reply.get_i32("code").unwrap(), 13, "{reply}");
    }
    client.ok(
        "admin",
        doc! { "createUser": "root", "pwd": "secret", "roles": ["root"] },
    );
    let second = client.command(
        "admin",
        doc! { "createUser": "more", "pwd": "secret", "roles": ["root"] },
    );
    assert_eq!(
        second.get_i32("code").unwrap(),
        13,
        "the exception is for the first user only"
    );
    server.stop().unwrap();
}

#[test]
fn users_are_made_changed_listed_and_dropped() {
    let (_folder, server, mut client) = serve();
    client.ok("shop", doc! { "createUser": "ann", "pwd": "secret", "roles": ["readWrite", { "role": "read", "db": "bank" }] });
    let again = client.command(
        "shop",
        doc! { "createUser": "ann", "pwd": "x", "roles": [] },
    );
    assert_eq!(again.get_i32("code").unwrap(), 51003);
    let role = client.command(
        "shop",
        doc! { "createUser": "bob", "pwd": "x", "roles": ["king"] },
    );
    assert_eq!(role.get_i32("code").unwrap(), 31);
    let users = client.ok("shop", doc! { "usersInfo": 1 });
    let ann = users.get_array("users").unwrap()[0].as_document().unwrap();
    assert_eq!(ann.get_str("_id").unwrap(), "shop.ann");
    assert!(
        !format!("{ann}").contains("Key"),
        "nothing of the password is shown"
    );
    client.ok("shop", doc! { "updateUser": "ann", "roles": ["read"] });
    client.ok("shop", doc! { "dropUser": "ann" });
    let gone = client.command("shop", doc! { "dropUser": "ann" });
    assert_eq!(gone.get_i32("code").unwrap(), 11);
    server.stop().unwrap();
}
