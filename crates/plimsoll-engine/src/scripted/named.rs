//! Requests of one worker's virtual users by the name that the script gave them.

use std::collections::BTreeMap;

use plimsoll_script::tags::{TagSetId, TagTable};

use crate::message::NamedRequests;

/// Tags that name a request, the first one that it has.
const NAMING: [&str; 2] = ["name", "url"];
/// A request without any of them.
const NAMELESS: &str = "(no name)";

/// Numbers for names, so that a request that ends is a few words.
#[derive(Debug, Default)]
pub(super) struct Named {
    by_tags: Vec<Option<u32>>,
    known: BTreeMap<Box<str>, u32>,
    /// What the runner has not been told yet.
    pub(super) requests: NamedRequests,
}

impl Named {
    /// The number of the name in these tags. Allocates only for tags that are new.
    pub(super) fn number(&mut self, tags: TagSetId, table: &TagTable) -> u32 {
        let index = tags.0 as usize;
        if let Some(Some(known)) = self.by_tags.get(index) {
            return *known;
        }
        let all = table.tags(tags);
        let value = |wanted: &&str| {
            let found = all.iter().find(|(name, _)| **name == **wanted);
            found.map(|(_, value)| &**value)
        };
        let name = NAMING.iter().find_map(value).unwrap_or(NAMELESS);
        let number = self.number_of(name);
        if self.by_tags.len() <= index {
            self.by_tags.resize(index + 1, None);
        }
        self.by_tags[index] = Some(number);
        number
    }

    fn number_of(&mut self, name: &str) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let number = self.known.len() as u32;
        self.known.insert(name.into(), number);
        self.requests.fresh.push(name.into());
        number
    }
}
