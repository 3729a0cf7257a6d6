//! Loads that are a multiple of a capacity: `2x` of what one variant carries, which is measured before the first run.

use std::num::NonZeroU32;

use plimsoll_core::Nanos;

use super::{Arrivals, Experiment, Load, Test, Variant};

/// How long a capacity is measured.
const LENGTH: Nanos = Nanos::from_secs(10);

/// Of which capacity a load is a multiple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// The variant that has it.
    pub of: String,
    /// Connections that never rest, over which it is measured.
    pub connections: NonZeroU32,
}

impl Times {
    fn words(&self) -> String {
        format!(
            "1x is what `{}` carries over {} connections that never rest",
            self.of, self.connections
        )
    }

    /// Where its run is kept, beside those of all capacities that are measured.
    pub fn folder<'t>(&self, all: impl IntoIterator<Item = &'t Self>) -> String {
        let same = all.into_iter().filter(|other| other.of == self.of).count();
        if same < 2 {
            return format!("capacity-{}", self.of);
        }
        format!("capacity-{}-over-{}-connections", self.of, self.connections)
    }
}

impl Experiment {
    /// The capacities to measure before the first run, each as an experiment of one run.
    pub fn yardsticks(&self) -> Vec<(Times, Self)> {
        let mut asked: Vec<&Times> = Vec::new();
        for times in self.variants.iter().filter_map(|it| it.test.times.as_ref()) {
            if !asked.contains(&times) {
                asked.push(times);
            }
        }
        let alone = |times: &Times| {
            let mut all = self.measured.iter();
            let mut variant = all.find(|variant| variant.name == times.of)?.clone();
            variant.closed(times);
            let alone = Self {
                variants: vec![variant],
                runs: 1,
                remarks: Vec::new(),
                ..self.clone()
            };
            Some((times.clone(), alone))
        };
        asked.into_iter().filter_map(alone).collect()
    }

    /// Every load that is a multiple of this capacity, in requests per second. `doubt` says why its run is not to be relied on.
    pub fn set_capacity(&mut self, times: &Times, per_s: f64, doubt: Option<&str>) {
        let of_it = |test: &Test| test.times.as_ref() == Some(times);
        for variant in &mut self.variants {
            if of_it(&variant.test) {
                variant.test.load.multiply(per_s);
                variant.test.times = None;
            }
        }
        self.remarks.retain(|remark| *remark != times.remark());
        let doubt = doubt.map(|why| {
            format!("; that run is {why}, so that every load may be another multiple than it says")
        });
        self.remarks.push(format!(
            "{}: {per_s:.1}/s, measured before the first run{}",
            times.words(),
            doubt.unwrap_or_default()
        ));
    }

    /// What a reader of the plan has to know of them.
    pub(super) fn remark_on_times(&mut self) {
        for variant in &self.variants {
            let remark = variant.test.times.as_ref().map(Times::remark);
            let new = remark.filter(|remark| !self.remarks.contains(remark));
            self.remarks.extend(new);
        }
    }
}

impl Times {
    fn remark(&self) -> String {
        format!("{}; that is measured before the first run", self.words())
    }
}

impl Variant {
    /// Loaded so that its capacity shows: that of tiers to which nothing is done meanwhile.
    fn closed(&mut self, times: &Times) {
        if let Load::Url {
            arrivals,
            connections,
            duration,
            ..
        } = &mut self.test.load
        {
            *arrivals = Arrivals::Closed;
            *connections = Some(times.connections);
            *duration = LENGTH;
        }
        for tier in &mut self.tiers {
            tier.faults.clear();
        }
        self.test.times = None;
    }
}

impl Load {
    fn multiply(&mut self, factor: f64) {
        if let Self::Url { arrivals, .. } = self {
            *arrivals = match *arrivals {
                Arrivals::Closed => Arrivals::Closed,
                Arrivals::Rate(rate) => Arrivals::Rate(rate * factor),
                Arrivals::Ramp { from, to } => Arrivals::Ramp {
                    from: from * factor,
                    to: to * factor,
                },
            };
        }
    }
}

/// `2.5x`
pub(super) fn multiple(text: &str) -> Option<Result<f64, String>> {
    let number = text.trim().strip_suffix('x')?.trim_end();
    let parsed = number.parse::<f64>().ok();
    let in_order = parsed.filter(|number| (0.001..=1_000.0).contains(number));
    Some(in_order.ok_or_else(|| format!("`{text}` is no multiple from 0.001x to 1000x; write 2x")))
}

#[cfg(test)]
mod tests;
