//! Each check: text in, findings out; and the tree itself has none.

use std::path::Path;

use serde_json::json;

use super::exceptions::Exceptions;
use super::source::Source;
use super::tree::File;
use super::{
    Finding, circles, header, imports, layers, length, manifests, markers, paths, public, purity,
    thresholds, words,
};

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn problems(findings: impl IntoIterator<Item = Finding>) -> Vec<String> {
    findings
        .into_iter()
        .map(|finding| format!("{}: {}", finding.place, finding.problem))
        .collect()
}

fn with_source(check: fn(&File, &Source) -> Vec<Finding>, path: &str, text: &str) -> Vec<String> {
    let file = file(path, text);
    let source = Source::of(&file).expect("a Rust path");
    problems(check(&file, &source))
}

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask has a parent");
    let report = super::check(root).expect("the tree can be read");
    let text: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert!(text.is_empty(), "\n{}", text.join("\n"));
    assert!(
        report.files_read > 20,
        "read only {} files of {}",
        report.files_read,
        root.display()
    );
}

#[test]
fn a_finding_names_place_and_fix() {
    let finding = Finding::at_line("a.rs", 6, "too long", "split it");
    assert_eq!(finding.to_string(), "a.rs:7: too long\n    fix: split it");
}

#[test]
fn masking_blanks_comments_and_fills_strings() {
    let cases = [
        ("let a = 1; // fn b() {", "let a = 1;            "),
        ("a /* { /* } */ */ b", "a                 b"),
        ("f(\"{\\\"\", '{', '\\'')", "f(_____, ___, ____)"),
        ("r#\"a\"b\"#;", "________;"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ("br\"x\" + for\"x\"", "_____ + for___"),
    ];
    for (text, masked) in cases {
        assert_eq!(Source::parse(text, false).lines, [masked], "{text}");
    }
}

#[test]
fn inline_tests_are_marked() {
    let source = Source::parse("a();\n#[cfg(test)]\nmod t {\n  b();\n}\nc();\n", false);
    assert_eq!(source.in_test, [false, true, true, true, true, false]);
    let source = Source::parse("#[cfg(test)]\nmod tests;\nc();\n", false);
    assert_eq!(source.in_test, [true, true, false]);
}

#[test]
fn a_file_needs_an_opening_sentence() {
    let check = |file: &File, source: &Source| header::check(file, source).into_iter().collect();
    assert_eq!(
        with_source(check, "a.rs", "//! Counts the sheep.\n"),
        [""; 0]
    );
    assert_eq!(
        with_source(check, "a.rs", "use x;\n"),
        ["a.rs:1: no opening sentence"]
    );
    assert_eq!(
        with_source(check, "a.rs", "//! Sheep.\n"),
        ["a.rs:1: no opening sentence"]
    );
}

#[test]
fn a_long_function_is_found_and_comments_do_not_count() {
    let body = |lines: usize, line: &str| format!("fn f() {{\n{}}}\n", line.repeat(lines));
    let found = with_source(length::check, "a.rs", &body(69, "  a();\n"));
    assert_eq!(
        found,
        ["a.rs:1: function f has 71 lines of code; the limit is 70"]
    );
    assert_eq!(
        with_source(length::check, "a.rs", &body(68, "  a();\n")),
        [""; 0]
    );
    assert_eq!(
        with_source(length::check, "a.rs", &body(400, "  // a();\n")),
        [""; 0]
    );
    assert_eq!(
        with_source(length::check, "tests/a.rs", &body(90, "  a();\n")),
        [""; 0]
    );
}

/// The parameter was taken for a function of its own, which went on to the end of the one behind it.
#[test]
fn a_parameter_that_is_a_function_starts_none() {
    let (half, other) = ("  a();\n".repeat(40), "fn g() {\n");
    let text = format!("fn f(\n  of: fn(f64) -> f64,\n) {{\n{half}}}\n{other}{half}}}\n");
    assert_eq!(with_source(length::check, "a.rs", &text), [""; 0]);
    let functions = Source::parse(&text, false).functions();
    let names: Vec<&str> = functions.iter().map(|found| &*found.name).collect();
    assert_eq!(names, ["f", "g"]);
}

#[test]
fn a_signature_without_a_body_ends_at_its_semicolon() {
    let text = format!(
        "trait T {{\n  fn f(a: [u8; 2]);\n{}}}\n",
        "  a();\n".repeat(90)
    );
    assert_eq!(with_source(length::check, "a.rs", &text), [""; 0]);
}

#[test]
fn a_long_file_is_found_without_its_inline_tests() {
    let code = "a();\n".repeat(501);
    let found = with_source(length::check, "a.rs", &code);
    assert_eq!(found, ["a.rs: 501 lines; the limit is 500"]);
    let mixed = format!("{}#[cfg(test)]\nmod t {{\n{code}}}\n", "a();\n".repeat(500));
    assert_eq!(with_source(length::check, "a.rs", &mixed), [""; 0]);
    assert_eq!(with_source(length::check, "src/a/tests.rs", &code), [""; 0]);
    let found = with_source(length::check, "src/a/tests.rs", &"a();\n".repeat(801));
    assert_eq!(found, ["src/a/tests.rs: 801 lines; the limit is 800"]);
}

#[test]
fn a_pure_crate_reads_nothing_by_itself() {
    let pure = "crates/plimsoll-core/src/a.rs";
    let cases = [
        ("let t = Instant::now();", "Instant::now in a pure crate"),
        ("use std::time::SystemTime;", "SystemTime in a pure crate"),
        ("std::fs::read(path)", "std::fs in a pure crate"),
        ("use std::{io, fs};", "std::fs in a pure crate"),
        ("use std::{thread::spawn};", "std::thread in a pure crate"),
        (
            "plimsoll_base::poll::Poll",
            "plimsoll_base::poll in a pure crate",
        ),
        (
            "use plimsoll_base::{Nanos, clock::Clock};",
            "plimsoll_base::clock in a pure crate",
        ),
    ];
    for (text, problem) in cases {
        let found = with_source(purity::check, pure, text);
        assert_eq!(found, [format!("{pure}:1: {problem}")], "{text}");
        assert_eq!(
            with_source(purity::check, "crates/plimsoll-net/src/a.rs", text),
            [""; 0]
        );
        let tested = format!("#[cfg(test)]\nmod t {{\n{text}\n}}\n");
        assert_eq!(with_source(purity::check, pure, &tested), [""; 0], "{text}");
    }
    for innocent in [
        "// std::fs",
        "\"std::env\"",
        "env!(\"X\")",
        "use std::fmt;",
        "use plimsoll_base::random::Rng;",
        "self::net::a",
    ] {
        assert_eq!(
            with_source(purity::check, pure, innocent),
            [""; 0],
            "{innocent}"
        );
    }
}

#[test]
fn leftovers_are_found() {
    let word = concat!("FIX", "ME");
    let found = problems(markers::check(&file(
        "a.md",
        &format!("one\n{word}: two\n"),
    )));
    assert_eq!(found, [format!("a.md:2: {word} left")]);
    for code in ["todo!", "dbg!", "#[ignore"] {
        let found = problems(markers::check(&file("a.rs", &format!("{code}(x)"))));
        assert_eq!(found, [format!("a.rs:1: {code} left")]);
        assert_eq!(
            problems(markers::check(&file("a.rs", &format!("// {code}(x)")))),
            [""; 0]
        );
    }
    assert_eq!(
        problems(markers::check(&file(
            "a.sh",
            concat!("mktemp a.XX", "XXXX")
        ))),
        [""; 0]
    );
}

#[test]
fn paths_of_this_machine_are_found() {
    let local = paths::LocalPaths::of_checkout(
        Path::new("/projects/boat/main"),
        Some(Path::new("/home/ada")),
    );
    let found = problems(paths::check(&file("a.md", "see /home/ada/notes\n"), &local));
    assert_eq!(
        found,
        ["a.md:1: names /home/ada, which exists on this machine only"]
    );
    let found = problems(paths::check(
        &file("a.py", "x\n'/projects/boat/other/b'\n"),
        &local,
    ));
    assert_eq!(
        found,
        ["a.py:2: names /projects/boat, which exists on this machine only"]
    );
    for innocent in [
        "/home/adam/x",
        "/srv/home/ada/x",
        "http://h/home/ada/x",
        "/projects/x",
    ] {
        assert_eq!(
            problems(paths::check(&file("a.md", innocent), &local)),
            [""; 0],
            "{innocent}"
        );
    }
    let shared = paths::LocalPaths::of_checkout(Path::new("/tmp/clone"), None);
    assert_eq!(
        problems(paths::check(&file("a.md", "/tmp/report.html"), &shared)),
        [""; 0]
    );
}

#[test]
fn the_glossary_is_the_list_of_refused_words() {
    let table = "| say | unit | meaning | not |\n|---|---|---|---|\n\
                 | knee | | where it climbs | `sweet spot`, bend |\n";
    let banned = words::banned_in(table);
    let found = problems(words::check(
        &file("docs/a.md", "one\nthe Sweet Spot is\n"),
        &banned,
    ));
    assert_eq!(found, ["docs/a.md:2: says “sweet spot”"]);
    assert_eq!(
        problems(words::check(&file("docs/a.md", "a bend"), &banned)),
        [""; 0]
    );
    assert_eq!(
        problems(words::check(&file("docs/a.md", "sweet spots"), &banned)),
        [""; 0]
    );
    let help = file("crates/plimsoll/src/args.rs", "/// The sweet spot.\n");
    assert_eq!(words::check(&help, &banned).len(), 1);
    let elsewhere = file("crates/plimsoll-net/src/a.rs", "/// The sweet spot.\n");
    assert_eq!(words::check(&elsewhere, &banned), []);
    assert_eq!(words::check(&file("docs/GLOSSARY.md", table), &banned), []);
}

#[test]
fn a_crate_inherits_the_lints_and_has_a_readme() {
    let manifest = |text| file("crates/a/Cargo.toml", text);
    let readme = |lines| file("crates/a/README.md", &"x\n".repeat(lines));
    let good = "[package]\n\n[lints]\nworkspace = true\n";
    assert_eq!(manifests::check(&[manifest(good), readme(10)]), []);
    let found = problems(manifests::check(&[manifest("[package]\n")]));
    let lints = "crates/a/Cargo.toml: does not inherit the lint table";
    assert_eq!(found, [lints, "crates/a/README.md: missing"]);
    let found = problems(manifests::check(&[manifest(good), readme(31)]));
    assert_eq!(found, ["crates/a/README.md: longer than 30 lines"]);
}

#[test]
fn a_crate_uses_only_lower_layers() {
    let metadata = |user: &str, used: &str, kind: Option<&str>| json!({"packages": [{"name": user, "dependencies": [{"name": used, "kind": kind}]}]});
    let check = |user, used, kind| problems(layers::check_metadata(&metadata(user, used, kind)));
    let refused = [
        (
            "plimsoll-core",
            "plimsoll-net",
            "layer 1 uses plimsoll-net of layer 2",
        ),
        (
            "plimsoll-report",
            "plimsoll-analysis",
            "layer 2 uses plimsoll-analysis of layer 2",
        ),
        (
            "plimsoll-engine",
            "plimsoll-lab",
            "layer 3 uses plimsoll-lab of layer 3",
        ),
        (
            "plimsoll-net",
            "plimsoll",
            "layer 2 uses plimsoll of layer 4",
        ),
        (
            "plimsoll-docdb",
            "plimsoll-core",
            "layer 1 uses plimsoll-core of layer 1",
        ),
        (
            "plimsoll-core",
            "anyhow",
            "uses anyhow, which belongs to plimsoll, plimsoll-fuzz, xtask",
        ),
    ];
    for (user, used, problem) in refused {
        assert_eq!(check(user, used, None), [format!("{user}: {problem}")]);
        assert_eq!(
            check(user, used, Some("build")).len(),
            1,
            "{user} builds with {used}"
        );
        assert_eq!(
            check(user, used, Some("dev")),
            [""; 0],
            "{user} tests with {used}"
        );
    }
    for (user, used) in [
        ("plimsoll-engine", "plimsoll-net"),
        ("plimsoll-lab", "plimsoll-observe"),
        ("plimsoll", "plimsoll-lab"),
        ("plimsoll-net", "serde"),
    ] {
        assert_eq!(check(user, used, None), [""; 0]);
    }
    assert_eq!(
        check("plimsoll-new", "serde", None),
        ["plimsoll-new: has no layer"]
    );
}

/// What the check of circles says of a crate `a` with these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<File> = files
        .iter()
        .map(|(path, text)| file(&format!("crates/a/src/{path}"), text))
        .collect();
    let sources: Vec<Source> = files
        .iter()
        .map(|file| Source::of(file).expect("a Rust path"))
        .collect();
    let read: Vec<(&File, &Source)> = files.iter().zip(&sources).collect();
    problems(circles::check(&imports::uses(&read)))
}

