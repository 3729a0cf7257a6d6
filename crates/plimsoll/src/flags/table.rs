//! Our own flags, a row for each; the options of scripts come from `plimsoll_core::scenario::OPTIONS`.

use std::net::IpAddr;

use plimsoll_core::scenario::Strictness;
use plimsoll_core::schedule::Arrivals;
use plimsoll_docdb::server::Scheduler;
use plimsoll_lab::serve::Cores;

use super::Flag;
use super::Group::{
    Client, Compared, Database, General, Guard as Guarded, Hidden, Load, Measured, Output, Script,
    Search, Sent, Service, Tiers, Verdict, Way,
};
use super::Verb::{
    Audit, Compare, Docdb, Doctor, Explain, Find, Guard, Inspect, Lab, Report, Run, Serve, Sweep,
};
use super::value::{
    address, body, connect_to, consistency, count, durability, figure, file, guard_listen, header,
    header_name, keys, length, limit_rule, listening, log_place, log_to, margin, mebibytes, mix,
    objectives, pairs, parsed, pause, ramp, rate, ratio, room, samples, scale, shards, size,
    small_count, steady, streams, text, time, timeout, upstream, variable, varied, watch, whole,
    workers,
};
use crate::args::{FailOn, Format, OverArg, StopOn};
use crate::script::console::LogFormat;

/// Wherever a workload is played.
const PLAYED: &[super::Verb] = &[Run, Find, Sweep];
const ONLY_WORKLOAD: &str = "it belongs to workloads on databases: docs/workload.md";
const SCRIPTS: &[super::Verb] = &[Run, Inspect];
/// Wherever a script is read.
const READ: &[super::Verb] = &[Run, Inspect, Sweep];

fn row(long: &'static str, group: super::Group, on: &'static [super::Verb]) -> Flag {
    Flag::new(long, group, on)
}

const FORMATS: &[(&str, Format, &str)] = &[
    ("text", Format::Text, ""),
    ("json", Format::Json, "the summary as one JSON document"),
    ("markdown", Format::Markdown, "a summary for a pull request"),
];
const LOG_FORMATS: &[(&str, LogFormat, &str)] = &[
    (
        "text",
        LogFormat::Text,
        "time, level and message as name=value",
    ),
    ("logfmt", LogFormat::Text, "the same"),
    ("json", LogFormat::Json, "an object on each line"),
    ("raw", LogFormat::Raw, "the message alone"),
];
const KINDS: &[(&str, (), &str)] = &[("js", (), "a script")];
const MODES: &[(&str, (), &str)] = &[
    ("extended", (), ""),
    ("base", (), ""),
    ("experimental_enhanced", (), ""),
];
const ARRIVALS: &[(&str, Arrivals, &str)] = &[
    ("uniform", Arrivals::Uniform, "equal gaps"),
    (
        "poisson",
        Arrivals::Poisson,
        "exponential gaps, as independent people make them",
    ),
];
const OVER: &[(&str, OverArg, &str)] = &[
    (
        "rate",
        OverArg::Rate,
        "arrivals per second: an open loop, as many people make it",
    ),
    (
        "vus",
        OverArg::Vus,
        "virtual users: each waits for its answers and thinks as the script says",
    ),
];
const VERDICTS: &[(&str, FailOn, &str)] = &[
    (
        "worse",
        FailOn::Worse,
        "4 when a variant is worse than the first",
    ),
    (
        "inconclusive",
        FailOn::Inconclusive,
        "the same, and 5 when that cannot be told",
    ),
    (
        "never",
        FailOn::Never,
        "0 whatever the verdict, as long as there is one",
    ),
];
const STOPS: &[(&str, StopOn, &str)] = &[
    (
        "unreachable",
        StopOn::Unreachable,
        "the target no longer answers",
    ),
    (
        "invalid",
        StopOn::Invalid,
        "that, or a run that is not valid",
    ),
    ("never", StopOn::Never, "nothing: every point is tried"),
];
const SCHEDULERS: &[(&str, Scheduler, &str)] = &[
    (
        "sharded",
        Scheduler::Sharded,
        "an executor per group of databases",
    ),
    (
        "per-database",
        Scheduler::PerDatabase,
        "a thread per database",
    ),
    ("shared", Scheduler::Shared, "a pool over one store"),
];

const SENT_BY_SCRIPT: &str = "a script sends its own requests: write it there";
const LOAD_OF_SCRIPT: &str = "a script sets its own load: write it in its options, or beside the script's name, such as 'shop.js --vus 10 --duration 30s'";
const NO_SCRIPT: &str = "a URL has no script that would read it";

const LIVE_PAGE: &str =
    "At http://127.0.0.1:5665; K6_WEB_DASHBOARD_HOST and K6_WEB_DASHBOARD_PORT name another place.";

