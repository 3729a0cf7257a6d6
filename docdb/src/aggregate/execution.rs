//! One run of a pipeline: documents are pushed in, results are taken out, both in any portions.

mod join;

use std::collections::VecDeque;

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document, doc};

use super::documents::encode;
use super::group::Grouping;
use super::lookup::Lookup;
use super::sort::Sorting;
use super::stage::Stage;
use super::transform::Transform;
use super::unwind::Unwinding;
use super::{Foreign, MEMORY_BYTES_MAX, Pipeline};
use crate::error::{Code, Result};
use crate::expression::{Expression, Variables, is_true, random};
use crate::query::Filter;
use crate::value::decode;

/// What a pipeline answers when it is asked for its next result.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    Document(RawDocumentBuf),
    /// Everything that was pushed is used up.
    NeedsInput,
    /// No more results, whatever is pushed: the caller may stop reading.
    Done,
}

/// A pipeline in the middle of its work.
#[derive(Debug)]
pub(crate) struct Execution {
    stages: Vec<Running>,
    variables: Variables,
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
    Group(Grouping),
    Sort(Sorting),
    /// How many are still let through.
    Limit(u64),
    /// How many are still left out.
    Skip(u64),
    Count(String, u64),
    Unwind(Box<Unwinding>),
    Lookup(Box<Lookup>),
    Sample(Sampling),
    Facet(Vec<Facet>),
    UnionWith(String, Pipeline),
}

/// A sample so far: each document that came is in it with the same chance.
#[derive(Debug)]
struct Sampling {
    size: usize,
    arrived: u64,
    documents: Vec<RawDocumentBuf>,
    bytes: usize,
}

#[derive(Debug)]
struct Facet {
    name: String,
    execution: Execution,
    results: Vec<Bson>,
    bytes: usize,
    done: bool,
}

impl Execution {
    pub(super) fn new(stages: Vec<Stage>, variables: Variables) -> Self {
        let running = stages
            .into_iter()
            .map(|stage| Running::new(stage, &variables));
        Self {
            stages: running.collect(),
            variables,
            input: VecDeque::new(),
            input_ended: false,
        }
    }

    /// Adds a document to the input.
    pub(crate) fn push(&mut self, document: RawDocumentBuf) {
        self.input.push_back(document);
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
            if let Some(document) = stage.next()? {
                if above + 1 == self.stages.len() {
                    return Ok(Progress::Document(document));
                }
                self.feed(above + 1, document, foreign)?;
                place = self.stages.len();
            } else if stage.ended || stage.is_done() {
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
            Some(stage) => stage.add(document, &self.variables, foreign),
            None => Ok(()),
        }
    }

    /// Tells the stage at `place` that its input is over.
    fn end_of(&mut self, place: usize, foreign: &mut dyn Foreign) -> Result<()> {
        match self.stages.get_mut(place) {
            Some(stage) if !stage.ended => {
                stage.ended = true;
                stage.end(&self.variables, foreign)
            }
            _ => Ok(()),
        }
    }
}

impl Running {
    fn new(stage: Stage, variables: &Variables) -> Self {
        let work = match stage {
            Stage::Match(filter) => Work::Match(filter),
            Stage::Condition(condition) => Work::Condition(condition),
            Stage::Transform(transform) => Work::Transform(transform),
            Stage::Group(group) => Work::Group(Grouping::new(group)),
            Stage::Sort(sort) => Work::Sort(Sorting::new(sort)),
            Stage::Limit(count) => Work::Limit(count),
            Stage::Skip(count) => Work::Skip(count),
            Stage::Count(field) => Work::Count(field, 0),
            Stage::Unwind(unwind) => Work::Unwind(Box::new(Unwinding::new(unwind))),
            Stage::Lookup(lookup) => Work::Lookup(lookup),
            Stage::Sample(size) => Work::Sample(Sampling {
                size,
                arrived: 0,
                documents: Vec::new(),
                bytes: 0,
            }),
            Stage::Facet(facets) => Work::Facet(
                facets
                    .into_iter()
                    .map(|(name, pipeline)| Facet::new(name, pipeline, variables))
                    .collect(),
            ),
            Stage::UnionWith(collection, pipeline) => Work::UnionWith(collection, pipeline),
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
        variables: &Variables,
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
            Work::Lookup(lookup) => {
                self.ready
                    .push_back(lookup.join(&document, variables, foreign)?);
            }
            Work::Sample(sample) => sample.add(document)?,
            Work::Facet(facets) => {
                for facet in facets {
                    facet.add(&document, foreign)?;
                }
            }
            Work::UnionWith(..) => self.ready.push_back(document),
        }
        Ok(())
    }

