//! Where the requests are that wait, counted in the sockets of every tier: inside one, unread, or not accepted.
//!
//! Little's law for each tier (`waiting-study`): what the load adds to the requests in flight is somewhere. It is followed from
//! the entry to the tier that holds nearly all of it.

use plimsoll_core::record::WaitSample;
use plimsoll_core::statistics::ratio;
use plimsoll_core::units::three_digits;

use crate::explain::case::{Case, Tier};
use crate::facts::level::Level;

/// Share of what was added that must be in one place: else there is no one queue.
const NEARLY_ALL: f64 = 0.7;
/// The count at the entry may be this far from the generator's own; streams and pipelining are further.
const AGREES: f64 = 0.1;
/// The same where only a few are in flight.
const AGREES_COUNT: f64 = 0.5;
/// Fewer looks than these are off by more than a tenth.
const LOOKS_LEAST: u32 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Read: the tier works on some, and the others wait inside it, or for somebody who is not seen.
    Inside,
    /// Its workers read a request only when they are free.
    Unread,
    NotAccepted,
}

/// The tier that holds the queue.
#[derive(Debug)]
pub(super) struct Queue<'a> {
    pub(super) tier: &'a Tier,
    place: Place,
    /// Requests there, of so many in flight.
    count: f64,
    in_flight: f64,
}

impl Queue<'_> {
    /// `of 32 requests in flight 31.0 wait to be accepted`
    pub(super) fn line(&self) -> String {
        let (count, all) = (three_digits(self.count), three_digits(self.in_flight));
        let place = match self.place {
            Place::Inside => "have been read and are not answered",
            Place::Unread => "lie unread in its sockets",
            Place::NotAccepted => "wait to be accepted",
        };
        format!("of {all} requests in flight {count} {place}")
    }
}

/// What the sockets say.
#[derive(Debug)]
pub(super) enum Counted<'a> {
    /// They were not read, or do not account for what was in flight.
    Unknown,
    /// The requests that wait are in several places.
    Spread,
    In(Queue<'a>),
}

pub(super) fn queue<'a>(case: &'a Case, entry: &'a Tier) -> Counted<'a> {
    let counted = case
        .levels
        .iter()
        .filter(|level| accounts(case, entry, level));
    let by_flight = |a: &&Level, b: &&Level| a.in_flight.total_cmp(&b.in_flight);
    let low = counted.clone().min_by(by_flight);
    let top = counted.max_by(by_flight);
    let Some((low, top)) = low.zip(top) else {
        return Counted::Unknown;
    };
    if top.in_flight < 2.0 * low.in_flight + 2.0 {
        return Counted::Unknown;
    }
    follow(case, entry, low, top)
}

/// From the entry on, as long as nearly all of what was added is in a tier behind.
fn follow<'a>(case: &'a Case, entry: &'a Tier, low: &Level, top: &Level) -> Counted<'a> {
    let mut tier = entry;
    for _ in 0..=case.tiers.len() {
        let added = Added::between(case, tier, low, top);
        let behind = case.called_by(tier).map(|next| {
            let theirs = Added::between(case, next, low, top);
            (theirs.all(), next)
        });
        let behind: Vec<(f64, &Tier)> = behind.collect();
        let out: f64 = behind.iter().map(|(added, _)| added.max(0.0)).sum();
        // Answers that wait to be sent are behind whatever the others wait for.
        let unanswered = added.all() - added.held;
        let share = |count: f64| ratio(count, unanswered);
        if unanswered <= 0.0 {
            return Counted::Unknown;
        }
        let deepest = behind.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        if share(out) >= NEARLY_ALL
            && let Some((_, next)) = deepest
        {
            tier = next;
            continue;
        }
        let own = added.inside - out;
        let places = [
            (
                Place::NotAccepted,
                added.not_accepted,
                added.top.not_accepted,
            ),
            (Place::Unread, added.unread, added.top.unread),
            (Place::Inside, own, added.top.inside),
        ];
        let found = places
            .into_iter()
            .find(|(_, added, _)| share(*added) >= NEARLY_ALL);
        return found.map_or(Counted::Spread, |(place, _, count)| {
            Counted::In(Queue {
                tier,
                place,
                count,
                in_flight: all_of(&added.top),
            })
        });
    }
    Counted::Unknown
}

/// The sockets of the entry show what the generator had in flight.
fn accounts(case: &Case, entry: &Tier, level: &Level) -> bool {
    let Some(waits) = case.at_level(level, entry).waits else {
        return false;
    };
    let seen = all_of(&waits) + waits.answers_unread;
    waits.looks >= LOOKS_LEAST
        && (seen - level.in_flight).abs() <= (AGREES * level.in_flight).max(AGREES_COUNT)
}

pub(super) fn all_of(waits: &WaitSample) -> f64 {
    waits.inside + waits.unread + waits.not_accepted + waits.held
}

/// What a level has more than another, by place.
struct Added {
    top: WaitSample,
    inside: f64,
    unread: f64,
    not_accepted: f64,
    held: f64,
}

impl Added {
    fn between(case: &Case, tier: &Tier, low: &Level, top: &Level) -> Self {
        let at = |level| case.at_level(level, tier).waits.unwrap_or_default();
        let (low, top) = (at(low), at(top));
        Self {
            inside: top.inside - low.inside,
            unread: top.unread - low.unread,
            not_accepted: top.not_accepted - low.not_accepted,
            held: top.held - low.held,
            top,
        }
    }

    fn all(&self) -> f64 {
        self.inside + self.unread + self.not_accepted + self.held
    }
}

/// Share of the time without load in which answers wait in the sockets of the entry or of tiers behind: nobody works on those.
pub(super) fn held_share(case: &Case) -> f64 {
    let waits = |tier: &Tier| tier.low.waits.filter(|waits| waits.looks >= LOOKS_LEAST);
    let Some(entry) = case.tiers.first().and_then(waits) else {
        return 0.0;
    };
    let held = case.tiers.iter().filter_map(waits).map(|waits| waits.held);
    ratio(held.sum::<f64>(), all_of(&entry)).clamp(0.0, 1.0)
}
