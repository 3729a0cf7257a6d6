//! The database: messages, documents, filters, updates, pipelines, and a journal that a crash left behind.

use plimsoll_docdb::internals::hostile;

use super::{Outcome, variant};

pub(super) const WIRE_WORDS: &[&str] = &["\u{0}", "admin.$cmd", "$db", "documents", "insert"];
pub(super) const WORDS: &[&str] = hostile::WORDS;
pub(super) const UPDATE_WORDS: &[&str] = &[
    "$set", "$inc", "$push", "$each", "$slice", "$sort", "$pull", "$[]", "$[x]", "$", "$rename",
    "$unset", "a.0.b",
];
pub(super) const PIPELINE_WORDS: &[&str] = &[
    "$match",
    "$group",
    "$sum",
    "$project",
    "$unwind",
    "$lookup",
    "$sort",
    "$limit",
    "$addFields",
    "$$ROOT",
    "$a.b",
];

pub(super) fn read_message(data: &[u8]) -> Outcome {
    match hostile::read(data) {
        Ok(frame) => {
            let request = frame.request;
            let documents = request
                .documents("documents")
                .map(|some| some.map_or(0, |some| some.len().min(3)));
            format!("{:?} {documents:?}", frame.origin.compressor)
        }
        Err(error) => variant(&error),
    }
}

pub(super) fn recover(data: &[u8]) -> Outcome {
    format!("{} records", hostile::replay_hostile(data).min(3))
}
