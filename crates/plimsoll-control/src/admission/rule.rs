//! The limits to choose from, by name.

use plimsoll_core::Nanos;

use super::baseline::{Aimd, Envoy, Fixed, Gradient2, Vegas};
use super::half_load::HalfLoad;
use super::limit::Limit;

/// How the number in flight is limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rule {
    /// Ours: no number, no baseline.
    #[default]
    HalfLoad,
    /// So many, chosen by somebody.
    Fixed(u32),
    Aimd,
    Vegas,
    Gradient2,
    Envoy,
}

impl Rule {
    /// As they are written in a file or after a flag; `fixed:16` has its number with it.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "half-load" => Self::HalfLoad,
            "aimd" => Self::Aimd,
            "vegas" => Self::Vegas,
            "gradient2" => Self::Gradient2,
            "envoy" => Self::Envoy,
            _ => {
                let count = text.strip_prefix("fixed:")?.parse().ok()?;
                (1..=1_000_000)
                    .contains(&count)
                    .then_some(Self::Fixed(count))?
            }
        })
    }

    /// As a file or a flag writes it.
    pub fn name(self) -> String {
        match self {
            Self::HalfLoad => "half-load".to_owned(),
            Self::Fixed(count) => format!("fixed:{count}"),
            Self::Aimd => "aimd".to_owned(),
            Self::Vegas => "vegas".to_owned(),
            Self::Gradient2 => "gradient2".to_owned(),
            Self::Envoy => "envoy".to_owned(),
        }
    }

    pub(super) fn begin(self, now: Nanos, seed: u64, start: Option<f64>) -> Box<dyn Limit> {
        match self {
            Self::HalfLoad => Box::new(HalfLoad::new(now, start)),
            Self::Fixed(count) => Box::new(Fixed(count)),
            Self::Aimd => Box::new(Aimd::default()),
            Self::Vegas => Box::new(Vegas::new(seed)),
            Self::Gradient2 => Box::new(Gradient2::default()),
            Self::Envoy => Box::new(Envoy::new(seed)),
        }
    }
}
