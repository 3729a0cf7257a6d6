//! Numbers as tools write them for people: with units, thousands marks and words around them.

use super::figures::whole;

/// The number at the start of a text; `,` between thousands is skipped.
pub(super) fn leading(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let end = text.find(|c: char| !is_number(c)).unwrap_or(text.len());
    text.get(..end)?.replace(',', "").parse().ok()
}

pub(super) fn counted(text: &str) -> Option<u64> {
    leading(text).and_then(whole)
}

/// What follows a label at the start of a line.
pub(super) fn after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(label).map(str::trim)
}

/// `635.91us`, `1.20 ms`, `30.00s`, `0.5 secs`, `1.10m` in milliseconds.
pub(super) fn time_ms(text: &str) -> Option<f64> {
    let units = [
        ("ns", 1e-6),
        ("us", 1e-3),
        ("µs", 1e-3),
        ("ms", 1.0),
        ("s", 1e3),
        ("sec", 1e3),
        ("secs", 1e3),
        ("m", 6e4),
        ("min", 6e4),
        ("h", 3.6e6),
    ];
    with_unit(text, &units)
}

/// `17.76GB` and `1.2 MiB`; powers of 1,024, as the tools count.
pub(super) fn bytes(text: &str) -> Option<f64> {
    let kilo = 1024.0_f64;
    let units = [
        ("B", 1.0),
        ("bytes", 1.0),
        ("KB", kilo),
        ("KiB", kilo),
        ("kB", 1e3),
        ("MB", kilo.powi(2)),
        ("MiB", kilo.powi(2)),
        ("GB", kilo.powi(3)),
        ("GiB", kilo.powi(3)),
        ("TB", kilo.powi(4)),
        ("TiB", kilo.powi(4)),
    ];
    with_unit(text, &units)
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic())?;
    let (number, rest) = text.split_at(split);
    let unit = rest.split_whitespace().next()?;
    let unit = unit.trim_end_matches([',', '.', ';']);
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    Some(leading(number)? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_what_stands_around_them() {
        assert_eq!(leading("12,345.5 op/s"), Some(12_345.5));
        assert_eq!(leading("none"), None);
        assert_eq!(time_ms("500.00us"), Some(0.5));
        assert_eq!(time_ms("0.5 secs"), Some(500.0));
        assert_eq!(time_ms("1.50m"), Some(90_000.0));
        assert_eq!(time_ms("2.50s, 4.55 MB read"), Some(2500.0));
        assert_eq!(time_ms("5 apples"), None);
        assert_eq!(bytes("1.2 KiB"), Some(1228.8));
        assert_eq!(after("  Total:\t3 s", "Total:"), Some("3 s"));
    }
}
