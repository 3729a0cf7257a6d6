//! The text that a Prometheus scraper reads, built line by line.

use hyper::StatusCode;

use crate::serve::http::{Answer, text};

/// Metrics of one service, in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    text: String,
}

impl Metrics {
    fn line(mut self, name: &str, kind: &str, help: &str, value: f64) -> Self {
        let line = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        self.text.push_str(&line);
        self
    }

    pub(crate) fn gauge(self, name: &str, help: &str, value: f64) -> Self {
        self.line(name, "gauge", help, value)
    }

    pub(crate) fn counter(self, name: &str, help: &str, value: f64) -> Self {
        self.line(name, "counter", help, value)
    }

    /// A summary in seconds: quantiles of recent values where known, sum and count since start.
    pub(crate) fn summary(
        mut self,
        name: &str,
        help: &str,
        quantiles: &[(f64, f64)],
        (sum, count): (f64, u64),
    ) -> Self {
        let head = format!("# HELP {name} {help}\n# TYPE {name} summary\n");
        self.text.push_str(&head);
        for (quantile, value) in quantiles {
            let line = format!("{name}{{quantile=\"{quantile}\"}} {value}\n");
            self.text.push_str(&line);
        }
        let tail = format!("{name}_sum {sum}\n{name}_count {count}\n");
        self.text.push_str(&tail);
        self
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn answer(self) -> Answer {
        text(StatusCode::OK, self.text)
    }
}
