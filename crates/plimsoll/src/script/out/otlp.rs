//! `--out opentelemetry`: every metric to a collector, over HTTP in protobuf, with k6's variables and the standard ones.

use anyhow::{Result, anyhow};
use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};
use plimsoll_core::units::parse_duration;
use plimsoll_report::k6::Otlp;

use super::sender::{Destination, Sender, is_true, said};
use crate::machine;
use crate::script::console;

const ENDPOINT: &str = "localhost:4318";
const PATH: &str = "/v1/metrics";
/// k6's default.
const EXPORT_EVERY: Nanos = Nanos::from_secs(10);

pub(super) struct Collector {
    metrics: Otlp,
    clock: Clock,
    every: Nanos,
    next: Nanos,
    sender: Sender,
}

impl Collector {
    pub(super) fn start(url: Option<String>, start: Nanos) -> Result<Self> {
        let (own, standard) = (said("K6_OTEL_"), said("OTEL_"));
        let every = match own("EXPORT_INTERVAL") {
            Some(text) => parse_duration(&text)
                .map_err(|error| anyhow!("K6_OTEL_EXPORT_INTERVAL: {error}"))?,
            None => EXPORT_EVERY,
        };
        let service = own("SERVICE_NAME").or_else(|| standard("SERVICE_NAME"));
        let version = own("SERVICE_VERSION");
        let mut resource = vec![
            (
                "service.name".to_owned(),
                service.unwrap_or_else(|| "k6".to_owned()),
            ),
            (
                "service.version".to_owned(),
                version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            ),
        ];
        resource.extend(pairs(
            "OTEL_RESOURCE_ATTRIBUTES",
            standard("RESOURCE_ATTRIBUTES"),
        )?);
        let destination = destination(url, &own, &standard)?;
        if wants_grpc(&own) {
            console::warn(&format!(
                "OTLP goes over HTTP here and not over gRPC: metrics are sent to {}",
                destination.url
            ));
        }
        let prefix = own("METRIC_PREFIX").unwrap_or_default();
        Ok(Self {
            metrics: Otlp::new(start, prefix, resource),
            clock: Clock::start(),
            every,
            next: every,
            sender: Sender::start(destination, None)?,
        })
    }

    /// What a push leaves out comes with the next: each has everything since the start.
    pub(super) fn absorb(&mut self, store: &Store, samples: &[Sample]) {
        self.metrics.absorb(store, samples);
        let now = self.clock.now();
        if now >= self.next {
            self.next = now + self.every;
            if let Some(body) = self.metrics.changed(unix_now()) {
                self.sender.push(body);
            }
        }
    }

    pub(super) fn close(mut self) {
        let last = self.metrics.changed(unix_now());
        self.sender.close(last);
    }
}

fn unix_now() -> Nanos {
    Nanos(machine::since_1970().as_nanos() as u64)
}

/// Somebody says so; it is k6's default, which nobody needs to say.
fn wants_grpc(own: &impl Fn(&str) -> Option<String>) -> bool {
    let protocol = own("EXPORTER_PROTOCOL").or_else(|| own("EXPORTER_TYPE"));
    protocol.is_some_and(|protocol| protocol == "grpc") || own("GRPC_EXPORTER_ENDPOINT").is_some()
}

fn destination(
    url: Option<String>,
    own: &impl Fn(&str) -> Option<String>,
    standard: &impl Fn(&str) -> Option<String>,
) -> Result<Destination> {
    let path = own("HTTP_EXPORTER_URL_PATH").unwrap_or_else(|| PATH.to_owned());
    let whole = standard("EXPORTER_OTLP_METRICS_ENDPOINT");
    let base = standard("EXPORTER_OTLP_ENDPOINT");
    let place = url
        .or_else(|| own("HTTP_EXPORTER_ENDPOINT"))
        .map(|place| with_scheme(&place, own("HTTP_EXPORTER_INSECURE").as_deref()));
    let url = match (place, whole, base) {
        (Some(place), ..) if place.splitn(4, '/').count() == 4 => place,
        (Some(place), ..) => place + &path,
        (None, Some(whole), _) => whole,
        (None, None, Some(base)) => base.trim_end_matches('/').to_owned() + PATH,
        (None, None, None) => with_scheme(ENDPOINT, None) + &path,
    };
    let mut headers = vec![(
        "Content-Type".to_owned(),
        "application/x-protobuf".to_owned(),
    )];
    headers.extend(pairs("K6_OTEL_HEADERS", own("HEADERS"))?);
    headers.extend(pairs(
        "OTEL_EXPORTER_OTLP_HEADERS",
        standard("EXPORTER_OTLP_HEADERS"),
    )?);
    Ok(Destination {
        name: "opentelemetry",
        url,
        headers,
        insecure: is_true(own("TLS_INSECURE_SKIP_VERIFY")),
    })
}

/// A collector on this host has no certificate, unless somebody says that it has.
fn with_scheme(place: &str, insecure: Option<&str>) -> String {
    let place = place.trim_end_matches('/');
    if place.contains("://") {
        return place.to_owned();
    }
    let is_here = ["localhost", "127.", "[::1]"]
        .iter()
        .any(|host| place.starts_with(host));
    let is_plain = match insecure {
        Some("true" | "1") => true,
        Some(_) => false,
        None => is_here,
    };
    let scheme = if is_plain { "http" } else { "https" };
    format!("{scheme}://{place}")
}

/// `name=value,name=value`
fn pairs(variable: &str, text: Option<String>) -> Result<Vec<(String, String)>> {
    let text = text.unwrap_or_default();
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| anyhow!("{variable}: `{pair}` is not name=value"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_is_where_somebody_says() {
        let url = |given: Option<&str>, variables: &[(&str, &str)]| {
            let said = |prefix: &'static str| {
                move |name: &str| {
                    let name = format!("{prefix}{name}");
                    let found = variables.iter().find(|(known, _)| *known == name)?;
                    Some(found.1.to_owned())
                }
            };
            let given = given.map(str::to_owned);
            destination(given, &said("K6_OTEL_"), &said("OTEL_"))
                .unwrap()
                .url
        };
        for (given, variables, wanted) in [
            (None, &[][..], "http://localhost:4318/v1/metrics"),
            (Some("http://h:1"), &[], "http://h:1/v1/metrics"),
            (Some("http://h:1/otlp"), &[], "http://h:1/otlp"),
            (
                None,
                &[("K6_OTEL_HTTP_EXPORTER_ENDPOINT", "h:4318")],
                "https://h:4318/v1/metrics",
            ),
            (
                None,
                &[
                    ("K6_OTEL_HTTP_EXPORTER_ENDPOINT", "h:4318"),
                    ("K6_OTEL_HTTP_EXPORTER_INSECURE", "true"),
                    ("K6_OTEL_HTTP_EXPORTER_URL_PATH", "/m"),
                ],
                "http://h:4318/m",
            ),
            (
                None,
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/")],
                "http://c:4318/v1/metrics",
            ),
        ] {
            assert_eq!(url(given, variables), wanted);
        }
        assert!(pairs("X", Some("a=b, c=d".to_owned())).unwrap().len() == 2);
        assert!(pairs("X", Some("a".to_owned())).is_err());
    }
}
