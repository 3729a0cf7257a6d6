//! Files and flags: what holds, and what is refused where and with which fix.

use plimsoll_control::admission::Class;
use plimsoll_control::balance::Balance;

use super::file::SECTIONS;
use super::*;
use crate::config::{Start, TenantKey};

fn flags() -> Flags {
    Flags {
        connections_most: 500,
        ..Flags::default()
    }
}

fn parsed(text: &str) -> Result<Settings, Misplaced> {
    read(Some(("guard.toml", text)), &flags())
}

fn refused(text: &str) -> String {
    parsed(text).unwrap_err().to_string()
}

const WHOLE: &str = r#"
listen = [":8080", "127.0.0.1:8081"]
admin = "127.0.0.1:9464"
drain = "10s"
trusted = ["10.0.0.0/8", "fd00::7"]
class_header = "X-Class"

[groups.app]
upstreams = ["http://10.0.0.1:3000", "http://app.internal:3000"]
balance = "two-choices"
out_most = 0.3
slow_start = "20s"
check = { path = "/health", every = "5s" }

[groups.reports]
upstreams = ["http://10.0.0.9"]
limit = "fixed:2"

[[routes]]
path = "/reports"
group = "reports"
class = "background"
timeouts = { head = "5m", idle = "5m" }

[[routes]]
group = "app"

[[classes]]
path = "/pay"
methods = ["POST"]
class = "critical"

[tenants]
cookie = "session"

[timeouts]
head = "20s"

[retries]
attempts = 0
"#;

#[test]
fn a_whole_file_is_understood() {
    let config = parsed(WHOLE).unwrap().config;
    assert_eq!(config.listeners.len(), 2);
    let trusted: Vec<String> = config.trusted.iter().map(ToString::to_string).collect();
    assert_eq!(trusted, ["10.0.0.0/8", "fd00::7/128"]);
    let [app, reports] = &config.groups[..] else {
        panic!("two groups: {:?}", config.groups);
    };
    assert_eq!(
        (app.name.as_str(), app.balance),
        ("app", Balance::TwoChoices)
    );
    assert_eq!(app.upstreams[1].to_string(), "app.internal:3000");
    assert_eq!(reports.upstreams[0].port, 80);
    assert_eq!(reports.rule, Rule::Fixed(2));
    assert_eq!(app.check.as_ref().unwrap().every, Duration::from_secs(5));
    assert_eq!((config.routes[0].group, config.routes[1].group), (1, 0));
    assert_eq!(config.routes[0].class, Some(Class::Background));
    let own = config.routes[0].timeouts.unwrap();
    assert_eq!(own.head, Duration::from_secs(300));
    assert_eq!(own.connect, Duration::from_secs(5));
    assert_eq!(config.timeouts.head, Duration::from_secs(20));
    assert_eq!(config.tenant, TenantKey::Cookie("session".to_owned()));
    assert_eq!(config.retries.attempts, 0);
}

#[test]
fn flags_go_before_the_file_and_every_value_says_where_it_is_from() {
    let flags = Flags {
        drain: Some(Duration::from_secs(1)),
        rule: Some(Rule::Vegas),
        ..flags()
    };
    let text = "upstream = \"http://a:1\"\ndrain = \"10s\"\nlimit = \"aimd\"\n[timeouts]\nconnect = \"2s\"\n";
    let settings = read(Some(("guard.toml", text)), &flags).unwrap();
    assert_eq!(settings.config.drain, Duration::from_secs(1));
    assert_eq!(settings.config.groups[0].rule, Rule::Vegas);
    let of = |key: &str| {
        let shown = settings.shown.iter().find(|shown| shown.key == key);
        let shown = shown.unwrap_or_else(|| panic!("{key}"));
        (shown.value.as_str(), shown.origin.as_str())
    };
    assert_eq!(of("drain"), ("\"1s\"", "--drain"));
    assert_eq!(of("limit"), ("\"vegas\"", "--limit"));
    assert_eq!(of("upstream"), ("[\"http://a:1\"]", "guard.toml:1"));
    assert_eq!(of("timeouts.connect"), ("\"2s\"", "guard.toml:5"));
    assert_eq!(of("timeouts.head"), ("\"60s\"", "default"));
    assert_eq!(of("connections"), ("500", "default"));
}

#[test]
fn without_a_file_an_upstream_is_enough() {
    let flags = Flags {
        upstreams: vec!["http://127.0.0.1:3000".to_owned()],
        ..flags()
    };
    let config = read(None, &flags).unwrap().config;
    assert_eq!(config.groups[0].upstreams[0].to_string(), "127.0.0.1:3000");
    let wrong = read(None, &Flags::default()).unwrap_err().to_string();
    assert!(
        wrong.contains("--upstream http://127.0.0.1:3000"),
        "{wrong}"
    );
}

