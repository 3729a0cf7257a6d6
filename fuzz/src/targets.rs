//! What is fuzzed: for each reader of foreign input one function that must never panic.

mod audit;
mod docdb;
mod experiment;
mod h2;
mod import;
mod mapped;
mod numbers;
mod page;
mod program;
mod record;
mod request;
mod response;
mod script;
mod slo;
mod url;
mod watch;

use plimsoll_docdb::internals::hostile;

/// What became of an input, as coarse as the reader's own error variants; new ones are interesting.
pub(crate) type Outcome = String;

/// One reader under test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Its name on the command line, and its folder in `corpus/`.
    pub(crate) name: &'static str,
    /// Reads the input, checks what must hold, and says what became of it.
    pub(crate) body: fn(&[u8]) -> Outcome,
    /// Words of the grammar that chance would not find.
    pub(crate) words: &'static [&'static str],
}

/// Rows of targets: the name, the function, and the words.
macro_rules! targets {
    ($($name:literal $body:path, $words:path;)*) => {
        &[$(Target { name: $name, body: $body, words: $words }),*]
    };
}

pub(crate) const TARGETS: &[Target] = targets! {
    "response" response::read, response::WORDS;
    "request" request::read, request::WORDS;
    "mapped" mapped::read, mapped::WORDS;
    "h2" h2::read, h2::WORDS;
    "record" record::read, record::WORDS;
    "audit" audit::read, record::WORDS;
    "slo" slo::read, slo::WORDS;
    "url" url::read_url, url::WORDS;
    "header" url::read_header, url::WORDS;
    "numbers" numbers::read, numbers::WORDS;
    "page" page::read, page::WORDS;
    "watch" watch::read, watch::WORDS;
    "nginx-log" watch::read_log, watch::LOG_WORDS;
    "metrics" watch::read_metrics, watch::METRICS_WORDS;
    "threshold" script::read_threshold, script::THRESHOLD_WORDS;
    "options" script::read_options, script::OPTIONS_WORDS;
    "program" program::run, program::WORDS;
    "import" import::read, import::WORDS;
    "experiment" experiment::read, experiment::WORDS;
    "wire" docdb::read_message, docdb::WIRE_WORDS;
    "bson" hostile::bson, docdb::WORDS;
    "key-order" hostile::order, docdb::WORDS;
    "filter" hostile::filter, docdb::WORDS;
    "update" hostile::fuzz_update, docdb::UPDATE_WORDS;
    "pipeline" hostile::fuzz_pipeline, docdb::PIPELINE_WORDS;
    "recovery" docdb::recover, docdb::WIRE_WORDS;
};

pub(crate) fn find(name: &str) -> Option<Target> {
    TARGETS.iter().find(|target| target.name == name).copied()
}

/// The variant of an error: its debug text up to the first operand.
fn variant(error: &impl std::fmt::Debug) -> Outcome {
    let text = format!("{error:?}");
    let end = text.find(['(', '{', ' ']).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}
