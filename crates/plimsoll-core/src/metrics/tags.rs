//! Tag sets by number, so that a sample is a few words and counting it allocates nothing.

use std::collections::BTreeMap;

/// Tag sets of one worker after which a script gets no new values any more: more would mean values that never repeat (an
/// identifier in a URL), and a long run stays flat in memory.
pub const SCRIPT_TAG_SETS_MAX: usize = 50_000;
/// Tags that have few values by their nature. They are never given up: a threshold on `status:503` would count nothing any
/// more, and pass; an output would not know what failed.
pub const FEW_VALUES: [&str; 7] = [
    "status",
    "proto",
    "expected_response",
    "error_code",
    "tls_version",
    "method",
    "scenario",
];

/// A tag set of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TagSetId(pub(super) u32);

/// A tag and its value.
pub(super) type Pair = (Box<str>, Box<str>);

/// Tag sets that were seen, each once.
#[derive(Debug, Clone, Default)]
pub struct TagSets {
    sets: Vec<Box<[Pair]>>,
    /// By a hash that does not depend on the order of tags.
    by_hash: BTreeMap<u64, Vec<u32>>,
}

impl TagSets {
    /// The number of a known set, whatever the order of its tags. Allocates nothing.
    pub fn find(&self, tags: &[(&str, &str)]) -> Option<TagSetId> {
        let candidates = self.by_hash.get(&hash(tags))?;
        let same = |index: &&u32| is_same(&self.sets[**index as usize], tags);
        candidates.iter().find(same).copied().map(TagSetId)
    }

    /// The number of a set that is not known yet; its tags are kept sorted by name.
    pub(super) fn insert(&mut self, tags: &[(&str, &str)]) -> TagSetId {
        let number =
            u32::try_from(self.sets.len()).expect("invariant: the store caps its tag sets");
        let mut pairs: Vec<Pair> = tags
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        pairs.sort();
        self.sets.push(pairs.into_boxed_slice());
        self.by_hash.entry(hash(tags)).or_default().push(number);
        TagSetId(number)
    }

    pub fn len(&self) -> usize {
        self.sets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Tags and values of a set, sorted by tag.
    pub fn tags(&self, id: TagSetId) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.sets.get(id.0 as usize).into_iter().flatten();
        pairs.map(|(name, value)| (&**name, &**value))
    }

    pub fn value(&self, id: TagSetId, tag: &str) -> Option<&str> {
        let mut tags = self.tags(id);
        tags.find(|(name, _)| *name == tag).map(|(_, value)| value)
    }
}

fn is_same(pairs: &[Pair], tags: &[(&str, &str)]) -> bool {
    let holds = |tag: &(&str, &str)| {
        pairs
            .iter()
            .any(|(name, value)| **name == *tag.0 && **value == *tag.1)
    };
    pairs.len() == tags.len() && tags.iter().all(holds)
}

/// FNV-1a over each pair, added up.
fn hash(tags: &[(&str, &str)]) -> u64 {
    let pair = |(name, value): &(&str, &str)| {
        let bytes = name.bytes().chain([0xff]).chain(value.bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    tags.iter().map(pair).fold(0, u64::wrapping_add)
}
