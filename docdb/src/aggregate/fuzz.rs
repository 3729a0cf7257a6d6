//! The body of the fuzz target for pipelines.

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, DateTime};

use super::{Foreign, Pipeline, Progress};
use crate::error::Result;
use crate::expression::Variables;
use crate::value::hostile::{self, documents};

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
    hostile::on_document(input, run)
}

/// Results that are looked at: an `$unwind` of many arrays has more than anyone waits for.
const RESULTS_MAX: usize = 1000;

fn run(document: &RawDocument) -> Result<&'static str> {
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
    Ok("runs")
}
