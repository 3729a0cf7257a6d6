//! Another collection through a pipeline of its own, document by document: what `$lookup` and `$unionWith` have in common.

use super::{Execution, Progress};
use crate::aggregate::output::Output;
use crate::aggregate::{Foreign, Read, Walk};
use crate::error::Result;

#[derive(Debug)]
pub(super) struct Reading {
    walk: Box<dyn Walk>,
    execution: Execution,
}

impl Reading {
    pub(super) fn new(walk: Box<dyn Walk>, execution: Execution) -> Self {
        Self { walk, execution }
    }

    /// The next result; nothing at the end.
    pub(super) fn next(&mut self, foreign: &mut dyn Foreign) -> Result<Output> {
        loop {
            match self.execution.next(foreign)? {
                Progress::Document(document) => return Ok(Output::Document(document)),
                Progress::Done => return Ok(Output::Nothing),
                Progress::Later => return Ok(Output::Later),
                Progress::NeedsInput => match foreign.read(self.walk.as_mut())? {
                    Read::Document(document) => self.execution.push(document),
                    Read::End => self.execution.end_input(),
                    Read::Later => return Ok(Output::Later),
                },
            }
        }
    }

    pub(super) fn pause(&mut self) {
        self.walk.pause();
        self.execution.pause();
    }
}
