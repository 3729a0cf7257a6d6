//! Tests of experiment files: what they come to, and what is said of mistakes.

mod page;

use std::path::Path;

use super::file::{TestSpec, TierSpec};
use super::*;

const FILE: &str = r#"
title = "Two servers or one"

[tiers.app]
embedded = "pinned-loop"
set = { cpu = 2 }
cpu = 0.25

[tiers.proxy]
embedded = "proxy"
args = ["--upstream", "${app.*.address}"]
set = { slots = 64 }
limits = { slots = 64, per_request = 2 }

[test]
url = "http://${proxy.address}/"
rate = "50/s"
duration = "10s"

[objectives]
slo = "p99<250ms"

[variants.A]
about = "as it is"

[variants.2A.tiers.app]
instances = 2

[variants.slots]
base = "2A"
tiers.proxy.set.slots = 1024
tiers.proxy.limits.slots = 1024
test.warm_up = 5

[repeat]
runs = 2
"#;

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::parse("experiment.toml", text, Path::new("/lab")).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    read(text).expect_err(text)
}

#[test]
fn variants_are_complete_and_say_in_what_they_differ() {
    let experiment = read(FILE).unwrap();
    assert_eq!(experiment.title, "Two servers or one");
    let names: Vec<&str> = experiment
        .variants
        .iter()
        .map(|v| v.name.as_str())
        .collect();
    assert_eq!(names, ["A", "2A", "slots"], "in the order of the file");
    let changes = |name: &str| experiment.variant(name).unwrap().changes.clone();
    assert_eq!(changes("A"), Vec::<String>::new());
    assert_eq!(changes("2A"), ["tiers.app.instances: not set → 2"]);
    assert_eq!(
        changes("slots"),
        [
            "tiers.proxy.set.slots: 64 → 1024",
            "test.warm_up: not set → 5"
        ],
        "limits describe and change nothing"
    );
    let slots = experiment.variant("slots").unwrap();
    assert_eq!(slots.base.as_deref(), Some("2A"));
    assert_eq!(slots.tier("app").unwrap().instances, 2, "its base's");
    let order: Vec<&str> = slots.tiers.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(order, ["app", "proxy"], "what is needed starts first");
    assert!((experiment.variant("2A").unwrap().cpu() - 0.5).abs() < 1e-9);
    let order = experiment.order(3);
    assert_eq!(order.len(), 6);
    for repetition in order.chunks(3) {
        let mut all = repetition.to_vec();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2], "each repetition plays every variant");
    }
    assert!((0..20).any(|seed| experiment.order(seed) != order));
}

#[test]
fn without_variants_there_is_one() {
    let text = "[tiers.a]\nembedded = \"echo\"\n[test]\nurl = \"http://${a.address}/\"\n";
    let experiment = read(text).unwrap();
    assert_eq!(experiment.variants.len(), 1);
    assert_eq!((experiment.title.as_str(), experiment.runs), ("lab", 3));
}

