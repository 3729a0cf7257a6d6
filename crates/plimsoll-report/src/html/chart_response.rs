//! A plain run over its time: the median and the p99 and when it is never reached, and the virtual users of a script.

use maud::{Markup, html};
use plimsoll_core::objective::percentile_name;

use super::parts::both;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg};
use crate::format;
use crate::view::{Bin, Timeline, View};

const TOP: f64 = 40.0;
const LANE: f64 = 20.0;
const BOTTOM: f64 = 210.0;
const HIGH: f64 = 0.99;
/// Of a panel of the chart of virtual users.
const USERS_TOP: f64 = 26.0;
const HEIGHT: f64 = 74.0;
const GAP: f64 = 34.0;

pub(super) fn section(view: &View, id: &str) -> Markup {
    let timeline = |size: Size| Timeline::new(view.record, &view.levels, size.pick(220, 80));
    if timeline(Size::Wide).bins.len() < 3 {
        return html! {};
    }
    html! {
        section {
            h2 { "Response time over the run" }
            p.t {
                "From the moment each request was due. ▲ marks seconds in which more attempts failed than the percentile leaves room for."
            }
            figure { (both(|size| chart(&timeline(size), size, &format!("{id}t")))) }
        }
    }
}

fn chart(timeline: &Timeline, size: Size, id: &str) -> Markup {
    let (left, right) = size.pick((58.0, 910.0), (46.0, 350.0));
    let x = Scale::linear(timeline.end_seconds(), left, right);
    let values = |q: f64| {
        timeline
            .bins
            .iter()
            .filter_map(move |bin| bin.response_ms(q))
    };
    let longest = values(HIGH).chain(values(0.5)).fold(0.0, f64::max);
    let y = Scale::linear(room_above(longest), BOTTOM, TOP);
    let never = timeline
        .bins
        .iter()
        .filter(|bin| bin.tally.attempts() > 0 && bin.response_ms(HIGH).is_none())
        .count();
    let desc = format!(
        "The longest p99 of a bar is {} ms; in {} of {} the p99 is never reached.",
        format::number(longest),
        format::count(never as u64),
        format::plural(timeline.bins.len() as u64, "bar", "bars")
    );
    let mut svg = Svg::new(size, BOTTOM + 30.0, id, "Response time over the run", &desc);
    svg.rungs(&y, 5, (left, right), format::number);
    svg.line("axis", (left, BOTTOM), (right, BOTTOM));
    svg.text(
        "b",
        (left - 6.0, LANE + 4.0),
        Anchor::End,
        if never > 0 { "never" } else { "ms" },
    );
    let half = timeline.bin_seconds / 2.0;
    for (q, class) in [(0.5, "p50"), (HIGH, "p99")] {
        // A line ends where the value is never: there is nothing to join.
        for run in timeline.bins.split(|bin| bin.response_ms(q).is_none()) {
            let points: Vec<_> = run
                .iter()
                .filter_map(|bin| Some((x.at(bin.start_seconds + half), y.at(bin.response_ms(q)?))))
                .collect();
            svg.polyline(class, &points);
            if let [only] = points.as_slice() {
                svg.circle(if q > 0.5 { "d99" } else { "d50" }, *only, 2.5);
            }
        }
    }
    for bin in timeline
        .bins
        .iter()
        .filter(|bin| bin.tally.attempts() > 0 && bin.response_ms(HIGH).is_none())
    {
        svg.triangle("d99", (x.at(bin.start_seconds + half), LANE));
    }
    names(&mut svg, timeline, size, (right, &y));
    ticks(&mut svg, timeline, size, (&x, BOTTOM));
    svg.finish()
}

