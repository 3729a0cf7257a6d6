//! The metrics a script can feed: the built-in ones and those that it declares itself.

/// Index into the list of a program's metrics: [`BUILT_IN`] first, then the declared ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(pub u32);

/// How values of a metric add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricKind {
    /// The sum of all values.
    Counter,
    /// The last value, with minimum and maximum.
    Gauge,
    /// The share of values that are not zero.
    Rate,
    /// Mean and percentiles of the values.
    Trend,
}

impl MetricKind {
    /// As k6 writes it in its outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Rate => "rate",
            Self::Trend => "trend",
        }
    }
}

/// What the values of a metric count; rendering depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contains {
    Default,
    /// Milliseconds.
    Time,
    /// Bytes.
    Data,
}

impl Contains {
    /// As k6 writes it in its outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Time => "time",
            Self::Data => "data",
        }
    }
}

/// One metric of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    pub name: Box<str>,
    pub kind: MetricKind,
    pub contains: Contains,
}

macro_rules! built_in {
    ($($id:ident $name:literal $kind:ident $contains:ident;)*) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "only numbers the table")]
        enum Order { $($id),* }
        impl MetricId { $(pub const $id: Self = Self(Order::$id as u32);)* }
        /// The metrics that exist in every test, in the order of their ids. Source: the public
        /// reference of k6's built-in metrics.
        pub const BUILT_IN: &[(&str, MetricKind, Contains)] =
            &[$(($name, MetricKind::$kind, Contains::$contains)),*];
    };
}

built_in! {
    VUS "vus" Gauge Default;
    VUS_MAX "vus_max" Gauge Default;
    ITERATIONS "iterations" Counter Default;
    ITERATION_DURATION "iteration_duration" Trend Time;
    DROPPED_ITERATIONS "dropped_iterations" Counter Default;
    CHECKS "checks" Rate Default;
    GROUP_DURATION "group_duration" Trend Time;
    DATA_SENT "data_sent" Counter Data;
    DATA_RECEIVED "data_received" Counter Data;
    HTTP_REQS "http_reqs" Counter Default;
    HTTP_REQ_FAILED "http_req_failed" Rate Default;
    HTTP_REQ_DURATION "http_req_duration" Trend Time;
    HTTP_REQ_BLOCKED "http_req_blocked" Trend Time;
    HTTP_REQ_CONNECTING "http_req_connecting" Trend Time;
    HTTP_REQ_TLS_HANDSHAKING "http_req_tls_handshaking" Trend Time;
    HTTP_REQ_SENDING "http_req_sending" Trend Time;
    HTTP_REQ_WAITING "http_req_waiting" Trend Time;
    HTTP_REQ_RECEIVING "http_req_receiving" Trend Time;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_built_in_metrics_are_their_places_in_the_table() {
        for (id, name) in [
            (MetricId::VUS, "vus"),
            (MetricId::CHECKS, "checks"),
            (MetricId::HTTP_REQ_RECEIVING, "http_req_receiving"),
        ] {
            assert_eq!(BUILT_IN[id.0 as usize].0, name);
        }
    }
}
