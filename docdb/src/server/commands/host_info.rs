//! `hostInfo`: the machine, as far as it matters here.

use bson::{Document, doc};

use super::int;
use crate::error::Result;
use crate::scheduler::wall_time;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let system = rustix::system::uname();
    Ok(doc! {
        "system": {
            "currentTime": wall_time(),
            "hostname": system.nodename().to_string_lossy().into_owned(),
            "cpuAddrSize": 64,
            "numCores": int(cores),
            "cpuArch": std::env::consts::ARCH,
        },
        "os": { "type": "Linux", "name": "Linux", "version": system.release().to_string_lossy().into_owned() },
        "extra": {},
    })
}
