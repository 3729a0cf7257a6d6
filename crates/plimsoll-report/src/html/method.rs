//! How it was measured: plan, machine and the words used, folded.

use maud::{Markup, html};
use plimsoll_core::record::{Event, EventKind};

use super::parts::{self, folded};
use crate::format;
use crate::view::View;

pub(super) fn section(view: &View) -> Markup {
    let events = &view.record.events;
    html! {
        section {
            h2 { "How it was measured" }
            (folded("Request, plan and machine", parts::facts(facts(view))))
            @if !events.is_empty() {
                (folded(
                    "Events",
                    parts::facts(events.iter().map(|event| {
                        (format::clock(event.at_ns), event_words(event))
                    })),
                ))
            }
            (folded("Words used here", parts::facts(WORDS)))
        }
    }
}

fn facts(view: &View) -> Vec<(&'static str, String)> {
    let header = &view.record.header;
    let (test, machine) = (&header.test, &header.machine);
    let generator = &test.generator;
    let request = test.url().map(|url| &url.request);
    let headers: Vec<String> = request
        .iter()
        .flat_map(|request| &request.headers)
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let mut facts = vec![("request", test.what.to_string())];
    if !headers.is_empty() {
        facts.push(("headers", headers.join(" · ")));
    }
    let body = request.map_or(0, |request| request.body.len());
    if body > 0 {
        facts.push(("body", format::bytes(body as u64)));
    }
    facts.extend([
        (
            "connections",
            format!(
                "at most {}",
                format::count(generator.connections_max.get().into())
            ),
        ),
        (
            "protocol",
            test.streams().map_or_else(
                || "HTTP/1.1".to_owned(),
                |streams| {
                    let most = format::count(streams.get().into());
                    format!("HTTP/2, at most {most} streams per connection")
                },
            ),
        ),
        (
            "keep-alive",
            if generator.keepalive {
                "yes"
            } else {
                "no: a connection per request"
            }
            .to_owned(),
        ),
        ("client timeout", format::bound(generator.timeout)),
        ("workers", format::count(generator.workers.get().into())),
        ("seed", generator.seed.to_string()),
        ("started", format::date(&header.started_at)),
        ("took", format::duration(view.elapsed)),
        ("generator", machine.host.clone()),
        (
            "processor",
            format!(
                "{}, {}",
                machine.cpu,
                format::plural(machine.cores_count.into(), "core", "cores")
            ),
        ),
        ("memory", format::bytes(machine.memory_bytes)),
        ("kernel", machine.kernel.clone()),
        ("plimsoll", header.plimsoll_version.clone()),
        ("record schema", header.schema.clone()),
    ]);
    if generator.insecure {
        facts.push(("TLS", "certificates were not verified".to_owned()));
    }
    facts
}

fn event_words(event: &Event) -> String {
    let words = match &event.what {
        EventKind::Interrupted => "interrupted".to_owned(),
        EventKind::Preflight => "one request before the load, which no figure counts".to_owned(),
        EventKind::SelfCheck(check) => format!(
            "self-check: the generator sends at most {} here, and at {} its lag p99 is {}; its threads have {}",
            format::rate(check.max_per_s),
            format::rate(check.open_rate_per_s),
            format::time(check.lag_p99_ns),
            check.priority
        ),
        EventKind::Anchor(anchor) => format!(
            "anchor: {} without load, {} with ever more in flight",
            format::time(anchor.response_ns),
            format::rate(anchor.throughput_max_per_s)
        ),
        EventKind::Search(start) => format!(
            "the search began, {} after the start of the run",
            format::time(start.spent_ns)
        ),
        EventKind::Iteration(iteration) => format!(
            "an iteration of the script came to {:.2} requests in the mean",
            iteration.requests_mean
        ),
        EventKind::Guarded(guarded) => format!(
            "a guard refused {} attempts: their answers say so",
            guarded.refused_count
        ),
        EventKind::Fault(fault) => format!("{} was {}", fault.instance, fault.what.word()),
        EventKind::Other { event } => event.clone(),
    };
    if event.detail.is_empty() {
        return words;
    }
    format!("{words}: {}", event.detail)
}

const WORDS: [(&str, &str); 11] = [
    (
        "arrival rate",
        "requests that become due per second, whether or not earlier ones were answered",
    ),
    (
        "goodput",
        "attempts per second that were correct and within every bound of the objective",
    ),
    (
        "load line",
        "the capacity: the highest arrival rate that held the objective in a soak",
    ),
    (
        "knee",
        "the rate from which response time climbs faster than throughput",
    ),
    ("peak", "the highest goodput of any level"),
    (
        "collapse",
        "where more load makes goodput fall more than a tenth below its peak",
    ),
    (
        "recovery",
        "time from the end of a pulse until the response time is normal again",
    ),
    (
        "response time",
        "from the moment a request was due to its last byte",
    ),
    (
        "service time",
        "from the first byte written to the last byte read; the difference is the queue inside the client",
    ),
    (
        "never",
        "a failure counts as infinitely late; the percentile lies among the failures",
    ),
    (
        "void",
        "a level that the generator itself could not sustain; it says nothing about the target",
    ),
];
