//! What the guard says about itself, as Prometheus reads it: every metric once, with its help. The text and the table in
//! `docs/guard.md` follow from it.

use std::fmt::Write as _;

use plimsoll_control::admission::{Counts, Explained, Refusal};
use plimsoll_control::balance::{Health, Out};
use plimsoll_core::Nanos;

use crate::counts::Count;
use crate::gate::REASONS;
use crate::refusal;
use crate::shared::Server;
use crate::upstreams::Member;

pub(crate) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";
const PREFIX: &str = "plimsoll_guard_";

/// Values with what is added to their labels.
type Values = Vec<(&'static str, f64)>;

/// Whose a metric is.
pub(crate) enum Of {
    Guard(fn(&Server) -> Values),
    /// Has a label `upstream`.
    Upstream(fn(&Look<'_>) -> Values),
}

pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// The label beside `upstream`, if there is one.
    pub(crate) label: Option<&'static str>,
    pub(crate) help: &'static str,
    pub(crate) of: Of,
}

/// An upstream at one moment.
pub(crate) struct Look<'a> {
    member: &'a Member,
    counts: Counts,
    level: Explained,
    limit: u32,
    in_flight: u32,
    waiting: usize,
    saturation: f64,
    timeouts: (Option<Nanos>, Option<Nanos>),
}

impl<'a> Look<'a> {
    fn at(member: &'a Member) -> Self {
        let now = member.gate.now();
        member.gate.look(|admission, _| Self {
            member,
            counts: admission.counts(),
            level: admission.explain(),
            limit: admission.limit(),
            in_flight: admission.in_flight(),
            waiting: admission.waiting(),
            saturation: admission.saturation(),
            timeouts: admission.timeouts(now),
        })
    }
}

const fn of_guard(
    name: &'static str,
    kind: &'static str,
    label: Option<&'static str>,
    help: &'static str,
    read: fn(&Server) -> Values,
) -> Metric {
    Metric {
        name,
        kind,
        label,
        help,
        of: Of::Guard(read),
    }
}

const fn of_upstream(
    name: &'static str,
    kind: &'static str,
    label: Option<&'static str>,
    help: &'static str,
    read: fn(&Look<'_>) -> Values,
) -> Metric {
    Metric {
        name,
        kind,
        label,
        help,
        of: Of::Upstream(read),
    }
}

fn one(value: f64) -> Values {
    vec![("", value)]
}

fn known(value: Option<f64>) -> Values {
    value.map(one).unwrap_or_default()
}

fn count(count: &Count) -> f64 {
    count.get() as f64
}

fn by_reason(counts: [u64; REASONS]) -> Values {
    let of_admission = Refusal::ALL.map(refusal::word).into_iter();
    let reasons = of_admission.chain([refusal::STREAMS.reason]);
    reasons.zip(counts.map(|count| count as f64)).collect()
}

const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";

pub(crate) const METRICS: &[Metric] = &[
    of_upstream(
        "arrived_total",
        COUNTER,
        None,
        "Requests that came",
        |look| one(look.counts.arrived as f64),
    ),
    of_upstream(
        "admitted_total",
        COUNTER,
        None,
        "Requests that were given a permit",
        |look| one(look.counts.admitted as f64),
    ),
    of_upstream(
        "ended_total",
        COUNTER,
        Some("outcome"),
        "Requests with a permit, by how they ended; `left`: their clients had gone; `aside`: the service waited for its client, so they say nothing about it",
        |look| {
            let counts = &look.counts;
            vec![
                ("served", counts.served as f64),
                ("failed", counts.failed as f64),
                ("left", counts.left as f64),
                ("aside", counts.aside as f64),
            ]
        },
    ),
    of_upstream(
        "refused_total",
        COUNTER,
        Some("reason"),
        "Requests that were refused, by the word in `X-Plimsoll`",
        |look| by_reason(look.member.gate.refusals().0),
    ),
    of_upstream(
        "shadow_refused_total",
        COUNTER,
        Some("reason"),
        "With `shadow`: requests that would have been refused, and were not",
        |look| by_reason(look.member.gate.refusals().1),
    ),
    of_upstream(
        "shadow_passed_total",
        COUNTER,
        None,
        "With `shadow`: requests that were answered and would have been refused, or would still have waited",
        |look| one(look.member.gate.passed() as f64),
    ),
    of_upstream(
        "left_waiting_total",
        COUNTER,
        None,
        "Requests whose clients left while they waited",
        |look| one(look.counts.left_waiting as f64),
    ),
    of_upstream(
        "retries_demoted_total",
        COUNTER,
        None,
        "Retries of clients beyond their budget, which go last",
        |look| one(look.counts.retries_demoted as f64),
    ),
    of_upstream(
        "limit",
        GAUGE,
        None,
        "Requests that may be in flight now",
        |look| one(f64::from(look.limit)),
    ),
    of_upstream(
        "limit_level",
        GAUGE,
        None,
        "The limit between whole numbers, without a probe",
        |look| one(look.level.level),
    ),
    of_upstream("in_flight", GAUGE, None, "Permits in use", |look| {
        one(f64::from(look.in_flight))
    }),
    of_upstream("waiting", GAUGE, None, "Requests that wait", |look| {
        one(look.waiting as f64)
    }),
    of_upstream(
        "saturation",
        GAUGE,
        None,
        "0 to 100: share of the limit in use, 100 while requests are refused",
        |look| one(look.saturation),
    ),
    of_upstream(
        "reported_load",
        GAUGE,
        None,
        "0 to 1: how full the upstream says that it is (`Endpoint-Load-Metrics`); missing after two seconds without a word",
        |look| known(look.member.gate.reported()),
    ),
    of_upstream(
        "slope",
        GAUGE,
        None,
        "What a larger limit would bring: log goodput over log limit",
        |look| known(look.level.slope.map(|(slope, _)| slope)),
    ),
    of_upstream(
        "slope_deviation",
        GAUGE,
        None,
        "How unsure that is, one standard deviation",
        |look| known(look.level.slope.map(|(_, deviation)| deviation)),
    ),
    of_upstream(
        "probes_total",
        COUNTER,
        None,
        "Slots at half of the limit",
        |look| one(look.level.probes_count as f64),
    ),
    of_upstream(
        "client_timeout_seconds",
        GAUGE,
        None,
        "When clients give up, learned from those that did",
        |look| known(look.timeouts.0.map(Nanos::as_secs_f64)),
    ),
    of_upstream(
        "upstream_timeout_seconds",
        GAUGE,
        None,
        "When the upstream gives up, learned from its 504s",
        |look| known(look.timeouts.1.map(Nanos::as_secs_f64)),
    ),
    of_upstream(
        "out",
        GAUGE,
        Some("reason"),
        "1 while the upstream is left out, by reason",
        |look| {
            let out = look.member.gate.with_health(Health::out);
            let is = |reason| f64::from(u8::from(out == Some(reason)));
            [Out::Failing, Out::Unreachable, Out::Unwell]
                .map(|reason| (reason.name(), is(reason)))
                .to_vec()
        },
    ),
    of_upstream(
        "ejected_total",
        COUNTER,
        None,
        "How often the upstream was taken out",
        |look| one(look.member.gate.with_health(|health, _| health.ejected()) as f64),
    ),
    of_upstream(
        "opened_total",
        COUNTER,
        None,
        "Connections that were opened to the upstream",
        |look| one(count(&look.member.opened)),
    ),
    of_upstream(
        "sent_again_total",
        COUNTER,
        None,
        "Requests that the guard itself sent again, to this upstream",
        |look| one(count(&look.member.sent_again)),
    ),
    of_guard(
        "answers_total",
        COUNTER,
        Some("class"),
        "Answers of upstreams by the first digit of their status",
        |server| {
            let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter();
            classes
                .zip(server.counts.answers.iter().map(count))
                .collect()
        },
    ),
    of_guard(
        "troubles_total",
        COUNTER,
        Some("trouble"),
        "Requests that got an answer of the guard's own that is no refusal",
        |server| {
            let counts = &server.counts;
            vec![
                ("bad_request", count(&counts.bad_requests)),
                ("no_route", count(&counts.no_route)),
                ("unreachable", count(&counts.unreachable)),
                ("broken", count(&counts.broken)),
                ("too_slow", count(&counts.too_slow)),
            ]
        },
    ),
    of_guard(
        "connections",
        GAUGE,
        None,
        "Connections of clients",
        |server| one(server.open_connections() as f64),
    ),
    of_guard(
        "connections_total",
        COUNTER,
        Some("outcome"),
        "Connections of clients by what became of them",
        |server| {
            vec![
                ("accepted", count(&server.counts.connections)),
                ("refused", count(&server.counts.connections_refused)),
            ]
        },
    ),
    of_guard(
        "reloads_total",
        COUNTER,
        Some("outcome"),
        "SIGHUPs by whether the new settings are in force",
        |server| {
            vec![
                ("applied", count(&server.counts.reloads)),
                ("refused", count(&server.counts.reloads_refused)),
            ]
        },
    ),
    of_guard(
        "outside",
        GAUGE,
        None,
        "Streams, tunnels, stalled uploads and requests of routes with `waits`, which hold no permit",
        |server| one((server.outside.get() + server.outside_spared.get()) as f64),
    ),
    of_guard(
        "protocol_troubles_total",
        COUNTER,
        Some("trouble"),
        "Connections that ended by their protocol: no handshake of TLS, a flood of frames of HTTP/2",
        |server| {
            vec![
                ("handshake", count(&server.counts.handshakes_failed)),
                ("flood", count(&server.counts.floods)),
            ]
        },
    ),
    of_guard(
        "access_log_dropped_total",
        COUNTER,
        None,
        "Lines of the access log that no disk took in time",
        |server| one(server.log().map_or(0.0, |log| log.dropped() as f64)),
    ),
    of_guard(
        "shadow",
        GAUGE,
        None,
        "1 while nobody is refused and refusals are only counted",
        |server| one(f64::from(u8::from(server.policy().config.shadow))),
    ),
    of_guard(
        "stopping",
        GAUGE,
        None,
        "1 after the signal to stop",
        |server| one(f64::from(u8::from(server.is_stopping()))),
    ),
];

pub(crate) fn text(server: &Server) -> String {
    let members = server.members();
    let looks: Vec<Look<'_>> = members.iter().map(|member| Look::at(member)).collect();
    let mut text = String::new();
    for metric in METRICS {
        let (name, kind, help) = (metric.name, metric.kind, metric.help);
        let help = help.replace('`', "");
        // Writing to a String cannot fail.
        let _infallible = writeln!(
            text,
            "# HELP {PREFIX}{name} {help}.\n# TYPE {PREFIX}{name} {kind}"
        );
        match metric.of {
            Of::Guard(read) => values(&mut text, metric, None, &read(server)),
            Of::Upstream(read) => {
                for look in &looks {
                    values(&mut text, metric, Some(&look.member.name), &read(look));
                }
            }
        }
    }
    text
}

fn values(text: &mut String, metric: &Metric, upstream: Option<&str>, values: &Values) {
    for (of, value) in values {
        let upstream = upstream.map(|name| format!("upstream=\"{name}\""));
        let own = metric.label.map(|label| format!("{label}=\"{of}\""));
        let labels: Vec<String> = upstream.into_iter().chain(own).collect();
        let labels = match &labels[..] {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        let _infallible = writeln!(text, "{PREFIX}{}{labels} {value}", metric.name);
    }
}

#[cfg(test)]
mod tests;
