//! Whether scanning an index's intervals gives documents in the order that is asked for.

use super::Bounds;
use crate::query::keys::{Direction, SortField};
use crate::query::sort::SortOrder;
use crate::value::path::Path;

impl Bounds {
    /// The direction in which to scan the intervals for `sort`; `None`: the documents must be sorted.
    ///
    /// In a multikey index a document comes first at its least key. That is its sort key only if
    /// no condition cuts keys of the same array off.
    pub(crate) fn order(
        &self,
        fields: &[SortField],
        sort: &SortOrder,
        is_multikey: bool,
    ) -> Option<Direction> {
        let mut wanted = sort.fields().iter().peekable();
        let mut direction = None;
        for (at, field) in fields.iter().enumerate() {
            while wanted
                .next_if(|sort| !is_multikey && self.is_fixed(fields, &sort.path))
                .is_some()
            {}
            let Some(next) = wanted.peek() else { break };
            if next.path == field.path {
                if is_multikey && self.is_cut(fields, &field.path) {
                    return None;
                }
                let this = if next.direction == field.direction {
                    Direction::Ascending
                } else {
                    Direction::Descending
                };
                if *direction.get_or_insert(this) != this {
                    return None;
                }
                wanted.next();
            } else if !self.fixed.get(at).is_some_and(|fixed| *fixed) {
                return None;
            }
        }
        while wanted
            .next_if(|sort| !is_multikey && self.is_fixed(fields, &sort.path))
            .is_some()
        {}
        let is_whole = wanted.next().is_none();
        is_whole.then(|| direction.unwrap_or(Direction::Ascending))
    }

    fn is_fixed(&self, fields: &[SortField], path: &Path) -> bool {
        let mut pairs = fields.iter().zip(&self.fixed);
        pairs.any(|(field, fixed)| *fixed && field.path == *path)
    }

    /// Whether a condition restricts a field that may share an array with `path`.
    fn is_cut(&self, fields: &[SortField], path: &Path) -> bool {
        let first = path.parts().first();
        let mut pairs = fields.iter().zip(&self.restricted);
        pairs.any(|(field, restricted)| *restricted && field.path.parts().first() == first)
    }
}
