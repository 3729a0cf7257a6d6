//! How people write what only workloads have: mixes, distributions of keys, sizes.

use plimsoll_core::nearest::hint;
use plimsoll_core::test::workload::{Consistency, Keys, Mix, Operation};
use thiserror::Error;

/// A value that is none, with what would do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    #[error("{0} is not 100: the shares of a mix are percent, and together all of them")]
    Sum(String),
    #[error("`{0}` is no share: write a number of percent from 0 to 100")]
    Share(String),
    #[error("`{name}` is no operation{hint} (there are read, insert, update, delete)")]
    Operation { name: String, hint: String },
    #[error("`{name}` is no request of this file{hint}")]
    Request { name: String, hint: String },
    #[error("{0} is given twice")]
    Twice(&'static str),
    #[error("`{0}` is no mix: write read=40,insert=30,update=20,delete=10")]
    Mix(String),
    #[error(
        "`{0}` is no distribution of keys: write uniform, zipf, latest, or zipf:0.8 with an exponent from 0 to 5"
    )]
    Keys(String),
    #[error(
        "`{name}` is no consistency{hint} (there are one, two, three, quorum, all, local_quorum, local_one)"
    )]
    Consistency { name: String, hint: String },
    #[error("`{0}` is no size: write 1024, 1KiB or 16MiB")]
    Size(String),
}

/// `read=40,insert=30,update=20,delete=10`; what is not named has no share.
pub fn mix(text: &str) -> Result<Mix, ValueError> {
    let pairs = text.split(',').map(|part| {
        let (name, share) = part
            .split_once('=')
            .ok_or_else(|| ValueError::Mix(text.to_owned()))?;
        let share = share.trim().trim_end_matches('%');
        let number: f64 = share
            .parse()
            .map_err(|_| ValueError::Share(share.to_owned()))?;
        Ok((name.trim().to_owned(), number))
    });
    mix_of(&pairs.collect::<Result<Vec<_>, _>>()?)
}

/// `quorum`, in small or capital letters.
pub fn consistency(text: &str) -> Result<Consistency, ValueError> {
    let name = text.trim().to_ascii_lowercase();
    let mut known = Consistency::ALL.into_iter();
    let found = known.find(|consistency| consistency.name() == name);
    found.ok_or_else(|| ValueError::Consistency {
        hint: hint(&name, Consistency::ALL.map(Consistency::name)),
        name: text.to_owned(),
    })
}

/// Of shares by name.
pub(crate) fn mix_of(pairs: &[(String, f64)]) -> Result<Mix, ValueError> {
    let mut shares = [None; Operation::COUNT];
    for (name, share) in pairs {
        let mut known = Operation::ALL.into_iter();
        let Some(operation) = known.find(|operation| operation.name() == name) else {
            return Err(ValueError::Operation {
                name: name.clone(),
                hint: hint(name, Operation::ALL.map(Operation::name)),
            });
        };
        if !(0.0..=100.0).contains(share) {
            return Err(ValueError::Share(share.to_string()));
        }
        if shares[operation.index()].replace(*share).is_some() {
            return Err(ValueError::Twice(operation.name()));
        }
    }
    let [read, insert, update, delete] = shares.map(Option::unwrap_or_default);
    let sum = || {
        let parts = pairs.iter().map(|(_, share)| share.to_string());
        let sum: f64 = pairs.iter().map(|(_, share)| share).sum();
        ValueError::Sum(format!("{} = {sum}", parts.collect::<Vec<_>>().join(" + ")))
    };
    Mix::new(read, insert, update, delete).ok_or_else(sum)
}

/// `uniform`, `zipf`, `latest`, `zipf:0.8`
pub fn keys(text: &str) -> Result<Keys, ValueError> {
    let wrong = || ValueError::Keys(text.to_owned());
    let (name, exponent) = match text.split_once(':') {
        None => (text, Keys::EXPONENT),
        Some((name, exponent)) => (name, exponent.parse().map_err(|_| wrong())?),
    };
    let is_fine = (0.0..=5.0).contains(&exponent);
    match name {
        "uniform" if !text.contains(':') => Ok(Keys::Uniform),
        "zipf" if is_fine => Ok(Keys::Zipf { exponent }),
        "latest" if is_fine => Ok(Keys::Latest { exponent }),
        _ => Err(wrong()),
    }
}

/// `1024`, `1KiB`, `16MiB`
pub fn size(text: &str) -> Result<u32, ValueError> {
    let units = [
        ("KiB", 1_u64 << 10),
        ("MiB", 1 << 20),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("B", 1),
    ];
    let text_of = text.trim();
    let found = units
        .iter()
        .find_map(|(unit, factor)| Some((text_of.strip_suffix(unit)?, *factor)));
    let (number, factor) = found.unwrap_or((text_of, 1));
    let bytes = number
        .trim()
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor));
    let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
    bytes.ok_or_else(|| ValueError::Size(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_read_and_wrong_ones_are_refused_with_the_fix() {
        assert_eq!(
            mix("read=40,insert=30, update=20,delete=10%"),
            Ok(Mix::default())
        );
        let updates = mix("update=100").unwrap().share(Operation::Update);
        assert!((updates - 100.0).abs() < 1e-9, "{updates}");
        for (text, fragment) in [
            ("read=40,insert=30", "40 + 30 = 70 is not 100"),
            ("read=40,instert=60", "did you mean `insert`?"),
            ("read=40,read=60", "read is given twice"),
            ("read=140,insert=-40", "`140` is no share"),
            ("read=x", "`x` is no share"),
            ("40/30/20/10", "read=40,insert=30"),
            ("", "read=40"),
        ] {
            let error = mix(text).unwrap_err().to_string();
            assert!(error.contains(fragment), "{text}: {error}");
        }
    }

    #[test]
    fn distributions_and_sizes() {
        assert_eq!(keys("zipf"), Ok(Keys::Zipf { exponent: 0.99 }));
        assert_eq!(keys("latest:1.2"), Ok(Keys::Latest { exponent: 1.2 }));
        for wrong in ["zipfian", "uniform:1", "zipf:9", "zipf:x", ""] {
            assert!(keys(wrong).is_err(), "{wrong}");
        }
        assert_eq!(size("1KiB"), Ok(1024));
        assert_eq!(size("200"), Ok(200));
        assert_eq!(size("16 MiB"), Ok(16 << 20));
        for wrong in ["", "KiB", "-1", "1GiB", "99999MiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
