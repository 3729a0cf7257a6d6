//! `listDatabases`: every database of every shard, as each last said.

use bson::raw::RawBsonRef;
use bson::{Bson, Document, RawDocumentBuf, doc};

use crate::auth::Access;
use crate::error::{Code, Result};
use crate::query::Filter;
use crate::scheduler::DatabaseSize;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(
    shared: &Shared,
    session: &mut Session,
    request: &Request,
) -> Result<Document> {
    let body = request.body();
    let name_only = body.get("nameOnly")?.is_some_and(is_true);
    let filter = body
        .get_document("filter")
        .ok()
        .map(Filter::parse)
        .transpose()?;
    let mut databases = Vec::new();
    let mut total = 0;
    for size in shared.executors.databases() {
        let visible = !shared.config.auth || session.may(Access::Read, &size.name);
        let row = row(&size);
        let raw = RawDocumentBuf::try_from(&row)
            .map_err(|error| Code::InternalError.error(error.to_string()))?;
        let wanted = match &filter {
            Some(filter) => filter.try_matches(&raw)?,
            None => true,
        };
        if visible && wanted {
            total += size.bytes;
            databases.push(Bson::from(if name_only {
                doc! { "name": size.name }
            } else {
                row
            }));
        }
    }
    if name_only {
        return Ok(doc! { "databases": databases });
    }
    let total = total.cast_signed();
    Ok(doc! { "databases": databases, "totalSize": total, "totalSizeMb": total / (1 << 20) })
}

fn row(size: &DatabaseSize) -> Document {
    doc! { "name": &size.name, "sizeOnDisk": size.bytes.cast_signed(), "empty": size.empty }
}

fn is_true(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::Boolean(value) => value,
        RawBsonRef::Int32(value) => value != 0,
        RawBsonRef::Int64(value) => value != 0,
        RawBsonRef::Double(value) => value != 0.0,
        _ => false,
    }
}
