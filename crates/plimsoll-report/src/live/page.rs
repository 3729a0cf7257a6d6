//! The live page: one HTML file that needs nothing else, and the lines of JSON that it is told.
//!
//! The page asks once and then listens: a `head` line, a `level` line when a level begins, a `second`
//! line per period and one `end` line. The terminal's frame is made from the same [`Live`].

use plimsoll_core::tally::{Quantile, Tally};
use plimsoll_core::{Nanos, Window};
use serde_json::{Value, json};

use super::{Live, busiest_worker, condition_words};
use crate::colour::properties;
use crate::html::lane_token;
use crate::policy;
use crate::view::{Lane, load_words, phase_word};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page itself; everything that changes comes over the stream at `events`.
pub fn page() -> String {
    let [light, dark] = properties();
    // It listens to `events`, and its icon is empty.
    let policy = policy::of_page(SCRIPT, ";connect-src 'self';img-src data:");
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>plimsoll</title><link rel=\"icon\" href=\"data:,\">\
         <style>:root{{{light}color-scheme:light dark}}\
         @media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{STYLE}</style></head>\
         <body><div id=\"page\"></div><noscript>This page draws with JavaScript; the terminal shows \
         the same figures.</noscript><script>{SCRIPT}</script></body></html>\n"
    )
}

impl Live {
    /// What does not change during the run.
    pub fn head_message(&self, started_at: &str, objective: Option<&str>) -> Value {
        let lanes: Vec<Value> = Lane::all()
            .map(|lane| json!({ "name": lane.name(), "colour": lane_token(lane) }))
            .collect();
        json!({
            "kind": "head",
            "command": self.command,
            "title": self.title,
            "request": self.request,
            "started_at": started_at,
            "objective": objective,
            "lanes": lanes,
        })
    }

    /// The level that has just begun.
    pub fn level_message(&self) -> Value {
        let words = self.step.as_ref().map(|step| {
            let load = load_words(&step.load, self.is_script);
            format!("{} {load}", phase_word(step.phase))
        });
        json!({
            "kind": "level",
            "at": self.elapsed.as_secs_f64(),
            "words": words.unwrap_or_default(),
            "left": self.time_left().map(Nanos::as_secs_f64),
        })
    }

    /// A window, or several folded into one, in the units that the page shows: per second, milliseconds,
    /// ratios.
    pub fn second_message(&self, window: &Window) -> Value {
        let tally = window.total();
        let seconds = window.length_ns.as_secs_f64().max(1e-9);
        let per_s = |n: u64| n as f64 / seconds;
        let lanes: Vec<f64> = Lane::all().map(|lane| per_s(lane.count(&tally))).collect();
        let (condition, why) = self.condition();
        let words = condition_words(condition);
        json!({
            "kind": "second",
            "at": window.end_ns().as_secs_f64(),
            "length": seconds,
            "due": per_s(window.due_count),
            "lanes": lanes,
            "response": quantiles(&tally, Tally::response_quantile),
            "service": quantiles(&tally, Tally::service_quantile),
            "in_flight": window.in_flight_mean,
            "connections": window.health.connections_open,
            "lag": window.health.lag.quantile(0.99).map(Nanos::as_millis_f64),
            "busy": busiest_worker(window),
            "condition": condition,
            "condition_words": words,
            "why": why,
            "left": self.time_left().map(Nanos::as_secs_f64),
            "vus": self.vus.map(|(active, _)| active),
            "vus_existing": self.vus.map(|(_, existing)| existing),
            "thresholds": self.thresholds.iter()
                .map(|(text, ok)| json!({ "text": text, "ok": ok }))
                .collect::<Vec<_>>(),
            "tiers": self.tiers.iter()
                .map(|(name, (_, cores))| json!({ "name": name, "cores": cores }))
                .collect::<Vec<_>>(),
        })
    }
}

/// What the page is told when the run is over, and whether it came out well.
pub fn end(headline: &str, is_well: bool, report: Option<&str>) -> Value {
    json!({ "kind": "end", "headline": headline, "well": is_well, "report": report })
}

/// p50, p95 and p99 in milliseconds; null for never and where nothing was answered.
fn quantiles(tally: &Tally, of: fn(&Tally, f64) -> Option<Quantile>) -> Vec<Option<f64>> {
    let figure = |q| of(tally, q).and_then(Quantile::finite);
    [0.5, 0.95, 0.99]
        .into_iter()
        .map(|q| figure(q).map(Nanos::as_millis_f64))
        .collect()
}
