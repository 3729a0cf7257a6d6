//! Runs an aggregation pipeline: expressions and stages over a stream of documents.
//!
//! [`Pipeline`] is what a command says; [`Execution`] is one run of it. The caller pushes documents
//! in slices of any size and takes results as they come, so that other commands get their turn
//! between; no stage reads its whole input by itself.

mod accumulate;
mod bucket;
mod conditions;
mod documents;
mod execution;
mod fuzz;
mod group;
mod lookup;
mod options;
mod output;
mod sort;
mod stage;
mod transform;
mod unwind;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt::Debug;

use bson::Document;
use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};

pub(crate) use execution::{Execution, Progress};
pub use fuzz::fuzz_pipeline;
pub(crate) use stage::{STAGES, unknown as unknown_stage};
pub(crate) use transform::Transform;

use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::memory::{READ_BYTES, Room};
use crate::query::{Filter, Lists, SortOrder};
use crate::value::decode;
use stage::Stage;

/// What a stage asks of other collections of the database, and of the slice that it works in.
pub(crate) trait Foreign {
    /// Begins to read the documents of `collection` that match; `None`: all.
    fn open(&mut self, collection: &str, filter: Option<Filter>) -> Result<Box<dyn Walk>>;

    /// The next document of a walk.
    fn read(&mut self, walk: &mut dyn Walk) -> Result<Read>;

    /// Counts a document that went from one stage to the next. False if the slice is used up.
    fn take(&mut self) -> bool;
}

/// A read of another collection, under way; only who opened it looks inside.
pub(crate) trait Walk: Debug + Send {
    /// Lets go of what would hold the store's memory.
    fn pause(&mut self);
    fn as_any(&mut self) -> &mut dyn Any;
}

/// What a read of another collection came to.
#[derive(Debug)]
pub(crate) enum Read {
    Document(RawDocumentBuf),
    End,
    /// The slice is used up; ask again later.
    Later,
}

/// Stages of one pipeline, those of sub-pipelines not counted (MongoDB's limit).
const STAGES_MAX: usize = 1000;

/// The filter of a long `$match`, which is read where it lies; [`crate::query::Part`] knows it too.
fn long_filter(stage: &RawDocument) -> Option<&RawDocument> {
    let mut fields = stage.iter();
    match (fields.next()?.ok()?, fields.next()) {
        ((name, RawBsonRef::Document(filter)), None)
            if name == "$match" && filter.as_bytes().len() > READ_BYTES =>
        {
            Some(filter)
        }
        _ => None,
    }
}

/// Refuses a pipeline of too many stages, that of an update too.
pub(crate) fn check_length(stages: usize) -> Result<()> {
    if stages <= STAGES_MAX {
        return Ok(());
    }
    Err(Code::Location(7_749_501).error(format!(
        "Pipeline length must be no longer than {STAGES_MAX} stages"
    )))
}

/// A pipeline as a command brings it.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    stages: Vec<Stage>,
}

impl Pipeline {
    /// Reads the stages; `variables` are those of the command's `let`.
    pub(crate) fn parse(stages: &[&RawDocument], variables: &Variables) -> Result<Self> {
        Self::parse_listed(stages, variables, &Lists::default())
    }

    /// As [`Self::parse`], for stages of a command whose long lists were read before.
    pub(crate) fn parse_listed(
        stages: &[&RawDocument],
        variables: &Variables,
        lists: &Lists,
    ) -> Result<Self> {
        check_length(stages.len())?;
        let mut parsed = Vec::with_capacity(stages.len());
        for stage in stages {
            match long_filter(stage) {
                Some(filter) => {
                    let filter = Filter::parse_listed(filter, variables, lists)?;
                    parsed.push(Stage::Match(Box::new(filter)));
                }
                None => Stage::parse(&decode(stage)?, variables, 0, &mut parsed)?,
            }
        }
        stage::hand_limits_to_sorts(&mut parsed);
        Ok(Self { stages: parsed })
    }

    /// As [`Self::parse`], for a pipeline within a stage at `depth`.
    pub(crate) fn parse_documents(
        stages: &[Document],
        variables: &Variables,
        depth: usize,
    ) -> Result<Self> {
        check_length(stages.len())?;
        let mut parsed = Vec::with_capacity(stages.len());
        for stage in stages {
            Stage::parse(stage, variables, depth, &mut parsed)?;
        }
        stage::hand_limits_to_sorts(&mut parsed);
        Ok(Self { stages: parsed })
    }

    /// Takes off a `$match` at the front, so that the caller can serve it from an index.
    pub(crate) fn take_leading_match(&mut self) -> Option<Filter> {
        match self.stages.first() {
            Some(Stage::Match(_)) => match self.stages.remove(0) {
                Stage::Match(filter) => Some(*filter),
                _ => None,
            },
            _ => None,
        }
    }

    /// The order of a `$sort` at the front, which an index may yield.
    pub(crate) fn leading_sort(&self) -> Option<&SortOrder> {
        match self.stages.first() {
            Some(Stage::Sort(sort)) => sort.field_order(),
            _ => None,
        }
    }

    /// Takes that `$sort` off: the input comes in its order.
    pub(crate) fn drop_leading_sort(&mut self) {
        if self.leading_sort().is_some() {
            self.stages.remove(0);
        }
    }

    /// The collections that stages of this pipeline read.
    pub(crate) fn foreign_collections(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for stage in &self.stages {
            stage.foreign_collections(&mut names);
        }
        names
    }

    /// Begins a run.
    pub(crate) fn execute(self, variables: Variables, room: Room) -> Execution {
        Execution::new(self.stages, variables, room)
    }
}
