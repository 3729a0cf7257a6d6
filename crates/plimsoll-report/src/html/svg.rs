//! Writes one chart as SVG text: coordinates in, escaped and rounded text out.

use maud::{Markup, PreEscaped, html};

use super::scale::Scale;
use crate::format;

/// The two drawings of every chart; the style sheet shows one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Wide,
    Narrow,
}

impl Size {
    pub(super) const BOTH: [Self; 2] = [Self::Wide, Self::Narrow];

    pub(super) const fn width(self) -> f64 {
        match self {
            Self::Wide => 1080.0,
            Self::Narrow => 358.0,
        }
    }

    pub(super) fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Self::Wide => wide,
            Self::Narrow => narrow,
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "nar",
        }
    }
}

/// Where a text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Width of a text in a chart, in units: the widest usual system font at 12.5 units.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 7.4
}

#[derive(Debug)]
pub(super) struct Svg {
    out: String,
    /// The path of all grid lines: they are one element behind everything else.
    grid: String,
    /// Where in `out` it goes.
    grid_at: usize,
    height: f64,
    /// Where texts are, and lines that no text may be struck through by.
    taken: Vec<Area>,
}

/// From left to right, from top to bottom.
#[derive(Debug, Clone, Copy)]
struct Area {
    x: (f64, f64),
    y: (f64, f64),
}

impl Area {
    /// Seven units a letter: a usual wide font at 12.5 units.
    fn of_text((x, y): (f64, f64), anchor: Anchor, text: &str) -> Self {
        let width = text.chars().count() as f64 * 7.0;
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        Self {
            x: (left, left + width),
            y: (y - 10.0, y + 3.0),
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.x.0 < other.x.1 && other.x.0 < self.x.1 && self.y.0 < other.y.1 && other.y.0 < self.y.1
    }
}

/// Where a text goes that would lie on another: the nearest line that is free, below before above.
const STEPS: [f64; 7] = [0.0, 15.0, -15.0, 30.0, -30.0, 45.0, -45.0];

impl Svg {
    /// `title` and `desc` state the result for those who do not see it.
    pub(super) fn new(size: Size, height: f64, id: &str, title: &str, desc: &str) -> Self {
        Self::sized(size, (size.width(), height), id, title, desc)
    }

    /// For a drawing that shares its row with something else.
    pub(super) fn sized(
        size: Size,
        dimensions: (f64, f64),
        id: &str,
        title: &str,
        desc: &str,
    ) -> Self {
        Self::open(size.class(), dimensions, id, title, desc)
    }

    /// For a drawing that is the same at every width.
    pub(super) fn small(dimensions: (f64, f64), id: &str, title: &str, desc: &str) -> Self {
        Self::open("small", dimensions, id, title, desc)
    }

