//! Exact mean value analysis of a closed network (Reiser and Lavenberg 1980), and its smallest one as a curve: one queue and a delay.

use super::Sample;
use super::least_squares::Problem;

/// Alike stations with one server and one queue each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stations {
    /// Seconds that a request is served at each of them.
    pub demand: f64,
    pub count: u32,
}

/// Customers who think, then visit every station, and think again.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Seconds without a queue.
    pub think: f64,
    pub stations: Vec<Stations>,
}

/// What so many customers make of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    pub per_s: f64,
    pub response_seconds: f64,
    /// Customers at each station of each kind, served or waiting.
    pub queues: Vec<f64>,
}

impl Network {
    /// For 1, 2, … customers: R = Σ D·(1 + Q of one customer less), X = n ÷ (R + Z), Q = X·R at each station.
    fn flows(&self) -> impl Iterator<Item = Flow> {
        let mut queues = vec![0.0; self.stations.len()];
        (1_u64..).map(move |customers| {
            let visits = self.stations.iter().zip(&queues);
            let visits: Vec<f64> = visits.map(|(s, queue)| s.demand * (1.0 + queue)).collect();
            let all = self.stations.iter().zip(&visits);
            let response: f64 = all.map(|(s, visit)| f64::from(s.count) * visit).sum();
            let per_s = customers as f64 / (response + self.think);
            queues = visits.iter().map(|visit| per_s * visit).collect();
            Flow {
                per_s,
                response_seconds: response,
                queues: queues.clone(),
            }
        })
    }

    pub fn flow(&self, customers: usize) -> Option<Flow> {
        self.flows().nth(customers.checked_sub(1)?)
    }
}

/// One queue with demand D behind a delay of T − D, as a curve of two parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repairman {
    /// Seconds of the one resource that every request needs.
    pub demand: f64,
    /// T = Z + R₀: a round of one customer alone, in seconds.
    pub base_seconds: f64,
}

impl Repairman {
    /// The same as [`Network::flows`] of one station, without the lists: a fit asks for it thousands of times.
    fn per_s(self) -> impl Iterator<Item = f64> {
        let think = (self.base_seconds - self.demand).max(0.0);
        let mut queue = 0.0;
        (1_u64..).map(move |customers| {
            let response = self.demand * (1.0 + queue);
            let per_s = customers as f64 / (response + think);
            queue = per_s * response;
            per_s
        })
    }

    /// Throughputs for these concurrencies; between two whole numbers on the line that joins them.
    pub(super) fn throughputs(self, concurrencies: &[f64]) -> Vec<f64> {
        let most = concurrencies.iter().copied().fold(0.0, f64::max);
        let mut table = vec![0.0];
        table.extend(self.per_s().take(most.ceil() as usize));
        let between = |n: &f64| {
            let below = table.get(n.floor() as usize).copied().unwrap_or(0.0);
            let above = table.get(n.ceil() as usize).copied().unwrap_or(below);
            below + (n - n.floor()) * (above - below)
        };
        concurrencies.iter().map(between).collect()
    }

    pub fn throughput(self, n: f64) -> f64 {
        self.throughputs(&[n]).first().copied().unwrap_or(0.0)
    }

    pub fn max_per_s(self) -> f64 {
        1.0 / self.demand
    }

    /// T ÷ D, where the two bounds of the curve meet.
    pub fn knee(self) -> f64 {
        self.base_seconds / self.demand
    }

    /// The one concurrency that gives this throughput; none at the most and above, which it only comes near to.
    pub fn concurrency(self, throughput: f64) -> Vec<f64> {
        /// Beyond so many rounds of one customer alone at every place nothing more is to be had.
        const FAR: f64 = 50.0;
        if throughput >= self.max_per_s() {
            return Vec::new();
        }
        let most = (FAR * self.knee()).ceil() as usize;
        let mut before = 0.0;
        for (index, per_s) in self.per_s().take(most).enumerate() {
            if per_s >= throughput {
                return vec![index as f64 + (throughput - before) / (per_s - before)];
            }
            before = per_s;
        }
        Vec::new()
    }

    /// Least squares; `None` for fewer than two samples.
    pub fn fit(samples: &[Sample]) -> Option<Self> {
        let highest = samples.iter().map(|sample| sample.x).fold(0.0, f64::max);
        let alone = samples
            .iter()
            .filter(|sample| sample.n > 0.0 && sample.x > 0.0);
        let base = alone
            .min_by(|a, b| a.n.total_cmp(&b.n))
            .map(|s| s.n / s.x)?;
        if samples.len() < 2 {
            return None;
        }
        let concurrencies: Vec<f64> = samples.iter().map(|sample| sample.n).collect();
        let values: Vec<f64> = samples.iter().map(|sample| sample.x).collect();
        // Its logarithm, so that no step leads below zero; and the delay apart, which may be none.
        let of = |at: &[f64; 2]| Self {
            demand: at[0].exp(),
            base_seconds: at[0].exp() + at[1].exp(),
        };
        let problem = Problem {
            values: &values,
            weights: &vec![1.0; values.len()],
            model: |at: &[f64; 2]| of(at).throughputs(&concurrencies),
            bounds: [(-50.0, 50.0); 2],
        };
        let full = (1.0 / highest).ln();
        let starts = [
            [full, base.ln()],
            [full - 0.1, (base / 4.0).ln()],
            [full, full - 10.0],
        ];
        Some(of(&problem.solve(&starts)?.at))
    }
}
