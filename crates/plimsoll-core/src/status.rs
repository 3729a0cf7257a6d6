//! Status codes of answers: how often each came, and which are asked for.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How often each status code was answered. Merging is addition. There are a handful in any run, so that looking
/// through them costs less than hashing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// In order of their codes.
    counts: Vec<(u16, u64)>,
}

impl StatusCounts {
    #[inline]
    pub fn add(&mut self, status: u16, count: u64) {
        for (known, total) in &mut self.counts {
            if *known == status {
                *total = total.saturating_add(count);
                return;
            }
        }
        let place = self.counts.partition_point(|(known, _)| *known < status);
        self.counts.insert(place, (status, count));
    }

    pub fn merge(&mut self, other: &Self) {
        for &(status, count) in &other.counts {
            self.add(status, count);
        }
    }

    /// Forgets the counts and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// A file may say anything: what is more than a number holds stays at the most.
    pub fn total(&self) -> u64 {
        let counts = self.counts.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// Codes with their counts, in order of the codes.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        self.counts.iter().copied()
    }
}

/// In JSON an object by code: `{"200": 912, "503": 4}`.
impl Serialize for StatusCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for StatusCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As text: the key of a line that is read by its kind first is not turned into a number.
        let read = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let mut counts = Self::default();
        for (code, count) in read {
            let code = code
                .parse()
                .map_err(|_| D::Error::custom(format!("`{code}` is no status code")))?;
            counts.add(code, count);
        }
        Ok(counts)
    }
}

/// Which status codes an answer may have: `200`, `200|204`, `2xx`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StatusSet {
    /// First and last code of each part.
    parts: Vec<(u16, u16)>,
}

impl StatusSet {
    /// Parses codes and families with `|` between them.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Option<Vec<_>> = text.split('|').map(|part| part_of(part.trim())).collect();
        parts.map(|parts| Self { parts })
    }

    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|&(first, last)| (first..=last).contains(&status))
    }
}

impl TryFrom<String> for StatusSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` names no status codes"))
    }
}

impl From<StatusSet> for String {
    fn from(set: StatusSet) -> Self {
        set.to_string()
    }
}

fn part_of(text: &str) -> Option<(u16, u16)> {
    if let Some(family) = text.to_ascii_lowercase().strip_suffix("xx") {
        let hundreds: u16 = family
            .parse()
            .ok()
            .filter(|digit| (1..=5).contains(digit))?;
        return Some((hundreds * 100, hundreds * 100 + 99));
    }
    let status = text.parse().ok()?;
    (100..=599).contains(&status).then_some((status, status))
}

impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &(first, last)) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str("|")?;
            }
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{}xx", first / 100)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_in_any_order() {
        let mut one = StatusCounts::default();
        for status in [503, 200, 204, 200] {
            one.add(status, 1);
        }
        let mut other = StatusCounts::default();
        other.add(404, 2);
        let (mut left, mut right) = (one.clone(), other.clone());
        left.merge(&other);
        right.merge(&one);
        assert_eq!(left, right);
        assert_eq!(left.total(), 6);
        let json = serde_json::to_string(&left).unwrap();
        assert_eq!(json, r#"{"200":2,"204":1,"404":2,"503":1}"#);
        assert_eq!(serde_json::from_str::<StatusCounts>(&json).unwrap(), left);
    }

    /// The tally around them is refused for it (`tally.rs`), which it cannot be if the sum begins again at zero.
    #[test]
    fn counts_that_are_too_large_stay_too_large() {
        for json in [
            r#"{"200":18446744073709551615,"204":1}"#,
            r#"{"200":18446744073709551615,"0200":1}"#,
        ] {
            let read: StatusCounts = serde_json::from_str(json).unwrap();
            assert_eq!(read.total(), u64::MAX, "{json}");
        }
    }

    #[test]
    fn a_set_is_codes_and_families() {
        let set = StatusSet::parse("200| 204|4XX").unwrap();
        assert_eq!(set.to_string(), "200|204|4xx");
        assert!(set.contains(204) && set.contains(451) && !set.contains(302));
        for wrong in ["", "6xx", "20", "200|", "abc", "2x", "xx", "600"] {
            assert_eq!(StatusSet::parse(wrong), None, "{wrong}");
        }
    }
}
