//! The client's own connections: what waits inside of it for one, while the service has nothing to do or may take more.

use plimsoll_core::statistics::ratio;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};

use super::at_once::AtOnce;
use super::refusal::idle_line;
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::facts::level::{Level, NO_ANSWER};

/// What a finding names: no tier, but the generator that plays the application.
pub(in crate::explain) const CLIENT: &str = "the client";
/// Share of the pool's connections below which it is short of them. Pools are filled before the load.
const SHORT: f64 = 0.5;
/// Operations that wait for a connection, at least; fewer are between two commands.
const WAITING: f64 = 4.0;

/// So far the number served at once may be from the generator's own room to be that.
const NEAR_ROOM: f64 = 0.2;

/// As many are served at once as the generator has room for, and that was filled: they wait for it, and nobody knows how many
/// more the service takes. A suspicion, as a service may take just as many.
pub(super) fn room(case: &Case, entry: &Tier, at_once: AtOnce) -> Option<Finding> {
    let room = case.client_room?;
    if (ratio(at_once.count, room) - 1.0).abs() > NEAR_ROOM {
        return None;
    }
    let mut finding = Finding::new(Cause::Concurrency, entry);
    (finding.tier, finding.process) = (Some(CLIENT.to_owned()), None);
    finding.unsure = true;
    let text = format!(
        "{} are served at once, and the generator itself sends {room:.0} at most: requests wait for its connections, and the service may take more; allow more with -c",
        three_digits(at_once.count)
    );
    finding.signal(Signal::Connections, text);
    Some(finding)
}

/// Most of the pool's connections are gone, operations wait for one, and the store neither refuses any nor is busy: what
/// fails fails in the client. Seen with a driver that closes the connection of what its caller gives up, and opens two at a
/// time (MongoDB's for Rust, 3.9).
pub(super) fn pool(case: &Case, entry: &Tier) -> Option<Finding> {
    let pool = case.client.as_ref()?;
    let (_, under_way) = case.in_flight();
    let is_short = pool.open <= SHORT * f64::from(pool.connections);
    if !is_short || under_way - pool.open < WAITING || entry.is_filled() {
        return None;
    }
    // What found no connection was dropped, and counts here: nearly all of it may have failed so.
    let failed = |level: &Level| ratio(level.tally.failures() as f64, level.tally.decided() as f64);
    let failed = case.high().map(failed).fold(0.0, f64::max);
    let refused = case.high().map(|level| level.share(&NO_ANSWER));
    // A store that turns connections away is the reason that there are few.
    if refused.fold(0.0, f64::max) > 0.1 * failed {
        return None;
    }
    let mut finding = Finding::new(Cause::Pool, entry);
    (finding.tier, finding.process) = (Some(CLIENT.to_owned()), None);
    let text = format!(
        "{:.0} of its {} connections were open, while {} operations were under way: {} commands were on the wire in the mean",
        pool.open,
        pool.connections,
        three_digits(under_way),
        three_digits(pool.on_wire)
    );
    finding.signal(Signal::Connections, text);
    if entry.high.ticks > 0 {
        let text = format!("{} had room: {}", entry.name, idle_line(&entry.high));
        finding.signal(Signal::IdleBehind, text);
    }
    if pool.closes_given_up {
        let text = format!(
            "{} of the attempts failed, and each try that was given up closed its connection",
            percent(failed)
        );
        finding.signal(Signal::None, text);
    }
    Some(finding)
}