#[test]
fn files_that_use_each_other_are_found() {
    let one = ("one.rs", "use crate::two::{self, Two as Other};");
    let two = ("two.rs", "fn f() { super::three::go::<u8>(1); }");
    let three = (
        "three.rs",
        "pub(super) use crate::one::One;\nuse std::{fs, io};",
    );
    assert_eq!(circles_of(&[one, two, three]), Vec::<String>::new());
    let three = ("three.rs", "use crate::{\n    one::{One, Other},\n};");
    let found = circles_of(&[one, two, three]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("crates/a/src/one.rs: 3 files use each other in a circle:"));
    assert!(
        found[0].contains("two.rs -> crates/a/src/three.rs: go"),
        "{found:?}"
    );
}

#[test]
fn names_that_are_handed_on_lead_to_the_file_that_defines_them() {
    let root = ("lib.rs", "mod a;\npub use a::Deep;");
    let a = (
        "a.rs",
        "mod deep;\npub(crate) use deep::Deep;\nfn f() { deep::open(); }",
    );
    let deep = ("a/deep.rs", "use crate::other::Other;");
    let other = ("other.rs", "use crate::Deep;");
    let found = circles_of(&[root, a, deep, other]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("other.rs -> crates/a/src/a/deep.rs: Deep"),
        "{found:?}"
    );
    // A file and its parts are one room.
    let part = ("a/deep.rs", "use super::Shared;");
    assert_eq!(circles_of(&[root, a, part]), Vec::<String>::new());
}

