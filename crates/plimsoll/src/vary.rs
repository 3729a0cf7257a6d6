//! `--vary NAME=VALUES`: one number of a test and the values it takes in a sweep.

use anyhow::{Context as _, Result, bail, ensure};

/// Nobody waits for more points, and each is a run at least.
const VALUES_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vary {
    /// As the flag is called, or `env.NAME`.
    pub(crate) name: String,
    /// As one would type them behind the flag.
    pub(crate) values: Vec<String>,
}

impl Vary {
    /// `connections=1,2,4`, `rate=100/s..800/s:x2` or `timeout=1s..5s:+1s`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let Some((name, list)) = text.split_once('=') else {
            bail!("`{text}` is not NAME=VALUES, such as connections=1,2,4,8");
        };
        let mut values: Vec<String> = Vec::new();
        for item in list.split(',').map(str::trim) {
            ensure!(!item.is_empty(), "`{text}` has an empty value");
            let more = match item.split_once("..") {
                Some((from, rest)) => range(from, rest).with_context(|| format!("`{item}`"))?,
                None => vec![item.to_owned()],
            };
            values.extend(more);
            ensure!(
                values.len() <= VALUES_MAX,
                "`{item}` makes more than {VALUES_MAX} values"
            );
        }
        for (index, value) in values.iter().enumerate() {
            let before = values.get(..index).unwrap_or_default();
            ensure!(!before.contains(value), "{name}={value} is given twice");
        }
        Ok(Self {
            name: name.trim().trim_start_matches("--").to_owned(),
            values,
        })
    }
}

/// `FROM..TO:xFACTOR` or `FROM..TO:+STEP`; the last value is the last that does not lie beyond TO.
fn range(from: &str, rest: &str) -> Result<Vec<String>> {
    const HOW: &str = "say how to get from the one to the other: 1..64:x2 doubles, 10..50:+10 adds";
    let (to, step) = rest.split_once(':').context(HOW)?;
    let (from, unit) = number(from)?;
    let (to, unit_to) = number(to)?;
    ensure!(
        unit == unit_to,
        "both ends need the same unit: `{unit}` and `{unit_to}`"
    );
    ensure!(from < to, "{to} is not above {from}");
    let next: Box<dyn Fn(f64) -> f64> = if let Some(factor) = step.strip_prefix('x') {
        let (factor, _) = number(factor)?;
        ensure!(
            factor > 1.0 && from > 0.0,
            "x{factor} does not lead from {from} to {to}"
        );
        Box::new(move |value| value * factor)
    } else if let Some(plus) = step.strip_prefix('+') {
        let (plus, unit_of_step) = number(plus)?;
        ensure!(plus > 0.0, "+{plus} does not lead from {from} to {to}");
        ensure!(
            unit_of_step.is_empty() || unit_of_step == unit,
            "the step needs the unit of the ends: `{unit_of_step}` and `{unit}`"
        );
        Box::new(move |value| value + plus)
    } else {
        bail!("{HOW}");
    };
    let mut values = Vec::new();
    let mut value = from;
    // A little beyond, for what 0.1 ten times comes to.
    while value <= to * (1.0 + 1e-9) && values.len() <= VALUES_MAX {
        values.push(format!("{}{unit}", rounded(value)));
        value = next(value);
    }
    Ok(values)
}

/// `10ms` is 10 and `ms`.
fn number(text: &str) -> Result<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let value = digits.parse();
    let value = value.with_context(|| format!("`{text}` does not begin with a number"))?;
    Ok((value, unit))
}

/// Six digits behind the point, and no zeros at the end.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        let values = |text: &str| Vary::parse(text).map(|vary| vary.values.join(" ")).unwrap();
        assert_eq!(values("connections=1,2,4,8"), "1 2 4 8");
        assert_eq!(values("workers=1..64:x2"), "1 2 4 8 16 32 64");
        assert_eq!(values("rate=100/s..450/s:+100"), "100/s 200/s 300/s 400/s");
        assert_eq!(values("timeout=1s..3s:+1s,10s"), "1s 2s 3s 10s");
        assert_eq!(values("ratio=0.1..0.5:+0.1"), "0.1 0.2 0.3 0.4 0.5");
        let named = Vary::parse("--env.BASE=http://a:1,http://b:2").unwrap();
        assert_eq!((named.name.as_str(), named.values.len()), ("env.BASE", 2));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_fix() {
        for (text, fragment) in [
            ("connections", "NAME=VALUES"),
            ("connections=", "empty"),
            ("connections=1,,2", "empty"),
            ("connections=1,2,1", "connections=1 is given twice"),
            ("connections=1..8", "1..64:x2"),
            ("connections=1..8:2", "10..50:+10"),
            ("connections=8..1:x2", "1 is not above 8"),
            ("connections=0..8:x2", "does not lead from 0"),
            ("connections=1..8:x1", "does not lead"),
            ("connections=a..8:x2", "begin with a number"),
            ("timeout=1s..5ms:+1", "same unit"),
            ("timeout=1s..5s:+1ms", "unit of the ends"),
            ("connections=1..99999:+1", "more than 1000"),
        ] {
            let error = format!("{:#}", Vary::parse(text).unwrap_err());
            assert!(error.contains(fragment), "{text}: {error}");
        }
    }
}
