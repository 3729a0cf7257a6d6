//! A check sum on every line, chained to the line before: tells whether a record is as it was written, and where it is not.
//!
//! Of what a line says and not of how it is spelled: a record that went through a program that orders keys otherwise or adds
//! spaces is the same. It guards against accidents and careless edits, not against forgery: whoever wants to can work
//! it out again.

use crc32fast::Hasher;
use serde_json::Value;

const FIELD: &str = "sum";
/// Of the header: every line bears a sum. A record that lost them all is not one that never had any.
const ANNOUNCED: &str = "sums";
const METHOD: &str = "crc-32";

/// Adds to the header, a whole JSON object, that sums follow.
pub(super) fn announce(header: &mut Vec<u8>) {
    header.pop();
    header.extend_from_slice(format!(",\"{ANNOUNCED}\":\"{METHOD}\"}}").as_bytes());
}

/// CRC-32 of the sum before and of the line's JSON with keys in order and without spaces.
fn sum_of(before: u32, line: &Value) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&before.to_be_bytes());
    hasher.update(line.to_string().as_bytes());
    hasher.finalize()
}

/// Adds the sum to a whole JSON object, and gives it for the next line.
pub(super) fn seal(line: &mut Vec<u8>, before: u32) -> serde_json::Result<u32> {
    let sum = sum_of(before, &serde_json::from_slice(line)?);
    line.pop();
    line.extend_from_slice(format!(",\"{FIELD}\":\"{sum:08x}\"}}").as_bytes());
    Ok(sum)
}

/// Follows the sums of a record while it is read.
#[derive(Debug, Default)]
pub(super) struct Seals {
    before: u32,
    is_announced: bool,
    is_sealed: bool,
    lines_count: usize,
    /// The first line that is not as it was written.
    first: Option<usize>,
    altered_count: usize,
}

impl Seals {
    pub(super) fn line(&mut self, bytes: &[u8]) {
        self.lines_count += 1;
        self.is_announced |= self.lines_count == 1 && announces(bytes);
        let checked = self.check(bytes);
        // A record of an earlier version bears none.
        self.is_sealed |= checked.is_some();
        let is_right = checked.is_some_and(|(_, is_right)| is_right);
        if let Some((sum, _)) = checked {
            self.before = sum;
        }
        if self.is_sealed && !is_right {
            self.first.get_or_insert(self.lines_count);
            self.altered_count += 1;
        }
    }

    /// The sum that a line bears, and whether it is right behind the line before; none if it bears none.
    fn check(&self, bytes: &[u8]) -> Option<(u32, bool)> {
        let mut line: Value = serde_json::from_slice(bytes).ok()?;
        let Some(Value::String(digits)) = line.as_object_mut()?.remove(FIELD) else {
            return None;
        };
        let sum = u32::from_str_radix(&digits, 16).ok()?;
        Some((sum, sum == sum_of(self.before, &line)))
    }

    /// The first line that is not as it was written, and how many are not.
    pub(super) fn altered(&self) -> Option<(usize, usize)> {
        if self.is_announced && !self.is_sealed {
            return Some((1, self.lines_count));
        }
        Some((self.first?, self.altered_count))
    }
}

fn announces(header: &[u8]) -> bool {
    let header: Option<Value> = serde_json::from_slice(header).ok();
    header.is_some_and(|header| header.get(ANNOUNCED).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Vec<u8>> {
        let mut before = 0;
        ["{\"b\":1,\"a\":1.5}", "{\"b\":2}", "{\"c\":3}", "{\"d\":4}"]
            .map(|text| {
                let mut line = text.as_bytes().to_vec();
                before = seal(&mut line, before).unwrap();
                line.push(b'\n');
                line
            })
            .to_vec()
    }

    fn altered(lines: &[Vec<u8>]) -> Option<(usize, usize)> {
        let mut seals = Seals::default();
        for line in lines {
            seals.line(line);
        }
        seals.altered()
    }

    #[test]
    fn a_line_that_was_changed_removed_moved_or_added_is_found_where_it_is() {
        assert_eq!(altered(&lines()), None);
        let mut changed = lines();
        changed[2][5] = b'7';
        assert_eq!(altered(&changed), Some((3, 1)));
        let mut removed = lines();
        removed.remove(1);
        assert_eq!(altered(&removed), Some((2, 1)));
        let mut swapped = lines();
        swapped.swap(1, 2);
        assert_eq!(altered(&swapped), Some((2, 3)));
        let mut added = lines();
        added.push(b"{\"e\":5}\n".to_vec());
        assert_eq!(altered(&added), Some((5, 1)));
    }

    #[test]
    fn a_record_that_lost_all_its_sums_is_none_that_never_had_any() {
        let mut header = b"{\"a\":1}".to_vec();
        announce(&mut header);
        let plain = |header: &[u8]| vec![[header, b"\n"].concat(), b"{\"b\":2}\n".to_vec()];
        assert_eq!(altered(&plain(&header)), Some((1, 2)));
        assert_eq!(altered(&plain(b"{\"a\":1}")), None);
        let sum = seal(&mut header, 0).unwrap();
        let mut line = b"{\"b\":2}".to_vec();
        seal(&mut line, sum).unwrap();
        assert_eq!(altered(&[header, line]), None);
    }

    #[test]
    fn how_a_line_is_spelled_does_not_matter() {
        let respelled: Vec<Vec<u8>> = lines()
            .iter()
            .map(|line| {
                let text = String::from_utf8(line.clone()).unwrap();
                let text = text.replace(':', ": ").replace(',', " , ");
                text.replace("1.5", "15e-1").into_bytes()
            })
            .collect();
        assert_eq!(altered(&respelled), None);
        let plain = [b"{\"a\":1}\n".to_vec(), b"{}\n".to_vec(), b"\n".to_vec()];
        assert_eq!(altered(&plain), None, "a record of an earlier version");
    }
}
