//! The body of the fuzz target for pipelines.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use bson::{Bson, DateTime};

use super::{Foreign, Pipeline, Progress};
use crate::error::Result;
use crate::expression::Variables;

/// Other collections, which are empty.
struct Nowhere;

impl Foreign for Nowhere {
    fn find(&mut self, _: &str, _: &str, _: &[Bson]) -> Result<Vec<RawDocumentBuf>> {
        Ok(Vec::new())
    }

    fn all(&mut self, _: &str) -> Result<Vec<RawDocumentBuf>> {
        Ok(Vec::new())
    }
}

/// Reads `{pipeline: […], documents: […]}`, runs it and says how that went; it must not panic.
pub fn fuzz_pipeline(input: &[u8]) -> String {
    if crate::value::validate(input).is_err() {
        return "not a document".to_owned();
    }
    let Ok(document) = RawDocument::from_bytes(input) else {
        return "not a document".to_owned();
    };
    match run(document) {
        Ok(()) => "runs".to_owned(),
        Err(error) => error.code.name().into_owned(),
    }
}

/// Results that are looked at: an `$unwind` of many arrays has more than anyone waits for.
const RESULTS_MAX: usize = 1000;

fn run(document: &RawDocument) -> Result<()> {
    let variables = Variables::at(DateTime::from_millis(0));
    let pipeline = Pipeline::parse(&documents(document, "pipeline"), &variables)?;
    let mut execution = pipeline.execute(variables);
    for one in documents(document, "documents") {
        execution.push(one.to_owned());
    }
    execution.end_input();
    for _ in 0..RESULTS_MAX {
        match execution.next(&mut Nowhere)? {
            Progress::Document(_) => {}
            Progress::NeedsInput | Progress::Done => break,
        }
    }
    Ok(())
}

fn documents<'a>(document: &'a RawDocument, field: &str) -> Vec<&'a RawDocument> {
    let Ok(array) = document.get_array(field) else {
        return Vec::new();
    };
    let values = array.into_iter().flatten();
    values
        .filter_map(|value| match value {
            RawBsonRef::Document(inner) => Some(inner),
            _ => None,
        })
        .collect()
}
