//! Time to live: deletes documents whose date in a TTL index lies further back than `expireAfterSeconds`.

use std::ops::Bound;

use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;

use crate::budget::{Budget, SLICE_TIME};
use crate::catalog::Catalog;
use crate::collection::{Advance, Index, KeyRange, Selection, plan, stored};
use crate::error::Result;
use crate::query::Direction;
use crate::store::Store;
use crate::value::{Value, key};

/// How often TTL indexes are looked at. MongoDB does it every minute; looking costs one short scan per index.
const PERIOD: Nanos = Nanos(1_000_000_000);
/// Documents deleted per call.
const SLICE: usize = 200;

/// When to look next, and what is left to look at.
#[derive(Debug, Default)]
pub(crate) struct Expiry {
    next: Nanos,
    /// TTL indexes of this round: collection and index id.
    left: Vec<(u32, u32)>,
    /// The walk over the last of them, paused: what it deleted is not looked at again.
    walk: Option<Selection>,
}

impl Expiry {
    /// Deletes a bounded number of expired documents; true if more are waiting.
    pub(crate) fn tend(
        &mut self,
        store: &mut Store,
        catalog: &mut Catalog,
        now: bson::DateTime,
        clock: Clock,
    ) -> Result<bool> {
        let time = clock.now();
        if self.left.is_empty() {
            if time < self.next {
                return Ok(false);
            }
            self.next = Nanos(time.0.saturating_add(PERIOD.0));
            self.left = ttl_indexes(catalog);
        }
        let Some(&(collection, index)) = self.left.last() else {
            return Ok(false);
        };
        let walk = self.walk.take();
        let walk = walk.or_else(|| expired(catalog, (collection, index), now));
        let budget = Budget::new(SLICE, SLICE_TIME, clock);
        self.walk = match walk {
            Some(walk) => expire((store, catalog), collection, walk, budget)?,
            None => None,
        };
        if self.walk.is_none() {
            self.left.pop();
        }
        Ok(!self.left.is_empty())
    }
}

fn ttl_indexes(catalog: &Catalog) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for collection in catalog.all() {
        let timed = collection
            .ready()
            .filter(|index| index.spec.expire_after.is_some());
        found.extend(timed.map(|index| (collection.id, index.id)));
    }
    found
}

/// The walk over what is past its time in an index; `None` if the index is gone.
fn expired(
    catalog: &Catalog,
    (collection, index): (u32, u32),
    now: bson::DateTime,
) -> Option<Selection> {
    let found = catalog.get(collection)?;
    let index = found.ready().find(|one| one.id == index)?;
    let range = expired_keys(index, now)?;
    let plan = plan::from_range(found, index, range);
    Some(Selection::new(plan, None))
}

/// Deletes what comes next in a walk; what is left of it.
fn expire(
    (store, catalog): (&mut Store, &mut Catalog),
    collection: u32,
    mut walk: Selection,
    mut budget: Budget,
) -> Result<Option<Selection>> {
    if walk.check(catalog.get(collection)).is_err() {
        return Ok(None);
    }
    loop {
        let document = match walk.next(store, &mut budget)? {
            Advance::Document(document) => document,
            Advance::End => return Ok(None),
            Advance::Later => {
                walk.pause();
                return Ok(Some(walk));
            }
        };
        if let Some(mut writer) = catalog.writer(store, collection) {
            writer.remove(stored(&document)?)?;
        }
    }
}

/// The keys of dates that are over. Other types never expire; of several dates in an array the earliest counts.
fn expired_keys(index: &Index, now: bson::DateTime) -> Option<KeyRange> {
    let seconds = index.spec.expire_after?;
    let last = now
        .timestamp_millis()
        .saturating_sub(seconds.saturating_mul(1000));
    let field = index.spec.fields.first()?;
    let encode = |millis| {
        let mut bytes = index.id.to_be_bytes().to_vec();
        field.encode(&Value::Date(millis), &mut bytes);
        bytes
    };
    let (oldest, newest) = (encode(i64::MIN), encode(last));
    let (first, last) = match field.direction {
        Direction::Ascending => (oldest, newest),
        Direction::Descending => (newest, oldest),
    };
    Some((Bound::Included(first), Bound::Excluded(key::after(&last))))
}
