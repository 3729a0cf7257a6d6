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
    "Concurrency Level:      8\nComplete requests:      500\nTime taken for tests:   0.160 seconds\n",
    "timeStamp,elapsed,responseCode,success\n1700000000000,12,200,true\n",
    "<testResults><httpSample t=\"12\" ts=\"1700000000000\" rc=\"503\" s=\"false\"/>",
    "Name,Request Count,Failure Count,Requests/s,95%\nAggregated,350,24,87.6,25\n",
    "Timestamp,User Count,Name,Total Request Count,Total Failure Count\n1795541527,10,Aggregated,350,24\n",
    "REQUEST\t\tHome\t1700000000110\t1700000000160\tOK\t \n",
    "\"numberOfRequests\":{\"total\":9,\"ok\":8,\"ko\":1},\"percentiles1\":{\"total\":5}",
    "[OVERALL], RunTime(ms), 100\n[READ], Operations, 9\n[READ], Return=ERROR, 2\n",
    "READ   - Takes(s): 10.0, Count: 18102, OPS: 1810.9, Avg(us): 1500\n",
    "x.cycles.servicetime\n             count = 60\n         mean rate = 10.0 calls/second\n",
    "\"stats\":[{\"summary\":{\"requestCount\":9,\"responseCount\":8}}]",
    "\"2xx\":9,\"latency\":{\"mean\":2,\"totalCount\":9},\"requests\":{\"sent\":12},\"duration\":1",
    "<script id=\"data\">k6",
    "1e308",
    "-1",
    "\n",
];

pub(super) fn read(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let figures = match import::read(data) {
        Ok(figures) => figures,
        Err(error) => return variant(&error),
    };
    if let Some(successes) = figures.successes() {
        assert!(
            figures.attempts >= Some(successes),
            "more successes than attempts in {text:?}"
        );
    }
    let audit = import::audit(&figures, Some(&figures), &Declared::default());
    assert!(
        audit
            .gates
            .iter()
            .all(|gate| (1..=13).contains(&gate.id.number()))
    );
    format!("{:?}", figures.tool)
}
