//! Which colour and pattern an outcome has, in the stack and in a lane of its own.

use plimsoll_core::Outcome;

use crate::view::Lane;

/// The token of a lane's colour.
pub(crate) const fn token(lane: Lane) -> &'static str {
    match lane {
        Lane::Good => "good",
        Lane::Late => "late",
        Lane::Class(outcome) => match outcome {
            Outcome::Ok | Outcome::Accepted => "good",
            Outcome::Shed => "shed",
            Outcome::Http3xx | Outcome::Http4xx | Outcome::Http5xx | Outcome::CheckFailed => "http",
            Outcome::Refused
            | Outcome::Reset
            | Outcome::Eof
            | Outcome::Stale
            | Outcome::ConnectTimeout
            | Outcome::Tls
            | Outcome::Dns
            | Outcome::Protocol => "wire",
            Outcome::Timeout => "timeout",
            Outcome::Dropped => "drop",
            Outcome::Interrupted => "ink3",
        },
    }
}

/// In the stack, families are told apart by pattern too.
pub(super) fn stacked(lane: Lane) -> String {
    match lane {
        Lane::Class(Outcome::Shed) => "fill:url(#p-shed)".to_owned(),
        Lane::Class(Outcome::Reset) => "fill:url(#p-reset)".to_owned(),
        Lane::Class(Outcome::Refused) => "fill:url(#p-refused)".to_owned(),
        Lane::Class(Outcome::Dropped) => "fill:url(#p-drop)".to_owned(),
        Lane::Class(Outcome::Accepted) => {
            "fill:var(--bg);stroke:var(--good);stroke-width:1".to_owned()
        }
        lane => solid(lane),
    }
}

pub(super) fn solid(lane: Lane) -> String {
    format!("fill:var(--{})", token(lane))
}

/// In a lane of its own only shed and dropped keep their pattern: it is their sign.
pub(super) fn own_lane(lane: Lane) -> String {
    match lane {
        Lane::Class(Outcome::Shed | Outcome::Dropped | Outcome::Accepted) => stacked(lane),
        lane => solid(lane),
    }
}

/// Every pattern once; charts refer to them.
pub(super) const PATTERNS: &str = concat!(
    "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>",
    "<pattern id=\"p-shed\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" fill=\"var(--shed)\" fill-opacity=\".3\"/><rect width=\"2.5\" height=\"5\" fill=\"var(--shed)\"/></pattern>",
    "<pattern id=\"p-reset\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\"><rect width=\"5\" height=\"5\" fill=\"var(--wire)\" fill-opacity=\".35\"/><rect width=\"2.5\" height=\"5\" fill=\"var(--wire)\"/></pattern>",
    "<pattern id=\"p-refused\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><rect width=\"5\" height=\"5\" fill=\"var(--wire)\" fill-opacity=\".5\"/><circle cx=\"2.5\" cy=\"2.5\" r=\"1.7\" fill=\"var(--wire)\"/></pattern>",
    "<pattern id=\"p-drop\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\"><rect width=\"4\" height=\"4\" fill=\"var(--drop)\" fill-opacity=\".2\"/><circle cx=\"2\" cy=\"2\" r=\"1.2\" fill=\"var(--drop)\"/></pattern>",
    "<pattern id=\"p-void\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"1.2\" height=\"7\" fill=\"var(--ink3)\" fill-opacity=\".55\"/></pattern>",
    "<pattern id=\"p-wait\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"1.6\" height=\"4\" fill=\"var(--ink)\"/></pattern>",
    "</defs></svg>"
);