fn names(svg: &mut Svg, timeline: &Timeline, size: Size, (right, y): (f64, &Scale)) {
    let last = |q: f64| {
        timeline
            .bins
            .iter()
            .rev()
            .find(|bin| bin.tally.attempts() > 0)?
            .response_ms(q)
    };
    let high = last(HIGH).map_or(LANE + 4.0, |value| y.at(value) + 4.0);
    let low = last(0.5)
        .map_or(LANE + 4.0, |value| y.at(value) + 4.0)
        .max(high + 16.0);
    let name = percentile_name(HIGH);
    match size {
        Size::Wide => {
            svg.text(
                "b",
                (right + 10.0, high),
                Anchor::Start,
                &format!("{name} of attempts"),
            );
            svg.text("", (right + 10.0, low), Anchor::Start, "p50 of attempts");
        }
        Size::Narrow => {
            svg.text(
                "b halo",
                (right, 12.0),
                Anchor::End,
                &format!("thick {name}, thin p50"),
            );
        }
    }
}

fn ticks(svg: &mut Svg, timeline: &Timeline, size: Size, (x, bottom): (&Scale, f64)) {
    let end = timeline.end_seconds();
    let (unit, scale) = format::time_unit(end);
    for tick in Scale::linear(end / scale, 0.0, 1.0).ticks(size.pick(10, 5)) {
        let text = format!("{}{}{unit}", format::number(tick), format::NBSP);
        svg.text(
            "m",
            (x.at(tick * scale), bottom + 17.0),
            Anchor::Middle,
            &text,
        );
    }
}

/// Virtual users over the run of a script, beside the load that they made.
pub(super) fn users(view: &View, id: &str) -> Markup {
    let timeline = |size: Size| Timeline::new(view.record, &view.levels, size.pick(220, 80));
    let wide = timeline(Size::Wide);
    let known = wide.bins.iter().filter(|bin| bin.vus.is_some()).count();
    if known < 3 {
        return html! {};
    }
    html! {
        section {
            h2 { "Virtual users and the load that they made" }
            figure {
                (both(|size| users_chart(&timeline(size), size, &format!("{id}u"))))
                figcaption { "VUs at work at the end of each second, and requests that fell due per second." }
            }
        }
    }
}

fn users_chart(timeline: &Timeline, size: Size, id: &str) -> Markup {
    let (left, right) = size.pick((58.0, 1000.0), (46.0, 350.0));
    let x = Scale::linear(timeline.end_seconds(), left, right);
    let vus = |bin: &Bin| bin.vus.map(f64::from);
    let most = timeline.bins.iter().filter_map(vus).fold(0.0, f64::max);
    let due = |bin: &Bin| (bin.length_seconds > 0.0).then_some(bin.due_per_s);
    let bottom = USERS_TOP + 2.0 * HEIGHT + GAP;
    let desc = format!(
        "At most {} virtual users were at work.",
        format::number(most)
    );
    let mut svg = Svg::new(size, bottom + 30.0, id, "Virtual users over the run", &desc);
    panel(&mut svg, timeline, (&x, USERS_TOP), "VUs at work", vus);
    let second = USERS_TOP + HEIGHT + GAP;
    panel(
        &mut svg,
        timeline,
        (&x, second),
        "requests due per second",
        due,
    );
    ticks(&mut svg, timeline, size, (&x, bottom));
    svg.finish()
}

fn panel(
    svg: &mut Svg,
    timeline: &Timeline,
    (x, top): (&Scale, f64),
    name: &str,
    value: impl Fn(&Bin) -> Option<f64>,
) {
    let bottom = top + HEIGHT;
    let most = timeline.bins.iter().filter_map(&value).fold(0.0, f64::max);
    let y = Scale::linear(room_above(most), bottom, top);
    let (left, right) = (x.at(0.0), x.at(timeline.end_seconds()));
    svg.rungs(&y, 3, (left, right), format::number);
    svg.line("axis", (left, bottom), (right, bottom));
    svg.text("b", (left, top - 8.0), Anchor::Start, name);
    let half = timeline.bin_seconds / 2.0;
    let points: Vec<_> = timeline
        .bins
        .iter()
        .filter_map(|bin| Some((x.at(bin.start_seconds + half), y.at(value(bin)?))))
        .collect();
    svg.polyline("p99", &points);
}
