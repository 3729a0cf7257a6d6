//! Files are read, wrong ones are refused with line and fix, and the page has every key.

use plimsoll_core::test::workload::Operation;

use super::*;

fn planned(text: &str) -> Result<plimsoll_core::test::Workload, String> {
    let file = WorkloadFile::read("w.toml", text).map_err(|error| error.to_string())?;
    file.asked
        .plan()
        .map_err(|error| file.locate(&error).to_string())
}

const STORE: &str = "store = \"mongodb://127.0.0.1:27017\"\n";

#[test]
fn a_file_says_everything_or_little() {
    let small = planned(STORE).unwrap();
    assert_eq!(small.databases.len(), 1);
    assert_eq!(small.databases[0].name, "plimsoll_1");
    assert_eq!((small.connections.get(), small.sessions.get()), (10, 10));
    let text = format!(
        "{STORE}databases = 3\nconnections = 4\nworkers = 8\nkeys = \"zipf:0.9\"\ndocument_size = \"2KiB\"\n\
         mix = {{ read = 50, insert = 50 }}\nrate = \"200/s\"\nslo = \"p99<50ms\"\n[client]\nretries = 2\n\
         try_timeout = \"1s\"\n[[database]]\nname = \"orders\"\nmix = {{ read = 100 }}\ndocuments = 7\n\
         [[phase]]\nduration = \"5s\"\n[[phase]]\nname = \"b\"\nduration = \"10s\"\nmix_to = {{ delete = 100 }}\n"
    );
    let large = planned(&text).unwrap();
    let names: Vec<&str> = large.databases.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["plimsoll_orders", "plimsoll_2", "plimsoll_3"]);
    assert_eq!(large.databases[0].documents, 7);
    let inserts = large.databases[1].mix.share(Operation::Insert);
    assert!((inserts - 50.0).abs() < 1e-9, "{inserts}");
    assert_eq!(large.client.retries, 2);
    let file = WorkloadFile::read("w.toml", &text).unwrap();
    assert_eq!(
        file.asked.load.duration,
        Some(Nanos::from_secs(15)),
        "that of its phases"
    );
    let flags = Asked {
        load: AskedLoad {
            operations: NonZeroU64::new(9),
            ..AskedLoad::default()
        },
        ..Asked::default()
    };
    let both = flags.or(file.asked);
    assert_eq!(
        (both.load.duration, both.load.operations),
        (None, NonZeroU64::new(9))
    );
    assert_eq!(both.load.rate_per_s, Some(200.0));
}

/// Lines after that of the store, each with a part of what is said.
const WRONG: &[(&str, &str)] = &[
    (
        "databses = 6",
        "w.toml:2: unknown key `databses`; did you mean `databases`?",
    ),
    (
        "retries = 3",
        "w.toml:2: unknown key `retries`; it belongs into [client]",
    ),
    ("colour = 3", "the top of the file has store, url"),
    ("databases = 0", "w.toml:2: `databases`: invalid value"),
    ("documents = 0", "w.toml:2: `documents`: no documents"),
    ("documents = -4", "w.toml:2: `documents`: "),
    (
        "mix = { read = 40, insert = 30 }",
        "w.toml:2: `mix`: 30 + 40 = 70 is not 100",
    ),
    (
        "mix = { read = 40, writes = 60 }",
        "`writes` is no operation",
    ),
    (
        "duration = \"soon\"",
        "w.toml:2: `duration`: `soon` is not a duration",
    ),
    (
        "duration = 30",
        "w.toml:2: `duration`: `30` is not a duration",
    ),
    ("keys = \"zipfian\"", "no distribution of keys"),
    (
        "document_size = \"1\"",
        "w.toml:2: `document_size`: documents of 1 bytes",
    ),
    ("batch = 99999", "w.toml:2: `batch`"),
    (
        "rate = \"5/s\"\nramp = \"1/s..2/s\"",
        "w.toml:2: `rate` and `ramp` together",
    ),
    (
        "databases = 1\n[[database]]\n[[database]]",
        "w.toml:2: `databases`: 1 databases, and 2 of them",
    ),
    (
        "[[database]]\nname = \"a\"\n[[database]]\nname = \"a\"",
        "w.toml:5: `name`: two databases are called plimsoll_a",
    ),
    (
        "[[database]]\nname = \"a b\"",
        "w.toml:3: `name`: `a b` is no name",
    ),
    (
        "[[database]]\ndocuments = 0",
        "w.toml:3: `documents`: no documents",
    ),
    (
        "[[database]]\nmixx = 0",
        "w.toml:3: unknown key `database.mixx`; did you mean `mix`?",
    ),
    (
        "[[phase]]\nname = \"a\"",
        "w.toml:2: a phase needs a `duration`",
    ),
    (
        "duration = \"5s\"\n[[phase]]\nduration = \"5s\"\n[[phase]]\nduration = \"5s\"",
        "w.toml:6: `duration`: the phase would begin at 5.00 s",
    ),
    (
        "[[phase]]\nduration = \"5s\"\n[[phase]]\nduration = \"5s\"\nrate = \"9/s\"",
        "w.toml:2: phase 1 has no `rate`, and phase 2 has",
    ),
    (
        "[[phase]]\nduration = \"5s\"\nrate_to = \"9/s\"",
        "w.toml:2: phase 1 has no `rate`, and phase 1 has a `rate_to`",
    ),
    (
        "ramp = \"1/s..2/s\"\n[[phase]]\nduration = \"5s\"\nrate = \"9/s\"",
        "w.toml:2: `ramp` and phases with rates together",
    ),
    (
        "operations = 9\n[[phase]]\nduration = \"5s\"\nrate = \"9/s\"",
        "w.toml:5: phases with rates last as long as they say",
    ),
    (
        "[client]\ngiven_up = \"closed\"",
        "w.toml:3: `given_up`: unknown variant `closed`, expected `finish` or `close`",
    ),
    ("slo = \"p99<\"", "w.toml:2: `slo`: "),
    ("[client", "w.toml:"),
];