#[test]
fn circles_within_tests_do_not_count() {
    let one = (
        "one.rs",
        "#[cfg(test)]\nmod tests {\n    use crate::two::Two;\n}",
    );
    let two = ("two.rs", "use crate::one::One;");
    assert_eq!(circles_of(&[one, two]), Vec::<String>::new());
}

#[test]
fn the_report_has_no_threshold_of_its_own() {
    let found = |name: &str, text: &str| {
        let path = format!("crates/plimsoll-report/src/{name}");
        with_source(thresholds::check, &path, text).len()
    };
    for text in [
        "const CLOSE: f64 = 1.05;",
        "fn f(failed: f64) -> bool {\n    failed >= 0.01\n}",
        "fn f(n: u64) -> bool {\n    20 > n\n}",
    ] {
        assert_eq!(found("variants/verdict.rs", text), 1, "{text}");
        assert_eq!(found("html/chart_pairs.rs", text), 0, "pixels: {text}");
    }
    for text in [
        "fn f(runs: u64, x: f64) -> bool {\n    runs > 1 && x > 0.0\n}",
        "const WIDEST: usize = 100;",
        "fn f(x: f64) -> f64 {\n    x * 1.5\n}",
    ] {
        assert_eq!(found("variants/words.rs", text), 0, "{text}");
        assert_eq!(
            found("html/chart_pairs.rs", text),
            1,
            "an exception that is not needed"
        );
    }
}

