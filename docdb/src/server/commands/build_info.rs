//! `buildInfo`: the release that is followed, and what this server really is.

use bson::{Document, doc};

use super::{VERSION, VERSION_PARTS, int};
use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::{DOCUMENT_BYTES_MAX, Request};

pub(crate) fn respond(_: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    Ok(doc! {
        "version": VERSION,
        "versionArray": VERSION_PARTS.to_vec(),
        "gitVersion": "plimsoll",
        "modules": [],
        "docdb": { "version": env!("CARGO_PKG_VERSION") },
        "bits": 64,
        "debug": cfg!(debug_assertions),
        "maxBsonObjectSize": int(DOCUMENT_BYTES_MAX),
        "storageEngines": ["docdb"],
    })
}
