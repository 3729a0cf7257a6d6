//! What a search varies: the rate at which requests arrive, or the number of virtual users.
//!
//! The stages bisect one number that they call the rate. Over virtual users it is how many of them there are,
//! always whole; each waits for its answers, so the load is closed and the target decides the request rate.

use plimsoll_core::Nanos;
use plimsoll_core::verdict::LoadSize;

/// The load of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Load {
    Closed(u32),
    /// Arrivals per second.
    Open(f64),
    /// Virtual users, each of whom goes on when its answers have come: a closed loop that is judged.
    Vus(u32),
}

impl Load {
    /// The number that the search varies.
    pub(crate) fn rate(self) -> Option<f64> {
        match self {
            Self::Open(rate) => Some(rate),
            Self::Vus(count) => Some(f64::from(count)),
            Self::Closed(_) => None,
        }
    }
}

/// Virtual users are spread over an iteration of this length at most: a level must begin some time.
const JOIN_MOST: Nanos = Nanos::from_secs(10);

/// What the levels of a search differ in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Over {
    /// Arrivals per second, open loop.
    #[default]
    Rate,
    /// Virtual users in a closed loop. At rest one needs so long for an iteration.
    Vus { iteration: Nanos },
}

impl Over {
    pub fn is_vus(self) -> bool {
        matches!(self, Self::Vus { .. })
    }

    pub(crate) fn load(self, rate: f64) -> Load {
        match self {
            Self::Rate => Load::Open(rate),
            Self::Vus { .. } => Load::Vus(self.nearest(rate) as u32),
        }
    }

    /// A rate that can be played: there are no halves of virtual users.
    pub(crate) fn nearest(self, rate: f64) -> f64 {
        match self {
            Self::Rate => rate,
            Self::Vus { .. } => libm::round(rate).clamp(1.0, f64::from(u32::MAX)),
        }
    }

    /// The same, never above.
    pub(crate) fn at_most(self, rate: f64) -> f64 {
        match self {
            Self::Rate => rate,
            Self::Vus { .. } => libm::floor(rate).clamp(1.0, f64::from(u32::MAX)),
        }
    }

    /// The least load above `rate` that can be played.
    pub(crate) fn next_above(self, rate: f64) -> f64 {
        match self {
            Self::Rate => rate,
            Self::Vus { .. } => rate + 1.0,
        }
    }

    /// No rate lies between the two that is worth playing.
    pub(crate) fn are_neighbours(self, low: f64, high: f64) -> bool {
        self.is_vus() && high - low < 1.5
    }

    /// Time over which virtual users join. All at once they would go in step for as long as they think
    /// equally long, and the last of each burst would wait for all the others.
    pub fn join(self) -> Nanos {
        match self {
            Self::Rate => Nanos::ZERO,
            Self::Vus { iteration } => iteration.min(JOIN_MOST),
        }
    }

    /// `rate` with its unit.
    pub(crate) fn size(self, rate: f64) -> LoadSize {
        match self {
            Self::Rate => LoadSize::PerS(rate),
            Self::Vus { .. } => LoadSize::Vus(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_users_are_whole_and_at_least_one() {
        let vus = Over::Vus {
            iteration: Nanos::from_secs(60),
        };
        assert_eq!(vus.load(0.2), Load::Vus(1));
        assert_eq!(vus.load(11.6), Load::Vus(12));
        assert!((vus.at_most(11.6) - 11.0).abs() < 1e-9);
        assert!(vus.are_neighbours(11.0, 12.0) && !vus.are_neighbours(11.0, 13.0));
        assert_eq!(vus.join(), JOIN_MOST);
        assert_eq!(Over::Rate.load(0.2), Load::Open(0.2));
        assert!(!Over::Rate.are_neighbours(11.0, 11.1));
    }
}
