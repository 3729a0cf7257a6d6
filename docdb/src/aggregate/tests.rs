//! What pipelines answer: stage by stage in tables, and laws against plain models.

mod cases;
mod laws;

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

use bson::{DateTime, Document, RawDocumentBuf};

use super::{Foreign, Pipeline, Progress, Read, Walk};
use crate::error::Result;
use crate::expression::Variables;
use crate::memory::Room;
use crate::query::Filter;
pub(super) use crate::value::shell::documents;

/// Collections in memory; equality is looked for by [`crate::query::Filter`], as a server would.
#[derive(Default)]
pub(super) struct Collections(BTreeMap<String, Vec<Document>>, u64);

impl Foreign for Collections {
    fn open(&mut self, collection: &str, filter: Option<Filter>) -> Result<Box<dyn Walk>> {
        let documents = self
            .0
            .get(collection)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let found = documents.iter().map(raw);
        let found = found.filter(|one| filter.as_ref().is_none_or(|filter| filter.matches(one)));
        Ok(Box::new(Found(found.collect())))
    }

    fn read(&mut self, walk: &mut dyn Walk) -> Result<Read> {
        if !self.take() {
            return Ok(Read::Later);
        }
        let found = walk.as_any().downcast_mut::<Found>().expect("of ours");
        Ok(found.0.pop_front().map_or(Read::End, Read::Document))
    }

    /// Every third document ends a slice, so that stages are left and gone on with anywhere.
    fn take(&mut self) -> bool {
        self.1 += 1;
        !self.1.is_multiple_of(3)
    }
}

#[derive(Debug)]
struct Found(VecDeque<RawDocumentBuf>);

impl Walk for Found {
    fn pause(&mut self) {}

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

pub(super) fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).expect("a valid document")
}

pub(super) fn parse(stages: &[Document]) -> Result<Pipeline> {
    let raws: Vec<RawDocumentBuf> = stages.iter().map(raw).collect();
    let stages: Vec<_> = raws.iter().map(AsRef::as_ref).collect();
    Pipeline::parse(&stages, &variables())
}

pub(super) fn variables() -> Variables {
    Variables::at(DateTime::from_millis(1_700_000_000_123))
}

/// Pushes `slice` documents at a time and takes all results in between, as an executor does.
pub(super) fn run(
    stages: &[Document],
    input: &[Document],
    slice: usize,
    foreign: &mut Collections,
) -> Result<Vec<Document>> {
    let mut execution = parse(stages)?.execute(variables(), Room::default());
    let mut results = Vec::new();
    let mut portions = input.chunks(slice.max(1));
    loop {
        match execution.next(foreign)? {
            Progress::Document(one) => results.push(Document::try_from(&*one).expect("valid")),
            Progress::Done => return Ok(results),
            Progress::Later => {}
            Progress::NeedsInput => match portions.next() {
                Some(portion) => portion.iter().for_each(|one| execution.push(raw(one))),
                None => execution.end_input(),
            },
        }
    }
}
