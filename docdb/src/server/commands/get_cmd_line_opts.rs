//! `getCmdLineOpts`: what the server was started with.

use bson::{Document, doc};

use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(shared: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let config = &shared.config;
    Ok(doc! {
        "argv": ["plimsoll", "docdb"],
        "parsed": {
            "net": { "bindIp": config.listen.ip().to_string(), "port": i32::from(config.listen.port()) },
            "storage": { "dbPath": config.data.display().to_string(), "engine": "docdb", "durability": config.durability.to_string() },
            "security": { "authorization": if config.auth { "enabled" } else { "disabled" } },
            "scheduler": config.scheduler.name(),
        },
    })
}