/// Each with the line, the key and the way out.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "upstream = \"http://a:1\"\ntrusted = [\"10.0.0.0/8\", \"balancer\"]\n",
        "guard.toml:2: trusted: `balancer`",
        "such as 10.0.0.1, 10.0.0.0/8 or fd00::/8",
    ),
    (
        "upstream = \"http://a:1\"\ntrusted = \"10.0.0.0/33\"\n",
        "guard.toml:2: trusted: `10.0.0.0/33`",
        "at most 32",
    ),
    (
        "upstream = \"http://a:1\"\ntrusted = \"fd00::1/8\"\n",
        "guard.toml:2: trusted: `fd00::1/8`",
        "write fd00::/8",
    ),
    (
        "upsteam = \"http://a:1\"\n",
        "guard.toml:1: unknown key `upsteam`",
        "did you mean `upstream`?",
    ),
    (
        "upstream = \"http://a:1\"\n[timeouts]\nconect = \"1s\"\n",
        "guard.toml:3: unknown key `timeouts.conect`",
        "`connect`",
    ),
    (
        "upstream = \"http://a:1\"\nbalance = \"least\"\n",
        "guard.toml:2",
        "belongs into [groups.NAME]",
    ),
    (
        "upstream = 5\n",
        "guard.toml:1",
        "a text or a list of texts",
    ),
    ("upstream = \"http://a:1\n", "guard.toml:1", ""),
    (
        "upstream = \"a:1\"\n",
        "guard.toml:1: upstream: `a:1`",
        "http://HOST:PORT",
    ),
    ("upstream = \"ftp://a:1\"\n", "guard.toml:1", "http://"),
    (
        "upstream = \"http://a:1/x\"\n",
        "guard.toml:1",
        "leave out the path",
    ),
    ("upstream = \"http://a:99999\"\n", "guard.toml:1", "no port"),
    ("upstream = \"http://\"\n", "guard.toml:1", "no host"),
    (
        "upstream = [\"http://a:1\", \"http://a:1\"]\n",
        "guard.toml:1",
        "take one out",
    ),
    ("upstream = []\n", "guard.toml:1", "--upstream"),
    ("drain = \"30s\"\n", "guard.toml", "--upstream"),
    (
        "upstream = \"http://a:1\"\n[groups.x]\nupstreams = [\"http://b:1\"]\n",
        "guard.toml:1",
        "move it into a group",
    ),
    (
        "listen = \":1\"\nupstream = \"http://a:1\"\n[[listeners]]\naddress = \":2\"\n",
        "guard.toml:1",
        "keep one",
    ),
    (
        "listen = \"nowhere\"\nupstream = \"http://a:1\"\n",
        "guard.toml:1",
        "HOST:PORT",
    ),
    (
        "listen = \"127.0.0.1:9000\"\nadmin = \"127.0.0.1:9000\"\nupstream = \"http://a:1\"\n",
        "guard.toml:2",
        "another port",
    ),
    (
        "upstream = \"http://a:1\"\ndrain = \"soon\"\n",
        "guard.toml:2: drain: `soon`",
        "500ms",
    ),
    (
        "upstream = \"http://a:1\"\ndrain = \"0s\"\n",
        "guard.toml:2",
        "1ms",
    ),
    (
        "upstream = \"http://a:1\"\nlimit = \"half\"\n",
        "guard.toml:2",
        "half-load",
    ),
    (
        "upstream = \"http://a:1\"\n[timeouts]\nhead = \"5s\"\nwhole = \"2s\"\n",
        "guard.toml:3",
        "longer than the whole",
    ),
    (
        "upstream = \"http://a:1\"\n[retries]\nratio = 2.0\n",
        "guard.toml:3",
        "between 0 and 1",
    ),
    (
        "upstream = \"http://a:1\"\n[retries]\nattempts = 50\n",
        "guard.toml:3",
        "more than 5",
    ),
    (
        "upstream = \"http://a:1\"\nconnections = 501\n",
        "guard.toml:2",
        "LimitNOFILE",
    ),
    (
        "upstream = \"http://a:1\"\n[tenants]\nheader = \"a\"\ncookie = \"b\"\n",
        "guard.toml:4",
        "keep one",
    ),
    (
        "upstream = \"http://a:1\"\nclass_header = \"X Class\"\n",
        "guard.toml:2",
        "no name of a header",
    ),
    (
        "upstream = \"http://a:1\"\n[[classes]]\nclass = \"critcal\"\n",
        "guard.toml:3",
        "did you mean `critical`?",
    ),
    (
        "upstream = \"http://a:1\"\n[[classes]]\npath = \"/x\"\n",
        "guard.toml:2",
        "say which class",
    ),
    (
        "upstream = \"http://a:1\"\n[[routes]]\npath = \"x\"\n",
        "guard.toml:3",
        "begins with /",
    ),
    (
        "upstream = \"http://a:1\"\n[[routes]]\nhost = \"a:80\"\n",
        "guard.toml:3",
        "a name alone",
    ),
    (
        "upstream = \"http://a:1\"\n[[routes]]\nmethods = [\"get\"]\n",
        "guard.toml:3",
        "GET",
    ),
    ("[groups.x]\nupstreams = []\n", "guard.toml:2", "no service"),
    (
        "[groups.x]\nupstreams = [\"http://a:1\"]\nbalance = \"leats\"\n",
        "guard.toml:3",
        "did you mean `least`?",
    ),
    (
        "[groups.x]\nupstreams = [\"http://a:1\"]\ncheck = { path = \"health\" }\n",
        "guard.toml:3",
        "/health",
    ),
    (
        "[groups.x]\nupstreams = [\"http://a:1\"]\ncheck = { path = \"/\", every = \"1s\", timeout = \"2s\" }\n",
        "guard.toml:3",
        "from one check to the next",
    ),
    (
        "[groups.x]\nupstreams = [\"http://a:1\"]\nlimit = \"fixed:3\"\nstart = 4.0\n",
        "guard.toml:4",
        "leave the start out",
    ),
];

