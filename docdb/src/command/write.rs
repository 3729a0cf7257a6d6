//! What `insert`, `update` and `delete` have in common: slices, limits, the reply with its write errors, `_id` filters.

use std::fmt::Debug;
use std::sync::Arc;

use bson::Document;
use bson::raw::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::collection::Selection;
use crate::collection::plan::{self, Wanted};
use crate::error::{Code, CommandError, Result};
use crate::expression::{Variables, footprint};
use crate::memory::{Claim, Memory};
use crate::query::{Filter, Lists};
use crate::shard::{Flow, Resumable, Shard};
use crate::value::display;
use crate::value::{Writer, decimal};
use crate::wire::{DOCUMENTS_MAX, Request};

/// A write command, which gives way to others between slices.
pub(super) trait SlicedWrite: Debug + Send + 'static {
    /// Writes some more; true if that was all.
    fn slice(&mut self, shard: &mut Shard, request: &Request) -> Result<bool>;
    fn into_reply(self) -> WriteReply;
}

/// Carries out the first slice. The request is copied only if there is another.
pub(super) fn begin<W: SlicedWrite>(
    shard: &mut Shard,
    request: &Request,
    mut write: W,
) -> Result<Flow> {
    if write.slice(shard, request)? {
        return Ok(Flow::Done(write.into_reply().finish()));
    }
    let request = request.clone();
    Ok(Flow::More(Box::new(Rest { request, write })))
}

/// What is left after a slice.
#[derive(Debug)]
struct Rest<W> {
    request: Request,
    write: W,
}

impl<W: SlicedWrite> Resumable for Rest<W> {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        if self.write.slice(shard, &self.request)? {
            return Ok(Flow::Done(self.write.into_reply().finish()));
        }
        Ok(Flow::More(self))
    }
}

/// Bytes of write errors in one reply; of further ones the text is left out.
const ERRORS_LARGEST: usize = 8 * 1024 * 1024;

/// So many may be there however little memory others left.
const BYTES_LEAST: usize = 64 << 10;

/// How many writes one command may hold.
pub(super) struct BatchMost(usize);

/// MongoDB's `maxWriteBatchSize`, which `hello` announces.
pub(super) const BATCH_MOST: BatchMost = BatchMost(DOCUMENTS_MAX);

impl BatchMost {
    pub(super) fn check(&self, length: usize) -> Result<()> {
        if (1..=self.0).contains(&length) {
            return Ok(());
        }
        Err(Code::InvalidLength.error(format!(
            "Write batch sizes must be between 1 and {}. Got {length} operations.",
            self.0
        )))
    }
}

/// The reply of a write command, under construction.
#[derive(Debug, Default)]
pub(super) struct WriteReply {
    pub n: u64,
    /// Of updates alone.
    pub(super) modified: Option<u64>,
    /// By the number of the update.
    upserted: Vec<(usize, RawBson)>,
    errors: Vec<(usize, CommandError)>,
    /// Bytes of the errors' texts and details, and of the `_id`s of upserts.
    bytes: usize,
    /// Counts them, and what else each takes; taken with the first.
    claim: Option<Claim>,
}

impl WriteReply {
    pub(super) fn for_updates() -> Self {
        Self {
            modified: Some(0),
            ..Self::default()
        }
    }

    /// Notes that the write at `index` failed. An error of the store fails the whole command. Beyond their share, and where
    /// memory is short, errors come without text and details.
    pub(super) fn fail(
        &mut self,
        index: usize,
        error: CommandError,
        memory: &Arc<Memory>,
    ) -> Result<()> {
        if error.code == Code::InternalError {
            return Err(error);
        }
        let mut error = error;
        let bytes = error.message.len() + error.details.as_deref().map_or(0, details_bytes);
        let has_room = self.bytes + bytes <= ERRORS_LARGEST && self.hold(bytes, memory);
        if !has_room {
            self.hold(0, memory);
            error.message = String::new();
            error.details = None;
        }
        self.errors.push((index, error));
        Ok(())
    }

    /// Notes the `_id` of the document that the update at `index` inserted.
    pub(super) fn upsert(&mut self, index: usize, id: RawBson, memory: &Arc<Memory>) {
        let bytes = match &id {
            RawBson::String(text) => text.len(),
            RawBson::Document(document) => document.as_bytes().len(),
            RawBson::Binary(binary) => binary.bytes.len(),
            _ => 0,
        };
        // The document is there already, so its `_id` is told however short memory is.
        self.hold(bytes, memory);
        self.upserted.push((index, id));
        self.n += 1;
    }

    /// Counts what another error or `_id` takes. False if there is no memory for it; then only its place is counted.
    fn hold(&mut self, bytes: usize, memory: &Arc<Memory>) -> bool {
        let places = (self.errors.len() + 1) * size_of::<(usize, CommandError)>()
            + (self.upserted.len() + 1) * size_of::<(usize, RawBson)>();
        let claim = self.claim.get_or_insert_with(|| memory.claim());
        let fits = claim.hold(places + self.bytes + bytes) || self.bytes + bytes <= BYTES_LEAST;
        if fits {
            self.bytes += bytes;
        } else {
            claim.hold(places + self.bytes);
        }
        fits
    }