#[test]
fn loads_are_of_one_kind() {
    let load = |test: &str| {
        let text = format!(
            "[tiers.a]\nembedded = \"echo\"\n[test]\nurl = \"http://${{a.address}}/\"\n{test}\n[objectives]\nslo = \"p99<1s\"\n"
        );
        read(&text).map(|experiment| experiment.variants[0].test.load.clone())
    };
    let closed = load("connections = 8").unwrap();
    assert!(
        matches!(
            closed,
            Load::Url {
                arrivals: Arrivals::Closed,
                connections: Some(count),
                ..
            } if count.get() == 8
        ),
        "{closed:?}"
    );
    let stages = load("stages = [{ target = 10, duration = \"2s\" }, { target = 0, duration = \"1s\" }]\nthink = \"10ms\"").unwrap();
    assert_eq!(stages.duration(), Some(Nanos::from_secs(3)));
    assert_eq!(
        stages.shortened(0.5).duration(),
        Some(Nanos::from_secs(2)),
        "no stage below a second"
    );
    let find = load("find = true\nh2 = true\nstreams = 4").unwrap();
    assert_eq!(find.duration(), Some(Nanos::from_secs(240)));
    assert_eq!(
        find.shortened(0.1).duration(),
        Some(Nanos::from_secs(150)),
        "no search is shorter"
    );
    for (test, part) in [
        (
            "find = true\nrate = \"1/s\"",
            "experiment.toml:6: test.rate: a search decides this itself",
        ),
        (
            "find = true\nwithin = \"149s\"",
            "test.within: 2 min 29 s is too short",
        ),
        ("within = \"5m\"", "test.within: is the time of a search"),
        ("streams = 2", "test.streams: only HTTP/2 has streams"),
        ("h2 = true\nstreams = 0", "test.streams: is zero"),
        (
            "stages = [{ target = 1, duration = \"1s\" }]\nh2 = true",
            "test.h2: virtual users speak HTTP/2 over https only",
        ),
        (
            "rate = \"1/s\"\nramp = \"1..2\"",
            "experiment.toml:6: test.ramp: a test has a rate or a ramp, not both",
        ),
        (
            "stages = []\nrate = \"1/s\"",
            "test.rate: `stages` say this",
        ),
        ("stages = []", "no stage has both"),
        ("think = \"1s\"", "test.think: virtual users think"),
        ("script = \"x.js\"", "a script or a URL, not both"),
        (
            "duration = \"soon\"",
            "experiment.toml:5: test.duration: `soon` is not a duration",
        ),
        ("env = { A = \"1\" }", "test.env: only a script reads it"),
        ("cpu = -1", "test.cpu: -1 is no number of cores"),
    ] {
        let problem = load(test).unwrap_err();
        assert!(problem.contains(part), "{test}: {problem}");
    }
}

#[test]
fn values_of_a_load_that_cannot_be_are_named_with_their_key() {
    for (test, part) in [
        (
            "h2 = true\nstreams = 10001",
            "test.streams: 10001 streams are not between",
        ),
        ("connections = 0", "test.connections: is zero"),
        ("rate = \"fast\"", "test.rate: `fast` is not a rate"),
        ("ramp = \"5/s\"", "test.ramp: `5/s` is not FROM..TO"),
        ("timeout = \"0s\"", "test.timeout: 0 s is below 1ms"),
    ] {
        let text = format!("[tiers.a]\nembedded = \"echo\"\n[test]\nurl = \"http://h/\"\n{test}\n");
        let problem = refused(&text);
        assert!(problem.contains(part), "{test}: {problem}");
    }
}

