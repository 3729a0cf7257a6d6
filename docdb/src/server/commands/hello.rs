//! `hello`, and `isMaster` of older drivers: what this server is and can; perhaps the begin of a login.

use bson::raw::RawBsonRef;
use bson::{Bson, Document, doc};

use super::{int, login};
use crate::error::Result;
use crate::scheduler::wall_time;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::{Compressor, DOCUMENT_BYTES_MAX, MESSAGE_BYTES_MAX, Request};

/// MongoDB 7.0 speaks 0 to 21; drivers of today refuse servers below 8 or 9.
const WIRE_VERSION_MAX: i32 = 21;
/// Writes of one command.
const BATCH_WRITES_MAX: i32 = 100_000;

pub(crate) fn respond(
    shared: &Shared,
    session: &mut Session,
    request: &Request,
) -> Result<Document> {
    let legacy = request.name() != "hello";
    let mut reply = doc! {
        (if legacy { "ismaster" } else { "isWritablePrimary" }): true,
        "helloOk": true,
        "maxBsonObjectSize": int(DOCUMENT_BYTES_MAX),
        "maxMessageSizeBytes": int(MESSAGE_BYTES_MAX),
        "maxWriteBatchSize": BATCH_WRITES_MAX,
        "localTime": wall_time(),
        "logicalSessionTimeoutMinutes": 30,
        "connectionId": session.id,
        "minWireVersion": 0,
        "maxWireVersion": WIRE_VERSION_MAX,
        "readOnly": false,
        "docdb": { "durability": shared.config.durability.to_string() },
    };
    let agreed = compressors(request);
    if !agreed.is_empty() {
        reply.insert("compression", agreed);
    }
    if let Ok(user) = request.body().get_str("saslSupportedMechs") {
        reply.extend(mechanisms(shared, user));
    }
    if let Ok(Some(RawBsonRef::Document(start))) = request.body().get("speculativeAuthenticate") {
        // What cannot begin here fails when the driver asks again, with its reason.
        if let Ok(begun) = login::speculate(shared, session, start) {
            reply.insert("speculativeAuthenticate", begun);
        }
    }
    Ok(reply)
}

/// The client's compressors that are here, in the client's order.
fn compressors(request: &Request) -> Vec<Bson> {
    let wanted = request
        .body()
        .get_array("compression")
        .into_iter()
        .flatten();
    let names = wanted.filter_map(|name| name.ok()?.as_str().and_then(Compressor::named));
    names
        .map(|compressor| Bson::from(compressor.name()))
        .collect()
}

/// `user` is `database.name`; for a name that does not exist the field is missing, as in MongoDB.
fn mechanisms(shared: &Shared, user: &str) -> Option<(String, Bson)> {
    let (database, name) = user.split_once('.')?;
    shared.users().get(database, name)?;
    Some((
        "saslSupportedMechs".to_owned(),
        Bson::from(vec!["SCRAM-SHA-256"]),
    ))
}
