//! Tests of placeholders.

use super::*;

fn filler() -> Filler {
    let peer = |port: u16| Peer {
        port,
        folder: format!("/run/{port}").into(),
        limits: BTreeMap::from([("slots".to_owned(), "1024".to_owned())]),
    };
    let peers = BTreeMap::from([
        ("app".to_owned(), vec![peer(7001), peer(7002)]),
        ("db".to_owned(), vec![peer(9000)]),
    ]);
    Filler::new(peers, "/lab".into())
}

#[test]
fn every_placeholder_stands_for_what_it_says() {
    let own = filler().of("app", 1);
    for (text, filled) in [
        ("--port ${port} --dir=${dir}", "--port 7002 --dir=/run/7002"),
        ("${address} is ${instance}", "127.0.0.1:7002 is 2"),
        (
            "${db.address},${app.port},${app.2.port}",
            "127.0.0.1:9000,7001,7002",
        ),
        ("${app.addresses}", "127.0.0.1:7001,127.0.0.1:7002"),
        ("${folder}/x.js", "/lab/x.js"),
        (
            "worker_connections ${limits.slots};",
            "worker_connections 1024;",
        ),
        ("$${host} costs $5", "${host} costs $5"),
        ("plain", "plain"),
    ] {
        assert_eq!(own.fill(text).as_deref(), Ok(filled), "{text}");
    }
}

#[test]
fn a_star_repeats_an_argument_and_a_line() {
    let each = filler().fill_each("--upstream=${app.*.address}").unwrap();
    assert_eq!(
        each,
        ["--upstream=127.0.0.1:7001", "--upstream=127.0.0.1:7002"]
    );
    let lines = filler()
        .fill_lines("upstream app {\n  server ${app.*.address};\n}\n")
        .unwrap();
    assert_eq!(
        lines,
        "upstream app {\n  server 127.0.0.1:7001;\n  server 127.0.0.1:7002;\n}\n"
    );
}

#[test]
fn what_is_no_placeholder_is_said_with_the_fix() {
    for (text, part) in [
        ("${prot}", "did you mean `port`?"),
        ("${app.adress}", "did you mean `address`?"),
        ("${ap.port}", "did you mean `app`?"),
        ("${app.3.port}", "`app` has 2 instances and no number 3"),
        ("${app.0.port}", "is no placeholder"),
        ("${app.*.port}", "may stand in args and files only"),
        ("${port", "has no end"),
        ("${}", "is no placeholder"),
        ("${port}", "belongs into a tier"),
        ("${limits.slots}", "belongs into a tier"),
        ("${limits.slot}", "did you mean `slots`?"),
    ] {
        let problem = filler().fill(text).unwrap_err();
        assert!(problem.contains(part), "{text}: {problem}");
    }
}

#[test]
fn the_tiers_that_a_text_asks_for_are_found() {
    let tiers = tiers_in("${port} ${db.address} $${no.port} ${app.*.dir} ${x.addresses}").unwrap();
    assert_eq!(tiers, ["db", "app", "x"]);
}

#[test]
fn a_limit_that_the_tier_does_not_declare_is_said() {
    let own = filler().of("app", 1);
    let problem = own.fill("${limits.pool}").unwrap_err();
    assert!(problem.contains("declares no limit `pool`"), "{problem}");
    assert_eq!(limits_in("${limits.pool} ${port}").unwrap(), ["pool"]);
}
