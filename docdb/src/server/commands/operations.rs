//! `currentOp` and `killOp`: commands that take more than one slice.

use bson::{Document, RawDocumentBuf, doc};

use super::Session;
use crate::error::{Code, Result};
use crate::query::Filter;
use crate::server::shared::Shared;
use crate::value::{Number, Value, decode};
use crate::wire::Request;

/// Fields of `currentOp` that say nothing about which operations are meant.
const NO_CONDITIONS: [&str; 17] = [
    "$all",
    "$audit",
    "$client",
    "$clusterTime",
    "$configServerState",
    "$db",
    "$ownOps",
    "$readPreference",
    "$truncateOps",
    "apiDeprecationErrors",
    "apiStrict",
    "apiVersion",
    "comment",
    "lsid",
    "maxTimeMS",
    "readConcern",
    "writeConcern",
];
/// What conditions on operations may take: the loop that reads them serves connections.
const CONDITIONS_BYTES_MAX: usize = 64 << 10;

/// The commands under way that gave way at least once and that the other fields, a filter, match; shorter ones are over before
/// anyone could look. Who ends what is listed here must not be shown what was not asked for.
pub(crate) fn current(shared: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let filter = Filter::parse(&conditions(request)?)?;
    let now = shared.clock.now();
    let mut found = Vec::new();
    for one in shared.executors.operations().running() {
        let shown = one.describe(now);
        if filter.try_matches(&shown)? {
            found.push(decode(&shown)?);
        }
    }
    Ok(doc! { "inprog": found })
}

fn conditions(request: &Request) -> Result<RawDocumentBuf> {
    let mut filter = RawDocumentBuf::new();
    for element in request.body().iter_elements().skip(1) {
        let element = element?;
        if NO_CONDITIONS.contains(&element.key().as_str()) {
            continue;
        }
        if filter.as_bytes().len() + element.size() > CONDITIONS_BYTES_MAX {
            return Err(Code::BSONObjectTooLarge.error(format!(
                "the filter of currentOp may have {CONDITIONS_BYTES_MAX} bytes"
            )));
        }
        filter.append(element.key(), element.value()?);
    }
    Ok(filter)
}

/// As MongoDB, it says so whether or not there is such a command: it may be over by now.
pub(crate) fn kill(shared: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    // Only this field is read: a message may be long, and the loop that reads it serves connections.
    let id = request.body().get("op")?.and_then(Value::from_raw);
    let id = id.as_ref().and_then(Number::from_value);
    let id = id.and_then(Number::to_i64_exact).ok_or_else(|| {
        Code::TypeMismatch.error("killOp needs 'op', a number that currentOp shows as 'opid'")
    })?;
    if let Ok(id) = i32::try_from(id) {
        shared.executors.operations().kill(id);
    }
    Ok(doc! { "info": "attempting to kill op" })
}
