//! One run of a pipeline: documents are pushed in, results are taken out, both in any portions.

mod facet;
mod gathered;
mod join;
mod reading;

use std::collections::VecDeque;

use bson::raw::RawDocumentBuf;
use bson::{Bson, doc};

use self::facet::Facet;
use self::gathered::Gathered;
use self::join::Join;
use self::reading::Reading;
use super::documents::encode;
use super::group::Grouping;
use super::lookup::Lookup;
use super::output::Output;
use super::sort::Sorting;
use super::stage::Stage;
use super::transform::Transform;
use super::unwind::Unwinding;
use super::{Foreign, Pipeline};
use crate::error::{Code, CommandError, Result};
use crate::expression::{Expression, Variables, is_true, random};
use crate::memory::Room;
use crate::query::Filter;
use crate::spill::{Next, Sorted};

/// What a pipeline answers when it is asked for its next result.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    Document(RawDocumentBuf),
    /// Everything that was pushed is used up.
    NeedsInput,
    /// No more results, whatever is pushed: the caller may stop reading.
    Done,
    /// The slice is used up; ask again later.
    Later,
}

/// A pipeline in the middle of its work.
#[derive(Debug)]
pub(crate) struct Execution {
    stages: Vec<Running>,
    variables: Variables,
    room: Room,
    input: VecDeque<RawDocumentBuf>,
    input_ended: bool,
}

/// A stage with what it holds.
#[derive(Debug)]
struct Running {
    work: Work,
    /// Results that wait to be taken by the next stage.
    ready: VecDeque<RawDocumentBuf>,
    /// Its input is over.
    ended: bool,
}

#[derive(Debug)]
enum Work {
    Match(Box<Filter>),
    Condition(Expression),
    Transform(Transform),
    Group(Box<Grouping>),
    Sort(Sorting),
    /// How many are still let through.
    Limit(u64),
    /// How many are still left out.
    Skip(u64),
    Count(String, u64),
    Unwind(Box<Unwinding>),
    /// With the document that is being joined.
    Lookup(Box<Lookup>, Option<Box<Join>>),
    Sample(Sampling),
    Facet(Vec<Facet>),
    /// With the read of the other collection, once the input is over.
    UnionWith(String, Pipeline, Option<Box<Reading>>),
}

/// A sample so far: the documents come in an order that is chance, and the first ones are it.
#[derive(Debug)]
struct Sampling {
    /// How many are still to be given.
    left: usize,
    rows: Sorted,
}

impl Execution {
    pub(super) fn new(stages: Vec<Stage>, variables: Variables, room: Room) -> Self {
        let running = stages
            .into_iter()
            .map(|stage| Running::new(stage, &variables, &room));
        Self {
            stages: running.collect(),
            variables,
            room,
            input: VecDeque::new(),
            input_ended: false,
        }
    }

    /// Adds a document to the input.
    pub(crate) fn push(&mut self, document: RawDocumentBuf) {
        self.input.push_back(document);
    }

    /// Bytes of documents that came and were not looked at.
    pub(crate) fn held(&self) -> usize {
        self.input.iter().map(|one| one.as_bytes().len()).sum()
    }

    /// Lets go of what would hold the store's memory, for as long as a client takes its time.
    pub(crate) fn pause(&mut self) {
        self.stages.iter_mut().for_each(Running::pause);
    }

    /// Says that no more documents come.
    pub(crate) fn end_input(&mut self) {
        self.input_ended = true;
    }

