//! Records that come back: cut, newer, or not records at all.

use crate::support::{Folder, Service, plimsoll};

#[test]
fn broken_records_are_refused_or_read_as_far_as_they_go() {
    let folder = Folder::new();
    let service = Service::start(&["echo"]);
    let (code, _, stderr) = plimsoll(
        &folder,
        &[
            "run",
            &service.url,
            "-n",
            "500",
            "-o",
            "whole.jsonl",
            "--quiet",
        ],
    );
    assert_eq!(code, 0, "{stderr}");
    let text = std::fs::read_to_string(folder.0.join("whole.jsonl")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    write(
        "newer.jsonl",
        &text.replacen("plimsoll.record/1", "plimsoll.record/2", 1),
    );
    let (whole, _) = text.split_at(text.len() - 40);
    write("cut.jsonl", whole);
    write("empty.jsonl", "");
    write("other.jsonl", "{\"a\":1}\n");
    write(
        "middle.jsonl",
        &text.replacen("\"due_count\":", "\"due_count\":x", 1),
    );
    for (name, code, fragment) in [
        ("newer.jsonl", 104, "use a newer plimsoll"),
        ("empty.jsonl", 104, "is empty"),
        ("other.jsonl", 104, "not a record header"),
        ("middle.jsonl", 104, "line 4 is not readable"),
        ("cut.jsonl", 0, "is cut off and was skipped"),
    ] {
        let (got, stdout, stderr) = plimsoll(&folder, &["audit", &folder.file(name)]);
        assert!(stderr.contains(fragment), "{name}: {stderr}");
        assert_eq!(got, code, "{name}: {stdout}{stderr}");
    }
}

#[test]
fn another_tools_result_is_audited_by_the_gates_that_it_allows() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    let export = |requests: u64, failed: u64| {
        format!(
            "{{\"root_group\":{{}},\"metrics\":{{\"http_reqs\":{{\"count\":{requests},\"rate\":100}},\
             \"http_req_failed\":{{\"passes\":{failed}}},\"http_500s\":{{\"count\":1}}}}}}"
        )
    };
    write("before.json", &export(10_000, 0));
    write("after.json", &export(20_000, 2_000));
    let (code, stdout, stderr) = plimsoll(
        &folder,
        &["audit", "after.json", "--baseline", "before.json"],
    );
    assert_eq!(code, 3, "{stdout}{stderr}");
    for part in [
        "gates that a result of k6 allows",
        "1,999 of 2,000 failures without any HTTP response, 1 HTTP 500",
        "goodput 90/s (-10.0 %); the reported 100/s count failures",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let changed = [
        "--declared-change",
        "a proxy",
        "--declared-change",
        "a server",
    ];
    let asked = ["audit", "after.json", "--baseline", "before.json"];
    let (_, stdout, _) = plimsoll(&folder, &[&asked[..], &changed[..]].concat());
    assert!(
        stdout.contains("2 changes at once: a proxy, a server"),
        "{stdout}"
    );
    write("notes.txt", "it went well\n");
    let (code, _, stderr) = plimsoll(&folder, &["audit", "notes.txt"]);
    assert_eq!(code, 104);
    assert!(
        stderr.contains("Gatling") && stderr.contains("audit --help"),
        "{stderr}"
    );
    write("cut.json", "{\"conf\":{},\"result\":{}}");
    let (code, _, stderr) = plimsoll(&folder, &["audit", "cut.json"]);
    assert_eq!(code, 104);
    assert!(
        stderr.contains("latte: `request_count` is missing"),
        "{stderr}"
    );
}
