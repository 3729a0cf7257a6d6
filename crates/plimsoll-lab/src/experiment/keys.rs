//! Every key of an experiment file with its kind and meaning: the one table behind the check of unknown keys and the page.

mod check;

pub(super) use check::check;

/// Where keys stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Top,
    Tier,
    Variant,
    Test,
    Stage,
    Objectives,
    Repeat,
}

impl Section {
    /// As the file writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Top => "the top of the file",
            Self::Tier => "[tiers.NAME]",
            Self::Variant => "[variants.NAME]",
            Self::Test => "[test]",
            Self::Stage => "stages of [test]",
            Self::Objectives => "[objectives]",
            Self::Repeat => "[repeat]",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub section: Section,
    pub name: &'static str,
    pub example: &'static str,
    pub about: &'static str,
}

const fn key(
    section: Section,
    name: &'static str,
    example: &'static str,
    about: &'static str,
) -> Key {
    Key {
        section,
        name,
        example,
        about,
    }
}

pub const KEYS: &[Key] = &[
    key(
        Section::Top,
        "title",
        "\"Two servers or one\"",
        "one line for tables and reports; the folder's name unless given",
    ),
    key(
        Section::Top,
        "tiers",
        "[tiers.app]",
        "a tier, in a table of its own",
    ),
    key(
        Section::Top,
        "variants",
        "[variants.A]",
        "what is compared, in the order of the file; without any there is one, `base`",
    ),
    key(
        Section::Top,
        "test",
        "[test]",
        "the load, the same for every variant",
    ),
    key(
        Section::Top,
        "objectives",
        "[objectives]",
        "what the service must keep",
    ),
    key(
        Section::Top,
        "repeat",
        "[repeat]",
        "how often each variant is run",
    ),
    key(
        Section::Top,
        "quick",
        "[\"A\", \"2A\"]",
        "the variants that `--quick` plays; all unless given",
    ),
    key(
        Section::Tier,
        "command",
        "\"node\"",
        "program to start: on the PATH, or with a `/` a path from the file's folder",
    ),
    key(
        Section::Tier,
        "embedded",
        "\"shop-app\"",
        "an embedded service instead of a command: a name of `plimsoll serve --list`, or `docdb`",
    ),
    key(
        Section::Tier,
        "set",
        "{ slots = \"${limits.slots}\" }",
        "parameters of the embedded service: numbers, or limits of the tier",
    ),
    key(
        Section::Tier,
        "args",
        "[\"--upstream\", \"${app.address}\"]",
        "arguments, with placeholders",
    ),
    key(
        Section::Tier,
        "instances",
        "2",
        "how many processes of it are started; 1 unless given",
    ),
    key(
        Section::Tier,
        "cpu",
        "0.5",
        "cores that each instance may use; without it the tier is not confined",
    ),
    key(
        Section::Tier,
        "memory",
        "\"256MiB\"",
        "memory that each instance may use; needs a writable control group",
    ),
    key(
        Section::Tier,
        "port",
        "8080",
        "a fixed port of the first instance, the next ones follow; a free one unless given",
    ),
    key(
        Section::Tier,
        "ready",
        "\"http /health\"",
        "`tcp` (a connection is accepted, and an embedded service says that it listens), `http PATH` (an answer of 200 to 399) or `line TEXT` (its output has it); `tcp` unless given",
    ),
    key(
        Section::Tier,
        "ready_within",
        "\"30s\"",
        "longest wait for that; 30s unless given",
    ),
    key(
        Section::Tier,
        "env",
        "{ PORT = \"${port}\" }",
        "environment, besides that of plimsoll, with placeholders",
    ),
    key(
        Section::Tier,
        "files",
        "{ \"nginx.conf\" = \"real/nginx.conf\" }",
        "files put into `${dir}` before the start, their placeholders filled",
    ),
    key(
        Section::Tier,
        "needs",
        "[\"db\"]",
        "tiers that must be ready first, besides those in placeholders",
    ),
    key(
        Section::Tier,
        "limits",
        "{ slots = 1024, per_request = 2 }",
        "what each instance takes at once: slots (per_request of them a request), pool, queue, connections; gate 10 holds what was in flight against it, and `--confirm` moves those that a placeholder uses",
    ),
    key(
        Section::Tier,
        "watch",
        "[\"metrics:http://${address}/metrics\"]",
        "what to sample besides its processes, as after --watch",
    ),
    key(
        Section::Tier,
        "requires",
        "[\"node\", \"real/node_modules/express\"]",
        "programs on the PATH, and with a `/` files from the file's folder, without which it cannot start; looked for before anything does",
    ),
    key(
        Section::Tier,
        "install",
        "\"npm ci --prefix ${folder}/real\"",
        "the command that installs its `command` and what it `requires`, for the message when one is missing",
    ),
    key(
        Section::Tier,
        "kill_at",
        "\"40s\"",
        "so long into the load its first instance is killed (SIGKILL) and started again",
    ),
    key(
        Section::Tier,
        "stub",
        "{ set = { cpu = 0.1 } }",
        "what the tier is when a confirming experiment puts a stub in its place: any of these keys, only what differs",
    ),
    key(
        Section::Tier,
        "stubbed",
        "true",
        "play the `stub` instead of the tier",
    ),
    key(
        Section::Variant,
        "base",
        "\"2A\"",
        "the variant that this one is made from and compared with; the first one unless given",
    ),
    key(
        Section::Variant,
        "about",
        "\"enough slots\"",
        "what it shows, in a few words",
    ),
    key(
        Section::Variant,
        "without",
        "[\"proxy\"]",
        "tiers that it does not start",
    ),
    key(
        Section::Variant,
        "tiers",
        "[variants.2A.tiers.app]",
        "keys of tiers that differ, or tiers of its own",
    ),
    key(
        Section::Variant,
        "test",
        "[variants.2A.test]",
        "keys of the test that differ",
    ),
    key(Section::Test, "script", "\"test.js\"", "a k6 script; or"),
    key(
        Section::Test,
        "url",
        "\"http://${proxy.address}/\"",
        "the one URL that is requested",
    ),
    key(Section::Test, "method", "\"GET\"", "method of the request"),
    key(
        Section::Test,
        "headers",
        "{ accept = \"text/html\" }",
        "headers of the request",
    ),
    key(Section::Test, "body", "\"{}\"", "body of the request"),
    key(
        Section::Test,
        "rate",
        "\"200/s\"",
        "arrival rate, independent of the answers",
    ),
    key(
        Section::Test,
        "ramp",
        "\"100/s..2000/s\"",
        "arrival rate that changes evenly over the duration",
    ),
    key(
        Section::Test,
        "connections",
        "64",
        "closed load: each connection sends its next request when the last is answered; with `rate`, `ramp` or `find` the most that may be open",
    ),
    key(
        Section::Test,
        "find",
        "true",
        "a search for the capacity at the objectives, as `plimsoll find` does, instead of a set load",
    ),
    key(
        Section::Test,
        "within",
        "\"150s\"",
        "with `find`: time for the search, at least 150s; 4m unless given",
    ),
    key(
        Section::Test,
        "stages",
        "[{ target = 100, duration = \"20s\" }]",
        "closed load of virtual users, as stages of k6: a script is made of them, which finds its address in __ENV.URL",
    ),
    key(
        Section::Test,
        "think",
        "\"10ms\"",
        "with `stages`: pause of a virtual user after each answer",
    ),
    key(
        Section::Test,
        "duration",
        "\"30s\"",
        "how long; of a script or stages that is their own affair",
    ),
    key(
        Section::Test,
        "warm_up",
        "1000",
        "requests, or iterations of a script, before what is measured; 0 for none",
    ),
    key(
        Section::Test,
        "timeout",
        "\"10s\"",
        "longest wait for a complete answer, from the intended start",
    ),
    key(
        Section::Test,
        "env",
        "{ BASE = \"http://${proxy.address}\" }",
        "what a script finds in __ENV, with placeholders",
    ),
    key(
        Section::Test,
        "insecure",
        "true",
        "do not verify certificates",
    ),
    key(
        Section::Test,
        "h2",
        "true",
        "speak HTTP/2 (over http without asking first); with `stages` or a script: false offers the server HTTP/1.1 alone, true counts answers over HTTP/1.1 as failed checks of `stages`; unless given a URL is loaded over HTTP/1.1, and scripts speak what the server prefers",
    ),
    key(
        Section::Test,
        "streams",
        "16",
        "with `h2` and a URL: requests at once on one connection",
    ),
    key(
        Section::Test,
        "cpu",
        "0.5",
        "cores kept free for the load generator; 1 unless given",
    ),
    key(
        Section::Test,
        "seed",
        "7",
        "seed of all randomness, the same in every run; drawn anew for every repetition unless given",
    ),
    key(
        Section::Test,
        "stored",
        "[\"mongodb://${db.address}/shop.orders\"]",
        "collections in which every good or accepted answer leaves one document: counted before and after the load; gate 12 holds them against the answers",
    ),
    key(
        Section::Test,
        "backlog",
        "[\"http://${list.address}/metrics#list_queue_length\"]",
        "gauges of what was accepted and is not done; after the load the lab waits until they are 0",
    ),
    key(
        Section::Test,
        "taken",
        "[\"http://${list.address}/metrics#list_pushed_total\"]",
        "counters of what was taken in, also where the answer never arrived: what is lost is counted from them",
    ),
    key(
        Section::Test,
        "drain_within",
        "\"60s\"",
        "longest wait for that; 60s unless given",
    ),
    key(
        Section::Stage,
        "target",
        "100",
        "virtual users at the end of the stage",
    ),
    key(Section::Stage, "duration", "\"20s\"", "length of the stage"),
    key(
        Section::Objectives,
        "slo",
        "\"p99<250ms,errors<0.1%\"",
        "the objectives, as after --slo",
    ),
    key(
        Section::Repeat,
        "runs",
        "6",
        "runs of each variant, interleaved; 3 unless given",
    ),
    key(
        Section::Repeat,
        "pause",
        "\"1s\"",
        "pause between two runs; none unless given",
    ),
];

/// Names that may stand in a section.
pub fn names(section: Section) -> impl Iterator<Item = &'static str> {
    KEYS.iter()
        .filter(move |key| key.section == section)
        .map(|key| key.name)
}

/// The tables of `docs/lab.md`.
#[cfg(test)]
pub(super) fn markdown() -> String {
    use std::fmt::Write as _;
    let mut page = String::new();
    for section in [
        Section::Top,
        Section::Tier,
        Section::Variant,
        Section::Test,
        Section::Stage,
        Section::Objectives,
        Section::Repeat,
    ] {
        let _infallible = write!(
            page,
            "\n### {}\n\n| key | example | meaning |\n|---|---|---|\n",
            section.name()
        );
        for key in KEYS.iter().filter(|key| key.section == section) {
            let example = key.example.replace('|', "\\|");
            let _infallible = writeln!(page, "| `{}` | `{example}` | {} |", key.name, key.about);
        }
    }
    page.push('\n');
    page
}
