//! `currentOp` and `killOp`: commands that take more than one slice.

use bson::{Document, doc};

use super::Session;
use crate::error::{Code, Result};
use crate::server::shared::Shared;
use crate::value::{Number, decode};
use crate::wire::Request;

/// Every command under way that gave way at least once; shorter ones are over before anyone could look.
pub(crate) fn current(shared: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let now = shared.clock.now();
    let running = shared.executors.operations().running();
    let running: Vec<Document> = running
        .iter()
        .map(|one| decode(&one.describe(now)))
        .collect::<Result<_>>()?;
    Ok(doc! { "inprog": running })
}

/// As MongoDB, it says so whether or not there is such a command: it may be over by now.
pub(crate) fn kill(shared: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let body = decode(request.body())?;
    let id = body.get("op").and_then(Number::from_bson);
    let id = id.and_then(Number::to_i64_exact).ok_or_else(|| {
        Code::TypeMismatch.error("killOp needs 'op', a number that currentOp shows as 'opid'")
    })?;
    if let Ok(id) = i32::try_from(id) {
        shared.executors.operations().kill(id);
    }
    Ok(doc! { "info": "attempting to kill op" })
}
