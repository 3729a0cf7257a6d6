//! Finds the known word that a mistyped one was meant to be.

/// The known word closest to `word`, if a slip of the finger could explain the difference.
///
/// Letters' case does not count: Options and fields are mistyped by case most often.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    known
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_ascii_lowercase()), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance in bytes: the known names are ASCII.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

/// The end of a message about `word`, such as “; did you mean vus?”; empty when nothing is near.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["vus", "duration", "preAllocatedVUs", "thresholds"];
        for (word, meant) in [
            ("vu", Some("vus")),
            ("VUs", Some("vus")),
            ("preallocatedVus", Some("preAllocatedVUs")),
            ("treshold", Some("thresholds")),
            ("colour", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
        assert_eq!(hint("durations", known), "; did you mean `duration`?");
        assert_eq!(hint("x", known), "");
    }
}
