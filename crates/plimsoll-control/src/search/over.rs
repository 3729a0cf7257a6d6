//! What a search varies: the rate at which requests arrive, or the number of virtual users.
//!
//! The stages bisect one number that they call the rate. Over virtual users it is how many of them there are,
//! always whole; each waits for its answers, so the load is closed and the target decides the request rate.

use plimsoll_core::Nanos;

use super::level::Load;

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

    /// `412/s`, `64 VUs`
    pub(crate) fn name(self, rate: f64) -> String {
        match self {
            Self::Rate if rate < 5.0 => format!("{rate:.3}/s"),
            Self::Rate => format!("{rate:.0}/s"),
            Self::Vus { .. } if rate < 1.5 => "1 VU".to_owned(),
            Self::Vus { .. } => format!("{rate:.0} VUs"),
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
