//! What became of every attempt over time: stacked, and one lane per class that is not good.

use maud::{Markup, html};

use super::paint;
use super::parts::{both, legend};
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg, text_width};
use crate::format;
use crate::view::{Bin, Lane, Span, Timeline, View};

const TOP: f64 = 34.0;
const STACK: f64 = 160.0;

pub(super) fn section(view: &View, id: &str) -> Markup {
    let timeline = |size: Size| Timeline::new(view.record, &view.levels, size.pick(110, 44));
    let wide = timeline(Size::Wide);
    if wide.bins.is_empty() {
        return html! {};
    }
    let attempts = wide.total.attempts();
    let phases = match wide.spans.len() {
        0 | 1 => String::new(),
        n => format!(" in {} phases", format::count(n as u64)),
    };
    html! {
        section {
            h2 { "Every attempt has an outcome: " (format::count(attempts)) (phases) }
            p.t {
                "Failures get lanes of their own below, so that one reset is as easy to find as ten thousand refusals."
                @if wide.spans.len() > 1 { " Numbers above the phases are the rate offered." }
            }
            (legend(wide.lanes().into_iter().map(|lane| (paint::stacked(lane), counted(lane, &wide)))))
            figure {
                (both(|size| chart(&timeline(size), size, &format!("{id}o"))))
                figcaption { (caption(&wide)) }
            }
        }
    }
}

/// `shed 1,200 (3.1 %)`
fn counted(lane: Lane, timeline: &Timeline) -> String {
    let n = lane.count(&timeline.total);
    let share = n as f64 / timeline.total.attempts().max(1) as f64;
    format!(
        "{} {} ({})",
        lane.name(),
        format::count(n),
        format::percent(share)
    )
}

fn caption(timeline: &Timeline) -> String {
    let absent: Vec<String> = Lane::all()
        .filter(|lane| lane.count(&timeline.total) == 0)
        .map(|lane| lane.name().to_owned())
        .collect();
    let absent = match absent.as_slice() {
        [] => String::new(),
        some => format!(
            " No attempt was {}.",
            format::list(some).replace(" and ", " or ")
        ),
    };
    format!(
        "Bars of {} (wider on a narrow screen); a bar in a lane is never lower than 2.5 px. An attempt is shown when it ended.{absent}",
        format::seconds(timeline.bin_seconds)
    )
}

struct Chart<'a> {
    timeline: &'a Timeline,
    size: Size,
    x: Scale,
    left: f64,
    right: f64,
    /// Height of a lane, its label's line included.
    lane: f64,
    bottom: f64,
}

fn chart(timeline: &Timeline, size: Size, id: &str) -> Markup {
    let lanes: Vec<Lane> = timeline
        .lanes()
        .into_iter()
        .filter(|lane| *lane != Lane::Good)
        .collect();
    let (left, right) = size.pick((58.0, 910.0), (46.0, 350.0));
    let lane = size.pick(38.0, 50.0);
    let bottom = TOP + STACK + 26.0 + lanes.len() as f64 * lane;
    let chart = Chart {
        timeline,
        size,
        x: Scale::linear(timeline.end_seconds(), left, right),
        left,
        right,
        lane,
        bottom,
    };
    let described: Vec<String> = timeline
        .lanes()
        .into_iter()
        .map(|lane| {
            format!(
                "{} {}",
                lane.name(),
                format::count(lane.count(&timeline.total))
            )
        })
        .collect();
    let desc = format!("Attempts by outcome: {}.", described.join(", "));
    let mut svg = Svg::new(size, bottom + 26.0, id, "Outcome classes over time", &desc);
    chart.grounds(&mut svg);
    chart.stack(&mut svg);
    for (index, lane) in lanes.iter().enumerate() {
        let base = TOP + STACK + 26.0 + (index + 1) as f64 * chart.lane - 6.0;
        chart.own_lane(&mut svg, *lane, base);
    }
    chart.time_axis(&mut svg);
    // Nothing hovers on a phone, and the read-outs are half of the drawing.
    if size == Size::Wide {
        chart.hits(&mut svg);
    }
    svg.finish()
}

