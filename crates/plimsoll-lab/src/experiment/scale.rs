//! `--scale`: the load and the limits that are counted in requests made smaller together, so that the shape stays.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::{Arrivals, Experiment, Load, Tier};
use crate::LabError;

/// Limits that count what goes on at once; `per_request` is a ratio.
const COUNTS: [&str; 4] = ["slots", "pool", "queue", "connections"];

impl Experiment {
    /// Load and limits multiplied with `scale`. A limit that the tier does not read from its own declaration would only
    /// be described wrongly: it stays.
    pub fn scaled(mut self, scale: f64) -> Result<Self, LabError> {
        if (scale - 1.0).abs() < f64::EPSILON {
            return Ok(self);
        }
        let mut limits = Limits::default();
        for variant in &mut self.variants {
            if !variant.test.load.scale(scale) {
                return Err(LabError::Experiment {
                    place: format!("variant `{}`", variant.name),
                    problem: variant.test.load.unscalable().to_owned(),
                });
            }
            for tier in &mut variant.tiers {
                if let Some(stub) = &mut tier.stub {
                    Limits::default().scale(stub, scale);
                }
                limits.scale(tier, scale);
            }
        }
        self.remarks.extend(limits.remarks(scale));
        self.scale = scale;
        Ok(self)
    }
}

impl Load {
    /// Why it is not made smaller.
    const fn unscalable(&self) -> &'static str {
        match self {
            Self::Workload { .. } => {
                "test.workload: --scale cannot reach into a workload file; leave --scale out"
            }
            _ => {
                "test.script: --scale cannot reach into a script; give `stages` instead, or leave --scale out"
            }
        }
    }

    /// False for a script or a workload, whose load is its own.
    fn scale(&mut self, scale: f64) -> bool {
        let count = |whole: u32| match whole {
            0 => 0,
            whole => ((f64::from(whole) * scale).round() as u32).max(1),
        };
        let fewer = |open: &mut Option<NonZeroU32>| {
            *open = open.and_then(|open| NonZeroU32::new(count(open.get())));
        };
        match self {
            Self::Script(_) | Self::Workload { .. } => return false,
            Self::Url {
                arrivals,
                connections,
                ..
            } => {
                *arrivals = match *arrivals {
                    Arrivals::Closed => Arrivals::Closed,
                    Arrivals::Rate(rate) => Arrivals::Rate(rate * scale),
                    Arrivals::Ramp { from, to } => Arrivals::Ramp {
                        from: from * scale,
                        to: to * scale,
                    },
                };
                fewer(connections);
            }
            Self::Find { connections, .. } => fewer(connections),
            Self::Stages { stages, .. } => {
                for stage in stages {
                    stage.target = count(stage.target);
                }
            }
        }
        true
    }
}

/// Limits that count, as `slots of proxy`.
#[derive(Default)]
struct Limits {
    scaled: BTreeSet<String>,
    unscaled: BTreeSet<String>,
}

impl Limits {
    fn scale(&mut self, tier: &mut Tier, scale: f64) {
        let least = tier.limits.get("per_request").copied().unwrap_or(1.0);
        let counts = |(name, _): &(&String, &mut f64)| COUNTS.contains(&name.as_str());
        for (limit, value) in tier.limits.iter_mut().filter(counts) {
            let name = format!("{limit} of {}", tier.name);
            if tier.limits_used.contains(limit) {
                *value = (*value * scale).round().max(least);
                self.scaled.insert(name);
            } else {
                self.unscaled.insert(name);
            }
        }
    }

    /// For the plan and the result.
    fn remarks(&self, scale: f64) -> Vec<String> {
        let listed = |names: &BTreeSet<String>| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            names.join(", the ")
        };
        let limits = if self.scaled.is_empty() {
            String::new()
        } else {
            format!(", and so are the {}", listed(&self.scaled))
        };
        let mut remarks = vec![format!(
            "--scale {scale}: virtual users, connections and rates of the load are {scale} of what the file says{limits}; \
             shares of cores, times and pauses are as it says"
        )];
        if !self.unscaled.is_empty() {
            remarks.push(format!(
                "not scaled: the {}, which their tiers do not read as ${{limits.NAME}}: with fewer requests they bind later than in the whole",
                listed(&self.unscaled)
            ));
        }
        remarks
    }
}