#[test]
fn what_is_wrong_is_refused_with_its_place_and_fix() {
    let up = "upstream = \"http://a:1\"\n";
    for (text, place, fix) in WRONG {
        let said = refused(text);
        assert!(
            said.starts_with(place) && said.contains(fix),
            "{text}\n{said}"
        );
    }
    assert!(parsed(up).is_ok());
}

#[test]
fn groups_and_routes_fit_together() {
    let two =
        "[groups.a]\nupstreams = [\"http://a:1\"]\n[groups.b]\nupstreams = [\"http://b:1\"]\n";
    let said = refused(two);
    assert!(
        said.starts_with("guard.toml:1: groups.a: no route leads to it"),
        "{said}"
    );
    let said = refused(&format!("{two}[[routes]]\npath = \"/x\"\n"));
    assert!(
        said.contains("routes.1.group") && said.contains("a, b"),
        "{said}"
    );
    let said = refused(&format!("{two}[[routes]]\ngroup = \"c\"\n"));
    assert!(
        said.starts_with("guard.toml:6: routes.1.group: there is no group `c`"),
        "{said}"
    );
    let said = refused(&format!(
        "{two}[[routes]]\npath = \"/x\"\ngroup = \"a\"\n[[routes]]\npath = \"/x/y\"\ngroup = \"b\"\n"
    ));
    assert!(
        said.starts_with("guard.toml:8: routes.2: it is never used"),
        "{said}"
    );
    // The other way round, and where the first wants more, both are used.
    for routes in [
        "[[routes]]\npath = \"/x/y\"\ngroup = \"b\"\n[[routes]]\npath = \"/x\"\ngroup = \"a\"\n",
        "[[routes]]\npath = \"/x\"\nmethods = [\"GET\"]\ngroup = \"a\"\n[[routes]]\npath = \"/x\"\ngroup = \"b\"\n",
        "[[routes]]\nhost = \"*.a.org\"\ngroup = \"a\"\n[[routes]]\nhost = \"a.org\"\ngroup = \"b\"\n",
    ] {
        assert!(parsed(&format!("{two}{routes}")).is_ok(), "{routes}");
    }
    let said = refused(&format!(
        "{two}[[routes]]\nhost = \"*.a.org\"\ngroup = \"a\"\n[[routes]]\nhost = \"x.a.org\"\ngroup = \"b\"\n"
    ));
    assert!(said.contains("never used"), "{said}");
}

