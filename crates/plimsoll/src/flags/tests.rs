//! The rows against themselves, against the types that are read from them, and against the page in the docs.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::given::Given;
use super::help::{self, Length};
use super::parse::parse_run;
use super::*;

fn line(text: &str) -> Vec<OsString> {
    let words = shlex::split(text).unwrap();
    words.into_iter().map(OsString::from).collect()
}

/// What the words mean, without this process's environment.
fn given(text: &str) -> Given {
    parse_run(line(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    let read = parse_run(line(text)).and_then(|given| given.args());
    read.unwrap_err().to_string()
}

/// What somebody reads who types this behind `plimsoll`.
fn told(text: &str) -> String {
    let words = text.split(' ').map(OsString::from);
    let stop = parse([OsString::from("plimsoll")].into_iter().chain(words)).unwrap_err();
    let Stop::Usage(error) = stop else {
        panic!("{text}: {stop:?}")
    };
    error.to_string()
}

/// What was said for a row.
fn words(given: &Given, long: &str) -> String {
    let flag = given.flags().find(|flag| flag.long == long).unwrap();
    let words = given.words_of(flag).into_iter().map(OsStr::to_string_lossy);
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_spelling_means_one_thing_for_one_form_of_the_test() {
    parse::root(false).debug_assert();
    parse::root(true).debug_assert();
    for verb in Verb::ALL {
        for form in [Form::Url, Form::Script, Form::Workload] {
            let mut seen = BTreeSet::new();
            for flag in flags_of(verb).iter().filter(|flag| flag.serves(Some(form))) {
                for spelling in flag.spellings() {
                    assert!(
                        seen.insert(spelling.clone()),
                        "{verb:?} {form:?} {spelling}"
                    );
                }
                for other in flag.needs.iter().chain(flag.not_with) {
                    let known = flags_of(verb).iter().any(|it| it.long == *other);
                    assert!(known, "{verb:?} --{} names --{other}", flag.long);
                }
            }
        }
    }
}

#[test]
fn every_row_says_what_it_is_for_and_what_to_do_instead() {
    for flag in FLAGS.iter() {
        assert!(
            !flag.help.is_empty() && !flag.help.ends_with('.'),
            "{}",
            flag.long
        );
        assert!(
            flag.help.chars().count() <= 76,
            "{}: {}",
            flag.long,
            flag.help
        );
        if flag.form().is_none() || !flag.on.iter().any(|verb| verb.has_forms()) {
            continue;
        }
        let has_twin = |spelling: &String| {
            let twins = FLAGS
                .iter()
                .filter(|it| it.on.contains(&flag.on[0]) && it.form() != flag.form());
            twins
                .into_iter()
                .any(|it| it.spellings().any(|its| its == *spelling))
        };
        assert!(
            !flag.instead.is_empty() || flag.spellings().all(|it| has_twin(&it)),
            "{}",
            flag.long
        );
    }
}

#[test]
fn every_command_reads_its_rows_and_their_defaults() {
    for (text, verb) in [
        ("run http://h/", Verb::Run),
        ("run a.js", Verb::Run),
        ("inspect a.js", Verb::Inspect),
        ("find http://h/ --slo p99<1s", Verb::Find),
        ("find a.js --slo p99<1s", Verb::Find),
        ("run mongodb://h", Verb::Run),
        ("find mongodb://h --slo p99<1s", Verb::Find),
        ("sweep w.toml --vary workers=1,2", Verb::Sweep),
        ("explain r", Verb::Explain),
        ("audit r", Verb::Audit),
        ("compare a b", Verb::Compare),
        ("report r", Verb::Report),
        ("doctor", Verb::Doctor),
        ("serve echo", Verb::Serve),
        ("lab e", Verb::Lab),
        ("docdb --data d", Verb::Docdb),
        ("guard --upstream http://127.0.0.1:1", Verb::Guard),
        ("completions zsh", Verb::Completions),
        ("man", Verb::Man),
    ] {
        let read = parse(line(&format!("plimsoll {text} --explain-config")));
        let (read, args) = read.unwrap_or_else(|stop| panic!("{text}: {stop:?}"));
        assert_eq!(read, verb, "{text}");
        assert!(args.explained.is_some());
    }
}

/// A flag or a variable with a value that is none is named as it was written, with the value and what would do.
#[test]
fn a_bad_value_is_refused_where_it_was_said() {
    for (text, wanted) in [
        (
            "http://h/ -q 0",
            "-q: `0` is not a rate; write a positive number",
        ),
        ("http://h/ --ramp 5", "--ramp: `5` is not FROM..TO, such as"),
        (
            "http://h/ -z 0s",
            "-z: the time is zero: give one such as 30s",
        ),
        (
            "http://h/ -q -5",
            "-q: `-5` is not a rate; write a positive number",
        ),
        ("http://h/ --rate -5/s", "--rate: `-5/s` is not a rate"),
        ("http://h/ -z -5s", "-z: `-5s` is not a "),
        ("http://h/ -c -5", "-c: `-5` is not a "),
        ("http://h/ --slo -5", "--slo: `-5` has no `<`"),
        ("a.js --seed -1", "--seed: `-1` is not a number"),
        ("http://h/ --timeout 0s", "--timeout: 0 s is below 1ms"),
        ("http://h/ -H nonsense", "-H: "),
        (
            "http://h/ --workers 999",
            "--workers: 999 load threads are not between 1 and 256",
        ),
    ] {
        let error = refused(text);
        assert!(error.starts_with(wanted), "{text}: {error}");
    }
    let mut url = given("http://h/");
    let variable = |name: &str| (name == "PLIMSOLL_SLO").then(|| OsString::from("p99"));
    url.add_environment(&variable).unwrap();
    let error = url.args().unwrap_err().to_string();
    assert!(
        error.starts_with("PLIMSOLL_SLO: `p99` has no `<`"),
        "{error}"
    );
}

/// A name that looks a little like it is no tip: `find --time` was told to take `--try-timeout`.
#[test]
fn a_flag_of_another_tool_is_told_what_it_is_called_here() {
    for (text, wanted) in [
        (
            "find http://h/ --time 60s",
            "find has no `--time`; here it is --within",
        ),
        (
            "find http://h/ --max-time=60s",
            "find has no `--max-time`; here it is --within",
        ),
        (
            "run http://h/ --concurrency 5",
            "run has no `--concurrency`; here it is -c or --connections",
        ),
        (
            "compare http://a/ http://b/ --throughput 5",
            "compare has no `--throughput`; here it is -q or --rate",
        ),
        (
            "compare http://a/ http://b/ --time 60s",
            "compare has no `--time`; here it is -z or --duration",
        ),
        ("run http://h/ -t4", "run has no `-t`; here it is --workers"),
        // -c is --config there, and -q is --quiet.
        (
            "run shop.js --concurrency 5",
            "run has no `--concurrency`; here it is -u or --vus",
        ),
        (
            "run shop.js --throughput 5",
            "run has no `--throughput`; here it is --rps",
        ),
    ] {
        assert_eq!(told(text), wanted);
    }
}

/// Without a command, but with what one is given: the line that was meant is said.
#[test]
fn a_line_without_a_command_is_told_which_one_it_lacks() {
    for (text, wanted) in [
        (
            "http://h/ -z 5s",
            "`http://h/` is a URL, not a command: plimsoll run http://h/ -z 5s",
        ),
        (
            "-q 5 http://h/a?b=1&c=2",
            "`http://h/a?b=1&c=2` is a URL, not a command: plimsoll run -q 5 'http://h/a?b=1&c=2'",
        ),
        (
            "a/shop.ts",
            "`a/shop.ts` is a script, not a command: plimsoll run a/shop.ts",
        ),
        (
            "localhost:3000/cart",
            "`localhost:3000/cart` is an address, not a command: plimsoll run http://localhost:3000/cart",
        ),
        (
            "out/run.plimsoll.jsonl",
            "`out/run.plimsoll.jsonl` is a record, not a command: plimsoll explain out/run.plimsoll.jsonl",
        ),
        (
            "slots.toml",
            "`slots.toml` is an experiment, not a command: plimsoll lab slots.toml",
        ),
    ] {
        assert_eq!(told(text), wanted);
    }
    for other in ["runn http://h/x.js", "unknown", "run http://h/ --what"] {
        let words = other.split(' ').map(OsString::from);
        let stop = parse([OsString::from("plimsoll")].into_iter().chain(words)).unwrap_err();
        assert!(matches!(stop, Stop::Usage(_)), "{other}");
    }
}

/// The flags that are used most come first.
#[test]
fn the_help_begins_with_what_is_used_most() {
    for (verb, first) in [
        (Verb::Run, &["connections", "duration", "rate", "slo"][..]),
        (Verb::Find, &["connections", "rate", "slo"][..]),
        (
            Verb::Compare,
            &["connections", "duration", "rate", "slo"][..],
        ),
    ] {
        let sections = help::sections(verb);
        let (_, flags) = &sections[0];
        let names: Vec<&str> = flags.iter().map(|flag| flag.long).collect();
        assert_eq!(names[..first.len()], *first, "{verb:?}");
        let longest = sections
            .iter()
            .filter(|(_, flags)| flags[0].group != Group::Options);
        let longest = longest.map(|(_, flags)| flags.len()).max();
        assert!(
            longest <= Some(16),
            "{verb:?}: {longest:?} flags under one heading"
        );
    }
}

#[test]
fn the_test_decides_the_form_and_no_other_word_does() {
    for (text, form) in [
        ("http://h/ -d body.js", Form::Url),
        ("-d body.js http://h/", Form::Url),
        ("http://h/ -H 'X-File: a.js'", Form::Url),
        ("http://h/ -o run.js", Form::Url),
        ("http://h/app.js", Form::Url),
        ("-u 5 a/b.js", Form::Script),
        ("a.ts -e BASE=http://h/", Form::Script),
        ("-", Form::Script),
        ("-d 5s -", Form::Script),
        ("mongodb://h/ --databases 3", Form::Workload),
        ("orders.toml -z 5s", Form::Workload),
    ] {
        assert_eq!(given(text).form, Some(form), "{text}");
    }
}

#[test]
fn a_letter_with_two_meanings_has_the_one_of_the_form() {
    for (text, long, value) in [
        ("http://h/ -d x", "data", "x"),
        ("a.js -d 5s", "duration", "5s"),
        ("http://h/ -z 5s", "duration", "5s"),
        ("http://h/ --duration 5s", "duration", "5s"),
        ("http://h/ -c 5", "connections", "5"),
        ("a.js -c o.json", "config", "o.json"),
        ("-q 200/s http://h/", "rate", "200/s"),
        ("http://h/ -q200", "rate", "200"),
        ("http://h/ -o r", "out", "r"),
        ("a.js --out json=a -o csv=b", "out", "json=a csv=b"),
        (
            "http://h/ -H 'A: 1' --header 'B: 2' -H 'C: 3'",
            "header",
            "A: 1 B: 2 C: 3",
        ),
        ("a.js --no-setup", "no-setup", "true"),
        ("a.js --no-setup=false", "no-setup", "false"),
        ("a.js -s 10s:5 --stage 5s:0", "stage", "10s:5 5s:0"),
    ] {
        assert_eq!(words(&given(text), long), value, "{text}");
    }
    for text in [
        "a.js -q",
        "-q a.js",
        "a.js -q -u 5",
        "-q - ",
        "-vq a.js",
        "http://h/ --quiet",
    ] {
        assert!(given(text).args().unwrap().output.quiet, "{text}");
    }
}

#[test]
fn what_does_not_apply_is_refused_with_the_fix() {
    for (text, fragments) in [
        ("http://h/ --vus 5", ["--vus is for scripts", "use -c"]),
        ("http://h/ -i 5", ["-i is for scripts", "use -n"]),
        (
            "http://h/ --user-agent x",
            ["--user-agent is for scripts", "-H"],
        ),
        ("a.js -z 5s", ["-z is for URLs", "for a script use -d"]),
        ("a.js --slo p99", ["--slo is for URLs", "thresholds"]),
        ("a.js -q 200", ["-q takes no value for a script", "`200`"]),
        ("http://h/ -q", ["-q means --rate", "needs a RATE"]),
        ("http://h/ -z 5s -z 6s", ["-z is given 2 times", "once"]),
        ("http://h/ -z 5s --duration 6s", ["given 2 times", "once"]),
        ("mongodb://h --h2", ["--h2 is for URLs", "docs/workload.md"]),
        (
            "http://h/ --mix read=100",
            ["--mix is for workloads", "docs/workload.md"],
        ),
        ("", ["run needs TEST", "A URL"]),
        ("-q 200", ["-q takes `200`", "no TEST"]),
        ("-q http://h/", ["-q takes `http://h/`", "no TEST"]),
        (
            "http://h/ --seed x",
            ["--seed: `x` is not a number", "digit"],
        ),
    ] {
        let error = refused(text);
        for fragment in fragments {
            assert!(error.contains(fragment), "{text}: {error}");
        }
    }
}

#[test]
fn a_flag_wins_over_a_variable_and_that_over_the_default() {
    let variable = |name: &str| match name {
        "PLIMSOLL_SEED" => Some(OsString::from("7")),
        "PLIMSOLL_NO_RECORD" | "PLIMSOLL_QUIET" => Some(OsString::from("true")),
        "PLIMSOLL_H2" => Some(OsString::from("false")),
        "PLIMSOLL_TIMEOUT" => Some(OsString::from("3s")),
        "PLIMSOLL_CONNECTIONS" => Some(OsString::new()),
        _ => None,
    };
    let mut url = given("http://h/ --seed 1 -o file");
    url.add_environment(&variable).unwrap();
    check::whole(&mut url).unwrap();
    let origins: Vec<_> = url
        .explained()
        .map(|(name, value, origin)| format!("{name}={value} {origin}"))
        .collect();
    for row in [
        "--seed=1 flag",
        "--out=file flag",
        // It does not go with the flag.
        "--no-record=false default",
        "--quiet=true environment",
        "--h2=false default",
        "--timeout=3s environment",
        "--connections= not set",
    ] {
        assert!(origins.contains(&row.to_owned()), "{row} in {origins:?}");
    }
    let mut script = given("a.js");
    script.add_environment(&variable).unwrap();
    let args = script.args().unwrap();
    assert!(args.output.no_record && args.output.quiet);
    assert_eq!(args.seed, Some(7));
    let wrong = |_: &str| Some(OsString::from("perhaps"));
    let error = script.add_environment(&wrong).unwrap_err().to_string();
    assert!(error.starts_with("PLIMSOLL_"), "{error}");
}

/// They were neither obeyed nor named.
#[test]
fn a_command_names_the_variables_of_k6_that_it_has_no_flag_for() {
    let names = |verb| -> BTreeSet<String> {
        let unfollowed = given::unfollowed(verb).into_iter();
        unfollowed.map(|(name, _)| name).collect()
    };
    assert_eq!(names(Verb::Run), BTreeSet::new());
    for verb in [Verb::Find, Verb::Compare, Verb::Sweep] {
        let names = names(verb);
        for name in [
            "K6_OUT",
            "K6_LOG_OUTPUT",
            "K6_LOG_FORMAT",
            "K6_SUMMARY_EXPORT",
        ] {
            assert!(names.contains(name), "{verb:?} {name}");
        }
        for name in ["K6_VUS", "K6_BATCH", "K6_NO_COLOR"] {
            assert!(!names.contains(name), "{verb:?} {name}");
        }
    }
    let of_find = given::unfollowed(Verb::Find);
    let words = "K6_OUT is not followed: plimsoll find has no --out";
    assert!(
        of_find.contains(&("K6_OUT".to_owned(), words.to_owned())),
        "{of_find:?}"
    );
}

/// Every command's help as one page; `UPDATE_DOCS=1 cargo test -p plimsoll` writes it anew.
#[test]
fn the_page_of_commands_is_the_table() {
    let mut page = String::from(
        "# Commands\n\nThe help of every command, generated from the table that also parses them. Each flag can be set \
         in the environment:\n`--no-record` as `PLIMSOLL_NO_RECORD=true`. Flags win over `PLIMSOLL_*`, that over `K6_*`, \
         the script, the file of `--config` and the\ndefault; `--explain-config` shows which it was.\n",
    );
    for verb in Verb::ALL {
        let help = help::of_command(verb, Length::Long, 100);
        page.extend([
            "\n## plimsoll ",
            verb.name(),
            "\n\n```text\n",
            &help,
            "```\n",
        ]);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/commands.md is not the table; see this test's comment"
    );
}