/// In the order of the help within their groups: most used first.
#[rustfmt::skip]
pub(super) const OWN: fn() -> Vec<Flag> = || vec![
    // Load and objective.
    row("connections", Load, &[Run, Sweep]).short('c').one("COUNT", small_count, |a| &mut a.load.connections).default_words("16; with -q or --ramp as many as needed, up to 10,000")
        .url("a script's load is its virtual users: -u").help("Connections")
        .more("Without a rate each sends its next request when its last is answered."),
    row("duration", Load, &[Run, Sweep]).short('z').one("TIME", length, |a| &mut a.load.duration).default_words("10s without -n")
        .plain("for a script use -d").help("How long the load lasts"),
    row("rate", Load, &[Run, Sweep]).short('q').one("RATE", steady, |a| &mut a.load.rate).not_with(&["ramp"])
        .plain("a script says its arrival rate in its options: executor 'constant-arrival-rate'").help("Arrival rate: requests start on time, however long the answers take"),
    row("slo", Load, &[Run]).one("OBJECTIVES", objectives, |a| &mut a.slo).plain("a script has `thresholds` in its options").help("Objectives for a pass or fail: 'p99<250ms,errors<0.1%'"),
    row("requests", Load, &[Run, Sweep]).short('n').one("COUNT", count, |a| &mut a.load.requests).not_with(&["duration"]).plain("for a script use -i").help("How many requests, instead of how long"),
    row("ramp", Load, &[Run, Sweep]).one("FROM..TO", ramp, |a| &mut a.load.ramp).plain("for a script use -s").help("Arrival rate that rises or falls over -z: 100/s..2000/s"),
    row("arrivals", Load, &[Run, Sweep]).choice("PROCESS", ARRIVALS, |a| &mut a.load.arrivals).default("poisson").url("a scenario of a script says `arrivals`").help("Spacing of arrivals with -q or --ramp"),
    row("timeout", Load, &[Run, Sweep]).one("TIME", timeout, |a| &mut a.load.timeout).default("10s").url("a request of a script says `timeout`")
        .help("Longest wait for a complete answer").more("It counts from the intended start of the request."),
    // Of workloads.
    row("databases", Load, PLAYED).one("COUNT", small_count, |a| &mut a.workload.databases).workload(ONLY_WORKLOAD).default_words("1").help("Logical databases, each with documents, a pool and workers of its own"),
    row("connections", Load, PLAYED).short('c').one("COUNT", small_count, |a| &mut a.workload.connections).workload("").default_words("10").help("Connections of the pool of each database"),
    row("workers", Load, PLAYED).one("COUNT", small_count, |a| &mut a.workload.workers).workload("").default_words("as many as connections").help("Concurrent callers of each database")
        .more("Without a rate each starts its next operation when its last has ended; more than connections wait in the client for one."),
    row("mix", Load, PLAYED).one("SHARES", mix, |a| &mut a.workload.mix).workload(ONLY_WORKLOAD).default_words("read=40,insert=30,update=20,delete=10").help("Percent of each operation"),
    row("documents", Load, PLAYED).one("COUNT", parsed::<u32>("a count, such as 1000"), |a| &mut a.workload.documents).workload(ONLY_WORKLOAD).default_words("1000").help("Documents of each database before the load"),
    row("document-size", Load, PLAYED).one("SIZE", size, |a| &mut a.workload.document_bytes).workload(ONLY_WORKLOAD).default_words("1KiB").help("Size of a document"),
    row("keys", Load, PLAYED).one("NAME", keys, |a| &mut a.workload.keys).workload(ONLY_WORKLOAD).default_words("uniform").help("Which documents are asked for: uniform, zipf or latest")
        .more("zipf:0.99 and latest:0.99 give the exponent; latest wants those that were inserted last."),
    row("batch", Load, PLAYED).one("COUNT", small_count, |a| &mut a.workload.batch).workload(ONLY_WORKLOAD).default_words("1").help("Documents of one operation"),
    row("arrivals", Load, &[Run, Sweep]).choice("PROCESS", ARRIVALS, |a| &mut a.workload.load.arrivals).workload("").default_words("poisson").help("Spacing of arrivals with -q or --ramp"),
    row("timeout", Load, &[Run, Sweep]).one("TIME", timeout, |a| &mut a.workload.load.timeout).workload("").default_words("10s").help("Longest wait for an operation with all its tries")
        .more("It counts from the intended start of the operation."),
    row("try-timeout", Client, PLAYED).one("TIME", timeout, |a| &mut a.workload.client.try_timeout).workload(ONLY_WORKLOAD).default_words("as long as --timeout").help("Longest wait of one try"),
    row("pool-wait", Client, PLAYED).one("TIME", timeout, |a| &mut a.workload.client.pool_wait).workload(ONLY_WORKLOAD).default_words("as long as a try").help("Longest wait for a free connection of the pool"),
    row("retries", Client, PLAYED).one("COUNT", whole::<0, 100>, |a| &mut a.workload.client.retries).workload(ONLY_WORKLOAD).default_words("0").help("Further tries of an operation that failed and may be tried again"),
    row("per-connection", Client, PLAYED).one("COUNT", small_count, |a| &mut a.workload.client.per_connection).workload(ONLY_WORKLOAD).default_words("any number").help("CQL: operations at once on one connection"),
    row("consistency", Client, PLAYED).one("LEVEL", consistency, |a| &mut a.workload.consistency).workload(ONLY_WORKLOAD).default_words("local_quorum").help("CQL: how many copies must have answered before the store does")
        .more("One of one, two, three, quorum, all, local_quorum and local_one."),
    row("replicas", Client, PLAYED).one("COUNT", small_count, |a| &mut a.workload.replicas).workload(ONLY_WORKLOAD).default_words("1").help("CQL: copies that the store keeps of each document"),
    row("slo", Load, &[Sweep]).one("OBJECTIVES", objectives, |a| &mut a.slo).help("Objectives of goodput and of the capacity: 'p99<250ms,errors<0.1%'"),
    row("connections", Load, &[Find]).short('c').one("COUNT", small_count, |a| &mut a.load.connections).web("").help("Most connections to open; with a script, most virtual users"),
    row("rate", Load, &[Find]).short('q').one("RATE", rate, |a| &mut a.vary.only_per_s).help("Do not search, only say whether this arrival rate passes"),
    row("slo", Load, &[Find]).one("OBJECTIVES", objectives, |a| &mut a.slo).required().help("Objectives that the service must meet: 'p99<250ms,errors<0.1%'"),
    row("max-rate", Load, &[Find]).one("RATE", rate, |a| &mut a.vary.max_per_s).help("Never offer more than this rate"),
    row("arrivals", Load, &[Find]).choice("PROCESS", ARRIVALS, |a| &mut a.load.arrivals).default("poisson").help("Spacing of arrivals"),
    row("connections", Load, &[Compare]).short('c').one("COUNT", small_count, |a| &mut a.load.connections).web("").help("Connections")
        .more("Without a rate each sends its next request when its last is answered."),
    row("duration", Load, &[Compare]).short('z').one("TIME", length, |a| &mut a.load.duration).default_words("60s").not_with(&["find"]).url(LOAD_OF_SCRIPT).help("How long a run lasts, where its load is set"),
    row("rate", Load, &[Compare]).short('q').one("RATE", steady, |a| &mut a.load.rate).not_with(&["find"]).url(LOAD_OF_SCRIPT).help("The same arrival rate for all targets"),
    row("slo", Load, &[Compare]).one("OBJECTIVES", objectives, |a| &mut a.slo).live().help("Objectives of goodput and of the capacity: 'p99<250ms,errors<0.1%'"),
    row("arrivals", Load, &[Compare]).choice("PROCESS", ARRIVALS, |a| &mut a.load.arrivals).default("poisson").web("").help("Spacing of arrivals with a rate or --find"),
    row("timeout", Load, &[Compare]).one("TIME", timeout, |a| &mut a.load.timeout).default("10s").url(LOAD_OF_SCRIPT).help("Longest wait for a complete answer")
        .more("It counts from the intended start of the request."),

    // The search.
    row("within", Search, &[Find]).one("TIME", time, |a| &mut a.search.within).default("5m").help("Longest time for the whole search")
        .more("With less than 8m recovery is not probed, and with less than 4m nothing beyond the capacity is; less than 150s are \
               enough only to say whether -q passes."),
    row("goal-width", Search, &[Find]).one("RATIO", ratio, |a| &mut a.search.goal_width).default("5%").help("End the search when its bounds are so close to each other"),
    row("no-overshoot", Search, &[Find]).switch(|a| a.search.overshoot = false).help("Do not go beyond the capacity: no collapse, no recovery probe"),
    row("over", Search, &[Find]).choice("WHAT", OVER, |a| &mut a.vary.over)
        .default_words("rate").help("With a script: search over the arrival rate, or over virtual users"),
    row("vus", Search, &[Find]).one("COUNT", small_count, |a| &mut a.vary.only_vus).script("virtual users run a script; for a URL use -q").help("Do not search, only say whether so many virtual users pass"),
    row("scenario", Search, &[Find]).one("NAME", text, |a| &mut a.vary.scenario).script(NO_SCRIPT).help("The scenario whose function is run; the search replaces its load"),
    row("reuse", Search, &[Find]).one("RECORD", file, |a| &mut a.reuse).help("Take the self-check and the first level from an earlier search on this host"),
    row("yes", Search, &[Find]).switch(|a| a.yes = true).help("Do not ask before loading a target that is not on this host"),
    row("find", Search, &[Compare]).switch(|a| a.compare.find = true).live().help("In each run, find the highest rate that meets --slo, and compare those"),
    row("within", Search, &[Compare, Sweep]).one("TIME", time, |a| &mut a.search.within).default("3m").live().help("With --find: longest time for a run"),
    row("max-rate", Search, &[Compare, Sweep]).one("RATE", rate, |a| &mut a.vary.max_per_s).live().help("With --find: never offer more than this rate"),
    row("yes", Search, &[Compare, Sweep]).switch(|a| a.yes = true).live().help("With --find: do not ask before loading a target that is not on this host"),

    row("find", Search, &[Sweep]).switch(|a| a.sweep.find = true).help("At each point, find the highest rate that meets --slo"),

    // Which runs.
    row("vary", Compared, &[Sweep]).each("NAME=VALUES", varied, |a| &mut a.sweep.vary).required().help("A number of the test and its values, repeatable: connections=1,2,4,8")
        .more("A list, 1..64:x2 or 10..50:+10. NAME is a flag of plimsoll run that takes a value, such as connections, rate, streams, \
               timeout or workers; of a script vus and its other options, or env.NAME for a variable of its own."),
    row("repeat", Compared, &[Sweep]).one("COUNT", whole::<1, 100>, |a| &mut a.sweep.repeat).default("3").help("Runs of each point, in a drawn order; one has no interval"),
    row("before", Compared, &[Sweep]).one("COMMAND", text, |a| &mut a.sweep.before).help("Run this before each run, to bring the target back to its first state")
        .more("With sh -c; $PLIMSOLL_POINT says which point, such as connections=4. The run begins when the target answers."),
    row("stop-on", Compared, &[Sweep]).choice("WHAT", STOPS, |a| &mut a.sweep.stop_on).default("unreachable").help("What ends the sweep before its last point"),
    row("resume", Compared, &[Sweep]).switch(|a| a.sweep.resume = true).needs("out").help("Go on with the sweep in -o: play what has no record there"),
    row("pairs", Compared, &[Compare]).one("COUNT", pairs, |a| &mut a.compare.pairs).default_words("as many as can reach 5 %: 6 for two targets, 7 for three, 8 for four").live().help("Pairs of runs"),
    row("aa", Compared, &[Compare]).switch(|a| a.compare.aa = true).live().help("Compare one target with itself, to see how small a change shows here"),
    row("a", Compared, &[Compare]).several("RECORD", file, |a| &mut a.compare.a).needs("b").help("Saved runs of the variant that the other is compared with"),
    row("b", Compared, &[Compare]).several("RECORD", file, |a| &mut a.compare.b).needs("a").help("Saved runs of the variant that is judged"),
    row("paired", Compared, &[Compare]).switch(|a| a.compare.paired = true).needs("a").help("The runs are pairs: the n-th of --a was played beside the n-th of --b"),
    row("history", Compared, &[Compare]).several("RECORD", file, |a| &mut a.compare.history).not_with(&["a", "b"]).help("Saved runs of one target in order of time, to see when a figure changed"),

    // The verdict.
    row("primary", Verdict, &[Compare]).one("FIGURE", figure, |a| &mut a.compare.primary).default_words("capacity where it was searched, with --rate the objective's percentile or p99, else goodput")
        .help("The figure that decides: goodput, p99, failure_ratio …").more("It is not corrected for the figures beside it."),
    row("margin", Verdict, &[Compare]).one("RATIO", margin, |a| &mut a.compare.margin).default("5%").help("Changes smaller than this count as none"),
    row("fail-on", Verdict, &[Compare]).choice("WHEN", VERDICTS, |a| &mut a.compare.fail_on)
        .default("worse").help("Which verdict the exit code reports"),

    row("clients", Verdict, &[Sweep]).one("COUNT", small_count, |a| &mut a.sweep.clients).help("Processes that will share the target: then a pool size for each is advised"),
    row("server-timeout", Verdict, &[Sweep]).one("TIME", timeout, |a| &mut a.sweep.server_timeout).help("When the target gives up itself; the advised client timeout heeds it"),

    // What is sent.
    row("method", Sent, &[Run, Find, Compare, Sweep]).short('m').one("METHOD", text, |a| &mut a.request.method).default_words("GET; POST with -d or -F").url(SENT_BY_SCRIPT).help("Request method"),
    row("header", Sent, &[Run, Find, Compare, Sweep]).short('H').each("NAME: VALUE", header, |a| &mut a.request.headers).url(SENT_BY_SCRIPT).help("Header to send, repeatable: -H 'Accept: text/html'"),
    row("data", Sent, &[Run, Find, Compare, Sweep]).short('d').one("BODY", body, |a| &mut a.request.body).url(SENT_BY_SCRIPT).help("Body to send; @FILE reads a file, @- standard input")
        .more("Without a Content-Type of its own, JSON is sent as application/json, anything else as curl sends it: \
               application/x-www-form-urlencoded."),
    row("form", Sent, &[Run, Find, Compare, Sweep]).short('F').each("NAME=VALUE", text, |a| &mut a.request.form).not_with(&["data"]).url(SENT_BY_SCRIPT).help("A field of a form (multipart/form-data), repeatable: -F 'file=@photo.jpg'")
        .more("As with curl: name=value, name=<FILE for the text in a file, name=@FILE[;type=TYPE][;filename=NAME] for the file itself."),
    row("user", Sent, &[Run, Find, Compare, Sweep]).one("NAME:PASSWORD", text, |a| &mut a.request.user).url(SENT_BY_SCRIPT).help("Basic authentication"),
    row("rows", Sent, &[Run, Find, Compare, Sweep]).one("FILE", file, |a| &mut a.request.rows).url(SENT_BY_SCRIPT).help("A CSV file whose rows fill {{row.COLUMN}} in turn")
        .more("URL, headers and body may hold {{counter}}, the number of the request from 0, {{uuid}}, {{random:1..6}} and, with rows, \
               {{row.COLUMN}}."),
    row("no-templates", Sent, &[Run, Find, Compare, Sweep]).switch(|a| a.request.no_templates = true).not_with(&["rows"]).url(SENT_BY_SCRIPT).help("Send {{…}} as it stands"),
    row("redirects", Sent, &[Run, Find, Sweep]).one("COUNT", whole::<0, 50>, |a| &mut a.request.redirects).default("0").url("a request of a script says `redirects`").help("Follow so many redirects of a request")
        .more("Answers that lead elsewhere and are not followed count as failures (http_3xx). A redirect to a host that the first request \
               did not lead to is not followed."),
    row("no-preflight", Sent, &[Run, Find, Compare, Sweep]).switch(|a| a.request.no_preflight = true).url("a script is loaded without one").help("Send no request before the load")
        .more("Otherwise one is sent, so that a target which cannot work is named in words at once. The record keeps its answer, and no \
               figure counts it."),
    row("connect-to", Way, &[Run, Find, Compare, Sweep]).each("HOST1:PORT1:HOST2:PORT2", connect_to, |a| &mut a.request.connect_to).url("a script says `hosts` in its options").help("Connect to the second for the first, repeatable; as with curl"),
    row("unix-socket", Way, &[Run, Find, Compare, Sweep]).one("PATH", file, |a| &mut a.request.unix).not_with(&["connect-to"]).url("scripts connect to hosts").help("Connect to this Unix socket instead of the URL's host"),
    row("ipv4", Way, &[Run, Find, Compare, Sweep]).short('4').switch(|a| a.request.only_v4 = true).not_with(&["ipv6"]).url("a script says `dns` in its options").help("Only addresses of IPv4")
        .more("Of a name with several addresses, all that accept a connection are used in turn."),
    row("ipv6", Way, &[Run, Find, Compare, Sweep]).short('6').switch(|a| a.request.only_v6 = true).url("a script says `dns` in its options").help("Only addresses of IPv6"),
    row("cert", Way, &[Run, Find, Compare, Sweep]).one("FILE", file, |a| &mut a.request.cert).url("a script says `tlsAuth` in its options").help("The client's certificate (PEM), with its key unless --key names that"),
    row("key", Way, &[Run, Find, Compare, Sweep]).one("FILE", file, |a| &mut a.request.key).needs("cert").url("a script says `tlsAuth` in its options").help("The key of the client's certificate (PEM)"),
    row("cacert", Way, &[Run, Find, Compare, Sweep]).one("FILE", file, |a| &mut a.request.cacert).url("scripts trust the authorities of this host").help("Trust these authorities (PEM) and no others"),
    row("tls-resumption", Way, &[Run, Find, Compare, Sweep]).switch(|a| a.request.tls_resumption = true).url("scripts never resume sessions").help("Later connections resume the TLS session, as those of a browser do")
        .more("Without it each makes the whole handshake, as new clients do."),
    row("insecure", Way, &[Run, Sweep]).short('k').switch(|a| a.insecure = true).url("for a script use --insecure-skip-tls-verify").help("Do not verify the server's certificate"),
    row("insecure", Way, &[Find, Compare]).short('k').switch(|a| a.insecure = true).web("").help("Do not verify the server's certificate"),
    row("no-keepalive", Way, &[Run, Find, Compare, Sweep]).switch(|a| a.request.no_keepalive = true).url("a script says `noConnectionReuse` in its options").help("A new connection for every request"),
    row("h2", Way, &[Run, Find, Compare, Sweep]).switch(|a| a.request.h2 = true).url("a script speaks HTTP/2 where a server with https:// offers it").help("Speak HTTP/2")
        .more("It is chosen by ALPN with https://, by prior knowledge with http://."),
    row("streams", Way, &[Run, Find, Compare, Sweep]).one("COUNT", streams, |a| &mut a.request.streams).needs("h2").default_words("100; 1 without a rate or with --no-keepalive").url(SENT_BY_SCRIPT)
        .help("Requests at once on one connection of HTTP/2").more("Only as many as the server allows."),

    // How the script is read.
    row("env", Script, &[Run, Inspect, Find, Sweep]).short('e').each("NAME=VALUE", variable, |a| &mut a.script.env).script(NO_SCRIPT).help("A variable that the script finds in __ENV, repeatable"),
    row("env", Script, &[Compare]).short('e').each("NAME=VALUE", variable, |a| &mut a.script.env).script(NO_SCRIPT).help("With scripts: a variable that all of them find in __ENV, repeatable"),
    row("config", Script, READ).short('c').one("FILE", file, |a| &mut a.script.config).like_k6("K6_CONFIG").default_words("~/.config/k6/config.json, if it is there").script(NO_SCRIPT).help("Options as a JSON file"),
    row("include-system-env-vars", Script, &[Run, Inspect, Find, Sweep]).boolean(|a| &mut a.script.system_env).like_k6("K6_INCLUDE_SYSTEM_ENV_VARS").script(NO_SCRIPT).help("Give the script the variables of this process; not with inspect")
        .more("Scripts that are run have them unless this is false; for inspect it is the other way round."),
    row("lenient", Script, READ).switch(|_| ()).script(NO_SCRIPT).help("Only warn about misplaced options, as k6 does: what happens anyway"),
    row("strict", Script, READ).switch(|a| a.script.strictness = Strictness::Strict).script(NO_SCRIPT).not_with(&["lenient"]).help("Refuse what is only warned about: unknown and misplaced options"),
    row("type", Script, SCRIPTS).accepts("KIND", KINDS).like_k6("K6_TYPE").script(NO_SCRIPT).help("What the file is, whatever its name ends in"),
    row("compatibility-mode", Script, SCRIPTS).accepts("MODE", MODES).like_k6("K6_COMPATIBILITY_MODE").script(NO_SCRIPT).help("Accepted: the language is the same in each"),
    row("address", Script, SCRIPTS).short('a').one("HOST:PORT", text, |a| &mut a.summary.address).like_k6("K6_ADDRESS").script("--live serves a page").help("Accepted with a warning: there is no REST API"),
    row("execution-requirements", Script, &[Inspect]).switch(|a| a.summary.requirements = true).help("Add the scenarios that these options give, their length and most VUs"),

    // What is measured.
    row("watch", Measured, &[Run, Find, Compare, Sweep, Inspect]).each("[TIER=]WHAT", watch, |a| &mut a.watch).live().help("Sample a tier too: pid:N, port:N, name:TEXT …, repeatable")
        .more("pid:N, port:N, name:TEXT, nginx-log:FILE or metrics:URL, with TIER= in front to name it. The process behind a \
               target's port on this host is sampled without being named."),
    row("workers", Measured, &[Run, Find, Compare, Sweep, Inspect]).one("COUNT", workers, |a| &mut a.workers).default_words("half of the cores for a target on this host, else all").web("for a workload use --threads").help("Threads that make the load"),
    row("threads", Measured, PLAYED).one("COUNT", workers, |a| &mut a.workers).workload("for a URL or a script use --workers").default_words("half of the cores for a store on this host, else all; no more than databases").help("Threads that make the load; each has databases of its own"),
    row("seed", Measured, &[Run, Find, Compare, Sweep, Inspect]).one("NUMBER", parsed::<u64>("a number, such as 7"), |a| &mut a.seed).help("Seed of all randomness; kept in the record"),
    row("baseline", Measured, &[Audit]).one("FILE", file, |a| &mut a.audit.baseline).help("Another result of the same workload, to compare with")
        .more("Work per success and goodput are held against it."),
    row("declared-databases", Measured, &[Audit]).one("COUNT", parsed::<u64>("a count, such as 4"), |a| &mut a.audit.declared_databases).help("How many databases the test was meant to use"),
    row("declared-in-flight", Measured, &[Audit]).one("COUNT", parsed::<u64>("a count, such as 64"), |a| &mut a.audit.declared_in_flight).help("How many requests the test was meant to keep in flight"),
    row("declared-change", Measured, &[Audit]).each("WHAT", text, |a| &mut a.audit.declared_changes).help("What was changed since the baseline, repeatable")
        .more("Which of several changes made a difference cannot be told, so more than one is named."),

    row("check", Compared, &[Lab]).switch(|a| a.lab.check = true).not_with(&["dry-run"]).help("Only check the experiment and what it needs, and play nothing"),
    row("dry-run", Compared, &[Lab]).switch(|a| a.lab.dry_run = true).help("Only print what would be done, and the time it takes"),
    row("quick", Compared, &[Lab]).switch(|a| a.lab.quick = true).help("One run of each variant, in at most 8 minutes: a look, without an interval"),
    row("only", Compared, &[Lab]).each("VARIANT", text, |a| &mut a.lab.only).help("Play this variant only, repeatable"),
    row("repeat", Compared, &[Lab]).one("COUNT", whole::<1, 1000>, |a| &mut a.lab.repeat).not_with(&["quick"]).help("Runs of each variant, interleaved; instead of what the experiment says"),
    row("confirm", Compared, &[Lab]).switch(|a| a.lab.confirm = true).help("Afterwards confirm each suspected limit by an experiment of its own")
        .more("For each suspected limit that no variant moves, one more run moves that limit alone. If the system follows as predicted, \
               the limit is confirmed."),

    // The lab's tiers.
    row("real", Tiers, &[Lab]).switch(|a| a.lab.real = true).help("Play the experiment's real.toml: real servers instead of embedded tiers"),
    row("scale", Tiers, &[Lab]).one("FACTOR", scale, |a| &mut a.lab.scale).default("1").help("Multiply the load and the limits that tiers read, for small machines")
        .more("Above 0, at most 1. It multiplies virtual users, connections and rates of the load, and the limits that tiers read \
               as ${limits.NAME}."),

    // The database.
    row("data", Database, &[Docdb]).one("DIR", file, |a| &mut a.docdb.config.data).required().help("Keep the data in this folder, which is made if it is missing"),
    row("listen", Database, &[Docdb]).one("HOST:PORT", address, |a| &mut a.docdb.config.listen).default("127.0.0.1:27017").help("Listen here; port 0 takes a free one"),
    row("unix", Database, &[Docdb]).one("PATH", file, |a| &mut a.docdb.config.unix).help("Listen on this Unix socket too"),
    row("tls-cert", Database, &[Docdb]).one("FILE", file, |a| &mut a.docdb.tls_cert).help("Speak TLS with this certificate, a PEM file")
        .more("It holds the server's own certificate first, then those that signed it. Who speaks plainly is refused; the Unix socket stays as it is. `--tls-key` may be left out if the file holds the key too."),
    row("tls-key", Database, &[Docdb]).one("FILE", file, |a| &mut a.docdb.tls_key).help("The key of --tls-cert (PEM)"),
    row("durability", Database, &[Docdb]).one("WHEN", durability, |a| &mut a.docdb.config.durability).default("always").help("When a write is acknowledged")
        .more("`always` after it is on disk, `interval=50ms` at once, with a sync that often."),
    row("auth", Database, &[Docdb]).switch(|a| a.docdb.config.auth = true).help("Clients must log in (SCRAM-SHA-256); the first user is made from this host"),
    row("scheduler", Database, &[Docdb]).choice("NAME", SCHEDULERS, |a| &mut a.docdb.config.scheduler)
        .default("sharded").help("Who carries commands out"),
    row("shards", Database, &[Docdb]).one("COUNT", shards, |a| &mut a.docdb.config.shards).default_words("half of the cores").help("Executors of the sharded scheduler, fixed when the folder is made"),
    row("queue", Database, &[Docdb]).one("COUNT", room, |a| &mut a.docdb.config.queue).default("1000").help("Commands that may wait per database; more get an error that drivers retry"),
    row("connections", Database, &[Docdb]).one("COUNT", room, |a| &mut a.docdb.config.connections).default("20000").help("Connections at most"),
    row("cache", Database, &[Docdb]).one("MIB", mebibytes, |a| &mut a.docdb.config.cache_bytes).default("128").help("Memory for blocks of the data, in MiB"),
    row("memory", Database, &[Docdb]).one("MIB", mebibytes, |a| &mut a.docdb.config.memory_bytes).default("256").help("Memory for queries and clients, in MiB; large sorts go on on the disk"),
    row("slow-fsync", Database, &[Docdb]).one("TIME", pause, |a| &mut a.docdb.config.slow_fsync).help("Let each fsync take this much longer, to see what a slower disk would do"),

    // The guard.
    row("listen", Guarded, &[Guard]).one("PLACE", guard_listen, |a| &mut a.guard.listen).default_words("127.0.0.1:8080").help("Listen here for clients: HOST:PORT, :PORT or unix:/path")
        .more("`:PORT` is every address of this host. Port 0 takes a free one. Owner and group may connect to a Unix socket (mode 0660); one that was left behind is replaced."),
    row("tls-cert", Guarded, &[Guard]).each("FILE", file, |a| &mut a.guard.tls_cert).help("Speak TLS with this certificate, a PEM file; repeatable")
        .more("It holds the server's own certificate first, then those that signed it. Of several, each client is shown the one for the name it asks for, or the first. SIGHUP reads the files again."),
    row("tls-key", Guarded, &[Guard]).each("FILE", file, |a| &mut a.guard.tls_key).needs("tls-cert").help("The key of --tls-cert (PEM), one for each in the same order")
        .more("Left out where the files hold certificate and key."),
    row("no-http2", Guarded, &[Guard]).switch(|a| a.guard.no_http2 = true).help("Speak HTTP/1.1 only: no HTTP/2 by ALPN, none by prior knowledge"),
    row("upstream", Guarded, &[Guard]).each("URL", upstream, |a| &mut a.guard.upstreams).help("The service to protect, such as http://127.0.0.1:3000; repeatable")
        .more("Of several, and of a name with several addresses, the one whose limit is used least is next; each has a limit of its own, and whoever fails is left out for a while. https://HOST is verified; unix:/path is a socket of this host."),
    row("upstream-ca", Guarded, &[Guard]).one("FILE", file, |a| &mut a.guard.upstream_ca).help("Certificates (PEM) that vouch for https upstreams, in place of this host's"),
    row("stream-idle", Guarded, &[Guard]).one("TIME", pause, |a| &mut a.guard.stream_idle).default_words("1h").help("End a WebSocket, or a stream of events, in which nothing moved for so long"),
    row("access-log", Guarded, &[Guard]).one("FILE", log_to, |a| &mut a.guard.access_log).help("Write a line of JSON for each request here, - for standard output")
        .more("Values in a query are masked. SIGHUP and SIGUSR1 open the file again. A disk that is too slow costs lines, which are counted, and never requests."),
    row("config", Guarded, &[Guard]).one("FILE", file, |a| &mut a.guard.config).help("Read more from this file: several services, routes, classes, timeouts")
        .more("docs/guard.md has its keys. Flags go before it. SIGHUP reads it again: limits that were learned and connections stay."),
    row("check", Guarded, &[Guard]).switch(|a| a.guard.check = true).help("Check flags and file, print every value with its origin, and start nothing"),
    row("from", Guarded, &[Guard]).one("RECORD", file, |a| &mut a.guard.from).help("Begin where `plimsoll find` found the load line: its record")
        .more("The limit begins with the requests that were in flight there, and moves on from there by itself. Without --upstream the service of the record is protected."),
    row("shadow", Guarded, &[Guard]).switch(|a| a.guard.shadow = true).help("Refuse nobody: only count who would have been refused")
        .more("Metrics, /explain and the access log say it. As nothing is held back, the limit is learned from a service that is overloaded: take the counts as a first impression."),
    row("admin", Guarded, &[Guard]).one("HOST:PORT", listening, |a| &mut a.guard.admin).help("Answer /metrics (Prometheus), /ready and /explain here")
        .more("Readiness comes with a saturation of 0 to 100; explain says who holds the permits."),
    row("limit", Guarded, &[Guard]).one("RULE", limit_rule, |a| &mut a.guard.rule).default_words("half-load").help("What limits the requests in flight")
        .more("half-load needs no number; fixed:16, aimd, vegas, gradient2 and envoy are there to compare with."),
    row("class-header", Guarded, &[Guard]).one("NAME", header_name, |a| &mut a.guard.class_header).help("Header that says how important a request is")
        .more("It says critical, default, sheddable or background. Whoever can set it goes first: let what stands before the guard set it, or take it out. Each class but critical keeps a floor of the permits: 25, 10 and 5 %."),
    row("tenant-header", Guarded, &[Guard]).one("NAME", header_name, |a| &mut a.guard.tenant_header).help("Header that says whose request it is, instead of the client's address"),
    row("drain", Guarded, &[Guard]).one("TIME", pause, |a| &mut a.guard.drain).default_words("30s").help("After SIGTERM, how long requests under way may take"),

    // The embedded services.
    row("list", Service, &[Serve]).switch(|a| a.serve.list = true).help("Show every service with its parameters and the verdict it should get"),
    row("markdown", Service, &[Serve]).switch(|a| a.serve.markdown = true).needs("list").help("With --list: as Markdown, which is the page in the documentation"),
    row("healthy", Service, &[Serve]).switch(|a| a.serve.healthy = true).help("Start the healthy twin, whose limit lies elsewhere or is lifted"),
    row("seed", Service, &[Serve]).one("NUMBER", parsed::<u64>("a number, such as 7"), |a| &mut a.serve.seed).default("1").help("Draw the parameters from this number: each seed is another instance"),
    row("set", Service, &[Serve]).each("PARAMETER=VALUE", parsed("a parameter with its value"), |a| &mut a.serve.set).help("Give a parameter this value instead"),
    row("port", Service, &[Serve]).one("PORT", parsed::<u16>("a port"), |a| &mut a.serve.port).default("8080").help("Listen on this port; 0 takes a free one"),
    row("host", Service, &[Serve]).one("ADDRESS", parsed::<IpAddr>("an address, such as 127.0.0.1"), |a| &mut a.serve.host).default("127.0.0.1").help("Listen on this address"),
    row("cores", Service, &[Serve]).one("CORES", parsed::<Cores>("a list of cores"), |a| &mut a.serve.cores).help("Confine the service and its helpers to these cores: 1, 0,2 or 0-3"),
    row("upstream", Service, &[Serve]).each("HOST:PORT", parsed("an address and a port, such as 127.0.0.1:8080"), |a| &mut a.serve.upstream).help("Where a proxy forwards to, repeatable, or the service behind an application")
        .more("A proxy sends each request to the next of several."),
    row("log", Service, &[Serve]).one("FILE", file, |a| &mut a.serve.log).help("Write a proxy's timing log here"),
    row("dir", Service, &[Serve]).one("FOLDER", file, |a| &mut a.serve.dir).help("Keep files in this folder"),
    row("process-name", Hidden, &[Serve]).one("NAME", text, |a| &mut a.serve.process_name).help("Name of the process as the kernel shows it"),
    row("parent", Hidden, &[Serve]).one("PID", parsed::<u32>("the number of a process"), |a| &mut a.serve.parent).help("End when this process ends"),

    // Output.
    row("out", Output, &[Run]).short('o').one("FILE", file, |a| &mut a.output.out).not_with(&["no-record"]).default_words("plimsoll-DATE-TIME/run.plimsoll.jsonl")
        .plain("for a script use --record").help("Write the record here"),
    row("out", Output, &[Find]).short('o').one("FILE", file, |a| &mut a.output.out).not_with(&["no-record"]).default_words("plimsoll-DATE-TIME/run.plimsoll.jsonl")
        .help("Write the record here"),
    row("out", Output, SCRIPTS).short('o').each("KIND[=WHERE]", samples, |a| &mut a.script.outs).like_k6("K6_OUT").script("for a URL it is the file of the record").help("Write samples to json=FILE, csv=FILE …, repeatable")
        .more("json=FILE, csv=FILE, experimental-prometheus-rw[=URL] or web-dashboard."),
    row("record", Output, SCRIPTS).one("FILE", file, |a| &mut a.output.out).default_words("plimsoll-DATE-TIME/run.plimsoll.jsonl").script("for a URL use -o").help("Write the record here"),
    row("no-record", Output, &[Run, Find, Inspect]).switch(|a| a.output.no_record = true).help("Keep no record and write no report"),
    row("note", Output, &[Run]).one("TEXT", text, |a| &mut a.output.note).default("").plain("a script has its name in the report").help("A note on the set-up, for the report: 'proxy slots scaled down to 56'"),
    row("note", Output, &[Find]).one("TEXT", text, |a| &mut a.output.note).default("").help("A note on the set-up, for the report: 'proxy slots scaled down to 56'"),
    row("hlog", Output, &[Run, Find, Inspect]).one("FILE", file, |a| &mut a.output.hlog).help("Write the response times as a histogram log, too")
        .more("For a URL the service times, too."),
    row("format", Output, &[Run]).choice("FORMAT", FORMATS, |a| &mut a.output.format).default("text").plain("a script's summary goes to files: --summary-export, --markdown, --junit").help("What is printed on stdout"),
    row("format", Output, &[Find, Explain, Audit, Compare, Sweep, Doctor]).choice("FORMAT", FORMATS, |a| &mut a.output.format).default("text").help("What is printed on stdout"),
    row("format", Output, &[Lab]).choice("FORMAT", FORMATS, |a| &mut a.lab.format).default("text").help("What is printed on stdout"),
    row("csv", Output, &[Run]).one("FILE", file, |a| &mut a.request.csv).url("for a script use --out csv=FILE").help("Write every request by itself, too: start, times, outcome, status, bytes"),
    row("junit", Output, SCRIPTS).one("FILE", file, |a| &mut a.summary.junit).script("thresholds belong to scripts; for a URL use --format json").help("Write the thresholds as JUnit test cases"),
    row("markdown", Output, SCRIPTS).one("FILE", file, |a| &mut a.summary.markdown).script("for a URL use --format markdown").help("Write the summary as Markdown; also goes to $GITHUB_STEP_SUMMARY"),
    row("new-machine-readable-summary", Output, SCRIPTS).switch(|a| a.script.machine_readable = true).like_k6("K6_NEW_MACHINE_READABLE_SUMMARY").script("for a URL use --format json").help("Give exports and handleSummary the newer form of the summary"),
    row("out", Output, &[Compare]).short('o').one("DIR", file, |a| &mut a.output.out).default_words("plimsoll-compare-DATE-TIME").live().help("Keep the records in this folder"),
    row("report", Output, &[Compare]).one("FILE", file, |a| &mut a.compare.report).default_words("live runs: report.html beside the records").help("Write the page with the variants side by side here"),
    row("out", Output, &[Sweep]).short('o').one("DIR", file, |a| &mut a.output.out).default_words("plimsoll-sweep-DATE-TIME").help("Keep the records and the report in this folder"),
    row("out", Output, &[Report]).short('o').one("FILE", file, |a| &mut a.output.out).default_words("report.html, in the folder if one is named, else in this one").help("Write the page here"),
    row("out", Output, &[Lab]).short('o').one("FOLDER", file, |a| &mut a.lab.out).default_words("plimsoll-lab-DATE-TIME").help("Keep records, reports and logs in this new folder"),
    row("force", Output, &[Run, Find, Compare, Report, Inspect]).switch(|a| a.output.force = true).help("Write over files that are there already; without it they are refused"),
    row("show-secrets", Output, &[Run, Find, Sweep]).switch(|a| a.output.show_secrets = true).live().help("Keep secrets in the record as they are")
        .more("Without it values of headers such as Authorization, Cookie and X-Api-Key, values in URLs and bodies are kept as their \
               length and a digest, in the record, the report and the live page."),
    row("live", Output, &[Run, Find, Compare, Sweep, Inspect]).switch(|a| a.output.live = true).live().help("Serve a page that shows the run while it runs")
        .more(LIVE_PAGE),
    row("live", Output, &[Lab]).switch(|a| a.lab.live = true).help("Serve a page that shows each run while it runs")
        .more(LIVE_PAGE),
    row("verbose", Output, SCRIPTS).short('v').switch(|a| a.summary.verbose = true).script("a URL has no script that could log").help("Show what scripts say by console.debug, too"),
    row("log-output", Output, SCRIPTS).one("WHERE", log_place, |a| &mut a.summary.logging.place).like_k6("K6_LOG_OUTPUT").default_words("stderr").script("a URL has no script that could log").help("Where the log goes: stderr, stdout, none or file=PATH[,level=info]"),
    row("log-format", Output, SCRIPTS).choice("FORMAT", LOG_FORMATS, |a| &mut a.summary.logging.format).like_k6("K6_LOG_FORMAT").default_words("text").script("a URL has no script that could log").help("How a line of the log is written"),
    row("no-color", Output, &[Run, Find, Compare, Sweep, Inspect]).switch(|a| a.output.no_color = true).like_k6("K6_NO_COLOR").help("No colours, as with NO_COLOR"),
    row("quiet", Output, &[Run]).switch(|a| a.output.quiet = true).plain("").help("Print no progress on stderr"),
    row("quiet", Output, SCRIPTS).short('q').switch(|a| a.output.quiet = true).script("").help("Print no progress on stderr"),
    row("quiet", Output, &[Find, Compare, Sweep]).switch(|a| a.output.quiet = true).help("Print no progress on stderr"),
    row("quiet", Output, &[Lab]).switch(|a| a.lab.quiet = true).help("Print no progress on stderr"),

    row("explain-config", General, &[Run, Find, Inspect, Explain, Audit, Compare, Sweep, Report, Doctor, Lab, Docdb, Serve])
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