    /// The next result. It does a bounded piece of work: to the next result, or to the end of what was pushed.
    pub(crate) fn next(&mut self, foreign: &mut dyn Foreign) -> Result<Progress> {
        // Stages are served from the last to the first: what is nearest to the end leaves first,
        // so no stage gathers more than one document makes.
        let mut place = self.stages.len();
        loop {
            let Some(above) = place.checked_sub(1) else {
                if let Some(progress) = self.take_input(foreign)? {
                    return Ok(progress);
                }
                place = self.stages.len();
                continue;
            };
            let Some(stage) = self.stages.get_mut(above) else {
                return Ok(Progress::Done);
            };
            match stage.next(&self.variables, foreign)? {
                Output::Later => return Ok(Progress::Later),
                Output::Document(document) => {
                    if above + 1 == self.stages.len() {
                        return Ok(Progress::Document(document));
                    }
                    self.feed(above + 1, document, foreign)?;
                    place = self.stages.len();
                    if !foreign.take() {
                        return Ok(Progress::Later);
                    }
                    continue;
                }
                Output::Nothing => {}
            }
            if stage.ended || stage.is_done() {
                if above + 1 == self.stages.len() {
                    return Ok(Progress::Done);
                }
                self.end_of(above + 1, foreign)?;
                place = self.stages.len();
            } else {
                place = above;
            }
        }
    }

    /// Hands the next document of the input to the first stage, or tells it that none comes any more.
    fn take_input(&mut self, foreign: &mut dyn Foreign) -> Result<Option<Progress>> {
        let has_stages = !self.stages.is_empty();
        match self.input.pop_front() {
            Some(document) if has_stages => self.feed(0, document, foreign)?,
            Some(document) => return Ok(Some(Progress::Document(document))),
            None if !self.input_ended => return Ok(Some(Progress::NeedsInput)),
            None if has_stages => self.end_of(0, foreign)?,
            None => return Ok(Some(Progress::Done)),
        }
        Ok(None)
    }

    fn feed(
        &mut self,
        place: usize,
        document: RawDocumentBuf,
        foreign: &mut dyn Foreign,
    ) -> Result<()> {
        match self.stages.get_mut(place) {
            Some(stage) => stage.add(document, (&self.variables, &self.room), foreign),
            None => Ok(()),
        }
    }

    /// Tells the stage at `place` that its input is over.
    fn end_of(&mut self, place: usize, foreign: &mut dyn Foreign) -> Result<()> {
        match self.stages.get_mut(place) {
            Some(stage) if !stage.ended => {
                stage.ended = true;
                stage.end((&self.variables, &self.room), foreign)
            }
            _ => Ok(()),
        }
    }
}

