//! The work of `$facet`: several pipelines over the same documents.

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document};

use super::{Execution, Progress, over_limit};
use crate::aggregate::documents::encode;
use crate::aggregate::output::Output;
use crate::aggregate::{Foreign, Pipeline};
use crate::error::Result;
use crate::expression::Variables;
use crate::memory::Room;
use crate::value::decode;

#[derive(Debug)]
pub(super) struct Facet {
    pub(super) name: String,
    pub(super) execution: Execution,
    results: Vec<Bson>,
    bytes: usize,
    pub(super) done: bool,
}

impl Facet {
    pub(super) fn new(
        name: String,
        pipeline: Pipeline,
        variables: &Variables,
        room: &Room,
    ) -> Self {
        Self {
            name,
            execution: pipeline.execute(variables.clone(), room.clone()),
            results: Vec::new(),
            bytes: 0,
            done: false,
        }
    }

    /// Takes all results that are there. False if the slice is used up.
    fn drain(&mut self, foreign: &mut dyn Foreign) -> Result<bool> {
        while !self.done {
            match self.execution.next(foreign)? {
                Progress::Document(document) => {
                    self.bytes += document.as_bytes().len();
                    over_limit(self.bytes, "$facet")?;
                    self.results.push(Bson::Document(decode(&document)?));
                    if !foreign.take() {
                        return Ok(false);
                    }
                }
                Progress::NeedsInput => return Ok(true),
                Progress::Done => self.done = true,
                Progress::Later => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Lets every facet use up its input; the one document of all results once the input is `ended`.
pub(super) fn advance(
    facets: &mut Vec<Facet>,
    ended: bool,
    foreign: &mut dyn Foreign,
) -> Result<Output> {
    for facet in facets.iter_mut() {
        if !facet.drain(foreign)? {
            return Ok(Output::Later);
        }
    }
    if !ended || facets.is_empty() {
        return Ok(Output::Nothing);
    }
    let results = facets.drain(..).map(|facet| (facet.name, facet.results));
    let document: Document = results
        .map(|(name, results)| (name, Bson::Array(results)))
        .collect();
    let document: RawDocumentBuf = encode(&document)?;
    Ok(Output::Document(document))
}