    pub(super) fn finish(self) -> RawDocumentBuf {
        let mut writer = Writer::with_capacity(64);
        writer.count("n", self.n);
        if let Some(modified) = self.modified {
            writer.count("nModified", modified);
        }
        if !self.upserted.is_empty() {
            writer.begin_array("upserted");
            for (at, (index, id)) in self.upserted.iter().enumerate() {
                writer.begin_document(decimal(at, &mut [0; 20]));
                writer.count("index", *index as u64);
                writer.raw("_id", id.as_raw_bson_ref());
                writer.end();
            }
            writer.end();
        }
        if !self.errors.is_empty() {
            writer.begin_array("writeErrors");
            for (at, (index, error)) in self.errors.iter().enumerate() {
                writer.begin_document(decimal(at, &mut [0; 20]));
                write_error(&mut writer, *index, error);
                writer.end();
            }
            writer.end();
        }
        writer.ok()
    }
}

/// About how many bytes of memory the fields beside an error's message take.
fn details_bytes(details: &Document) -> usize {
    let fields = details.iter();
    fields
        .map(|(name, value)| name.len() + footprint(value))
        .sum()
}

fn write_error(writer: &mut Writer, index: usize, error: &CommandError) {
    writer.count("index", index as u64);
    writer.int("code", error.code.number());
    if let Some(details) = &error.details
        && let Ok(raw) = RawDocumentBuf::try_from(details.as_ref())
    {
        for (name, value) in raw.iter().flatten() {
            writer.raw(name.as_str(), value);
        }
    }
    writer.string("errmsg", &error.message);
}

/// The value of a filter that is nothing but `{_id: value}`: such a document is found without a plan.
pub(super) fn id_equality(filter: &RawDocument) -> Option<RawBsonRef<'_>> {
    let mut elements = filter.iter_elements();
    let first = elements.next()?.ok()?;
    if first.key().as_str() != "_id" || elements.next().is_some() {
        return None;
    }
    match first.value().ok()? {
        // Operators, patterns and arrays mean more than equality, or need a closer look.
        RawBsonRef::Document(_)
        | RawBsonRef::RegularExpression(_)
        | RawBsonRef::Array(_)
        | RawBsonRef::Undefined => None,
        value => Some(value),
    }
}

/// The index that a client asks for: by name or by key pattern; `None` for an empty hint.
pub(super) fn hint<'a>(command: &str, value: RawBsonRef<'a>) -> Result<Option<RawBsonRef<'a>>> {
    match value {
        RawBsonRef::String("") | RawBsonRef::Null => Ok(None),
        RawBsonRef::Document(key) if key.is_empty() => Ok(None),
        RawBsonRef::String(_) | RawBsonRef::Document(_) => Ok(Some(value)),
        other => Err(Code::FailedToParse.error(format!(
            "Hint must be a string or an object, but is {} in command {command}",
            display::raw_type_name(other)
        ))),
    }
}

/// The walk over what `filter` selects; `None` if there is no such collection.
pub(super) fn select(
    shard: &Shard,
    (database, name): (&str, &str),
    filter: Option<Filter>,
    hint: Option<RawBsonRef<'_>>,
) -> Result<Option<Selection>> {
    let Some(collection) = shard.catalog.find(database, name) else {
        return Ok(None);
    };
    let wanted = Wanted {
        filter: filter.as_ref(),
        hint,
        ..Wanted::default()
    };
    let plan = plan::choose(collection, wanted)?;
    let selection = Selection::new(plan, filter);
    Ok(Some(selection.counted(shard.memory())))
}

/// `None` for the empty filter, which all documents match.
pub(super) fn parse_filter(
    filter: Option<&RawDocument>,
    variables: &Variables,
    lists: &Lists,
) -> Result<Option<Filter>> {
    let filter = filter.filter(|filter| !filter.is_empty());
    filter
        .map(|filter| Filter::parse_listed(filter, variables, lists))
        .transpose()
}

/// Inserts what an upsert made; returns its `_id`.
pub(super) fn insert(
    shard: &mut Shard,
    (database, name): (&str, &str),
    document: &RawDocument,
) -> Result<RawBson> {
    let collection = shard
        .catalog
        .find_or_create(&mut shard.store, database, name)?;
    if let Some(mut writer) = shard.catalog.writer(&mut shard.store, collection) {
        writer.insert(document)?;
    }
    let id = document.get("_id")?;
    Ok(id.map_or(RawBson::Null, RawBson::from))
}

/// The collection was dropped while a command was on its way over it.
pub(super) fn dropped() -> CommandError {
    Code::QueryPlanKilled.error("collection dropped")
}
