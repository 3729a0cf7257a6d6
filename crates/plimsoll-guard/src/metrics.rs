//! What the guard says about itself, as Prometheus reads it.

use std::fmt::Write as _;

use crate::shared::Server;

pub(crate) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _infallible = writeln!(
            self.0,
            "# HELP plimsoll_guard_{name} {help}\n# TYPE plimsoll_guard_{name} {kind}"
        );
    }

    fn value(&mut self, name: &str, labels: &str, value: f64) {
        let _infallible = writeln!(self.0, "plimsoll_guard_{name}{labels} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help);
        self.value(name, "", value);
    }

    fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        self.family(name, "counter", help);
        for (of, value) in values {
            self.value(name, &format!("{{{label}=\"{of}\"}}"), *value as f64);
        }
    }
}

pub(crate) fn text(server: &Server) -> String {
    let mut text = Text::default();
    admission(&mut text, server);
    connections(&mut text, server);
    wire(&mut text, server);
    text.0
}

fn admission(text: &mut Text, server: &Server) {
    server.gate.look(|admission, _| {
        let counts = admission.counts();
        let level = admission.explain();
        text.counters(
            "requests_total",
            "Requests by what became of them.",
            "outcome",
            &[
                ("served", counts.served),
                ("failed", counts.failed),
                ("left", counts.left),
                ("left_waiting", counts.left_waiting),
                ("refused_overload", counts.refused_door),
                ("refused_full", counts.refused_full),
                ("refused_waited", counts.refused_too_long),
                ("refused_deadline", counts.refused_deadline),
                ("refused_share", counts.refused_share),
            ],
        );
        text.family("arrived_total", "counter", "Requests that came.");
        text.value("arrived_total", "", counts.arrived as f64);
        text.family(
            "admitted_total",
            "counter",
            "Requests that were let through.",
        );
        text.value("admitted_total", "", counts.admitted as f64);
        text.family(
            "retries_demoted_total",
            "counter",
            "Retries of clients beyond their budget, served last.",
        );
        text.value("retries_demoted_total", "", counts.retries_demoted as f64);
        let help = "Requests that may be in flight, between whole numbers.";
        text.gauge("limit", help, level.level);
        let in_flight = f64::from(admission.in_flight());
        text.gauge("in_flight", "Requests in flight.", in_flight);
        text.gauge("waiting", "Requests that wait.", admission.waiting() as f64);
        let help = "0 to 100: share of the limit in use, 100 while requests are refused.";
        text.gauge("saturation", help, admission.saturation());
        if let Some((slope, deviation)) = level.slope {
            let help = "What a larger limit would bring, log goodput over log limit.";
            text.gauge("slope", help, slope);
            let help = "How unsure that is, one standard deviation.";
            text.gauge("slope_deviation", help, deviation);
        }
        let (client, upstream) = admission.timeouts();
        let mut timeout = |name, help, learned: Option<plimsoll_core::Nanos>| {
            if let Some(learned) = learned {
                text.gauge(name, help, learned.as_secs_f64());
            }
        };
        let help = "When clients give up, learned from those that did.";
        timeout("client_timeout_seconds", help, client);
        let help = "When the upstream gives up, learned from its 504s.";
        timeout("upstream_timeout_seconds", help, upstream);
    });
}

fn connections(text: &mut Text, server: &Server) {
    let counts = &server.counts;
    let open = server.open_connections() as f64;
    text.gauge("connections", "Connections of clients.", open);
    text.counters(
        "connections_total",
        "Connections by what became of them.",
        "outcome",
        &[
            ("accepted", counts.connections.get()),
            ("refused", counts.connections_refused.get()),
        ],
    );
    let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    let answers: Vec<(&str, u64)> = classes
        .into_iter()
        .zip(counts.answers.iter().map(crate::counts::Count::get))
        .collect();
    let help = "Answers of the upstream by class.";
    text.counters("answers_total", help, "class", &answers);
    text.counters(
        "troubles_total",
        "Requests that got no answer of the upstream.",
        "trouble",
        &[
            ("bad_request", counts.bad_requests.get()),
            ("unreachable", counts.unreachable.get()),
            ("broken", counts.broken.get()),
            ("too_slow", counts.too_slow.get()),
        ],
    );
    text.counters(
        "upstream_total",
        "Connections to the upstream, and requests that were sent again.",
        "event",
        &[
            ("opened", counts.opened.get()),
            ("sent_again", counts.sent_again.get()),
        ],
    );
}

fn wire(text: &mut Text, server: &Server) {
    let counts = &server.counts;
    let help = "Streams, tunnels and stalled uploads, which hold no permit.";
    text.gauge("outside", help, server.outside.get() as f64);
    text.counters(
        "protocol_troubles_total",
        "Connections that ended by their protocol.",
        "trouble",
        &[
            ("handshake", counts.handshakes_failed.get()),
            ("flood", counts.floods.get()),
        ],
    );
    text.counters(
        "certificates_total",
        "Certificates that were to be read anew, by what became of it.",
        "outcome",
        &[
            ("read", counts.certificates_read.get()),
            ("refused", counts.certificates_refused.get()),
        ],
    );
    if let Some(log) = &server.log {
        let help = "Lines of the access log that no disk took in time.";
        text.family("access_log_dropped_total", "counter", help);
        text.value("access_log_dropped_total", "", log.dropped() as f64);
    }
}