/// What the check finds in files of these texts.
fn public_in(texts: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<File> = texts.iter().map(|(path, text)| file(path, text)).collect();
    let sources = files
        .iter()
        .filter_map(|file| Some((file, Source::of(file)?)));
    let sources: Vec<(&File, Source)> = sources.collect();
    let read: Vec<_> = sources
        .iter()
        .map(|(file, source)| (*file, source))
        .collect();
    problems(public::check(&files, &read))
}

const MANIFEST: &str = "[package]\nname = \"a\"\n";

#[test]
fn a_public_name_is_used_outside() {
    let library = "pub fn used() -> Shown { todo() }\npub struct Shown {\npub field: u8,\n}\n\
                   pub(crate) fn inner() {}\npub fn lonely() {}\n#[cfg(test)]\nmod t { pub fn tested() {} }\n";
    let crate_a = [("a/Cargo.toml", MANIFEST), ("a/src/lib.rs", library)];
    let user = ("b/Cargo.toml", "name = \"b\"\na.workspace = true\n");
    let program = |text| [crate_a.as_slice(), &[user, ("b/src/main.rs", text)]].concat();
    let found = public_in(&program("fn main() { a::used(); }"));
    let lonely = "a/src/lib.rs:6: `lonely` is public and used in a only";
    let field = "a/src/lib.rs:3: `field` is public and used in a only";
    assert_eq!(found, [field, lonely]);
    let all = "fn main() { a::used().field; a::lonely(); }";
    assert_eq!(public_in(&program(all)), [""; 0]);
    let no_user = [crate_a.as_slice(), &[("b/src/main.rs", all)]].concat();
    assert_eq!(public_in(&no_user).len(), 4);
    let in_tests = [crate_a.as_slice(), &[("a/tests/it.rs", all)]].concat();
    assert_eq!(public_in(&in_tests), [""; 0]);
}

#[test]
fn a_list_of_exceptions_only_shrinks() {
    let files = [file("list.txt", "# a comment\na needed\na gone\n")];
    let read = || {
        let mut listed = Exceptions::read(&files, "list.txt");
        assert!(listed.take("a needed") && !listed.take("a new"));
        listed
    };
    let gone = "list.txt:3: `a gone` is no exception any more";
    assert_eq!(problems(read().unneeded(2)), [gone]);
    let grown = "list.txt: 2 exceptions; there were 1";
    assert_eq!(problems(read().unneeded(1)), [grown, gone]);
}
