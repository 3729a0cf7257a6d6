//! `currentOp` and `killOp`: commands that take more than one slice.

use bson::{Bson, Document, doc};

use super::Session;
use crate::error::{Code, Result};
use crate::server::shared::Shared;
use crate::value::{Number, decode};
use crate::wire::Request;

/// Every command under way that gave way at least once; shorter ones are over before anyone could look.
pub(crate) fn current(shared: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let now = shared.clock.now();
    let mut running = Vec::new();
    for one in shared.executors.operations().running() {
        let time = now.0.saturating_sub(one.begun.0);
        let whole = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        running.push(Bson::from(doc! {
            "type": "op",
            "opid": one.id,
            "active": true,
            "op": kind(&one.name),
            "ns": &one.namespace,
            "secs_running": whole(time / 1_000_000_000),
            "microsecs_running": whole(time / 1000),
            "command": decode(&one.command)?,
            "client": &one.client.peer,
            "connectionId": one.client.id,
            "desc": format!("conn{}", one.client.id),
            "killPending": one.is_killed(),
        }));
    }
    Ok(doc! { "inprog": running })
}

/// What MongoDB calls an operation of this command.
fn kind(command: &str) -> &'static str {
    match command {
        "find" => "query",
        "getMore" => "getmore",
        "insert" => "insert",
        "update" => "update",
        "delete" => "remove",
        _ => "command",
    }
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
