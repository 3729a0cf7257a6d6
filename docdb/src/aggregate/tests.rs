//! What pipelines answer: stage by stage in tables, and laws against plain models.

mod cases;
mod laws;

use std::collections::BTreeMap;

use bson::{Bson, DateTime, Document, RawDocumentBuf};

use super::{Foreign, Pipeline, Progress};
use crate::error::Result;
use crate::expression::Variables;
pub(super) use crate::value::shell::documents;

/// Collections in memory; equality is looked for by [`crate::query::Filter`], as a server would.
#[derive(Default)]
pub(super) struct Collections(BTreeMap<String, Vec<Document>>);

impl Foreign for Collections {
    fn find(
        &mut self,
        collection: &str,
        field: &str,
        values: &[Bson],
    ) -> Result<Vec<RawDocumentBuf>> {
        let filter = raw(&bson::doc! {field: {"$in": values}});
        let filter = crate::query::Filter::parse(&filter)?;
        let all = self.all(collection)?;
        Ok(all.into_iter().filter(|one| filter.matches(one)).collect())
    }

    fn all(&mut self, collection: &str) -> Result<Vec<RawDocumentBuf>> {
        let documents = self
            .0
            .get(collection)
            .map(Vec::as_slice)
            .unwrap_or_default();
        Ok(documents.iter().map(raw).collect())
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
    let mut execution = parse(stages)?.execute(variables());
    let mut results = Vec::new();
    let mut portions = input.chunks(slice.max(1));
    loop {
        match execution.next(foreign)? {
            Progress::Document(one) => results.push(Document::try_from(&*one).expect("valid")),
            Progress::Done => return Ok(results),
            Progress::NeedsInput => match portions.next() {
                Some(portion) => portion.iter().for_each(|one| execution.push(raw(one))),
                None => execution.end_input(),
            },
        }
    }
}
