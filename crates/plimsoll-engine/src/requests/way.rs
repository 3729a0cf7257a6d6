//! The way that requests take: the connections of a worker, and where they lead.

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::Poll;
use plimsoll_core::Nanos;

use crate::options::Options;
use crate::pool::{Call, Policy, Pool, Protocol, Route};

/// How long a finished connection waits for the server to close first.
const PARK: Nanos = Nanos::from_millis(500);
/// All connections belong to all of them, and lead to one place.
pub(crate) const OWNER: u32 = 0;
pub(crate) const ORIGIN: u32 = 0;

/// The connections of one worker.
pub(crate) fn pool<S: Call<Common = Options>>(
    poll: Poll,
    clock: Clock,
    options: Options,
) -> Pool<S> {
    let policy = Policy {
        reuses: options.keepalive,
        streams_max: options
            .http2
            .as_ref()
            .map_or(1, |http2| http2.per_connection),
        park: PARK,
        opening_max: options.timeout,
    };
    Pool::new(poll, clock, options, policy)
}

/// To that origin, at one of its addresses.
pub(crate) fn route(options: &Options, origin: u32, turn: usize) -> Route<'_, ()> {
    let setups = &options.origins[origin as usize].setups;
    Route {
        setup: &setups[turn % setups.len()],
        local: None,
        protocol: match options.http2 {
            Some(_) => Protocol::Http2,
            None => Protocol::Http1,
        },
        owner: OWNER,
        origin,
        peer: (),
    }
}