#[test]
fn wrong_files_are_refused_with_line_and_fix() {
    for (line, expected) in WRONG {
        let error = planned(&format!("{STORE}{line}\n")).unwrap_err();
        assert!(error.contains(expected), "{line}\n  {error}");
    }
    let error = planned("databases = 2\n").unwrap_err();
    assert!(error.contains("needs `store`"), "{error}");
    let error = planned("store = \"redis://h\"\n").unwrap_err();
    assert!(
        error.contains("w.toml:1: `store`: `redis://h` is no store"),
        "{error}"
    );
}

#[test]
fn phases_have_rates_of_their_own_or_that_of_the_file() {
    let text = format!(
        "{STORE}rate = \"100/s\"\n[[phase]]\nduration = \"5s\"\n[[phase]]\nduration = \"2s\"\nrate = \"300/s\"\n\
         rate_to = \"500/s\"\n[[phase]]\nduration = \"8s\"\n"
    );
    let load = WorkloadFile::read("w.toml", &text).unwrap().asked.load;
    let leg = |from_per_s, to_per_s, seconds| Leg {
        from_per_s,
        to_per_s,
        length_ns: Nanos::from_secs(seconds),
    };
    let course = [
        leg(100.0, 100.0, 5),
        leg(300.0, 500.0, 2),
        leg(100.0, 100.0, 8),
    ];
    assert_eq!(load.legs, course);
    assert_eq!(load.duration, Some(Nanos::from_secs(15)));
    let flags = Asked {
        load: AskedLoad {
            rate_per_s: Some(7.0),
            ..AskedLoad::default()
        },
        ..Asked::default()
    };
    let file = WorkloadFile::read("w.toml", &text).unwrap().asked;
    let both = flags.or(file).load;
    assert_eq!(
        (both.rate_per_s, both.legs),
        (Some(7.0), Vec::new()),
        "a flag wins"
    );
}

#[test]
fn what_becomes_of_a_try_that_is_given_up_is_an_affair_of_mongodb() {
    let text = "[client]\ngiven_up = \"close\"\n";
    assert!(
        planned(&format!("{STORE}{text}"))
            .unwrap()
            .client
            .closes_given_up
    );
    let cql = format!("store = \"cql://127.0.0.1\"\n{text}");
    let error = planned(&cql).unwrap_err();
    assert!(
        error.contains("w.toml:3: `given_up`: `given_up` is for MongoDB"),
        "{error}"
    );
}

const SHOP: &str = "url = \"http://127.0.0.1:3000/v1/\"\nheaders = { accept = \"text/html\", X-A = \"1\" }\n\
    mix = { \"GET /\" = 70, buy = 30 }\n[[request]]\npath = \"/\"\n[[request]]\nname = \"buy\"\npath = \"http://h/orders\"\n\
    headers = { Accept = \"application/json\" }\nbody = \"{}\"\n[[phase]]\nduration = \"5s\"\nrate = \"9/s\"\n\
    mix_to = { buy = 100 }\n";