impl Chart<'_> {
    /// Soak and void stretches, borders of phases, and their names where they fit.
    fn grounds(&self, svg: &mut Svg) {
        let mut free_from = 0.0;
        for span in &self.timeline.spans {
            let (from, to) = (self.x.at(span.start_seconds), self.x.at(span.end_seconds));
            if span.phase == plimsoll_core::step::Phase::Soak {
                svg.rect("soak", from, TOP, to - from, self.bottom - TOP);
            }
            if span.void {
                svg.rect("void", from, TOP, to - from, self.bottom - TOP);
            }
            if self.timeline.spans.len() > 1 {
                svg.line("grid", (from, TOP - 4.0), (from, self.bottom));
                free_from = self.span_label(svg, span, (from, to), free_from);
            }
        }
    }

    /// Above its phase, if no earlier label is in the way; returns where the next may begin.
    fn span_label(
        &self,
        svg: &mut Svg,
        span: &Span,
        (from, to): (f64, f64),
        free_from: f64,
    ) -> f64 {
        let text = if span.void {
            format!("{} void", span.label)
        } else {
            span.label.clone()
        };
        let half = text_width(&text) / 2.0;
        let limit = self.size.width() - half;
        let middle = f64::midpoint(from, to).clamp(half, limit.max(half));
        if middle - half < free_from || half * 2.0 > (to - from) * 2.2 + 8.0 {
            return free_from;
        }
        let class = if span.phase == plimsoll_core::step::Phase::Soak {
            "b"
        } else {
            ""
        };
        svg.text(class, (middle, TOP - 10.0), Anchor::Middle, &text);
        middle + half + 6.0
    }

    fn bar(&self, bin: &Bin) -> (f64, f64) {
        let from = self.x.at(bin.start_seconds);
        let to = self.x.at(bin.start_seconds + self.timeline.bin_seconds);
        let gap = if to - from > 4.0 { 0.8 } else { 0.0 };
        (from, (to - from - gap).max(0.6))
    }

    fn stack(&self, svg: &mut Svg) {
        let y = Scale::linear(room_above(self.timeline.highest_per_s()), TOP + STACK, TOP);
        svg.rungs(&y, 5, (self.left, self.right), format::number);
        let mut below = vec![0.0; self.timeline.bins.len()];
        for lane in self.timeline.lanes() {
            let mut bars = Vec::new();
            for (bin, below) in self.timeline.bins.iter().zip(&mut below) {
                let value = bin.per_s(lane);
                if value > 0.0 {
                    let (x, width) = self.bar(bin);
                    let (top, base) = (y.at(*below + value), y.at(*below));
                    bars.push((x, top, width, base - top));
                    *below += value;
                }
            }
            svg.bars(&paint::stacked(lane), &bars);
        }
        svg.line("axis", (self.left, TOP + STACK), (self.right, TOP + STACK));
        match self.size {
            Size::Wide => svg.text(
                "b",
                (self.right + 10.0, TOP + 12.0),
                Anchor::Start,
                "attempts per second",
            ),
            Size::Narrow => svg.text(
                "b",
                (self.left, TOP + STACK + 18.0),
                Anchor::Start,
                "above: per second, stacked",
            ),
        }
    }

    /// A class on a scale of its own, so that few are seen beside many.
    fn own_lane(&self, svg: &mut Svg, lane: Lane, base: f64) {
        let bins = &self.timeline.bins;
        let highest = bins.iter().map(|bin| bin.per_s(lane)).fold(0.0, f64::max);
        let y = Scale::linear(highest, base, base - 26.0);
        let bars: Vec<_> = bins
            .iter()
            .filter(|bin| bin.per_s(lane) > 0.0)
            .map(|bin| {
                let (x, width) = self.bar(bin);
                let height = (base - y.at(bin.per_s(lane))).max(2.5);
                (x, base - height, width.max(2.5), height)
            })
            .collect();
        svg.line("rule", (self.left, base), (self.right, base));
        svg.bars(&paint::own_lane(lane), &bars);
        let n = lane.count(&self.timeline.total);
        let attempts = self.timeline.total.attempts().max(1);
        let numbers = format!(
            "{} · {}",
            format::count(n),
            format::percent(n as f64 / attempts as f64)
        );
        svg.text(
            "m",
            (self.left - 6.0, base - 18.0),
            Anchor::End,
            &format::number(highest),
        );
        match self.size {
            Size::Wide => {
                svg.text(
                    "b",
                    (self.right + 10.0, base - 14.0),
                    Anchor::Start,
                    lane.name(),
                );
                svg.text(
                    "m",
                    (self.right + 10.0, base + 1.0),
                    Anchor::Start,
                    &numbers,
                );
            }
            Size::Narrow => {
                let text = format!("{} {numbers}", lane.name());
                svg.text("halo", (self.left, base - 31.0), Anchor::Start, &text);
            }
        }
    }

    fn time_axis(&self, svg: &mut Svg) {
        let end = self.timeline.end_seconds();
        let (unit, scale) = format::time_unit(end);
        let ticks = Scale::linear(end / scale, 0.0, 1.0).ticks(self.size.pick(10, 5));
        for tick in ticks {
            let x = self.x.at(tick * scale);
            let text = format!("{}{}{unit}", format::number(tick), format::NBSP);
            svg.text("m", (x, self.bottom + 14.0), Anchor::Middle, &text);
        }
    }

    fn hits(&self, svg: &mut Svg) {
        for bin in &self.timeline.bins {
            let (x, width) = self.bar(bin);
            let end = bin.start_seconds + self.timeline.bin_seconds;
            let mut text = format!(
                "{}–{} s",
                format::number(bin.start_seconds),
                format::number(end)
            );
            for lane in self.timeline.lanes() {
                let value = bin.per_s(lane);
                if value > 0.0 {
                    put!(text, "\n{} {}", lane.name(), format::rate(value));
                }
            }
            svg.hit(x, TOP, width + 0.8, self.bottom - TOP, &text);
        }
    }
}