    fn open(class: &str, dimensions: (f64, f64), id: &str, title: &str, desc: &str) -> Self {
        let (width, height) = (n(dimensions.0), n(dimensions.1));
        let mut out = format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}{class}t {id}{class}d\">"
        );
        let words = html! {
            title id={ (id) (class) "t" } { (title) }
            desc id={ (id) (class) "d" } { (desc) }
        };
        out.push_str(&words.into_string());
        Self::begun(out, dimensions.1)
    }

    fn begun(out: String, height: f64) -> Self {
        Self {
            grid_at: out.len(),
            grid: String::new(),
            out,
            height,
            taken: Vec::new(),
        }
    }

    /// A drawing inside a line of text or a table cell, without a title of its own.
    pub(super) fn inline(width: f64, height: f64) -> Self {
        let (w, h) = (n(width), n(height));
        let open = format!(
            "<svg class=\"in\" viewBox=\"0 0 {w} {h}\" style=\"width:{w}px\" aria-hidden=\"true\">"
        );
        Self::begun(open, height)
    }

    /// Every element of a drawing is written here. Names and attributes are ours, the text inside may be anybody's.
    fn element(&mut self, name: &str, attributes: &[(&str, &str)], inside: Option<Markup>) {
        put!(self.out, "<{name}");
        for (key, value) in attributes {
            put!(self.out, " {key}=\"{value}\"");
        }
        match inside {
            None => self.out.push_str("/>"),
            Some(inside) => put!(self.out, ">{}</{name}>", inside.into_string()),
        }
    }

    fn path(&mut self, look: (&str, &str), path: &str) {
        self.element("path", &[look, ("d", path)], None);
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x, y, to_x, to_y] = [from.0, from.1, to.0, to.1].map(n);
        let line = if y == to_y {
            format!("M{x} {y}H{to_x}")
        } else if x == to_x {
            format!("M{x} {y}V{to_y}")
        } else {
            format!("M{x} {y}L{to_x} {to_y}")
        };
        if class == "grid" {
            self.grid.push_str(&line);
            return;
        }
        if class == "slo" && y == to_y {
            self.taken.push(Area {
                x: (from.0.min(to.0), from.0.max(to.0)),
                y: (from.1 - 1.5, from.1 + 1.5),
            });
        }
        self.path(("class", class), &line);
    }

    pub(super) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() > 1 {
            self.path(("class", class), &path(points));
        }
    }

    pub(super) fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        self.closed(("class", class), points);
    }

    /// A closed outline with a fill of its own.
    pub(super) fn area(&mut self, style: &str, points: &[(f64, f64)]) {
        self.closed(("style", style), points);
    }

    fn closed(&mut self, look: (&str, &str), points: &[(f64, f64)]) {
        if points.len() > 2 {
            self.path(look, &(path(points) + "z"));
        }
    }

    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.box_of(class, (x, y), (width, height), None);
    }

    fn box_of(&mut self, class: &str, at: (f64, f64), size: (f64, f64), inside: Option<Markup>) {
        let [x, y, width, height] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(n);
        let place = [
            ("class", class),
            ("x", &x),
            ("y", &y),
            ("width", &width),
            ("height", &height),
        ];
        self.element("rect", &place, inside);
    }

    /// Many bars as one path: (x, y, width, height).
    pub(super) fn bars(&mut self, style: &str, bars: &[(f64, f64, f64, f64)]) {
        let mut path = String::new();
        for (x, y, width, height) in bars {
            let [x, y, width, height] = [*x, *y, *width, *height].map(n);
            put!(path, "M{x} {y}h{width}v{height}h-{width}z");
        }
        if !path.is_empty() {
            self.path(("style", style), &path);
        }
    }

    pub(super) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let [x, y, radius] = [at.0, at.1, radius].map(n);
        let place = [("class", class), ("cx", &x), ("cy", &y), ("r", &radius)];
        self.element("circle", &place, None);
    }

    /// ▲ for a percentile that is never reached.
    pub(super) fn triangle(&mut self, class: &str, at: (f64, f64)) {
        let (x, y) = at;
        self.polygon(
            class,
            &[(x - 5.0, y + 4.0), (x, y - 5.0), (x + 5.0, y + 4.0)],
        );
    }

    /// The sign of the load line: a circle and a line through it.
    pub(super) fn load_sign(&mut self, at: (f64, f64)) {
        self.line("sign", (at.0 - 10.0, at.1), (at.0 + 10.0, at.1));
        self.circle("sign", at, 6.0);
        self.line("sign", (at.0 - 6.0, at.1), (at.0 + 6.0, at.1));
    }

    /// Where that lies on another text it goes to the nearest free line. The figures of an axis (`m`) stay where they are.
    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let is_fixed = class.split(' ').any(|part| part == "m");
        let at = if is_fixed {
            at
        } else {
            self.free(at, anchor, text)
        };
        self.fixed(class, at, anchor, text);
    }

    /// A text whose place says what it means: below its point on an axis.
    pub(super) fn fixed(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.taken.push(Area::of_text(at, anchor, text));
        let class = match anchor {
            Anchor::Start => class.to_owned(),
            Anchor::Middle => format!("c {class}"),
            Anchor::End => format!("e {class}"),
        };
        let (x, y) = (n(at.0), n(at.1));
        let place = [("class", class.trim()), ("x", &x), ("y", &y)];
        self.element("text", &place, Some(html! { (text) }));
    }

    fn free(&self, (x, y): (f64, f64), anchor: Anchor, text: &str) -> (f64, f64) {
        let places = STEPS.iter().map(|step| (x, y + step));
        let mut inside = places.filter(|(_, y)| (10.0..=self.height - 3.0).contains(y));
        let is_free = |at: &(f64, f64)| {
            let area = Area::of_text(*at, anchor, text);
            !self.taken.iter().any(|taken| taken.meets(&area))
        };
        inside.find(is_free).unwrap_or((x, y))
    }

    /// The grid of an axis at the left: a line and a figure for each tick.
    pub(super) fn rungs(
        &mut self,
        y: &Scale,
        ticks: usize,
        (left, right): (f64, f64),
        show: impl Fn(f64) -> String,
    ) {
        for tick in y.ticks(ticks) {
            self.line("grid", (left, y.at(tick)), (right, y.at(tick)));
            let at = (left - 6.0, y.at(tick) + 4.0);
            self.text("m", at, Anchor::End, &show(tick));
        }
    }

    /// The figures below an axis at `bottom`.
    pub(super) fn steps(&mut self, x: &Scale, ticks: usize, bottom: f64) {
        for tick in x.ticks(ticks) {
            let at = (x.at(tick), bottom + 17.0);
            self.text("m", at, Anchor::Middle, &format::number(tick));
        }
    }

    /// An invisible area that says more when pointed at.
    pub(super) fn hit(&mut self, x: f64, y: f64, width: f64, height: f64, text: &str) {
        let title = html! { title { (text) } };
        self.box_of("hit", (x, y), (width, height), Some(title));
    }

    pub(super) fn finish(mut self) -> Markup {
        if !self.grid.is_empty() {
            let grid = format!("<path class=\"grid\" d=\"{}\"/>", self.grid);
            self.out.insert_str(self.grid_at, &grid);
        }
        self.out.push_str("</svg>");
        PreEscaped(self.out)
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        put!(
            text,
            "{}{} {}",
            if index == 0 { 'M' } else { 'L' },
            n(*x),
            n(*y)
        );
    }
    text
}

/// A coordinate with at most one decimal; what is not a number is zero.
pub(super) fn n(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
