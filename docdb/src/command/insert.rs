//! `insert`: adds documents, one by one, ordered or not.

use std::ops::Range;
use std::sync::Arc;

use bson::oid::ObjectId;
use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf, cstr};

use super::arguments;
use super::write::{self, BATCH_MOST, SlicedWrite, WriteReply};
use crate::collection::LARGEST_DOCUMENT;
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::value::display;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let mut ordered = true;
    arguments::each(request, |name, value| {
        match name {
            "ordered" => ordered = arguments::truth("insert", name, value)?,
            // The second is about what replica sets do with an empty timestamp, which tools of MongoDB say each time.
            "documents" | "bypassDocumentValidation" | "bypassEmptyTsReplacement" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let documents = request
        .places("documents")?
        .ok_or_else(|| arguments::missing("insert", "documents"))?;
    BATCH_MOST.check(documents.len())?;
    let insert = Insert {
        documents,
        ordered,
        next: 0,
        reply: WriteReply::default(),
    };
    write::begin(shard, request, insert)
}

#[derive(Debug)]
struct Insert {
    /// Where they lie in the request.
    documents: Vec<Range<usize>>,
    ordered: bool,
    /// The document that comes next.
    next: usize,
    reply: WriteReply,
}

impl SlicedWrite for Insert {
    fn slice(&mut self, shard: &mut Shard, request: &Request) -> Result<bool> {
        let (database, name) = arguments::namespace(request)?;
        let id = shard
            .catalog
            .find_or_create(&mut shard.store, database, name)?;
        let memory = Arc::clone(shard.memory());
        let mut budget = shard.budget();
        let Some(mut writer) = shard.catalog.writer(&mut shard.store, id) else {
            return Err(Code::NamespaceNotFound.error("ns not found"));
        };
        while let Some(place) = self.documents.get(self.next) {
            if !budget.take() {
                return Ok(false);
            }
            let (document, index) = (request.document(place), self.next);
            self.next += 1;
            let outcome = match prepare(document) {
                Ok(None) => writer.insert(document),
                Ok(Some(prepared)) => writer.insert(&prepared),
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => self.reply.n += 1,
                Err(error) => {
                    self.reply.fail(index, error, &memory)?;
                    if self.ordered {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(true)
    }

    fn into_reply(self) -> WriteReply {
        self.reply
    }
}

/// Checks a new document. Returns what to insert in its place if `_id` is missing or not its first field.
pub(super) fn prepare(document: &RawDocument) -> Result<Option<RawDocumentBuf>> {
    let size = document.as_bytes().len();
    if size > LARGEST_DOCUMENT {
        return Err(Code::BadValue.error(format!(
            "object to insert too large. size in bytes: {size}, max size: {LARGEST_DOCUMENT}"
        )));
    }
    let mut found = None;
    for (at, element) in document.iter_elements().enumerate() {
        let element = element?;
        if element.key().as_str() == "_id" {
            if found.is_some() {
                return Err(Code::BadValue.error("can't have multiple _id fields in one document"));
            }
            let id = element.value()?;
            check_id(id)?;
            found = Some((at, id));
        }
    }
    match found {
        Some((0, _)) => Ok(None),
        Some((_, id)) => id_first(id, document).map(Some),
        None => id_first(RawBsonRef::ObjectId(ObjectId::new()), document).map(Some),
    }
}

fn check_id(id: RawBsonRef<'_>) -> Result<()> {
    match id {
        RawBsonRef::Array(_) | RawBsonRef::RegularExpression(_) | RawBsonRef::Undefined => {
            let article = if matches!(id, RawBsonRef::Array(_)) {
                "an"
            } else {
                "a"
            };
            Err(Code::BadValue.error(format!(
                "can't use {article} {} for _id",
                display::raw_type_name(id)
            )))
        }
        RawBsonRef::Document(inner) => {
            for element in inner.iter_elements() {
                let element = element?;
                if element.key().as_str().starts_with('$') {
                    return Err(Code::DollarPrefixedFieldName.error(format!(
                        "_id fields may not contain '$'-prefixed fields: {} is not valid for storage.",
                        element.key().as_str()
                    )));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn id_first(id: RawBsonRef<'_>, document: &RawDocument) -> Result<RawDocumentBuf> {
    let mut writer = Writer::with_capacity(document.as_bytes().len() + 32);
    writer.raw("_id", id);
    let mut ordered = writer.finish();
    for element in document.iter_elements() {
        let element = element?;
        if element.key() != cstr!("_id") {
            ordered.append(element.key(), element.value()?);
        }
    }
    if ordered.as_bytes().len() > LARGEST_DOCUMENT {
        return Err(Code::BadValue.error(format!(
            "object to insert too large. size in bytes: {}, max size: {LARGEST_DOCUMENT}",
            ordered.as_bytes().len()
        )));
    }
    Ok(ordered)
}