    /// What is left to do once the input is over.
    fn end(&mut self, variables: &Variables, foreign: &mut dyn Foreign) -> Result<()> {
        match &mut self.work {
            Work::Count(field, count) if *count > 0 => {
                let count = i32::try_from(*count).map_or(
                    Bson::Int64(i64::try_from(*count).unwrap_or(i64::MAX)),
                    Bson::Int32,
                );
                self.ready.push_back(encode(&doc! {field.clone(): count})?);
            }
            Work::Sample(sample) => self.ready = std::mem::take(&mut sample.documents).into(),
            Work::Facet(facets) => {
                let mut document = Document::new();
                for facet in facets {
                    facet.execution.end_input();
                    facet.drain(foreign)?;
                    let results = std::mem::take(&mut facet.results);
                    document.insert(facet.name.clone(), results);
                }
                self.ready.push_back(encode(&document)?);
            }
            Work::UnionWith(collection, pipeline) => {
                let all = foreign.all(collection)?;
                self.ready
                    .extend(run(pipeline, variables.clone(), all, foreign)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// The next result that is there.
    fn next(&mut self) -> Result<Option<RawDocumentBuf>> {
        if let Some(document) = self.ready.pop_front() {
            return Ok(Some(document));
        }
        match &mut self.work {
            Work::Unwind(unwind) => unwind.next(),
            Work::Group(group) if self.ended => group.next(),
            Work::Sort(sort) if self.ended => Ok(sort.next()),
            _ => Ok(None),
        }
    }

    /// Whether no input can bring further results.
    fn is_done(&self) -> bool {
        match &self.work {
            Work::Limit(left) => *left == 0,
            Work::Facet(facets) => facets.iter().all(|facet| facet.done) && self.ended,
            _ => false,
        }
    }
}

impl Sampling {
    fn add(&mut self, document: RawDocumentBuf) -> Result<()> {
        self.arrived += 1;
        let size = document.as_bytes().len();
        if self.documents.len() < self.size {
            self.bytes += size;
            self.documents.push(document);
        } else {
            let place = (random() * self.arrived as f64) as usize;
            if let Some(old) = self.documents.get_mut(place) {
                self.bytes = self.bytes.saturating_sub(old.as_bytes().len()) + size;
                *old = document;
            }
        }
        over_limit(self.bytes, "$sample")
    }
}

fn over_limit(bytes: usize, stage: &str) -> Result<()> {
    if bytes > MEMORY_BYTES_MAX {
        return Err(
            Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "Exceeded memory limit for {stage}. Memory limit: {MEMORY_BYTES_MAX} bytes"
            )),
        );
    }
    Ok(())
}

impl Facet {
    fn new(name: String, pipeline: Pipeline, variables: &Variables) -> Self {
        Self {
            name,
            execution: pipeline.execute(variables.clone()),
            results: Vec::new(),
            bytes: 0,
            done: false,
        }
    }

    fn add(&mut self, document: &RawDocumentBuf, foreign: &mut dyn Foreign) -> Result<()> {
        if self.done {
            return Ok(());
        }
        self.execution.push(document.clone());
        self.drain(foreign)
    }

    /// Takes all results that are there.
    fn drain(&mut self, foreign: &mut dyn Foreign) -> Result<()> {
        loop {
            match self.execution.next(foreign)? {
                Progress::Document(document) => {
                    self.bytes += document.as_bytes().len();
                    over_limit(self.bytes, "$facet")?;
                    self.results.push(Bson::Document(decode(&document)?));
                }
                Progress::NeedsInput => return Ok(()),
                Progress::Done => {
                    self.done = true;
                    return Ok(());
                }
            }
        }
    }
}

/// Runs a pipeline over documents that are all there.
fn run(
    pipeline: &Pipeline,
    variables: Variables,
    input: Vec<RawDocumentBuf>,
    foreign: &mut dyn Foreign,
) -> Result<Vec<RawDocumentBuf>> {
    let mut execution = pipeline.clone().execute(variables);
    for document in input {
        execution.push(document);
    }
    execution.end_input();
    let mut results = Vec::new();
    let mut bytes = 0;
    while let Progress::Document(document) = execution.next(foreign)? {
        bytes += document.as_bytes().len();
        if bytes > MEMORY_BYTES_MAX {
            return Err(Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "the results of a sub-pipeline exceed the memory limit of {MEMORY_BYTES_MAX} bytes"
            )));
        }
        results.push(document);
    }
    Ok(results)
}
