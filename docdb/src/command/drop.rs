//! `drop` and `dropDatabase`. Names go at once; the keys of what was dropped are deleted bit by bit afterwards.

use super::arguments;
use crate::bson_writer::DocumentWriter;
use crate::catalog::check_database;
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::wire::Request;

pub(super) fn collection(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let (database, name) = arguments::namespace(request)?;
    arguments::each(request, |_, _| Ok(false))?;
    let Some(found) = shard.catalog.find(database, name) else {
        return Err(Code::NamespaceNotFound.error("ns not found"));
    };
    let (id, indexes) = (found.id, found.indexes.len() as u64 + 1);
    shard.catalog.drop_collection(&mut shard.store, id);
    shard.cursors.close_of(database, Some(name));
    let mut writer = DocumentWriter::with_capacity(128);
    writer.count("nIndexesWas", indexes);
    writer.string("ns", &format!("{database}.{name}"));
    writer.double("ok", 1.0);
    Ok(Flow::Done(writer.finish()))
}

pub(super) fn database(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let database = request.database();
    check_database(database)?;
    arguments::each(request, |_, _| Ok(false))?;
    let ids: Vec<u32> = shard
        .catalog
        .of_database(database)
        .map(|collection| collection.id)
        .collect();
    for id in &ids {
        shard.catalog.drop_collection(&mut shard.store, *id);
    }
    shard.cursors.close_of(database, None);
    let mut writer = DocumentWriter::with_capacity(64);
    if !ids.is_empty() {
        writer.string("dropped", database);
    }
    writer.double("ok", 1.0);
    Ok(Flow::Done(writer.finish()))
}
