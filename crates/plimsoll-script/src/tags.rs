//! Tag sets, each kept once and named by a number, so that a sample costs no allocation.

use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_core::metrics::{FEW_VALUES, SCRIPT_TAG_SETS_MAX};

/// Names one tag set of a [`TagTable`]. Zero is the empty set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TagSetId(pub u32);

impl TagSetId {
    pub const EMPTY: Self = Self(0);
}

/// Names and values, sorted by name, each name once.
pub type TagSet = [(Rc<str>, Rc<str>)];

/// From there on new values become [`OVERFLOW`].
const SETS_MAX: usize = SCRIPT_TAG_SETS_MAX;
/// Stands for every value beyond [`SETS_MAX`].
const OVERFLOW: &str = "(too many values)";
/// Tags that have few values unless a script makes up ever new names: they have as much room again.
const FEW_NAMES: [&str; 2] = ["check", "group"];

/// Where each value of one tag leads to.
type Values = BTreeMap<Rc<str>, TagSetId>;

/// A step that was asked for not long ago.
#[derive(Debug, Clone)]
struct Recent {
    base: TagSetId,
    name: Rc<str>,
    value: Rc<str>,
    id: TagSetId,
}

/// Recent steps that are found without a search; a script rarely repeats more of them.
const RECENT: usize = 64;

/// Every tag set of one worker, in the order in which they appeared.
#[derive(Debug)]
pub struct TagTable {
    sets: Vec<Rc<TagSet>>,
    ids: BTreeMap<Rc<TagSet>, TagSetId>,
    /// What adding one tag to a set gave before.
    steps: BTreeMap<TagSetId, BTreeMap<Rc<str>, Values>>,
    step_count: usize,
    recent: Vec<Option<Recent>>,
}

impl Default for TagTable {
    fn default() -> Self {
        let empty: Rc<TagSet> = Rc::new([]);
        Self {
            ids: BTreeMap::from([(Rc::clone(&empty), TagSetId::EMPTY)]),
            sets: vec![empty],
            steps: BTreeMap::new(),
            step_count: 0,
            recent: vec![None; RECENT],
        }
    }
}

impl TagTable {
    /// The tags of a set that this table made.
    pub fn tags(&self, id: TagSetId) -> &Rc<TagSet> {
        &self.sets[id.0 as usize]
    }

    /// The value of one tag of a set.
    pub(crate) fn value(&self, id: TagSetId, name: &str) -> Option<Rc<str>> {
        let tags = self.tags(id);
        let at = tags
            .binary_search_by(|(known, _)| (**known).cmp(name))
            .ok()?;
        Some(Rc::clone(&tags[at].1))
    }

    /// Whether values have been replaced by [`OVERFLOW`].
    pub(crate) fn is_full(&self) -> bool {
        self.sets.len() >= SETS_MAX || self.step_count >= SETS_MAX
    }

    /// The set with one tag added, or its value replaced.
    pub fn with(&mut self, base: TagSetId, name: &str, value: &str) -> TagSetId {
        let place = recent_place(base, name, value);
        if let Some(recent) = &self.recent[place]
            && recent.base == base
            && *recent.name == *name
            && *recent.value == *value
        {
            return recent.id;
        }
        let id = self.step(base, name, value);
        self.recent[place] = Some(Recent {
            base,
            name: name.into(),
            value: value.into(),
            id,
        });
        id
    }

    fn overflows(&self, name: &str) -> bool {
        if !self.is_full() || FEW_VALUES.contains(&name) {
            return false;
        }
        !FEW_NAMES.contains(&name) || self.sets.len() >= 2 * SETS_MAX
    }

    fn step(&mut self, base: TagSetId, name: &str, value: &str) -> TagSetId {
        let known = self.steps.get(&base).and_then(|names| names.get(name));
        if let Some(id) = known.and_then(|values| values.get(value)) {
            return *id;
        }
        let value = if self.overflows(name) {
            OVERFLOW
        } else {
            value
        };
        let (name, value): (Rc<str>, Rc<str>) = (name.into(), value.into());
        let mut tags = self.tags(base).to_vec();
        match tags.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => tags[at].1 = Rc::clone(&value),
            Err(at) => tags.insert(at, (Rc::clone(&name), Rc::clone(&value))),
        }
        let id = self.intern(tags);
        let names = self.steps.entry(base).or_default();
        names.entry(name).or_default().insert(value, id);
        self.step_count += 1;
        id
    }

    /// The set without one tag.
    pub(crate) fn without(&mut self, base: TagSetId, name: &str) -> TagSetId {
        let mut tags = self.tags(base).to_vec();
        tags.retain(|(known, _)| &**known != name);
        self.intern(tags)
    }

    fn intern(&mut self, tags: Vec<(Rc<str>, Rc<str>)>) -> TagSetId {
        let tags: Rc<TagSet> = tags.into();
        if let Some(id) = self.ids.get(&tags) {
            return *id;
        }
        let id = TagSetId(self.sets.len() as u32);
        self.ids.insert(Rc::clone(&tags), id);
        self.sets.push(tags);
        id
    }
}

/// Where a step lies among the recent ones: spread by what tells steps of one script apart.
fn recent_place(base: TagSetId, name: &str, value: &str) -> usize {
    let last = |text: &str| text.as_bytes().last().copied().map_or(0, usize::from);
    let mixed = base.0 as usize * 31 + name.len() * 7 + last(name) + value.len() * 13 + last(value);
    mixed % RECENT
}

#[cfg(test)]
mod tests;
