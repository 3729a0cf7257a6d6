//! Our own flags, a row for each; the options of scripts come from `plimsoll_core::scenario::OPTIONS`.

use super::Group::{
    Compared, Database, General, Hidden, Load, Measured, Objectives, Output, Script, Search, Sent,
    Service,
};
use super::Takes::{Choice, Several};
use super::Verb::{Audit, Compare, Docdb, Doctor, Explain, Find, Inspect, Lab, Report, Run, Serve};
use super::{Flag, Takes, Verb};

const SCRIPTS: &[Verb] = &[Run, Inspect];

const fn row(long: &'static str, group: super::Group, on: &'static [Verb]) -> Flag {
    Flag::new(long, group, on)
}

const FORMATS: Takes = Choice(
    "FORMAT",
    &[
        ("text", ""),
        ("json", "the summary as one JSON document"),
        ("markdown", "a summary for a pull request"),
    ],
);
const ARRIVALS: Takes = Choice(
    "PROCESS",
    &[
        ("uniform", "equal gaps"),
        (
            "poisson",
            "exponential gaps, as independent people make them",
        ),
    ],
);

const SENT_BY_SCRIPT: &str = "a script sends its own requests: say it there";
const NO_SCRIPT: &str = "a URL has no script that would read it";

/// In the order of the help within their groups: most used first.
#[rustfmt::skip]
pub(super) const OWN: &[Flag] = &[
    // How much load.
    row("connections", Load, &[Run]).short('c').one("COUNT").default_words("16; with -q or --ramp as many as needed, up to 10,000")
        .url("a script's load is its virtual users: -u").help("Connections")
        .more("Without a rate each sends its next request when its last is answered."),
    row("duration", Load, &[Run]).short('z').one("TIME").default_words("10s without -n")
        .url("for a script use -d").help("How long"),
    row("rate", Load, &[Run]).short('q').one("RATE").not_with(&["ramp"])
        .url("a script says its arrival rate in its options: executor 'constant-arrival-rate'").help("Arrival rate, whatever the answers take"),
    row("requests", Load, &[Run]).short('n').one("COUNT").url("for a script use -i").help("How many requests, instead of how long"),
    row("ramp", Load, &[Run]).one("FROM..TO").url("for a script use -s").help("Arrival rate that rises or falls over -z: 100/s..2000/s"),
    row("arrivals", Load, &[Run]).takes(ARRIVALS).default("poisson").url("a scenario of a script says `arrivals`").help("Spacing of arrivals with -q or --ramp"),
    row("timeout", Load, &[Run]).one("TIME").default("10s").url("a request of a script says `timeout`")
        .help("Longest wait for a complete answer").more("It counts from the intended start of the request."),

    // What is searched for.
    row("slo", Search, &[Find]).one("OBJECTIVES").required().help("What the service must keep: 'p99<250ms,errors<0.1%'"),
    row("rate", Search, &[Find]).short('q').one("RATE").help("Only say whether this arrival rate passes"),
    row("within", Search, &[Find]).one("TIME").default("12m").help("Time for everything")
        .more("Below 8m without the recovery probe, below 4m without overshoot; below 150s only whether -q passes."),
    row("connections", Search, &[Find]).short('c').one("COUNT").help("Most connections to open; with a script, most virtual users"),
    row("max-rate", Search, &[Find]).one("RATE").help("Never offer more than this rate"),
    row("goal-width", Search, &[Find]).one("RATIO").default("5%").help("How close the bounds must come"),
    row("no-overshoot", Search, &[Find]).help("Do not go beyond the capacity: no collapse, no recovery probe"),
    row("over", Search, &[Find]).takes(Choice("WHAT", &[
            ("rate", "arrivals per second: an open loop, as many people make it"),
            ("vus", "virtual users: each waits for its answers and thinks as the script says"),
        ])).default_words("rate").help("With a script: search over the arrival rate, or over virtual users"),
    row("vus", Search, &[Find]).one("COUNT").script("virtual users run a script; for a URL use -q").help("Only say whether so many virtual users pass"),
    row("scenario", Search, &[Find]).one("NAME").script(NO_SCRIPT).help("The scenario whose function is run; the search replaces its load"),
    row("arrivals", Search, &[Find]).takes(ARRIVALS).default("poisson").help("Spacing of arrivals"),
    row("reuse", Search, &[Find]).one("RECORD").help("Take self-check and anchor from an earlier search on this host"),
    row("yes", Search, &[Find]).help("Do not ask before loading a target that is not on this host"),

    // What is compared.
    row("rate", Compared, &[Compare]).short('q').one("RATE").help("The same arrival rate for all targets"),
    row("connections", Compared, &[Compare]).short('c').one("COUNT").help("Connections")
        .more("Without a rate each sends its next request when its last is answered."),
    row("duration", Compared, &[Compare]).short('z').one("TIME").default_words("60s").help("Length of a run at a set load"),
    row("pairs", Compared, &[Compare]).one("COUNT").default_words("as many as can reach 5 %: 6 for two targets, 7 for three, 8 for four").help("Pairs of runs"),
    row("find", Compared, &[Compare]).help("In each run, find the highest rate that meets --slo, and compare those"),
    row("within", Compared, &[Compare]).one("TIME").default("3m").help("Length of a run with --find"),
    row("max-rate", Compared, &[Compare]).one("RATE").help("With --find: never offer more than this rate"),
    row("aa", Compared, &[Compare]).help("Play one target against itself: how small a change shows here?"),
    row("a", Compared, &[Compare]).takes(Several("RECORD")).needs("b").help("Saved runs of the variant to beat"),
    row("b", Compared, &[Compare]).takes(Several("RECORD")).needs("a").help("Saved runs of the variant that is judged"),
    row("paired", Compared, &[Compare]).needs("a").help("The n-th run of --a was played beside the n-th of --b"),
    row("history", Compared, &[Compare]).takes(Several("RECORD")).not_with(&["a", "b"]).help("Saved runs of one target over time: where did a figure change?"),
    row("arrivals", Compared, &[Compare]).takes(ARRIVALS).default("poisson").help("Spacing of arrivals with a rate or --find"),
    row("timeout", Compared, &[Compare]).one("TIME").default("10s").help("Longest wait for a complete answer")
        .more("It counts from the intended start of the request."),
    row("yes", Compared, &[Compare]).help("With --find: do not ask before loading a target that is not on this host"),

    // Objectives.
    row("slo", Objectives, &[Run]).one("OBJECTIVES").url("a script has `thresholds` in its options").help("Objectives for a pass or fail: 'p99<250ms,errors<0.1%'"),
    row("slo", Objectives, &[Compare]).one("OBJECTIVES").help("What goodput and capacity are within: 'p99<250ms,errors<0.1%'"),
    row("primary", Objectives, &[Compare]).one("FIGURE").default_words("capacity where it was searched, else goodput")
        .help("The figure that decides: goodput, p99, failure_ratio …").more("It is not corrected for the figures beside it."),
    row("margin", Objectives, &[Compare]).one("RATIO").default("5%").help("Changes smaller than this count as none"),
    row("fail-on", Objectives, &[Compare]).takes(Choice("WHEN", &[
            ("worse", "4 when a variant is worse than the first"),
            ("inconclusive", "the same, and 5 when that cannot be told"),
            ("never", "0 whatever the verdict, as long as there is one"),
        ])).default("worse").help("Which verdict the exit code reports"),

    // What is sent.
    row("method", Sent, &[Run, Find]).short('m').one("METHOD").default("GET").url(SENT_BY_SCRIPT).help("Request method"),
    row("header", Sent, &[Run, Find]).short('H').each("NAME: VALUE").url(SENT_BY_SCRIPT).help("Header to send, repeatable: -H 'Accept: text/html'"),
    row("data", Sent, &[Run, Find]).short('d').one("BODY").url(SENT_BY_SCRIPT).help("Body to send; @FILE reads a file")
        .more("With a body the method becomes POST unless -m says otherwise."),
    row("insecure", Sent, &[Run]).short('k').url("for a script use --insecure-skip-tls-verify").help("Do not verify the server's certificate"),
    row("insecure", Sent, &[Find, Compare]).short('k').help("Do not verify the server's certificate"),
    row("no-keepalive", Sent, &[Run, Find]).url("a script says `noConnectionReuse` in its options").help("A new connection for every request"),
    row("h2", Sent, &[Run, Find]).url("a script speaks HTTP/2 where a server with https:// offers it").help("Speak HTTP/2")
        .more("It is chosen by ALPN with https://, by prior knowledge with http://."),
    row("streams", Sent, &[Run, Find]).one("COUNT").needs("h2").default_words("100; 1 without a rate").url(SENT_BY_SCRIPT)
        .help("Requests at once on one connection of HTTP/2").more("Only as many as the server allows."),
    row("method", Sent, &[Compare]).short('m').one("METHOD").default("GET").help("Request method"),
    row("header", Sent, &[Compare]).short('H').each("NAME: VALUE").help("Header to send, repeatable: -H 'Accept: text/html'"),
    row("data", Sent, &[Compare]).short('d').one("BODY").help("Body to send; @FILE reads a file")
        .more("With a body the method becomes POST unless -m says otherwise."),
    row("no-keepalive", Sent, &[Compare]).help("A new connection for every request"),
    row("h2", Sent, &[Compare]).help("Speak HTTP/2").more("It is chosen by ALPN with https://, by prior knowledge with http://."),
    row("streams", Sent, &[Compare]).one("COUNT").needs("h2").default_words("100; 1 without a rate")
        .help("Requests at once on one connection of HTTP/2").more("Only as many as the server allows."),

    // How the script is read.
    row("env", Script, SCRIPTS).short('e').each("NAME=VALUE").script(NO_SCRIPT).help("A variable that the script finds in __ENV, repeatable"),
    row("env", Script, &[Find]).short('e').each("NAME=VALUE").script(NO_SCRIPT).help("A variable that the script finds in __ENV, repeatable"),
    row("env", Script, &[Compare]).short('e').each("NAME=VALUE").help("With scripts: a variable that all of them find in __ENV, repeatable"),
    row("config", Script, SCRIPTS).short('c').one("FILE").script(NO_SCRIPT).help("Options as a JSON file"),
    row("include-system-env-vars", Script, SCRIPTS).script(NO_SCRIPT).help("Give the script the variables of this process, too"),
    row("lenient", Script, SCRIPTS).script(NO_SCRIPT).help("Only warn about misplaced options, as k6 does"),
    row("strict", Script, SCRIPTS).script(NO_SCRIPT).not_with(&["lenient"]).help("Refuse unknown options"),
    row("execution-requirements", Script, &[Inspect]).help("Add the scenarios that follow, the longest duration and the most VUs"),

    // What is measured.
    row("watch", Measured, &[Run, Find, Compare, Inspect]).each("[TIER=]WHAT").help("Sample a tier too: pid:N, port:N, name:TEXT …, repeatable")
        .more("pid:N, port:N, name:TEXT, nginx-log:FILE or metrics:URL, with TIER= in front to name it. The process behind a \
               target's port on this host is sampled without being named."),
    row("workers", Measured, &[Run, Find, Compare, Inspect]).one("COUNT").default_words("half of the cores for a target on this host, else all").help("Load threads"),
    row("seed", Measured, &[Run, Find, Compare, Inspect]).one("NUMBER").help("Seed of all randomness; kept in the record"),
    row("baseline", Measured, &[Audit]).one("FILE").help("Another result of the same workload, to compare with")
        .more("Work per success and goodput are held against it."),
    row("declared-databases", Measured, &[Audit]).one("COUNT").help("How many databases the test is said to have used"),
    row("declared-in-flight", Measured, &[Audit]).one("COUNT").help("How many requests at once the test is said to have kept"),

    // The lab.
    row("check", Compared, &[Lab]).not_with(&["dry-run"]).help("Only say whether everything is in order"),
    row("dry-run", Compared, &[Lab]).help("Only print what would be done, and the time it takes"),
    row("quick", Compared, &[Lab]).help("One run of each variant, in at most 8 minutes: a look, without an interval"),
    row("only", Compared, &[Lab]).each("VARIANT").help("Play this variant only, repeatable"),
    row("repeat", Compared, &[Lab]).one("COUNT").not_with(&["quick"]).help("Runs of each variant, interleaved; instead of what the experiment says"),
    row("confirm", Compared, &[Lab]).help("Then confirm suspected limits by an experiment each")
        .more("Each suspected limit that no variant moves is moved alone, in one run more, to see whether the system follows as \
               predicted: only that makes a limit confirmed."),
    row("real", Compared, &[Lab]).help("Play the experiment's real.toml: real servers instead of embedded tiers"),
    row("scale", Compared, &[Lab]).one("FACTOR").default("1").help("Multiply the load and the limits that tiers read, for small machines")
        .more("Above 0, at most 1. It multiplies virtual users, connections and rates of the load, and the limits that tiers read \
               as ${limits.NAME}."),

    // The database.
    row("data", Database, &[Docdb]).one("DIR").required().help("Keep the data in this folder, which is made if it is missing"),
    row("listen", Database, &[Docdb]).one("HOST:PORT").default("127.0.0.1:27017").help("Listen here; port 0 takes a free one"),
    row("unix", Database, &[Docdb]).one("PATH").help("Listen on this Unix socket too"),
    row("durability", Database, &[Docdb]).one("WHEN").default("always").help("When a write is acknowledged")
        .more("`always` after it is on disk, `interval=50ms` at once, with a sync that often."),
    row("auth", Database, &[Docdb]).help("Clients must log in (SCRAM-SHA-256); the first user is made from this host"),
    row("scheduler", Database, &[Docdb]).takes(Choice("NAME", &[
            ("sharded", "an executor per group of databases"),
            ("per-database", "a thread per database"),
            ("shared", "a pool over one store"),
        ])).default("sharded").help("Who carries commands out"),
    row("shards", Database, &[Docdb]).one("COUNT").default_words("half of the cores").help("Executors of the sharded scheduler, fixed when the folder is made"),
    row("queue", Database, &[Docdb]).one("COUNT").default("1000").help("Commands that may wait per database; more get an error that drivers retry"),
    row("connections", Database, &[Docdb]).one("COUNT").default("20000").help("Connections at most"),
    row("cache", Database, &[Docdb]).one("MIB").default("128").help("Memory for blocks of the data, in MiB"),
    row("slow-fsync", Database, &[Docdb]).one("TIME").help("Let each fsync take this much longer, to see what a slower disk would do"),

    // The embedded services.
    row("list", Service, &[Serve]).help("Show every service with its parameters and the verdict it should get"),
    row("markdown", Service, &[Serve]).needs("list").help("With --list: as the page in the documentation"),
    row("healthy", Service, &[Serve]).help("Start the healthy twin, whose limit lies elsewhere or is lifted"),
    row("seed", Service, &[Serve]).one("NUMBER").default("1").help("Draw the parameters from this number: each seed is another instance"),
    row("set", Service, &[Serve]).each("PARAMETER=VALUE").help("Give a parameter this value instead"),
    row("port", Service, &[Serve]).one("PORT").default("8080").help("Listen on this port; 0 takes a free one"),
    row("host", Service, &[Serve]).one("ADDRESS").default("127.0.0.1").help("Listen on this address"),
    row("cores", Service, &[Serve]).one("CORES").help("Confine the service and its helpers to these cores: 1, 0,2 or 0-3"),
    row("upstream", Service, &[Serve]).each("HOST:PORT").help("Where a proxy forwards to, repeatable, or the service behind an application")
        .more("A proxy sends each request to the next of several."),
    row("log", Service, &[Serve]).one("FILE").help("Write a proxy's timing log here"),
    row("dir", Service, &[Serve]).one("FOLDER").help("Keep files in this folder"),
    row("process-name", Hidden, &[Serve]).one("NAME").help("Name of the process as the kernel shows it"),
    row("parent", Hidden, &[Serve]).one("PID").help("End when this process ends"),

    // Output.
    row("out", Output, &[Run]).short('o').one("FILE").not_with(&["no-record"]).default_words("plimsoll-DATE-TIME/run.plimsoll.jsonl")
        .url("for a script use --record").help("Write the record here"),
    row("out", Output, &[Find]).short('o').one("FILE").not_with(&["no-record"]).default_words("plimsoll-DATE-TIME/run.plimsoll.jsonl")
        .help("Write the record here"),
    row("out", Output, SCRIPTS).short('o').each("KIND[=WHERE]").script("for a URL it is the file of the record").help("Samples to json=FILE, csv=FILE …, repeatable")
        .more("json=FILE, csv=FILE, experimental-prometheus-rw[=URL] or web-dashboard."),
    row("record", Output, SCRIPTS).one("FILE").default_words("plimsoll-DATE-TIME/run.plimsoll.jsonl").script("for a URL use -o").help("Write the record here"),
    row("no-record", Output, &[Run, Find, Inspect]).help("Keep no record and write no report"),
    row("note", Output, &[Run]).one("TEXT").default("").url("a script has its name in the report").help("What the report says of the set-up: 'proxy slots scaled down to 56'"),
    row("note", Output, &[Find]).one("TEXT").default("").help("What the report says of the set-up: 'proxy slots scaled down to 56'"),
    row("hlog", Output, &[Run, Find, Inspect]).one("FILE").help("Write the response times as a histogram log, too")
        .more("For a URL the service times, too."),
    row("format", Output, &[Run]).takes(FORMATS).default("text").url("a script's summary goes to files: --summary-export, --markdown, --junit").help("What stdout gets"),
    row("format", Output, &[Find, Explain, Audit, Compare, Doctor, Lab]).takes(FORMATS).default("text").help("What stdout gets"),
    row("junit", Output, SCRIPTS).one("FILE").script("thresholds belong to scripts; for a URL use --format json").help("Write the thresholds as JUnit test cases"),
    row("markdown", Output, SCRIPTS).one("FILE").script("for a URL use --format markdown").help("Write the summary as Markdown; also goes to $GITHUB_STEP_SUMMARY"),
    row("new-machine-readable-summary", Output, SCRIPTS).script("for a URL use --format json").help("Give exports and handleSummary the newer shape"),
    row("out", Output, &[Compare]).short('o').one("DIR").default_words("plimsoll-compare-DATE-TIME").help("Keep the records in this folder"),
    row("report", Output, &[Compare]).one("FILE").default_words("live runs: report.html beside the records").help("Write the page with the variants side by side here"),
    row("out", Output, &[Report]).short('o').one("FILE").default_words("report.html, in the folder if one is named, else in this one").help("Write the page here"),
    row("out", Output, &[Lab]).short('o').one("FOLDER").default_words("plimsoll-lab-DATE-TIME").help("Keep records, reports and logs in this new folder"),
    row("verbose", Output, SCRIPTS).short('v').script("a URL has no script that could log").help("Show what scripts say by console.debug, too"),
    row("quiet", Output, &[Run]).url("").help("No progress on stderr"),
    row("quiet", Output, SCRIPTS).short('q').script("").help("No progress on stderr"),
    row("quiet", Output, &[Find, Compare, Lab]).help("No progress on stderr"),

    row("explain-config", General, &[Run, Find, Inspect, Explain, Audit, Compare, Report, Doctor, Lab, Docdb, Serve])
        .help("Print every value with its origin, and do nothing else"),
];

/// What one does for a URL instead of giving this option of scripts.
pub(super) fn instead_of(option: &str) -> &'static str {
    match option {
        "vus" => "for a URL use -c",
        "duration" => "for a URL use -z",
        "iterations" => "for a URL use -n",
        "stage" => "for a URL use --ramp",
        "rps" => "for a URL use -q",
        "user-agent" => "for a URL use -H 'User-Agent: …'",
        "insecure-skip-tls-verify" => "for a URL use -k",
        "no-connection-reuse" | "no-vu-connection-reuse" => "for a URL use --no-keepalive",
        "no-thresholds" => "for a URL leave --slo out",
        "summary-export" | "summary-mode" => "for a URL use --format",
        _ => "a URL has no options of k6; write the request as a script",
    }
}
