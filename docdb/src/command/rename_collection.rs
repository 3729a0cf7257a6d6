//! `renameCollection`: gives a collection another name in its database.

use super::arguments::{self, missing};
use crate::catalog::{check_collection, check_new_collection};
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    const RENAME: &str = "renameCollection";
    if request.database() != "admin" {
        return Err(Code::Unauthorized
            .error("renameCollection may only be run against the admin database."));
    }
    let from = request.body().get(RENAME)?;
    let from = from.ok_or_else(|| missing(RENAME, RENAME))?;
    let from = arguments::text(RENAME, RENAME, from)?;
    let (mut to, mut drop_target) = (None, false);
    arguments::each(request, |name, value| {
        match name {
            "to" => to = Some(arguments::text(RENAME, name, value)?),
            "dropTarget" => drop_target = arguments::truth(RENAME, name, value)?,
            "stayTemp" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let (database, source) = split(from)?;
    let (target_database, target) = split(to.ok_or_else(|| missing(RENAME, "to"))?)?;
    check_new_collection(target_database, target)?;
    if database != target_database {
        return Err(Code::CommandNotSupported
            .error("renameCollection from one database to another is not supported"));
    }
    if source == target {
        return Err(Code::IllegalOperation.error("Can't rename a collection to itself"));
    }
    let Some(id) = shard.catalog.find(database, source).map(|one| one.id) else {
        return Err(
            Code::NamespaceNotFound.error(format!("Source collection {from} does not exist"))
        );
    };
    if let Some(existing) = shard.catalog.find(database, target).map(|one| one.id) {
        if !drop_target {
            return Err(Code::NamespaceExists.error("target namespace exists"));
        }
        shard.catalog.drop_collection(&mut shard.store, existing);
    }
    shard.catalog.rename(&mut shard.store, id, target);
    shard.cursors.close_of(database, Some(source));
    shard.cursors.close_of(database, Some(target));
    Ok(Flow::Done(Writer::default().ok()))
}

/// Database and collection of `database.collection`.
fn split(namespace: &str) -> Result<(&str, &str)> {
    let Some((database, collection)) = namespace.split_once('.') else {
        return Err(
            Code::InvalidNamespace.error(format!("Invalid namespace specified '{namespace}'"))
        );
    };
    check_collection(database, collection)?;
    Ok((database, collection))
}
