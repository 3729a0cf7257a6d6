//! The work of `$facet`: several pipelines over the same documents.

use super::{Execution, Gathered, Progress};
use crate::aggregate::documents::check;
use crate::aggregate::output::Output;
use crate::aggregate::{Foreign, Pipeline};
use crate::error::Result;
use crate::expression::Variables;
use crate::memory::Room;
use crate::value::{Fields, Value, Writer};

#[derive(Debug)]
pub(super) struct Facet {
    pub(super) name: String,
    pub(super) execution: Execution,
    results: Gathered,
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
            results: Gathered::new(room, "$facet"),
            done: false,
        }
    }

    /// Takes all results that are there. False if the slice is used up.
    fn drain(&mut self, foreign: &mut dyn Foreign) -> Result<bool> {
        while !self.done {
            match self.execution.next(foreign)? {
                Progress::Document(document) => {
                    self.results.push(&document)?;
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
    let mut whole = Writer::default();
    for mut facet in facets.drain(..) {
        let results = facet.results.take();
        whole.value(facet.name.as_bytes(), &Value::Array(Fields::new(&results)));
    }
    check(whole.finish()).map(Output::Document)
}
