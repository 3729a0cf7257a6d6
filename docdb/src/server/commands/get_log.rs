//! `getLog`: warnings go to standard error, so there is nothing to return; mongosh asks at every start.

use bson::{Bson, Document, doc};

use super::subject;
use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    match subject(request)?.as_str() {
        "*" => Ok(doc! { "names": ["global", "startupWarnings"] }),
        "global" | "startupWarnings" => {
            Ok(doc! { "totalLinesWritten": 0, "log": Vec::<Bson>::new() })
        }
        other => Err(Code::OperationFailed.error(format!("No log named '{other}'"))),
    }
}
