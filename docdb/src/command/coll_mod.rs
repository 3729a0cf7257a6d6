//! `collMod`: changes `expireAfterSeconds` of an index. Whatever else MongoDB can change is refused.

use bson::raw::{RawBsonRef, RawDocument};

use super::arguments;
use crate::collection::{Collection, Index, parse_key};
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::wire::Request;

const NAME: &str = "collMod";
/// The place of its fields in messages.
const PLACE: &str = "collMod.index";

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let (database, name) = arguments::namespace(request)?;
    let mut change = None;
    arguments::each(request, |field, value| {
        match field {
            "index" => change = Some(Change::parse(arguments::object(NAME, field, value)?)?),
            "validator"
            | "validationLevel"
            | "validationAction"
            | "viewOn"
            | "pipeline"
            | "expireAfterSeconds"
            | "timeseries"
            | "changeStreamPreAndPostImages"
            | "cappedSize"
            | "cappedMax" => arguments::refuse_unless_off(NAME, field, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let Some(collection) = shard.catalog.find(database, name) else {
        return Err(Code::NamespaceNotFound.error(format!("ns does not exist: {database}.{name}")));
    };
    let mut writer = Writer::with_capacity(96);
    if let Some(change) = change {
        let index = change.find(collection)?;
        let (collection, id, old) = (collection.id, index.id, index.spec.expire_after);
        let seconds = Some(change.seconds);
        let set = |index: &mut Index| index.spec.expire_after = seconds;
        shard
            .catalog
            .change_index(&mut shard.store, collection, id, set);
        if let Some(old) = old {
            writer.long("expireAfterSeconds_old", old);
        }
        writer.long("expireAfterSeconds_new", change.seconds);
    }
    Ok(Flow::Done(writer.ok()))
}

/// Which index gets which time to live.
#[derive(Debug)]
struct Change<'a> {
    name: Option<&'a str>,
    key: Option<&'a RawDocument>,
    seconds: i64,
}

impl<'a> Change<'a> {
    fn parse(raw: &'a RawDocument) -> Result<Self> {
        let (mut name, mut key, mut seconds) = (None, None, None);
        arguments::each_of(PLACE, raw, |field, value: RawBsonRef<'a>| {
            match field {
                "name" => name = Some(arguments::text(PLACE, field, value)?),
                "keyPattern" => key = Some(arguments::object(PLACE, field, value)?),
                "expireAfterSeconds" => {
                    seconds = Some(arguments::integer(PLACE, field, value)?);
                }
                "hidden" | "unique" | "prepareUnique" => {
                    arguments::refuse_unless_off(NAME, field, value)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let seconds = seconds.ok_or_else(|| {
            Code::InvalidOptions
                .error("no expireAfterSeconds, hidden, unique, or prepareUnique field")
        })?;
        if i32::try_from(seconds).is_ok_and(|seconds| seconds >= 0) {
            return Ok(Self { name, key, seconds });
        }
        Err(Code::InvalidOptions.error(format!(
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different number than {seconds}"
        )))
    }

    fn find<'c>(&self, collection: &'c Collection) -> Result<&'c Index> {
        let fields = self.key.map(parse_key).transpose()?;
        if self.name.is_some() == fields.is_some() {
            return Err(Code::InvalidOptions.error("must specify either index name or key pattern"));
        }
        let found = collection.ready().find(|index| {
            self.name.is_none_or(|name| index.spec.name == name)
                && fields
                    .as_ref()
                    .is_none_or(|fields| index.spec.fields == *fields)
        });
        let index = found.ok_or_else(|| {
            Code::IndexNotFound.error(format!(
                "cannot find index for ns {}",
                collection.namespace()
            ))
        })?;
        if index.spec.fields.len() > 1 {
            return Err(Code::InvalidOptions.error(
                "TTL indexes are single-field indexes, compound indexes do not support TTL",
            ));
        }
        Ok(index)
    }
}
