//! The demo's shop, the plain services, and the parts that others start.

use super::{Group, Parameter, Service, Twin, Unit};
use crate::serve::{article, fixture, link, list, proxy, shop, status};

/// A parameter that every seed gives the same value.
const fn fixed(
    name: &'static str,
    unit: Unit,
    value: f64,
    twin: Twin,
    about: &'static str,
) -> Parameter {
    Parameter {
        name,
        unit,
        low: value,
        high: value,
        step: 1.0,
        twin,
        about,
    }
}

const SHOP_CPU: Parameter = fixed(
    "cpu",
    Unit::Milliseconds,
    2.5,
    Twin::Same,
    "processor time that the shop's single thread spends on a page",
);

const SHOP_STOCK: Parameter = fixed(
    "stock",
    Unit::Milliseconds,
    80.0,
    Twin::Same,
    "answer of the stock service that a page awaits",
);

const SLOTS: Parameter = fixed(
    "slots",
    Unit::Count,
    56.0,
    Twin::Set(8192.0),
    "connection slots of the proxy, two per request",
);

const ARTICLE_CPU: Parameter = fixed(
    "cpu",
    Unit::Milliseconds,
    1.0,
    Twin::Same,
    "processor time of the framework and the page, on one thread",
);

const ARTICLE_POOL: Parameter = fixed(
    "pool",
    Unit::Count,
    50.0,
    Twin::Same,
    "connections to the database",
);

pub(super) const PARTS: &[Service] = &[
    Service {
        name: "shop",
        group: Group::Shop,
        about: "the demo: a proxy with few slots before a shop that reads a store and awaits stock",
        expected: None,
        parameters: &[SLOTS, SHOP_CPU, SHOP_STOCK],
        start: shop::start,
    },
    Service {
        name: "shop-app",
        group: Group::Part,
        about: "the shop alone: GET /items/ID, GET /cart, POST /orders; --upstream is the stock",
        expected: None,
        parameters: &[SHOP_CPU],
        start: shop::app::start,
    },
    Service {
        name: "proxy",
        group: Group::Part,
        about: "a one-worker reverse proxy with connection slots and an nginx-style timing log",
        expected: None,
        parameters: &[
            SLOTS,
            fixed(
                "tls",
                Unit::Switch,
                0.0,
                Twin::Same,
                "1: speak HTTPS with a certificate of its own, HTTP/2 to clients that can",
            ),
            fixed(
                "keepalive",
                Unit::CountOrNone,
                0.0,
                Twin::Same,
                "idle connections to upstreams that it keeps for the next request, each in a slot; 0 opens one for every request",
            ),
        ],
        start: proxy::start,
    },
    Service {
        name: "article-app",
        group: Group::Part,
        about: "the application of the doubled-servers test: GET / stores a number and reads a document; --upstream is a MongoDB server, or several that share the numbers",
        expected: None,
        parameters: &[
            ARTICLE_CPU,
            ARTICLE_POOL,
            fixed(
                "wait_timeout",
                Unit::Milliseconds,
                0.0,
                Twin::Same,
                "longest wait for one of them, then 500; 0 waits as long as it takes",
            ),
        ],
        start: article::start,
    },
    Service {
        name: "article-queue",
        group: Group::Part,
        about: "the same with a list between: GET / pushes to the list that --upstream names and answers 202",
        expected: None,
        parameters: &[ARTICLE_CPU],
        start: article::queue::start_app,
    },
    Service {
        name: "article-worker",
        group: Group::Part,
        about: "pops from the list of the first --upstream, stores and reads in the database of the second",
        expected: None,
        parameters: &[
            fixed(
                "loops",
                Unit::Count,
                50.0,
                Twin::Same,
                "items under way at once",
            ),
            ARTICLE_POOL,
        ],
        start: article::queue::start_worker,
    },
    Service {
        name: "status-app",
        group: Group::Part,
        about: "the application of the server-limits test: GET / serialises 31 KB that are read from the MongoDB server of --upstream every second",
        expected: None,
        parameters: &[
            fixed(
                "serialise",
                Unit::Milliseconds,
                2.0,
                Twin::Same,
                "processor time that serialising takes for each answer: repeated until so much has gone into it",
            ),
            fixed(
                "preserialised",
                Unit::Switch,
                0.0,
                Twin::Set(1.0),
                "1: serialised once after each reading instead, for all answers until the next",
            ),
        ],
        start: status::start,
    },
    Service {
        name: "list",
        group: Group::Part,
        about: "a list in memory without a bound, popped without acknowledgement: what many take for a queue",
        expected: None,
        parameters: &[],
        start: list::start,
    },
    Service {
        name: "link",
        group: Group::Part,
        about: "the network between two tiers: what is sent to it arrives at --upstream `delay` later, and so do the answers",
        expected: None,
        parameters: &[fixed(
            "delay",
            Unit::Milliseconds,
            1.0,
            Twin::Set(0.0),
            "each way, and up to 2 ms more by the clock of its event loop; 0: at once",
        )],
        start: link::start,
    },
    Service {
        name: "downstream",
        group: Group::Part,
        about: "one thread that burns `cpu`, then answers after `answer` without holding a core",
        expected: None,
        parameters: &[
            fixed(
                "answer",
                Unit::Milliseconds,
                20.0,
                Twin::Same,
                "time without CPU",
            ),
            fixed("cpu", Unit::Milliseconds, 0.0, Twin::Same, "processor time"),
        ],
        start: fixture::downstream::start,
    },
    Service {
        name: "freeze",
        group: Group::Part,
        about: "answers at once, but stands still for 200 ms every 2 s",
        expected: None,
        parameters: &[
            fixed(
                "freeze",
                Unit::Milliseconds,
                200.0,
                Twin::Set(0.0),
                "length of a stall",
            ),
            fixed(
                "every",
                Unit::Seconds,
                2.0,
                Twin::Same,
                "from one stall to the next",
            ),
        ],
        start: fixture::freeze::start,
    },
    Service {
        name: "echo",
        group: Group::Part,
        about: "a plain 200 as fast as one thread can give it",
        expected: None,
        parameters: &[],
        start: fixture::echo::start,
    },
];
