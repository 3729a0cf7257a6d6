//! The version of each row: the number of its last update that was sent, or may have been.

use std::cell::RefCell;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Versions(RefCell<BTreeMap<u32, i64>>);

impl Versions {
    /// The next version of each row.
    pub(super) fn next(&self, keys: &[u32]) -> Vec<i64> {
        let mut versions = self.0.borrow_mut();
        let next = keys.iter().map(|key| {
            let version = versions.entry(*key).or_default();
            *version += 1;
            *version
        });
        next.collect()
    }

    /// Versions that were never sent are given again, unless somebody else took a later one of any of these rows in the
    /// meantime: then they are spent, and the next row that is read counts them.
    pub(super) fn take_back(&self, keys: &[u32], taken: &[i64]) -> bool {
        let mut versions = self.0.borrow_mut();
        let mut each = keys.iter().zip(taken);
        let is_last = each.all(|(key, taken)| versions.get(key) == Some(taken));
        if is_last {
            for key in keys {
                versions.entry(*key).and_modify(|version| *version -= 1);
            }
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_given_again_unless_a_later_one_was_taken() {
        let versions = Versions::default();
        assert_eq!(versions.next(&[1, 2]), [1, 1]);
        assert!(versions.take_back(&[1, 2], &[1, 1]));
        assert_eq!(versions.next(&[1, 2]), [1, 1], "nobody saw them");
        assert_eq!(versions.next(&[2]), [2]);
        assert!(!versions.take_back(&[1, 2], &[1, 1]), "2 has a later one");
        assert_eq!(versions.next(&[1, 2]), [2, 3], "and both go on from there");
    }
}
