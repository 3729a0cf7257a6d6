//! Mistakes on the command line get a message with the place and the way out.

use std::net::TcpListener;

use crate::support::serve_to_end;

/// Arguments, exit code, and what the message must say.
#[test]
fn mistakes_are_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let occupied = format!("cannot listen on 127.0.0.1:{port}: ");
    let cases: [(&[&str], i32, &[&str]); 14] = [
        (
            &["smal-pool"],
            104,
            &["no service is called", "did you mean \"small-pool\"?"],
        ),
        (&[], 104, &["no service is called", "--list"]),
        (
            &["lock", "--set", "section"],
            104,
            &["has no value; write PARAMETER=VALUE"],
        ),
        (
            &["lock", "--set", "section=x"],
            104,
            &["\"x\" is no number"],
        ),
        (
            &["echo", "--set", "x=1"],
            104,
            &["echo has no parameter \"x\"; it has none"],
        ),
        (
            &["lock", "--set", "secton=1"],
            104,
            &["did you mean \"section\"?"],
        ),
        (
            &["lock", "--set", "section=-1"],
            104,
            &["is outside 0 to 60000ms"],
        ),
        (
            &["rate-rule", "--set", "burst=1.5"],
            104,
            &["burst=1.5 is not a whole number"],
        ),
        (&["echo", "--port", "65536"], 104, &["65536"]),
        (
            &["echo", "--cores", "one"],
            104,
            &["\"one\" is no core; write 1, 0,2 or 0-3"],
        ),
        (
            &["echo", "--cores", "1000"],
            104,
            &["core 1000 is not one of the "],
        ),
        (
            &["proxy", "--port", "0"],
            104,
            &["name it with --upstream HOST:PORT"],
        ),
        (
            &["echo", "--port", &port],
            1,
            &[&occupied, "choose another with --port, 0 takes a free"],
        ),
        (
            &["echo", "--host", "192.0.2.1"],
            1,
            &["--host must be an address of this machine"],
        ),
    ];
    for (arguments, code, words) in cases {
        named(arguments, code, words);
    }
}

fn named(arguments: &[&str], code: i32, words: &[&str]) {
    let ended = serve_to_end(arguments);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    assert!(ended.stdout.is_empty());
}

#[test]
fn a_folder_in_memory_is_refused_as_a_disk() {
    let memory = "/dev/shm";
    if !std::path::Path::new(memory).is_dir() {
        return;
    }
    let ended = serve_to_end(&["fsync", "--port", "0", "--dir", memory]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("/dev/shm is not on a disk (one fsync took "),
        "{said}"
    );
    let ended = serve_to_end(&[
        "shop-app",
        "--port",
        "0",
        "--upstream",
        "127.0.0.1:1",
        "--dir",
        "/nowhere",
    ]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("cannot create /nowhere/plimsoll-serve-"),
        "{said}"
    );
}
