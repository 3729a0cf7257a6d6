//! How long a pass takes: the distributions of service demand, and draws from them.

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;

use super::error::{ModelError, POSITIVE, ZERO_OR_MORE, require};

/// Distribution of the service demand of one pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServiceTime {
    /// Always the mean.
    Fixed {
        mean: Nanos,
    },
    Exponential {
        mean: Nanos,
    },
    /// Sum of `shape` exponentials: variance mean² ÷ shape.
    Erlang {
        mean: Nanos,
        shape: u32,
    },
    /// Coefficient of variation `cv` = standard deviation ÷ mean.
    Lognormal {
        mean: Nanos,
        cv: f64,
    },
    /// Two exponentials with balanced means; squared coefficient of variation `cv2` ≥ 1.
    Hyperexponential {
        mean: Nanos,
        cv2: f64,
    },
    /// Power-law tail with exponent `shape` > 1 (the variance is infinite up to 2).
    Pareto {
        mean: Nanos,
        shape: f64,
    },
    /// Two kinds of request, each exponential: `slow_ratio` (0–1) of them take `times` (≥ 1) as long as the others.
    Mixed {
        mean: Nanos,
        slow_ratio: f64,
        times: f64,
    },
}

impl ServiceTime {
    pub const fn mean(&self) -> Nanos {
        match *self {
            Self::Fixed { mean }
            | Self::Exponential { mean }
            | Self::Erlang { mean, .. }
            | Self::Lognormal { mean, .. }
            | Self::Hyperexponential { mean, .. }
            | Self::Pareto { mean, .. }
            | Self::Mixed { mean, .. } => mean,
        }
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        let mean = self.mean().0 as f64;
        require("mean service time", mean, mean > 0.0, POSITIVE)?;
        match *self {
            Self::Lognormal { cv, .. } => require("cv", cv, cv >= 0.0, ZERO_OR_MORE),
            Self::Hyperexponential { cv2, .. } => require("cv²", cv2, cv2 >= 1.0, "at least 1"),
            Self::Pareto { shape, .. } => require("shape", shape, shape > 1.0, "above 1"),
            Self::Erlang { shape, .. } => {
                require("shape", f64::from(shape), shape > 0, "at least 1")
            }
            Self::Mixed {
                slow_ratio, times, ..
            } => {
                let fine = slow_ratio > 0.0 && slow_ratio < 1.0;
                require("share of slow requests", slow_ratio, fine, "within 0 and 1")?;
                require("slow over fast", times, times >= 1.0, "at least 1")
            }
            Self::Fixed { .. } | Self::Exponential { .. } => Ok(()),
        }
    }
}

/// One pass's demand in units of the mean, with what the distribution needs worked out once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sampler {
    Fixed,
    Exponential,
    Erlang {
        shape: u32,
    },
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    /// Probability of the first branch, and both means.
    Hyperexponential {
        p: f64,
        first: f64,
        second: f64,
    },
    Pareto {
        scale: f64,
        inverse_shape: f64,
    },
}

impl Sampler {
    pub(crate) fn new(time: &ServiceTime) -> Self {
        match *time {
            ServiceTime::Fixed { .. } => Self::Fixed,
            ServiceTime::Exponential { .. } => Self::Exponential,
            ServiceTime::Erlang { shape, .. } => Self::Erlang { shape },
            ServiceTime::Lognormal { cv, .. } => {
                // E = exp(mu + sigma²/2) = 1 and cv² = exp(sigma²) − 1.
                let variance = libm::log1p(cv * cv);
                Self::Lognormal {
                    mu: -variance / 2.0,
                    sigma: libm::sqrt(variance),
                }
            }
            ServiceTime::Hyperexponential { cv2, .. } => {
                // Balanced means p·first = (1−p)·second = 1/2 gives cv² = 1/(2p(1−p)) − 1.
                let p = f64::midpoint(1.0, libm::sqrt((cv2 - 1.0) / (cv2 + 1.0)));
                Self::Hyperexponential {
                    p,
                    first: 0.5 / p,
                    second: 0.5 / (1.0 - p),
                }
            }
            ServiceTime::Mixed {
                slow_ratio, times, ..
            } => {
                // (1 − q)·f + q·t·f = 1, q being the share of the slow ones.
                let first = 1.0 / (1.0 - slow_ratio + slow_ratio * times);
                Self::Hyperexponential {
                    p: 1.0 - slow_ratio,
                    first,
                    second: times * first,
                }
            }
            ServiceTime::Pareto { shape, .. } => Self::Pareto {
                scale: (shape - 1.0) / shape,
                inverse_shape: 1.0 / shape,
            },
        }
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> f64 {
        match *self {
            Self::Fixed => 1.0,
            Self::Exponential => rng.exponential(),
            Self::Erlang { shape } => {
                let sum: f64 = (0..shape).map(|_| rng.exponential()).sum();
                sum / f64::from(shape)
            }
            Self::Lognormal { mu, sigma } => libm::exp(mu + sigma * rng.normal()),
            Self::Hyperexponential { p, first, second } => {
                let mean = if rng.unit() <= p { first } else { second };
                mean * rng.exponential()
            }
            Self::Pareto {
                scale,
                inverse_shape,
            } => scale * libm::pow(rng.unit(), -inverse_shape),
        }
    }
}

#[cfg(test)]
mod tests;
