//! `create`: makes an empty collection. Kinds other than the plain one are refused.

use super::arguments;
use crate::catalog::check_new_collection;
use crate::error::Result;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    const CREATE: &str = "create";
    let (database, name) = arguments::namespace(request)?;
    check_new_collection(database, name)?;
    arguments::each(request, |option, value| {
        match option {
            "capped"
            | "timeseries"
            | "viewOn"
            | "pipeline"
            | "validator"
            | "clusteredIndex"
            | "changeStreamPreAndPostImages"
            | "encryptedFields"
            | "expireAfterSeconds"
            | "size"
            | "max"
            | "temp" => arguments::refuse_unless_off(CREATE, option, value)?,
            "collation" => arguments::collation(CREATE, value)?,
            // They say how a validator acts or how another storage engine stores; without those, nothing.
            "validationLevel"
            | "validationAction"
            | "storageEngine"
            | "indexOptionDefaults"
            | "autoIndexId"
            | "idIndex"
            | "flags" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    // Every collection here is a plain one: one that is there has the options that were asked for, and asking twice is fine,
    // as in MongoDB.
    if shard.catalog.find(database, name).is_some() {
        return Ok(Flow::Done(Writer::default().ok()));
    }
    shard.catalog.create(&mut shard.store, database, name)?;
    Ok(Flow::Done(Writer::default().ok()))
}
