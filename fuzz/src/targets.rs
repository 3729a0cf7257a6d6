//! What is fuzzed: for each reader of foreign input one function that must never panic.

mod audit;
mod docdb;
mod experiment;
mod h2;
mod import;
mod numbers;
mod program;
mod record;
mod response;
mod script;
mod slo;
mod url;
mod watch;

/// What became of an input, as coarse as the reader's own error variants; new ones are interesting.
pub type Outcome = String;

/// One reader under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name on the command line, and its folder in `corpus/`.
    pub name: &'static str,
    /// Reads the input, checks what must hold, and says what became of it.
    pub body: fn(&[u8]) -> Outcome,
    /// Words of the grammar that chance would not find.
    pub words: &'static [&'static str],
}

pub const TARGETS: [Target; 23] = [
    Target {
        name: "response",
        body: response::read,
        words: response::WORDS,
    },
    Target {
        name: "h2",
        body: h2::read,
        words: h2::WORDS,
    },
    Target {
        name: "record",
        body: record::read,
        words: record::WORDS,
    },
    Target {
        name: "audit",
        body: audit::read,
        words: record::WORDS,
    },
    Target {
        name: "slo",
        body: slo::read,
        words: slo::WORDS,
    },
    Target {
        name: "url",
        body: url::read_url,
        words: url::WORDS,
    },
    Target {
        name: "header",
        body: url::read_header,
        words: url::WORDS,
    },
    Target {
        name: "numbers",
        body: numbers::read,
        words: numbers::WORDS,
    },
    Target {
        name: "watch",
        body: watch::read,
        words: watch::WORDS,
    },
    Target {
        name: "nginx-log",
        body: watch::read_log,
        words: watch::LOG_WORDS,
    },
    Target {
        name: "metrics",
        body: watch::read_metrics,
        words: watch::METRICS_WORDS,
    },
    Target {
        name: "threshold",
        body: script::read_threshold,
        words: script::THRESHOLD_WORDS,
    },
    Target {
        name: "options",
        body: script::read_options,
        words: script::OPTIONS_WORDS,
    },
    Target {
        name: "program",
        body: program::run,
        words: program::WORDS,
    },
    Target {
        name: "import",
        body: import::read,
        words: import::WORDS,
    },
    Target {
        name: "experiment",
        body: experiment::read,
        words: experiment::WORDS,
    },
    Target {
        name: "wire",
        body: docdb::read_message,
        words: docdb::WIRE_WORDS,
    },
    Target {
        name: "bson",
        body: docdb::read_document,
        words: docdb::WORDS,
    },
    Target {
        name: "key-order",
        body: docdb::order_keys,
        words: docdb::WORDS,
    },
    Target {
        name: "filter",
        body: docdb::run_filter,
        words: docdb::WORDS,
    },
    Target {
        name: "update",
        body: docdb::run_update,
        words: docdb::UPDATE_WORDS,
    },
    Target {
        name: "pipeline",
        body: docdb::run_pipeline,
        words: docdb::PIPELINE_WORDS,
    },
    Target {
        name: "recovery",
        body: docdb::recover,
        words: docdb::WIRE_WORDS,
    },
];

pub fn find(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// The variant of an error: its debug text up to the first operand.
fn variant(error: &impl std::fmt::Debug) -> Outcome {
    let text = format!("{error:?}");
    let end = text.find(['(', '{', ' ']).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}
