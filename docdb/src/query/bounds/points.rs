//! The keys of a long list, or of a part of it, as what an index is searched for.

use std::borrow::Cow;
use std::sync::Arc;

use crate::query::list::List;

/// Keys next to one another in a list.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    list: Arc<List>,
    from: usize,
    to: usize,
    /// For a descending field: inverted, and in the order that they have then.
    is_inverted: bool,
}

impl Points {
    pub(super) fn new(list: &Arc<List>) -> Self {
        Self {
            list: Arc::clone(list),
            from: 0,
            to: list.len(),
            is_inverted: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.to - self.from
    }

    /// What the keys of one value begin with.
    pub(crate) fn key(&self, at: usize) -> Option<Cow<'_, [u8]>> {
        if at >= self.len() {
            return None;
        }
        if self.is_inverted {
            let key = self.list.key(self.to - 1 - at)?;
            return Some(Cow::Owned(key.iter().map(|byte| !byte).collect()));
        }
        self.list.key(self.from + at).map(Cow::Borrowed)
    }

    /// No key is longer.
    pub(crate) fn longest(&self) -> usize {
        self.list.longest()
    }

    /// The first and the last of each of at most so many parts of about one length; the same key where a part has but one.
    pub(super) fn parts(
        &self,
        most: usize,
    ) -> impl Iterator<Item = (Cow<'_, [u8]>, Cow<'_, [u8]>)> {
        let size = self.len().div_ceil(most.max(1)).max(1);
        let starts = (0..self.len()).step_by(size);
        starts.filter_map(move |at| {
            let last = (at + size).min(self.len()) - 1;
            self.key(at).zip(self.key(last))
        })
    }

    /// Those that are not below `lower`, and below `upper`.
    pub(super) fn between(&self, lower: &[u8], upper: &[u8]) -> Self {
        let from = self.list.below(lower).clamp(self.from, self.to);
        Self {
            list: Arc::clone(&self.list),
            from,
            to: self.list.below(upper).clamp(from, self.to),
            is_inverted: self.is_inverted,
        }
    }

    pub(super) fn inverted(self) -> Self {
        Self {
            is_inverted: !self.is_inverted,
            ..self
        }
    }
}