#[test]
fn a_search_needs_objectives() {
    let text =
        "[tiers.a]\nembedded = \"echo\"\n[test]\nurl = \"http://${a.address}/\"\nfind = true\n";
    let problem = refused(text);
    assert!(
        problem.contains("experiment.toml:5: test.find: a search needs objectives"),
        "{problem}"
    );
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_one_and_the_line() {
    for (text, message) in [
        (
            "[tiers.app]\ncomand = \"node\"\n",
            "experiment.toml:2: unknown key `tiers.app.comand`; did you mean `command`?",
        ),
        (
            "titel = \"x\"\n",
            "experiment.toml:1: unknown key `titel`; did you mean `title`?",
        ),
        (
            "\n\n[variants.2A.tiers.app]\ninstnaces = 2\n",
            "experiment.toml:4: unknown key `variants.2A.tiers.app.instnaces`; did you mean `instances`?",
        ),
        (
            "[test]\nduratoin = \"1s\"\n",
            "experiment.toml:2: unknown key `test.duratoin`; did you mean `duration`?",
        ),
        (
            "[test]\nstages = [\n  { target = 1, time = \"1s\" },\n]\n",
            "experiment.toml:3: unknown key `test.stages.time`; stages of [test] has target, duration",
        ),
        (
            "[repeat]\nslo = \"p99<1s\"\n",
            "experiment.toml:2: unknown key `repeat.slo`; it belongs into [objectives]",
        ),
        (
            "[objectives]\nflavour = 1\n",
            "experiment.toml:2: unknown key `objectives.flavour`; [objectives] has slo",
        ),
    ] {
        assert_eq!(refused(text), message);
    }
}

/// A file with one tier and more keys of it.
fn tier(keys: &str) -> String {
    format!(
        "[tiers.app]\nembedded = \"echo\"\n{keys}\n[test]\nurl = \"http://${{app.address}}/\"\n"
    )
}

fn assert_refused(cases: impl IntoIterator<Item = (String, &'static str)>) {
    for (text, part) in cases {
        let problem = refused(&text);
        assert!(problem.contains(part), "{text}\n{problem}\nlacks {part}");
    }
}

#[test]
fn mistakes_in_a_tier_are_named_with_their_key() {
    assert_refused([
        ("[tiers.app\n".to_owned(), "experiment.toml:1: "),
        (
            tier("instances = \"two\""),
            "experiment.toml:3: invalid type",
        ),
        (
            tier("instances = 0"),
            "experiment.toml:3: tiers.app.instances: 0 instances are not between 1 and 64",
        ),
        (tier("cpu = 0"), "tiers.app.cpu: 0 is no number of cores"),
        (
            tier("cpu = 0.01"),
            "tiers.app.cpu: 0.01 is less of a core than a quota can be; write 0.05 or more",
        ),
        (
            tier("memory = \"lots\""),
            "tiers.app.memory: `lots` is no amount of memory",
        ),
        (
            tier("ready = \"soon\""),
            "tiers.app.ready: `soon` is no way to be ready",
        ),
        (
            tier("ready_within = \"x\""),
            "tiers.app.ready_within: `x` is not a duration",
        ),
        (
            tier("limits = { slotz = 1 }"),
            "tiers.app.limits: `slotz` is no limit; did you mean `slots`?",
        ),
        (tier("limits = { per_request = 2 }"), "give those too"),
        (
            tier("set = { speed = 1 }"),
            "tiers.app.set: echo has no parameter",
        ),
        (
            tier("needs = [\"db\"]"),
            "tiers.app.needs: variant `base` has no tier `db`",
        ),
        (
            tier("args = [\"${ap.port}\"]"),
            "tiers.app.args: variant `base` has no tier `ap`; did you mean `app`?",
        ),
        (
            tier("args = [\"${prot}\"]"),
            "tiers.app.args: `${prot}` is no placeholder; did you mean `port`?",
        ),
        (
            tier("command = \"true\""),
            "a command or an embedded service, not both",
        ),
        (
            tier("files = { x = \"no-such-file\" }"),
            "tiers.app.files: no-such-file cannot be read",
        ),
    ]);
}

#[test]
fn a_stub_stands_in_the_place_of_a_tier_and_is_one_change() {
    let text = format!("{CHAIN}[variants.stub]\nbase = \"two\"\ntiers.app.stubbed = true\n")
        .replace(
            "set = { cpu = 2 }",
            "set = { cpu = 2 }\nstub = { embedded = \"echo\" }\ncpu = 0.5",
        );
    let experiment = read(&text).unwrap();
    assert_eq!(
        changes_of(&experiment, "stub"),
        ["tiers.app.stubbed: not set → true"]
    );
    let played = experiment.variant("stub").unwrap().tier("app").unwrap();
    assert_eq!((played.instances, played.cpu), (2, Some(0.5)));
    assert!(played.stubbed && played.stub.is_none());
    let echo = Program::Embedded {
        name: "echo".to_owned(),
        set: BTreeMap::new(),
    };
    assert_eq!(played.program, echo);
    let whole = experiment.variant("two").unwrap().tier("app").unwrap();
    assert_eq!(whole.stub.as_ref().unwrap().program, echo);
}

#[test]
fn mistakes_in_a_stub_are_named_although_it_is_not_played() {
    assert_refused([
        (
            tier("stub = { embeded = \"echo\" }"),
            "unknown key `tiers.app.stub.embeded`; did you mean `embedded`?",
        ),
        (
            tier("stub = { cpu = 0 }"),
            "experiment.toml:3: tiers.app.stub: tiers.app.cpu: 0 is no number of cores",
        ),
        (
            tier("stub = { stubbed = true }"),
            "tiers.app.stub: a stub has none of its own",
        ),
        (
            tier("stubbed = true"),
            "tiers.app.stubbed: there is none to take its place; say in `stub` what differs",
        ),
    ]);
}

#[test]
fn mistakes_elsewhere_are_named_with_their_key() {
    assert_refused([
        (
            tier("").replace("echo", "ecko"),
            "experiment.toml:2: tiers.app.embedded: no service is called",
        ),
        (
            tier("").replace("embedded = \"echo\"", "command = \"no-such-program\""),
            "experiment.toml:2: tiers.app.command: `no-such-program` is not on the PATH",
        ),
        (
            tier("").replace("embedded = \"echo\"", "command = \"./none\""),
            "`./none` is no file below /lab",
        ),
        (
            tier("").replace("embedded = \"echo\"", ""),
            "experiment.toml:1: tiers.app.command: a tier needs a `command`",
        ),
        (
            tier("").replace("app.address", "web.address"),
            "test.url: variant `base` has no tier `web`",
        ),
        (
            tier("[variants.b]\nbase = \"c\"\n[variants.c]"),
            "`c` stands below `b`",
        ),
        (
            tier("[variants.b]\nbase = \"d\""),
            "experiment.toml:4: there is no variant `d`",
        ),
        (
            tier("[variants.b]\nwithout = [\"ap\"]"),
            "experiment.toml:4: there is no tier `ap`; did you mean `app`?",
        ),
        (tier("[variants.\"b c\"]"), "`b c` is no name for a variant"),
        (
            tier("[repeat]\nruns = 0"),
            "experiment.toml:4: 0 runs are not between 1 and 1000",
        ),
        (
            tier("[objectives]\nslo = \"p99\""),
            "experiment.toml:4: `p99` has no `<`",
        ),
        (
            tier(
                "[tiers.db]\nembedded = \"echo\"\nneeds = [\"app\"]\n[variants.b]\ntiers.app.needs = [\"db\"]",
            ),
            "tiers app, db wait for each other",
        ),
    ]);
}

/// Whatever key of a tier or a test a variant says, with or without a base that says it too, is what is read of it.
#[test]
fn every_key_that_a_variant_says_reaches_the_resolved_variant() {
    use super::layers::Tables;
    let bare = "tiers.app = {}\ntest = {}\n";
    for (section, within, beside) in [
        (&TierSpec::SECTION, "tiers.app", "test = {}"),
        (&TestSpec::SECTION, "test", "tiers.app = {}"),
    ] {
        for key in section.keys {
            let text = format!("{within}.{} = {}\n{beside}\n", key.name, key.example);
            let place = Place::new("experiment.toml", &text);
            let top = toml::de::DeTable::parse(&text).unwrap();
            let written = Tables::of(&place, top.get_ref()).unwrap();
            let read = |tables: &Tables<'_>| format!("{:?}", tables.read(&place).unwrap());
            let base = toml::de::DeTable::parse(bare).unwrap();
            let mut variant = Tables::of(&place, base.get_ref()).unwrap();
            assert_ne!(read(&variant), read(&written), "{} is not read", key.name);
            for _base_without_and_with_it in 0..2 {
                variant.lay_over(&written);
                assert_eq!(read(&variant), read(&written), "{} is dropped", key.name);
            }
        }
    }
}

/// A server alone, then behind a proxy, then two of them, then another program in their place.
const CHAIN: &str = r#"
quick = ["A", "two"]

[tiers.app]
embedded = "pinned-loop"
set = { cpu = 2 }

[test]
url = "http://${app.address}/"
rate = "40/s"

[variants.A]

[variants.behind]
test.url = "http://${proxy.address}/"

[variants.behind.tiers.proxy]
embedded = "proxy"
args = ["--upstream", "${app.*.address}"]
set = { slots = "${limits.slots}" }
limits = { slots = 100, per_request = 2 }

[variants.two]
base = "behind"
tiers.app.instances = 2

[variants.other]
base = "two"
tiers.app.embedded = "event-loop"
tiers.app.set = { passes = 4 }
"#;

fn changes_of(experiment: &Experiment, name: &str) -> Vec<String> {
    experiment.variant(name).unwrap().changes.clone()
}

#[test]
fn a_proxy_put_in_front_and_another_program_are_one_change_each() {
    let experiment = read(CHAIN).unwrap();
    assert_eq!(
        changes_of(&experiment, "behind"),
        ["tiers.proxy: added, and the load goes to it"]
    );
    assert_eq!(
        changes_of(&experiment, "two"),
        ["tiers.app.instances: not set → 2"]
    );
    assert_eq!(
        changes_of(&experiment, "other"),
        ["tiers.app.embedded: pinned-loop → event-loop"]
    );
    let other = experiment.variant("other").unwrap().tier("app").unwrap();
    assert_eq!(other.instances, 2, "its share of the machine stays");
    let Program::Embedded { set, .. } = &other.program else {
        panic!("{:?}", other.program)
    };
    assert_eq!(set.len(), 1, "what was said of the program before does not");
    let back = CHAIN.replace("[variants.two]", "[variants.back]\nbase = \"behind\"\nwithout = [\"proxy\"]\ntest.url = \"http://${app.address}/\"\n[variants.two]");
    assert_eq!(
        changes_of(&read(&back).unwrap(), "back"),
        ["tiers.proxy: left out"]
    );
    let behind = CHAIN.replace(
        "[variants.two]",
        "[variants.far]\nbase = \"behind\"\ntiers.proxy.args = [\"--upstream\", \"${link.*.address}\"]\n\
         [variants.far.tiers.link]\nembedded = \"link\"\nargs = [\"--upstream\", \"${app.address}\"]\n[variants.two]",
    );
    assert_eq!(
        changes_of(&read(&behind).unwrap(), "far"),
        ["tiers.link: added, and proxy goes to it"]
    );
    // It replaces what it does not lead to: that is another thing.
    let instead = behind.replace(
        "\"${app.address}\"]\n[variants.two]",
        "\"127.0.0.1:9\"]\n[variants.two]",
    );
    assert_ne!(instead, behind);
    assert_eq!(changes_of(&read(&instead).unwrap(), "far").len(), 2);
    let elsewhere = CHAIN.replace("http://${proxy.address}/", "http://${proxy.address}/page");
    assert_eq!(changes_of(&read(&elsewhere).unwrap(), "behind").len(), 2);
}

#[test]
fn a_variant_whose_base_is_left_out_is_compared_with_the_next_ancestor() {
    let experiment = read(CHAIN).unwrap();
    assert_eq!(experiment.quick, ["A", "two"]);
    let only = experiment.clone().only(&experiment.quick).unwrap();
    assert_eq!(only.variants.len(), 2);
    assert_eq!(only.variant("two").unwrap().base.as_deref(), Some("A"));
    assert_eq!(
        changes_of(&only, "two"),
        [
            "tiers.app.instances: not set → 2",
            "tiers.proxy: added, and the load goes to it"
        ]
    );
    let mistyped = experiment.clone().only(&["tw".to_owned()]);
    assert_eq!(
        mistyped.unwrap_err().to_string(),
        "--only tw: there is no such variant; did you mean `two`? (there are A, behind, two, other)"
    );
    let alone = experiment.only(&["two".to_owned()]).unwrap();
    let base = alone.variant("two").unwrap().base.as_deref();
    assert_eq!(base, Some("behind"), "none of its ancestors is played");
    let problem = refused(&CHAIN.replace("\"two\"]", "\"behnid\"]"));
    assert_eq!(
        problem,
        "experiment.toml:2: there is no variant `behnid`; did you mean `behind`?"
    );
}

fn scaled(text: &str, scale: f64) -> Result<Experiment, String> {
    let scaled = read(text)?.scaled(scale);
    scaled.map_err(|error| error.to_string())
}

#[test]
fn a_scale_makes_the_load_and_the_limits_that_are_read_smaller_together() {
    let text = format!("{CHAIN}\n[variants.fixed.tiers.app]\nlimits = {{ pool = 8 }}\n");
    let experiment = scaled(&text, 0.25).unwrap();
    let slots = |variant: &str| {
        experiment
            .variant(variant)?
            .tier("proxy")?
            .limits
            .get("slots")
            .copied()
    };
    assert_eq!(slots("two"), Some(25.0));
    let fixed = experiment.variant("fixed").unwrap().tier("app").unwrap();
    assert_eq!(
        fixed.limits.get("pool").copied(),
        Some(8.0),
        "the program would not know"
    );
    assert!(matches!(
        &experiment.variants[0].test.load,
        Load::Url {
            arrivals: Arrivals::Rate(10.0),
            ..
        }
    ));
    let [first, second] = experiment.remarks.as_slice() else {
        panic!("{:?}", experiment.remarks)
    };
    assert!(first.contains("and so are the slots of proxy;"), "{first}");
    assert!(
        second.starts_with("not scaled: the pool of app, which"),
        "{second}"
    );
    assert!(scaled(CHAIN, 1.0).unwrap().remarks.is_empty());

    let stages = CHAIN.replace(
        "rate = \"40/s\"",
        "stages = [{ target = 100, duration = \"2s\" }, { target = 1, duration = \"1s\" }, { target = 0, duration = \"1s\" }]",
    );
    let experiment = scaled(&stages, 0.1).unwrap();
    let Load::Stages { stages, .. } = &experiment.variants[0].test.load else {
        panic!("stages")
    };
    let targets: Vec<u32> = stages.iter().map(|stage| stage.target).collect();
    assert_eq!(targets, [10, 1, 0], "nobody who was there is scaled away");
    let ramp = CHAIN.replace("rate = \"40/s\"", "ramp = \"10/s..80/s\"\nconnections = 30");
    let experiment = scaled(&ramp, 0.5).unwrap();
    assert!(
        matches!(&experiment.variants[0].test.load, Load::Url { arrivals: Arrivals::Ramp { from: 5.0, to: 40.0 }, connections: Some(count), .. } if count.get() == 15)
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let script = format!("[tiers.a]\nembedded = \"echo\"\n[test]\nscript = \"{script}\"\n");
    let problem = scaled(&script, 0.5).unwrap_err();
    assert!(
        problem.contains("test.script: --scale cannot reach into a script"),
        "{problem}"
    );
}

#[test]
fn what_is_not_installed_is_named_with_the_command_that_installs_it() {
    let install = "install = \"make -C ${folder} real\"";
    assert_refused([
        (
            tier(&format!(
                "requires = [\"sh\", \"no-such-program\"]\n{install}"
            )),
            "tiers.app.requires: `no-such-program` is not on the PATH; it is installed with: make -C /lab real",
        ),
        (
            tier(&format!("requires = [\"real/node_modules/x\"]\n{install}")),
            "`real/node_modules/x` is not in /lab; it is installed with: make -C /lab real",
        ),
        (
            tier(install).replace("embedded = \"echo\"", "command = \"no-such-program\""),
            "tiers.app.command: `no-such-program` is not on the PATH; install it, or write its path with a `/`; it is installed with: make -C /lab real",
        ),
        (
            tier("requires = [\"none\"]\ninstall = \"${prot}\""),
            "tiers.app.install: `${prot}` is no placeholder",
        ),
    ]);
    let nowhere = Experiment::load(Path::new(env!("CARGO_MANIFEST_DIR")), true).unwrap_err();
    assert!(
        nowhere
            .to_string()
            .contains("has no real.toml: leave --real out"),
        "{nowhere}"
    );
}

#[test]
fn mistakes_in_what_is_looked_at_afterwards_are_named() {
    let test = |keys: &str| format!("{}{keys}\n", tier(""));
    assert_refused([
        (
            tier("kill_at = \"40s\""),
            "experiment.toml:3: tiers.app.kill_at: the load is over after 30.0 s, before 40.0 s",
        ),
        (
            tier("stop_at = \"5s\"\ncontinue_at = \"40s\""),
            "experiment.toml:4: tiers.app.continue_at: the load is over after 30.0 s, before 40.0 s",
        ),
        (
            tier("continue_at = \"5s\""),
            "experiment.toml:3: tiers.app.continue_at: nothing was stopped; give `stop_at`, too",
        ),
        (
            tier("stop_at = \"5s\"\ncontinue_at = \"5s\""),
            "tiers.app.continue_at: 5.00 s is not after `stop_at`, which is 5.00 s",
        ),
        (
            tier("end_at = \"5s\"\nstop_at = \"6s\""),
            "tiers.app.stop_at: the tier has ended by then: `end_at` is 5.00 s",
        ),
        (tier("end_at = \"soon\""), "tiers.app.end_at: "),
        (
            test("stored = [\"a.b\"]"),
            "test.stored: `a.b` names no collection",
        ),
        (
            test("stored = [\"mongodb://${db.address}/a.b\"]"),
            "test.stored: variant `base` has no tier `db`",
        ),
        (
            test("backlog = [\"queue\"]"),
            "test.backlog: `queue` names no gauge",
        ),
        (
            test("drain_within = \"5s\""),
            "test.drain_within: nothing is waited for",
        ),
        (
            test("taken = [\"http://${app.address}/metrics#x\"]"),
            "test.taken: it is held against what is stored",
        ),
    ]);
    let text = test("stored = [\"mongodb://${app.address}/a.b\"]");
    let after = read(&text).unwrap().variants[0].test.after.clone().unwrap();
    assert_eq!(after.within, Nanos::from_secs(60));
}

/// Loads last whole seconds, and a fault that was near the end of one stays before it.
#[test]
fn a_fault_stays_within_a_load_that_is_made_shorter() {
    let text = r#"
[tiers.app]
embedded = "echo"
end_at = "9900ms"

[test]
url = "http://${app.address}/"
rate = "5/s"
duration = "10s"
"#;
    let mut short = read(text).unwrap().variants.remove(0);
    short.shorten(0.55);
    assert_eq!(short.test.load.duration(), Some(Nanos::from_secs(5)));
    let at = short.tiers[0].faults[0].at;
    assert_eq!(at.0 / 1_000_000, 4_950);
}

#[test]
fn a_workload_is_a_test_whose_variants_say_what_differs_in_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/database-scaling");
    let experiment = Experiment::load(&folder, false).unwrap();
    let shape = experiment.variant("20x10").unwrap();
    let Load::Workload { with, duration, .. } = &shape.test.load else {
        panic!("{:?}", shape.test.load);
    };
    assert!(
        with.contains("databases = 20") && with.contains("connections = 10"),
        "{with}"
    );
    assert_eq!(shape.changes, ["test.with.databases: 3 → 20"]);
    let mut short = shape.clone();
    short.shorten(0.5);
    assert_eq!(short.test.load.duration(), Some(Nanos(duration.0 / 2)));
    let shared = experiment.variant("3x20-shared").unwrap();
    assert_eq!(
        (shared.base.as_deref(), shared.changes.len()),
        (Some("3x20"), 1)
    );
    let text = std::fs::read_to_string(folder.join("experiment.toml")).unwrap();
    for (from, to, expected) in [
        (
            "duration = \"6s\"",
            "rate = \"5/s\"",
            "a workload says this itself",
        ),
        (
            "duration = \"6s\"",
            "url = \"http://h/\"",
            "only one of them",
        ),
        ("duration = \"6s\"", "duration = \"0s\"", "is zero"),
        (
            "workload = \"workload.toml\"",
            "workload = \"missing.toml\"",
            "there is no file",
        ),
        (
            "workload = \"workload.toml\"",
            "url = \"http://h/\"",
            "give `workload` with it",
        ),
        (
            "databases = 20,",
            "duration = 5, databases = 20,",
            "stands in [test]",
        ),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text, "{from}");
        let error = Experiment::parse("experiment.toml", &wrong, &folder)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    let error = experiment.scaled(0.5).unwrap_err().to_string();
    assert!(
        error.contains("cannot reach into a workload file"),
        "{error}"
    );
}