impl Running {
    fn new(stage: Stage, variables: &Variables, room: &Room) -> Self {
        let work = match stage {
            Stage::Match(mut filter) => {
                filter.bind(variables);
                Work::Match(filter)
            }
            Stage::Condition(condition) => Work::Condition(condition),
            Stage::Transform(transform) => Work::Transform(transform),
            Stage::Group(group) => Work::Group(Box::new(Grouping::new(group, room))),
            Stage::Sort(sort) => Work::Sort(Sorting::new(sort, room)),
            Stage::Limit(count) => Work::Limit(count),
            Stage::Skip(count) => Work::Skip(count),
            Stage::Count(field) => Work::Count(field, 0),
            Stage::Unwind(unwind) => Work::Unwind(Box::new(Unwinding::new(unwind, room))),
            Stage::Lookup(lookup) => Work::Lookup(lookup, None),
            Stage::Sample(size) => Work::Sample(Sampling {
                left: size,
                rows: Sorted::new(room.clone(), Some(size)),
            }),
            Stage::Facet(facets) => Work::Facet(
                facets
                    .into_iter()
                    .map(|(name, pipeline)| Facet::new(name, pipeline, variables, room))
                    .collect(),
            ),
            Stage::UnionWith(collection, pipeline) => Work::UnionWith(collection, pipeline, None),
        };
        Self {
            work,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// Takes one document of the input.
    fn add(
        &mut self,
        document: RawDocumentBuf,
        (variables, room): (&Variables, &Room),
        foreign: &mut dyn Foreign,
    ) -> Result<()> {
        match &mut self.work {
            Work::Match(filter) => {
                if filter.try_matches(&document)? {
                    self.ready.push_back(document);
                }
            }
            Work::Condition(condition) => {
                if is_true(condition.evaluate(&document, variables)?.as_ref()) {
                    self.ready.push_back(document);
                }
            }
            Work::Transform(transform) => {
                self.ready.push_back(transform.apply(&document, variables)?);
            }
            Work::Group(group) => group.add(&document, variables)?,
            Work::Sort(sort) => sort.add(document)?,
            Work::Limit(left) => {
                if let Some(fewer) = left.checked_sub(1) {
                    *left = fewer;
                    self.ready.push_back(document);
                }
            }
            Work::Skip(left) => match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => self.ready.push_back(document),
            },
            Work::Count(_, count) => *count += 1,
            Work::Unwind(unwind) => unwind.add(&document)?,
            Work::Lookup(lookup, joining) => {
                let join = lookup.join(&document, variables, foreign, room)?;
                *joining = Some(Box::new(join));
            }
            Work::Sample(sample) => sample.add(document)?,
            Work::Facet(facets) => {
                for facet in facets.iter_mut().filter(|facet| !facet.done) {
                    facet.execution.push(document.clone());
                }
            }
            Work::UnionWith(..) => self.ready.push_back(document),
        }
        Ok(())
    }

    /// What is left to do once the input is over.
    fn end(
        &mut self,
        (variables, room): (&Variables, &Room),
        foreign: &mut dyn Foreign,
    ) -> Result<()> {
        match &mut self.work {
            Work::Count(field, count) if *count > 0 => {
                let count = i32::try_from(*count).map_or(
                    Bson::Int64(i64::try_from(*count).unwrap_or(i64::MAX)),
                    Bson::Int32,
                );
                self.ready.push_back(encode(&doc! {field.clone(): count})?);
            }
            Work::Facet(facets) => {
                for facet in facets {
                    facet.execution.end_input();
                }
            }
            Work::UnionWith(collection, pipeline, reading) => {
                let walk = foreign.open(collection, None)?;
                let execution = pipeline.clone().execute(variables.clone(), room.clone());
                *reading = Some(Box::new(Reading::new(walk, execution)));
            }
            _ => {}
        }
        Ok(())
    }

    /// The next result that is there.
    fn next(&mut self, variables: &Variables, foreign: &mut dyn Foreign) -> Result<Output> {
        if let Some(document) = self.ready.pop_front() {
            return Ok(Output::Document(document));
        }
        let next = match &mut self.work {
            Work::Unwind(unwind) => unwind.next()?,
            Work::Group(group) => return group.next(self.ended, variables, foreign),
            Work::Sort(sort) => return sort.next(self.ended, foreign),
            Work::Sample(sample) => return sample.next(self.ended, foreign),
            Work::Lookup(lookup, joining) => return join::advance(lookup, joining, foreign),
            Work::Facet(facets) => return facet::advance(facets, self.ended, foreign),
            Work::UnionWith(_, _, Some(reading)) => return reading.next(foreign),
            _ => None,
        };
        Ok(next.map_or(Output::Nothing, Output::Document))
    }

    fn pause(&mut self) {
        match &mut self.work {
            Work::Lookup(_, Some(join)) => join.pause(),
            Work::UnionWith(_, _, Some(reading)) => reading.pause(),
            Work::Facet(facets) => facets.iter_mut().for_each(|facet| facet.execution.pause()),
            _ => {}
        }
    }

    /// Whether no input can bring further results.
    fn is_done(&self) -> bool {
        match &self.work {
            Work::Limit(left) => *left == 0,
            _ => false,
        }
    }
}

impl Sampling {
    fn add(&mut self, document: RawDocumentBuf) -> Result<()> {
        let place = random().to_bits().to_be_bytes().to_vec();
        let bytes = || document.into_bytes();
        self.rows.add(place, bytes, too_much)
    }

    fn next(&mut self, ended: bool, foreign: &mut dyn Foreign) -> Result<Output> {
        if self.rows.has_work() && !self.rows.work(&mut || foreign.take())? {
            return Ok(Output::Later);
        }
        if !ended || self.left == 0 {
            return Ok(Output::Nothing);
        }
        self.left -= 1;
        Ok(match self.rows.next()? {
            Next::Row(_, document) => Output::Document(RawDocumentBuf::from_bytes(document)?),
            Next::End => Output::Nothing,
        })
    }
}

fn too_much(limit: usize) -> CommandError {
    Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
        "Exceeded memory limit for $sample. Memory limit: {limit} bytes"
    ))
}
