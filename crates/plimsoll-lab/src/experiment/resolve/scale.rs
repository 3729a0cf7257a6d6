//! `--scale`: the load and the limits that are counted in requests made smaller together, so that the shape stays.

use super::super::file::{TestSpec, TierSpec};
use super::{Merged, Reader};
use crate::LabError;

/// Limits that count what goes on at once; `per_request` is a ratio.
const COUNTS: [&str; 4] = ["slots", "pool", "queue", "connections"];

/// What was scaled beside the load, and what was not, as `slots of proxy`.
#[derive(Debug, Default)]
pub(super) struct Scaled {
    pub(super) limits: Vec<String>,
    pub(super) kept: Vec<String>,
}

impl Reader<'_> {
    /// Scales a variant in place. A limit that the tier does not read from its own declaration would only be described
    /// wrongly: it stays.
    pub(super) fn scale(
        &self,
        name: &str,
        variant: &mut Merged,
        scaled: &mut Scaled,
    ) -> Result<(), LabError> {
        if (self.scale - 1.0).abs() < f64::EPSILON {
            return Ok(());
        }
        self.scale_test(name, &mut variant.test)?;
        for (tier, spec) in &mut variant.tiers {
            if let Some(stub) = &mut spec.stub {
                self.scale_limits(name, tier, stub, &mut Scaled::default())?;
            }
            self.scale_limits(name, tier, spec, scaled)?;
        }
        Ok(())
    }

    fn scale_limits(
        &self,
        variant: &str,
        tier: &str,
        spec: &mut TierSpec,
        scaled: &mut Scaled,
    ) -> Result<(), LabError> {
        let used = self.limits_used(variant, tier, spec)?;
        let least = spec.limits.get("per_request").copied().unwrap_or(1.0);
        for (limit, value) in &mut spec.limits {
            if !COUNTS.contains(&limit.as_str()) {
                continue;
            }
            let said = format!("{limit} of {tier}");
            let list = if used.contains(limit) {
                *value = (*value * self.scale).round().max(least);
                &mut scaled.limits
            } else {
                &mut scaled.kept
            };
            if !list.contains(&said) {
                list.push(said);
            }
        }
        Ok(())
    }

    fn scale_test(&self, variant: &str, test: &mut TestSpec) -> Result<(), LabError> {
        if test.script.is_some() {
            let problem =
                "--scale cannot reach into a script; give `stages` instead, or leave --scale out";
            return Err(self.in_test(variant, "script", problem));
        }
        let count = |whole: u32| match whole {
            0 => 0,
            whole => ((f64::from(whole) * self.scale).round() as u32).max(1),
        };
        for stage in test.stages.iter_mut().flatten() {
            stage.target = count(stage.target);
        }
        test.connections = test.connections.map(count);
        Ok(())
    }
}

impl Scaled {
    /// For the plan and the result.
    pub(super) fn remarks(&self, scale: f64) -> Vec<String> {
        let mut remarks = Vec::new();
        if (scale - 1.0).abs() >= f64::EPSILON {
            let limits = match self.limits.as_slice() {
                [] => String::new(),
                limits => format!(", and so are the {}", limits.join(", the ")),
            };
            remarks.push(format!(
                "--scale {scale}: virtual users, connections and rates of the load are {scale} of what the file says{limits}; \
                 shares of cores, times and pauses are as it says"
            ));
        }
        if !self.kept.is_empty() {
            remarks.push(format!(
                "not scaled: the {}, which their tiers do not read as ${{limits.NAME}}: with fewer requests they bind later than in the whole",
                self.kept.join(", the ")
            ));
        }
        remarks
    }
}