#[test]
fn requests_to_a_url_have_names_shares_and_phases() {
    assert!(loads_url(SHOP));
    assert!(!loads_url(STORE) && !loads_url("url = ") && !loads_url("# url = \"http://h\""));
    let file = WorkloadFile::read("w.toml", SHOP).unwrap();
    let http = file.http.as_ref().unwrap();
    assert_eq!(http.mix.names, ["GET /", "buy"]);
    assert_eq!(http.mix.shares, [70.0, 30.0]);
    assert_eq!(http.mix.phases[0].mix_to, Some(vec![0.0, 100.0]));
    let urls: Vec<&str> = http.requests.iter().map(|it| it.url.as_str()).collect();
    assert_eq!(urls, ["http://127.0.0.1:3000/v1/", "http://h/orders"]);
    let headers = |place: usize| {
        let headers = http.requests[place].headers.iter();
        headers
            .map(|(n, v)| format!("{n}: {v}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(headers(0), ["X-A: 1", "accept: text/html"]);
    assert_eq!(headers(1), ["Accept: application/json", "X-A: 1"]);
    let load = &file.asked.load;
    assert_eq!(
        (load.duration, load.legs.len()),
        (Some(Nanos::from_secs(5)), 1)
    );
    assert_eq!(file.said("mix"), None, "no one value");
    let file = WorkloadFile::read("w.toml", "url = \"https://h\"\n\noperations = 7\n").unwrap();
    assert_eq!(
        file.said("operations"),
        Some(("7".to_owned(), "w.toml:3".to_owned()))
    );
    let http = file.http.unwrap();
    assert_eq!(
        (http.requests.len(), http.mix.names),
        (1, vec!["GET /".to_owned()])
    );
}

/// Files that load a URL, each with a part of what is said.
const WRONG_REQUESTS: &[(&str, &str)] = &[
    ("mix = { a = 60 }", "w.toml:2: `mix`: 60 = 60 is not 100"),
    (
        "mix = { aa = 100 }",
        "w.toml:2: `mix`: `aa` is no request of this file; did you mean `a`?",
    ),
    (
        "mix = { a = -5, b = 105 }",
        "w.toml:2: `mix`: `-5` is no share",
    ),
    (
        "documents = 5",
        "w.toml:2: `documents` is of a store, and this file has a `url`",
    ),
    ("workers = 5", "w.toml:2: `workers` is of a store"),
    (
        "store = \"mongodb://h\"",
        "w.toml:1: `url` and `store` together",
    ),
    (
        "[[request]]\nname = \"b\"",
        "w.toml:7: two requests are called `b`",
    ),
    (
        "[[request]]\npath = \"x\"",
        "w.toml:3: `path`: `x` begins neither with / nor",
    ),
    (
        "[[request]]\nmethod = \"G T\"",
        "w.toml:3: `method`: `G T` is no method",
    ),
    (
        "[[request]]\nname = \" \"",
        "w.toml:3: `name`: a request needs a name",
    ),
    (
        "[[request]]\nbody = \"x\"\nbody_file = \"y\"",
        "w.toml:4: `body` and `body_file` together",
    ),
    (
        "[[request]]\nboddy = \"x\"",
        "w.toml:3: unknown key `request.boddy`; did you mean `body`?",
    ),
    (
        "[[phase]]\nduration = \"5s\"\nmix = { c = 100 }",
        "w.toml:4: `mix`: `c` is no request",
    ),
    (
        "duration = \"5s\"\n[[phase]]\nduration = \"5s\"\n[[phase]]\nduration = \"5s\"",
        "w.toml:6: the phase would begin",
    ),
];

#[test]
fn wrong_requests_are_refused_with_line_and_fix() {
    let said = |text: &str| WorkloadFile::read("w.toml", text).unwrap_err().to_string();
    let requests = "[[request]]\nname = \"a\"\n[[request]]\nname = \"b\"\npath = \"/b\"\n";
    for (lines, expected) in WRONG_REQUESTS {
        let (top, tables) = lines
            .split_once("[[")
            .map_or((*lines, String::new()), |(top, rest)| {
                (top, format!("[[{rest}\n"))
            });
        let error =
            said(&format!("url = \"http://h\"\n{top}\n{tables}{requests}").replace("\n\n", "\n"));
        assert!(error.contains(expected), "{lines}\n  {error}");
    }
    for (text, expected) in [
        (
            "url = \"h:80\"",
            "w.toml:1: `url`: `h:80` does not begin with http://",
        ),
        ("rows = \"a.csv\"", "w.toml:1: `rows` needs `url`"),
        (
            "store = \"mongodb://h\"\n[[request]]",
            "w.toml:2: `request` is of a URL, and this file has a `store`",
        ),
    ] {
        let error = said(text);
        assert!(error.contains(expected), "{text}\n  {error}");
    }
}

/// `UPDATE_DOCS=1 cargo test -p plimsoll-workload` writes the table anew.
#[test]
fn the_page_has_every_key() {
    const BEGIN: &str = "<!-- keys: written by a test -->\n";
    const END: &str = "<!-- end of keys -->";
    let mut table = String::new();
    for section in SECTIONS {
        table.push_str(&section.markdown());
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workload.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let fresh = format!("{before}{BEGIN}{table}\n{END}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &fresh).unwrap();
    }
    assert_eq!(page, fresh, "run it again with UPDATE_DOCS=1");
}

#[test]
fn every_example_is_read() {
    for section in SECTIONS {
        for key in section
            .keys
            .iter()
            .filter(|key| !key.example.starts_with('['))
        {
            let head = match section.name {
                "the top of the file" => "",
                name => name,
            };
            let is_of_url = ["headers", "rows"].contains(&key.name) || head == "[[request]]";
            let url = if is_of_url { "url = \"http://h\"" } else { "" };
            let text = format!("{url}\n{head}\n{} = {}\n", key.name, key.example);
            let read = WorkloadFile::read("w.toml", &text);
            let needs_duration = section.name == "[[phase]]" && key.name != "duration";
            let read = read.map(drop).map_err(|error| error.to_string());
            let is_fine = read.is_ok()
                || needs_duration && read.is_err_and(|it| it.contains("a phase needs"));
            assert!(is_fine, "{}: {}", section.name, key.name);
        }
    }
}