#[test]
fn a_record_says_where_limits_begin_and_whose_they_are() {
    let begun = |upstreams: &[&str], text: &str| {
        let flags = Flags {
            upstreams: upstreams.iter().map(|url| (*url).to_owned()).collect(),
            measured: Some(("http://a:1".to_owned(), "run.jsonl".to_owned())),
            start: Some((12.0, "run.jsonl".to_owned())),
            ..flags()
        };
        let settings = read(Some(("guard.toml", text)), &flags).unwrap();
        let group = &settings.config.groups[0];
        (group.start, group.upstreams.len())
    };
    let (each, shared) = (Some(Start::Each(12.0)), Some(Start::Shared(12.0)));
    // The service of the record itself, whose name may have several addresses.
    assert_eq!(begun(&[], ""), (shared, 1));
    assert_eq!(begun(&["http://a:1", "http://b:1"], ""), (each, 2));
    assert_eq!(begun(&["http://b:1", "http://c:1"], ""), (shared, 2));
    let file = "[groups.x]\nupstreams = [\"http://a:1\", \"http://b:1\"]\n";
    assert_eq!(begun(&[], file), (each, 2));
    // What the file says of a group goes before what was measured.
    let own = format!("{file}start = 3.0\n");
    assert_eq!(begun(&[], &own), (Some(Start::Each(3.0)), 2));
}

/// A record speaks of one service: other groups begin as always.
#[test]
fn what_was_measured_is_for_the_group_that_has_the_service() {
    let read_with = |service: Option<&str>, text: &str| {
        let flags = Flags {
            measured: service.map(|service| (service.to_owned(), "run.jsonl".to_owned())),
            start: Some((200.0, "run.jsonl".to_owned())),
            ..flags()
        };
        read(Some(("guard.toml", text)), &flags)
    };
    let two = |limit: &str| {
        format!(
            "[groups.app]\nupstreams = [\"http://a:1\"]\n[groups.reports]\nupstreams = [\"http://b:1\"]\n{limit}\
             [[routes]]\npath = \"/x\"\ngroup = \"app\"\n[[routes]]\ngroup = \"reports\"\n"
        )
    };
    for limit in ["", "limit = \"fixed:4\"\n"] {
        let settings = read_with(Some("http://a:1"), &two(limit)).unwrap();
        let starts: Vec<_> = settings.config.groups.iter().map(|one| one.start).collect();
        assert_eq!(starts, [Some(Start::Shared(200.0)), None]);
    }
    for service in [Some("http://c:1"), None] {
        let said = read_with(service, &two("")).unwrap_err().to_string();
        assert!(said.contains("write start = 200 into the one"), "{said}");
    }
    let own = read_with(Some("http://c:1"), &two("start = 9.0\n")).unwrap();
    assert_eq!(own.config.groups[1].start, Some(Start::Each(9.0)));
}

/// One address is one service, whichever groups name it.
#[test]
fn groups_that_share_an_upstream_say_the_same_of_it() {
    let two = |own: &str| {
        format!(
            "[groups.a]\nupstreams = [\"http://a:1\"]\n[groups.b]\nupstreams = [\"http://a:1\"]\n{own}\
             [[routes]]\npath = \"/x\"\ngroup = \"a\"\n[[routes]]\ngroup = \"b\"\n"
        )
    };
    assert!(parsed(&two("")).is_ok());
    for own in [
        "limit = \"aimd\"\n",
        "start = 9.0\n",
        "check = { path = \"/\" }\n",
        "slow_start = \"1s\"\n",
    ] {
        let said = refused(&two(own));
        assert!(said.starts_with("guard.toml:5: groups.b."), "{said}");
        assert!(said.contains("say the same in both"), "{said}");
    }
}

/// The tables of `docs/guard.md`.
#[test]
fn the_page_has_every_key_of_the_table() {
    let tables: String = SECTIONS.iter().map(|section| section.markdown()).collect();
    page("keys", &(tables + "\n"));
}

/// Every example of the tables can be written where the tables say it stands, and is read.
#[test]
fn every_example_is_read() {
    for section in SECTIONS {
        for key in section.keys {
            let (name, example) = (key.name, key.example);
            let text = match section.name {
                "the top of the file" if example.starts_with('[') => format!("{example}\n"),
                "the top of the file" => format!("{name} = {example}\n"),
                "[groups.NAME]" => format!("[groups.app]\n{name} = {example}\n"),
                "check of [groups.NAME]" => format!("[groups.app.check]\n{name} = {example}\n"),
                table => format!("{table}\n{name} = {example}\n"),
            };
            let wrong = parsed(&text).err().map(|wrong| wrong.problem);
            let about_shape = wrong.is_some_and(|wrong| {
                ["unknown", "invalid type", "expected", "missing"]
                    .iter()
                    .any(|word| wrong.contains(word))
            });
            assert!(!about_shape, "{text}");
        }
    }
}
