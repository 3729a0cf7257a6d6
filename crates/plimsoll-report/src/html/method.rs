//! How it was measured: plan, machine and the words used, folded.

use super::escape;
use crate::format;
use crate::view::View;

pub(super) fn section(out: &mut String, view: &View) {
    out.push_str("<section><h2>How it was measured</h2><details><summary>Request, plan and machine</summary><dl class=\"facts\">");
    for (name, value) in facts(view) {
        put!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    }
    out.push_str("</dl></details>");
    events(out, view);
    out.push_str("<details><summary>Words used here</summary><dl class=\"facts\">");
    for (name, value) in WORDS {
        put!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    out.push_str("</dl></details></section>");
}

fn facts(view: &View) -> Vec<(&'static str, String)> {
    let header = &view.record.header;
    let (plan, machine) = (&header.plan, &header.machine);
    let request = &plan.request;
    let headers: Vec<String> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let mut facts = vec![("request", format!("{} {}", request.method, request.url))];
    if !headers.is_empty() {
        facts.push(("headers", headers.join(" · ")));
    }
    if !request.body.is_empty() {
        facts.push(("body", format::bytes(request.body.len() as u64)));
    }
    facts.extend([
        (
            "connections",
            format!(
                "at most {}",
                format::count(plan.connections_max.get().into())
            ),
        ),
        (
            "protocol",
            plan.streams_per_connection.map_or_else(
                || "HTTP/1.1".to_owned(),
                |streams| {
                    let most = format::count(streams.get().into());
                    format!("HTTP/2, at most {most} streams per connection")
                },
            ),
        ),
        (
            "keep-alive",
            if plan.keepalive {
                "yes"
            } else {
                "no: a connection per request"
            }
            .to_owned(),
        ),
        ("client timeout", format::bound(plan.timeout_ns)),
        ("workers", format::count(plan.workers.get().into())),
        ("seed", plan.seed.to_string()),
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
    if plan.insecure {
        facts.push(("TLS", "certificates were not verified".to_owned()));
    }
    facts
}

fn events(out: &mut String, view: &View) {
    if view.record.events.is_empty() {
        return;
    }
    out.push_str("<details><summary>Events</summary><dl class=\"facts\">");
    for event in &view.record.events {
        let detail = if event.detail.is_empty() {
            String::new()
        } else {
            format!(": {}", event.detail)
        };
        put!(
            out,
            "<dt>{}</dt><dd>{}</dd>",
            format::clock(event.at_ns),
            escape(&format!("{}{detail}", event.event))
        );
    }
    out.push_str("</dl></details>");
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
