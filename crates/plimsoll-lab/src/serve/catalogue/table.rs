//! The fixtures: one injected cause each, with the verdict that it must get.
//!
//! Ranges keep ceilings between about 100 and 1,300 requests per second: enough attempts for a
//! search in minutes, few enough that a generator on the same machine is not the limit.

use plimsoll_core::verdict::Cause;

use super::{Expected, Group, Parameter, Service, Tier, Twin, Unit};
use crate::serve::fixture;

const PLAIN_SLO: &str = "p99<250ms,errors<0.1%";

/// Milliseconds that a request costs, wherever it costs them.
const fn millis(
    name: &'static str,
    (low, high, step): (f64, f64, f64),
    twin: Twin,
    about: &'static str,
) -> Parameter {
    Parameter {
        name,
        unit: Unit::Milliseconds,
        low,
        high,
        step,
        twin,
        about,
    }
}

const fn count(
    name: &'static str,
    (low, high, step): (f64, f64, f64),
    twin: Twin,
    about: &'static str,
) -> Parameter {
    Parameter {
        name,
        unit: Unit::Count,
        low,
        high,
        step,
        twin,
        about,
    }
}

pub(super) const FIXTURES: &[Service] = &[
    Service {
        name: "pinned-loop",
        group: Group::Fixture,
        about: "one thread does everything and burns a core for each request",
        expected: Some(Expected {
            cause: Cause::PinnedThread,
            tier: Tier::Entry,
            ceiling: |of| 1e3 / of.of("cpu"),
            formula: "1 / cpu",
            slo: PLAIN_SLO,
            twin: "a request costs a twentieth",
        }),
        parameters: &[millis(
            "cpu",
            (2.0, 5.0, 0.25),
            Twin::Times(0.05),
            "processor time per request",
        )],
        start: fixture::pinned_loop::start,
    },
    Service {
        name: "cpu-quota",
        group: Group::Fixture,
        about: "several threads share a control group whose CPU quota is below one core",
        expected: Some(Expected {
            cause: Cause::CpuQuota,
            tier: Tier::Entry,
            ceiling: |of| of.of("quota") * 1e3 / of.of("cpu"),
            formula: "quota / cpu",
            slo: PLAIN_SLO,
            twin: "no quota, and a request costs a twentieth",
        }),
        parameters: &[
            millis(
                "cpu",
                (1.0, 3.0, 0.25),
                Twin::Times(0.05),
                "processor time per request",
            ),
            Parameter {
                name: "quota",
                unit: Unit::Cores,
                low: 0.3,
                high: 0.6,
                step: 0.05,
                twin: Twin::Set(1024.0),
                about: "cores that the group may use; none is set at or above the machine's cores",
            },
            count("threads", (2.0, 4.0, 1.0), Twin::Same, "worker threads"),
        ],
        start: fixture::cpu_quota::start,
    },
    Service {
        name: "small-pool",
        group: Group::Fixture,
        about: "a pool of connections to a slow downstream; waiting for one has a timeout",
        expected: Some(Expected {
            cause: Cause::Pool,
            tier: Tier::Entry,
            ceiling: |of| of.of("pool") * 1e3 / of.of("query"),
            formula: "pool / query",
            slo: PLAIN_SLO,
            twin: "a pool sixteen times as large",
        }),
        parameters: &[
            count("pool", (4.0, 12.0, 1.0), Twin::Times(16.0), "connections"),
            millis(
                "query",
                (15.0, 40.0, 1.0),
                Twin::Same,
                "answer of the downstream",
            ),
            millis(
                "wait_timeout",
                (400.0, 600.0, 50.0),
                Twin::Same,
                "longest wait for a connection, then 503",
            ),
        ],
        start: fixture::small_pool::start,
    },
    Service {
        name: "proxy-slots",
        group: Group::Fixture,
        about: "a one-worker reverse proxy whose connection slots run out: two per request",
        expected: Some(Expected {
            cause: Cause::ConnectionSlots,
            tier: Tier::Entry,
            ceiling: |of| of.of("slots") / 2.0 * 1e3 / of.of("answer"),
            formula: "slots / 2 / answer",
            slo: PLAIN_SLO,
            twin: "sixteen times as many slots",
        }),
        parameters: &[
            count(
                "slots",
                (64.0, 128.0, 8.0),
                Twin::Times(16.0),
                "connection slots",
            ),
            millis(
                "answer",
                (60.0, 120.0, 5.0),
                Twin::Same,
                "answer of the upstream",
            ),
        ],
        start: fixture::proxy_slots::start,
    },
    Service {
        name: "lock",
        group: Group::Fixture,
        about: "a thread per connection, and one section that a single thread may be in, asleep",
        expected: Some(Expected {
            cause: Cause::Lock,
            tier: Tier::Entry,
            ceiling: |of| 1e3 / of.of("section"),
            formula: "1 / section",
            slo: PLAIN_SLO,
            twin: "a section a twentieth as long",
        }),
        parameters: &[millis(
            "section",
            (2.0, 6.0, 0.5),
            Twin::Times(0.05),
            "time inside the section, without CPU",
        )],
        start: fixture::lock::start,
    },
    Service {
        name: "event-loop",
        group: Group::Fixture,
        about: "one thread; a request passes several times through its first-in first-out queue",
        expected: Some(Expected {
            cause: Cause::EventLoop,
            tier: Tier::Entry,
            ceiling: |of| 1e3 / (of.of("passes") * of.of("slice")),
            formula: "1 / (passes × slice)",
            slo: PLAIN_SLO,
            twin: "slices a twentieth as long",
        }),
        parameters: &[
            count("passes", (3.0, 6.0, 1.0), Twin::Same, "passes per request"),
            millis(
                "slice",
                (0.5, 1.25, 0.25),
                Twin::Times(0.05),
                "processor time per pass",
            ),
        ],
        start: fixture::event_loop::start,
    },
    Service {
        name: "fsync",
        group: Group::Fixture,
        about: "every request is forced to a real disk, one at a time, before its answer",
        expected: Some(Expected {
            cause: Cause::Disk,
            tier: Tier::Entry,
            ceiling: |of| 1e3 / of.of("disk"),
            formula: "1 / disk",
            slo: PLAIN_SLO,
            twin: "written, but not forced",
        }),
        parameters: &[millis(
            "disk",
            (3.0, 8.0, 0.5),
            Twin::Set(0.0),
            "write and fsync are repeated until this much time went into them",
        )],
        start: fixture::fsync::start,
    },
    Service {
        name: "slow-downstream",
        group: Group::Fixture,
        about: "awaits another process, whose single thread is what runs out",
        expected: Some(Expected {
            cause: Cause::Downstream,
            tier: Tier::Downstream,
            ceiling: |of| 1e3 / of.of("cpu"),
            formula: "1 / cpu",
            slo: PLAIN_SLO,
            twin: "the downstream needs a twentieth",
        }),
        parameters: &[millis(
            "cpu",
            (2.0, 5.0, 0.25),
            Twin::Times(0.05),
            "processor time of the downstream per request",
        )],
        start: fixture::slow_downstream::start,
    },
    Service {
        name: "stalls",
        group: Group::Fixture,
        about: "answers at once, but stands still for a moment every few seconds",
        expected: Some(Expected {
            cause: Cause::Stalls,
            tier: Tier::Entry,
            ceiling: |_| f64::INFINITY,
            formula: "none: no rate holds the objective",
            slo: "p99<50ms,errors<0.1%",
            twin: "no stalls",
        }),
        parameters: &[
            millis(
                "freeze",
                (150.0, 200.0, 5.0),
                Twin::Set(0.0),
                "length of a stall",
            ),
            Parameter {
                name: "every",
                unit: Unit::Seconds,
                low: 3.0,
                high: 6.0,
                step: 0.5,
                twin: Twin::Same,
                about: "from one stall to the next",
            },
        ],
        start: fixture::freeze::start,
    },
    Service {
        name: "memory-gc",
        group: Group::Fixture,
        about: "every request leaves garbage; a collector stops the world to clear it",
        expected: Some(Expected {
            cause: Cause::Memory,
            tier: Tier::Entry,
            ceiling: |of| 1e3 / (of.of("cpu") + of.of("pause") * of.of("garbage") / of.of("heap")),
            formula: "1 / (cpu + pause × garbage / heap)",
            slo: PLAIN_SLO,
            twin: "a pause a twentieth as long",
        }),
        parameters: &[
            millis(
                "cpu",
                (0.4, 0.6, 0.1),
                Twin::Times(0.5),
                "own processor time per request",
            ),
            Parameter {
                name: "garbage",
                unit: Unit::Mebibytes,
                low: 0.25,
                high: 0.5,
                step: 0.0625,
                twin: Twin::Same,
                about: "left behind by a request",
            },
            Parameter {
                name: "heap",
                unit: Unit::Mebibytes,
                low: 6.0,
                high: 8.0,
                step: 1.0,
                twin: Twin::Same,
                about: "garbage that starts a collection",
            },
            millis(
                "pause",
                (50.0, 80.0, 5.0),
                Twin::Times(0.05),
                "processor time of a collection, while nothing else runs",
            ),
        ],
        start: fixture::memory_gc::start,
    },
    Service {
        name: "rate-rule",
        group: Group::Fixture,
        about: "a token bucket answers 429 above a configured rate",
        expected: Some(Expected {
            cause: Cause::Rule,
            tier: Tier::Entry,
            ceiling: |of| of.of("rate"),
            formula: "rate",
            slo: PLAIN_SLO,
            twin: "twenty times the rate",
        }),
        parameters: &[
            Parameter {
                name: "rate",
                unit: Unit::PerSecond,
                low: 100.0,
                high: 400.0,
                step: 20.0,
                twin: Twin::Times(20.0),
                about: "tokens per second",
            },
            count(
                "burst",
                (10.0, 40.0, 5.0),
                Twin::Times(20.0),
                "tokens kept at most",
            ),
        ],
        start: fixture::rate_rule::start,
    },
];
