//! The body of the fuzz target for pipelines.

use std::any::Any;

use bson::DateTime;
use bson::raw::RawDocument;

use super::{Foreign, Pipeline, Progress, Read, Walk};
use crate::error::Result;
use crate::expression::Variables;
use crate::memory::Room;
use crate::query::Filter;
use crate::value::hostile::{self, documents};

/// Other collections, which are empty.
#[derive(Debug)]
struct Nowhere;

impl Foreign for Nowhere {
    fn open(&mut self, _: &str, _: Option<Filter>) -> Result<Box<dyn Walk>> {
        Ok(Box::new(Self))
    }

    fn read(&mut self, _: &mut dyn Walk) -> Result<Read> {
        Ok(Read::End)
    }

    fn take(&mut self) -> bool {
        true
    }
}

impl Walk for Nowhere {
    fn pause(&mut self) {}

    fn as_any(&mut self) -> &mut dyn Any {
        self
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
    let mut execution = pipeline.execute(variables, Room::default());
    for one in documents(document, "documents") {
        execution.push(one.to_owned());
    }
    execution.end_input();
    for _ in 0..RESULTS_MAX {
        match execution.next(&mut Nowhere)? {
            Progress::Document(_) => {}
            Progress::NeedsInput | Progress::Done | Progress::Later => break,
        }
    }
    Ok("runs")
}
