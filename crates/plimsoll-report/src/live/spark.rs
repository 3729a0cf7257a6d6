//! A line of eighth blocks for a short history.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last `columns` values from zero to their maximum; a value that is never is a cross.
pub(crate) fn line(values: &[Option<f64>], columns: usize) -> String {
    let shown = values
        .get(values.len().saturating_sub(columns)..)
        .unwrap_or_default();
    let highest = shown.iter().flatten().copied().fold(0.0, f64::max);
    shown
        .iter()
        .map(|value| match value {
            None => '×',
            Some(_) if highest <= 0.0 => BLOCKS[0],
            Some(value) => BLOCKS[((value / highest * 7.0).round() as usize).min(7)],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_to_the_maximum_and_keeps_the_newest() {
        let values = [Some(0.0), Some(50.0), Some(100.0), None];
        assert_eq!(line(&values, 10), "▁▅█×");
        assert_eq!(line(&values, 2), "█×");
        assert_eq!(line(&values, 0), "");
        assert_eq!(line(&[Some(0.0)], 5), "▁");
        assert_eq!(line(&[], 5), "");
    }
}
