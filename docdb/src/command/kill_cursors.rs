//! `killCursors`: closes cursors, and says which of them were open.

use bson::raw::RawBsonRef;

use super::arguments;
use crate::error::Result;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::{Writer, decimal};
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    const KILL: &str = "killCursors";
    let (database, collection) = arguments::namespace(request)?;
    let mut ids = None;
    arguments::each(request, |name, value| match (name, value) {
        ("cursors", RawBsonRef::Array(array)) => {
            ids = Some(array);
            Ok(true)
        }
        ("cursors", other) => Err(arguments::wrong_type(KILL, name, other, "'array'")),
        _ => Ok(false),
    })?;
    let ids = ids.ok_or_else(|| arguments::missing(KILL, "cursors"))?;
    let (mut killed, mut missing) = (Vec::new(), Vec::new());
    for (at, id) in ids.into_iter().enumerate() {
        let RawBsonRef::Int64(id) = id? else {
            let field = format!("cursors.{at}");
            return Err(arguments::wrong_type(
                KILL,
                &field,
                RawBsonRef::Null,
                "'long'",
            ));
        };
        if shard.cursors.close(id, (database, collection)) {
            killed.push(id);
        } else {
            missing.push(id);
        }
    }
    let mut writer = Writer::with_capacity(256);
    let lists = [
        ("cursorsKilled", killed),
        ("cursorsNotFound", missing),
        ("cursorsAlive", Vec::new()),
        ("cursorsUnknown", Vec::new()),
    ];
    for (name, list) in lists {
        writer.begin_array(name);
        for (at, id) in list.iter().enumerate() {
            writer.long(decimal(at, &mut [0; 20]), *id);
        }
        writer.end();
    }
    Ok(Flow::Done(writer.ok()))
}
