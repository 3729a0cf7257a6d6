//! `drop` and `dropDatabase`. Names go at once; the keys of what was dropped are deleted bit by bit afterwards.

use super::arguments;
use crate::catalog::check_database;
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
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
    let mut writer = Writer::with_capacity(128);
    writer.count("nIndexesWas", indexes);
    writer.string("ns", &format!("{database}.{name}"));
    Ok(Flow::Done(writer.ok()))
}

pub(super) fn database(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let database = request.database();
    check_database(database)?;
    arguments::each(request, |_, _| Ok(false))?;
    let ids: Vec<u32> = shard
        .catalog
        .in_database(database)
        .map(|collection| collection.id)
        .collect();
    for id in &ids {
        shard.catalog.drop_collection(&mut shard.store, *id);
    }
    shard.cursors.close_of(database, None);
    let mut writer = Writer::with_capacity(64);
    if !ids.is_empty() {
        writer.string("dropped", database);
    }
    Ok(Flow::Done(writer.ok()))
}
