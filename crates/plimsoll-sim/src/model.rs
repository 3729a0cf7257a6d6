//! What is simulated: one station of servers with everything that can go wrong in front of it.

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use thiserror::Error;

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
}

impl ServiceTime {
    pub const fn mean(&self) -> Nanos {
        match *self {
            Self::Fixed { mean }
            | Self::Exponential { mean }
            | Self::Erlang { mean, .. }
            | Self::Lognormal { mean, .. }
            | Self::Hyperexponential { mean, .. }
            | Self::Pareto { mean, .. } => mean,
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

/// The whole service pauses now and then, as for a garbage collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    pub interval: Nanos,
    pub length: Nanos,
    /// Exponential gaps instead of equal ones.
    pub random: bool,
}

/// Connection slots or a pool in front of the station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    pub max: u64,
    /// How many wait for a slot; the rest is refused.
    pub waiting_max: u64,
}

/// A rule that answers 429 beyond a rate (token bucket).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRule {
    pub per_s: f64,
    pub burst: f64,
}

/// The simulated service and its clients' patience.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Parallel servers of the station, first in, first out.
    pub servers: u32,
    pub service: ServiceTime,
    /// Passes per request; after each the request joins the end of the queue (an event loop).
    pub passes: u32,
    /// Places to wait for a server; beyond them a request is refused.
    pub queue_max: Option<u64>,
    /// Service grows by this share per other request at the station (locks, caches, collection).
    pub contention: f64,
    pub stalls: Option<Stalls>,
    /// Standard deviation of the logarithm of the service's speed, drawn anew for each level.
    pub speed_noise: f64,
    pub slots: Option<Slots>,
    pub rate_rule: Option<RateRule>,
    /// The client gives up after this; the service works on unless it notices.
    pub client_timeout: Option<Nanos>,
    /// Mean think time of closed-loop users, exponential.
    pub think_mean: Nanos,
}

/// A model that cannot be played.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ModelError {
    #[error("{what} is {value}; it must be {must}")]
    Value {
        what: &'static str,
        value: String,
        must: &'static str,
    },
}

impl Model {
    /// `servers` servers and nothing else.
    pub fn station(servers: u32, service: ServiceTime) -> Self {
        Self {
            servers,
            service,
            passes: 1,
            queue_max: None,
            contention: 0.0,
            stalls: None,
            speed_noise: 0.0,
            slots: None,
            rate_rule: None,
            client_timeout: None,
            think_mean: Nanos::ZERO,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let shape = match self.service {
            ServiceTime::Lognormal { cv, .. } => ("cv", cv, cv >= 0.0, "zero or more"),
            ServiceTime::Hyperexponential { cv2, .. } => ("cv²", cv2, cv2 >= 1.0, "at least 1"),
            ServiceTime::Pareto { shape, .. } => ("shape", shape, shape > 1.0, "above 1"),
            ServiceTime::Erlang { shape, .. } => {
                ("shape", f64::from(shape), shape > 0, "at least 1")
            }
            _ => ("shape", 1.0, true, ""),
        };
        let interval = self
            .stalls
            .map_or(1.0, |stalls| stalls.interval.as_secs_f64());
        let rule = self
            .rate_rule
            .map_or((1.0, 1.0), |rule| (rule.per_s, rule.burst));
        let mean = self.service.mean().0 as f64;
        let noise = self.speed_noise;
        let positive = "more than zero";
        for (what, value, fine, must) in [
            shape,
            (
                "servers",
                f64::from(self.servers),
                self.servers > 0,
                positive,
            ),
            ("passes", f64::from(self.passes), self.passes > 0, positive),
            ("mean service time", mean, mean > 0.0, positive),
            (
                "contention",
                self.contention,
                self.contention >= 0.0,
                "zero or more",
            ),
            (
                "speed noise",
                noise,
                (0.0..1.0).contains(&noise),
                "within 0 and 1",
            ),
            ("stall interval", interval, interval > 0.0, positive),
            ("rate rule", rule.0, rule.0 > 0.0, positive),
            (
                "burst of the rate rule",
                rule.1,
                rule.1 >= 1.0,
                "at least 1",
            ),
        ] {
            if !fine || !value.is_finite() {
                return Err(ModelError::Value {
                    what,
                    value: value.to_string(),
                    must,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
