//! Results of other tools: whatever is read can be audited, and no figure is impossible.

use plimsoll_analysis::import::{self, Declared};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "{\"root_group\":{},\"metrics\":{\"http_reqs\":{\"count\":10,\"rate\":1}",
    "\"http_req_failed\":{\"passes\":3}",
    "\"http_500\":{\"count\":2}",
    "{\"metric\":\"http_reqs\",\"type\":\"Point\",\"data\":{\"time\":\"2026-01-01T00:00:00Z\",\"value\":1}}",
    "\"statusCodeDistribution\":{\"200\":5}",
    "\"latencies\":{\"95th\":1e9},\"status_codes\":{\"0\":1}",
    "\"duration\":1e9",
    "\"Databases\":{\"a\":{\"TotalOperations\":1}},\"TotalOperations\":1,\"DurationSeconds\":1",
    "Thread Stats",
    "1000 requests in 10.00s, 1.00GB read",
    "Latency   640.00us    0.89ms  12.92ms",
    "Summary:\n  Requests/sec:\t1",
    "Status code distribution:\n  [200]\t9 responses",
    "1e308",
    "-1",
    "\n",
];

pub(super) fn read(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let figures = match import::read(&text) {
        Ok(figures) => figures,
        Err(error) => return variant(&error),
    };
    if let Some(successes) = figures.successes() {
        assert!(
            figures.attempts >= Some(successes),
            "more successes than attempts in {text:?}"
        );
    }
    let audit = import::audit(&figures, Some(&figures), Declared::default());
    assert!(
        audit
            .gates
            .iter()
            .all(|gate| (1..=13).contains(&gate.id.number()))
    );
    format!("{:?}", figures.tool)
}
