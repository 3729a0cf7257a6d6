//! The HTML report: one file, no request, nothing lost, nothing obeyed.

mod markup;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use markup::{Element, parse};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::Collapse;
use plimsoll_report::html::render;
use plimsoll_report::view::View;
use sha2::{Digest as _, Sha256};

use crate::{sample, sweep, variants};

type Page = (&'static str, Vec<Record>, String);

/// Every kind of page, by name; made once.
static PAGES: LazyLock<Vec<Page>> = LazyLock::new(pages);

fn pages() -> Vec<Page> {
    let mut no_collapse = sample::find();
    sample::verdict_mut(&mut no_collapse).found.collapse_per_s = Some(Collapse::NoneUpTo {
        rate_per_s: 900.0,
        goodput_ratio: 0.97,
    });
    let records = [
        ("find", vec![sample::find()]),
        ("no collapse", vec![no_collapse]),
        ("run", vec![sample::run(400.0, 20)]),
        ("run beyond", vec![sample::run(520.0, 20)]),
        ("invalid", vec![sample::invalid()]),
        ("interrupted", vec![sample::interrupted()]),
        ("not reached", vec![sample::not_reached()]),
        ("undecided", vec![sample::undecided()]),
        ("hostile", vec![sample::hostile()]),
        ("script", vec![sample::scripted()]),
        ("empty", vec![Record::new(sample::find().header)]),
        ("two", vec![sample::find_at(4_000_000.0, 3), sample::find()]),
        (
            "two runs",
            vec![sample::run(400.0, 10), sample::run(520.0, 10)],
        ),
        ("none", Vec::new()),
    ];
    records
        .into_iter()
        .map(|(name, records)| {
            let page = render(&records);
            (name, records, page)
        })
        .collect()
}

/// Every page with what its size is measured by: the number of records that are shown in full.
fn all() -> impl Iterator<Item = (&'static str, usize, &'static str)> {
    static EXPERIMENTS: LazyLock<Vec<(&str, String)>> = LazyLock::new(variants::pages);
    static SWEEPS: LazyLock<Vec<(&str, String)>> = LazyLock::new(sweep::pages);
    let of_records = PAGES
        .iter()
        .map(|(name, records, page)| (*name, records.len(), page.as_str()));
    let others = EXPERIMENTS.iter().chain(SWEEPS.iter());
    of_records.chain(others.map(|(name, page)| (*name, 1, page.as_str())))
}

#[test]
fn no_page_asks_for_anything_or_runs_what_a_record_says() {
    for (name, _, page) in all() {
        let elements = parse(page);
        for element in &elements {
            for (key, value) in &element.attributes {
                let asks = matches!(
                    key.as_str(),
                    "src" | "href" | "xlink:href" | "srcset" | "action" | "data"
                );
                assert!(!asks && !key.starts_with("on"), "{name}: {key}={value}");
                assert!(
                    !value.contains("url(") || value.contains("url(#"),
                    "{name}: {key}={value}"
                );
            }
        }
        let scripts = elements
            .iter()
            .filter(|element| element.name == "script")
            .count();
        assert_eq!(scripts, 1, "{name}");
        let style = page
            .split_once("<style>")
            .unwrap()
            .1
            .split_once("</style>")
            .unwrap()
            .0;
        assert!(
            !style.contains("@import") && !style.contains("//"),
            "{name}"
        );
        let script = page
            .split_once("<script>")
            .unwrap()
            .1
            .split_once("</script>")
            .unwrap()
            .0;
        for word in [
            "http",
            "fetch",
            "XMLHttp",
            "import",
            "innerHTML",
            "eval",
            "src",
        ] {
            assert!(!script.contains(word), "{name}: the script has {word}");
        }
        runs_only(page, script, name);
    }
}

/// A browser runs that script of the page and no other.
fn runs_only(page: &str, script: &str, name: &str) {
    let hash = STANDARD.encode(Sha256::digest(script));
    let mark = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    let (_, rest) = page.split_once(mark).unwrap();
    let (policy, _) = rest.split_once('"').unwrap();
    let allowed = format!(";script-src 'sha256-{hash}';");
    assert!(
        policy.starts_with("default-src 'none';"),
        "{name}: {policy}"
    );
    assert!(policy.contains(&allowed), "{name}: {policy}");
}

#[test]
fn the_live_page_runs_its_own_script_and_asks_its_own_server() {
    let page = plimsoll_report::live::page();
    let (_, rest) = page.split_once("<script>").unwrap();
    let (script, _) = rest.split_once("</script>").unwrap();
    runs_only(&page, script, "live");
    assert!(page.contains(";connect-src 'self';img-src data:"));
}

#[test]
fn pages_are_small() {
    for (name, records, page) in all() {
        let records = records.clamp(1, 2);
        let limit = 150_000 * records * 2 / (records + 1);
        assert!(
            page.len() < limit,
            "{name} has {} bytes, {limit} are allowed",
            page.len()
        );
    }
}

#[test]
fn names_are_unique_and_references_lead_somewhere() {
    for (name, _, page) in all() {
        let elements = parse(page);
        let mut ids = BTreeSet::new();
        for id in elements
            .iter()
            .filter_map(|element| element.attributes.get("id"))
        {
            assert!(ids.insert(id.clone()), "{name}: id {id} twice");
        }
        for labels in elements
            .iter()
            .filter_map(|element| element.attributes.get("aria-labelledby"))
        {
            for label in labels.split(' ') {
                assert!(ids.contains(label), "{name}: nothing is called {label}");
            }
        }
        for piece in page.split("url(#").skip(1) {
            let id = piece.split(')').next().unwrap();
            assert!(ids.contains(id), "{name}: no pattern {id}");
        }
    }
}

#[test]
fn every_chart_is_drawn_for_both_widths_and_inside_its_frame() {
    for (name, _, page) in all() {
        assert!(!page.contains("NaN") && !page.contains("inf "), "{name}");
        let elements = parse(page);
        let count = |class: &str| {
            elements
                .iter()
                .filter(|e| e.name == "svg" && e.has_class(class))
                .count()
        };
        assert_eq!(count("wide"), count("nar"), "{name}");
        for text in elements.iter().filter(|element| element.name == "text") {
            let svg = &elements[text.parent.unwrap()];
            let width: f64 = svg.attributes["viewBox"]
                .split(' ')
                .nth(2)
                .unwrap()
                .parse()
                .unwrap();
            // Seven units per letter: the widest usual font at 12.5 units.
            let long = text.text.chars().count() as f64 * 7.0;
            let at = text.number("x");
            let (from, to) = match (text.has_class("c"), text.has_class("e")) {
                (true, _) => (at - long / 2.0, at + long / 2.0),
                (_, true) => (at - long, at),
                _ => (at, at + long),
            };
            assert!(
                from > -14.0 && to < width + 14.0,
                "{name}: `{}` spans {from}–{to} of {width}",
                text.text
            );
        }
    }
}

/// Where a text is drawn: left, right and base line, by the width of the widest usual font.
fn extent(text: &Element) -> (f64, f64, f64) {
    let long = text.text.chars().count() as f64 * 6.6;
    let at = text.number("x");
    let (from, to) = match (text.has_class("c"), text.has_class("e")) {
        (true, _) => (at - long / 2.0, at + long / 2.0),
        (_, true) => (at - long, at),
        _ => (at, at + long),
    };
    (from, to, text.number("y"))
}

/// In no drawing of any page, and no line of an objective or a budget goes through one.
#[test]
fn no_text_of_a_drawing_lies_on_another() {
    let mut found = Vec::new();
    for (name, _, page) in all() {
        let elements = parse(page);
        let drawings = (0..elements.len()).filter(|index| elements[*index].name == "svg");
        for index in drawings {
            let inside: Vec<&Element> = elements
                .iter()
                .filter(|element| element.parent == Some(index))
                .collect();
            let each = overprints(&inside).into_iter();
            found.extend(each.map(|text| format!("{name}: {text}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Texts of one drawing that lie on another, or that a level line goes through.
fn overprints(drawing: &[&Element]) -> Vec<String> {
    let texts = || drawing.iter().filter(|element| element.name == "text");
    let slo = |element: &&&Element| element.name == "path" && element.has_class("slo");
    let lines = drawing.iter().filter(slo);
    let lines: Vec<_> = lines.filter_map(|line| level_line(line)).collect();
    let mut found = Vec::new();
    for (index, one) in texts().enumerate() {
        let a = extent(one);
        let on = texts().skip(index + 1).filter(|other| {
            let b = extent(other);
            a.1 > b.0 && b.1 > a.0 && (a.2 - b.2).abs() < 11.0
        });
        found.extend(on.map(|other| format!("`{}` lies on `{}`", one.text, other.text)));
        let through = lines
            .iter()
            .filter(|(from, y, to)| a.1 > *from && *to > a.0 && *y < a.2 + 1.0 && *y > a.2 - 8.0);
        found.extend(through.map(|_| format!("a line goes through `{}`", one.text)));
    }
    found
}

/// From where, at which height and to where a level line goes.
fn level_line(path: &Element) -> Option<(f64, f64, f64)> {
    let (start, to) = path.attributes["d"].strip_prefix('M')?.split_once('H')?;
    let (from, y) = start.split_once(' ')?;
    Some((from.parse().ok()?, y.parse().ok()?, to.parse().ok()?))
}

/// A heading is read at a glance, also on a phone 390 wide: at most six lines, whatever the names are.
#[test]
fn headings_are_short_on_a_phone() {
    for (name, _, page) in all() {
        let headings = parse(page);
        let headings = headings
            .iter()
            .filter(|it| ["h1", "h2", "h3"].contains(&it.name.as_str()));
        for heading in headings {
            let size = match (heading.has_class("longest"), heading.has_class("long")) {
                (true, _) => 17.0,
                (_, true) => 20.0,
                _ if heading.name == "h1" || heading.has_class("h1") => 26.0,
                _ if heading.name == "h3" => 15.0,
                _ => 20.0,
            };
            let letters = heading.text.chars().count() as f64;
            let lines = (letters * size * 0.53 / 358.0).ceil();
            assert!(lines <= 6.0, "{name}: {lines} lines of `{}`", heading.text);
        }
    }
}

#[test]
fn a_page_of_an_experiment_says_nothing_that_its_names_say() {
    let (_, page) = variants::pages()
        .into_iter()
        .find(|(name, _)| name.ends_with("hostile"))
        .unwrap();
    assert!(!page.contains("<script src") && !page.contains("<img"));
    assert!(!page.contains('\u{1b}'));
}

/// All text inside elements with the class, in order.
fn texts(elements: &[Element], name: &str, class: &str) -> Vec<String> {
    let inside = |mut index: usize| loop {
        if elements[index].name == name && (class.is_empty() || elements[index].has_class(class)) {
            return Some(index);
        }
        index = elements[index].parent?;
    };
    let mut found: std::collections::BTreeMap<usize, String> = std::collections::BTreeMap::new();
    for (index, element) in elements.iter().enumerate() {
        if let Some(outer) = inside(index) {
            found.entry(outer).or_default().push_str(&element.text);
        }
    }
    found.into_values().collect()
}

#[test]
fn every_gate_is_listed_and_counted_alike() {
    for (name, records, page) in PAGES.iter() {
        let elements = parse(page);
        let views: Vec<View> = records.iter().map(View::new).collect();
        let gates: usize = views
            .iter()
            .filter_map(|view| Some(view.verdict()?.gates.len()))
            .sum();
        assert_eq!(texts(&elements, "tr", "gate").len(), gates, "{name}");
        for view in views.iter().filter(|view| view.verdict().is_some()) {
            let words = view.gates.words();
            let heading = format!("Gates: {words}");
            assert!(
                texts(&elements, "h2", "").contains(&heading),
                "{name}: {heading}"
            );
            let chips = texts(&elements, "li", "");
            assert!(
                chips.iter().any(|chip| chip.contains(&words)),
                "{name}: chip"
            );
        }
    }
}

#[test]
fn every_figure_and_level_is_shown_with_the_same_digits() {
    let record = sample::find();
    let view = View::new(&record);
    let page = &render(std::slice::from_ref(&record));
    let elements = parse(page);
    let values = texts(&elements, "dd", "v");
    let expected: Vec<String> = view
        .figures
        .iter()
        .map(|figure| figure.value.clone())
        .collect();
    assert_eq!(values.len(), expected.len());
    for (shown, value) in values.iter().zip(&expected) {
        assert!(shown.starts_with(value.as_str()), "{shown} is not {value}");
    }
    let all: Vec<String> = texts(&elements, "td", "");
    for level in &view.levels {
        let goodput = plimsoll_report::format::number(level.goodput_per_s);
        assert!(all.contains(&goodput), "{goodput} of {}", level.name());
        let p99 = plimsoll_report::format::quantile(level.tally.response_quantile(0.99));
        assert!(all.contains(&p99), "{p99}");
    }
    let markdown = plimsoll_report::markdown::summary(std::slice::from_ref(&record));
    for figure in &view.figures {
        assert!(
            markdown.contains(&format!("**{}**", figure.text())),
            "{}",
            figure.kind.name()
        );
    }
    assert_eq!(view.headline, texts(&elements, "h1", "")[0]);
}

#[test]
fn what_a_record_says_is_text() {
    let page = &render(&[sample::hostile()]);
    let elements = parse(page);
    let title = texts(&elements, "h1", "").remove(0);
    assert!(
        title.starts_with("</title><script src=http://evil.example/x.js></script>"),
        "{title}"
    );
    assert!(
        !page.contains('\u{1b}') && !page.contains('\u{202e}'),
        "nothing steers the reader"
    );
}

#[test]
fn without_a_verdict_no_capacity_is_claimed() {
    for record in [
        sample::interrupted(),
        sample::invalid(),
        Record::new(sample::find().header),
    ] {
        let page = &render(std::slice::from_ref(&record));
        let elements = parse(page);
        let headline = texts(&elements, "h1", "").remove(0);
        assert!(headline.starts_with("No verdict: "), "{headline}");
        let claims = texts(&elements, "body", "").concat();
        assert!(!claims.contains("carries"), "{headline}");
        assert!(
            !claims.contains("load line 4"),
            "the chart marks none either"
        );
    }
}

#[test]
fn several_records_are_compared_without_claims_about_chance() {
    let page = &render(&[sample::find_at(4_000_000.0, 3), sample::find()]);
    let elements = parse(page);
    assert_eq!(
        texts(&elements, "h1", ""),
        ["shop-api (1) carries 244/s and shop-api (2) carries 457/s."]
    );
    assert_eq!(elements.iter().filter(|e| e.name == "article").count(), 2);
    assert_eq!(
        elements
            .iter()
            .filter(|e| e.name == "svg" && e.has_class("small"))
            .count(),
        2
    );
    let first = elements
        .iter()
        .position(|element| element.name == "article")
        .unwrap();
    let words: String = elements[..first]
        .iter()
        .map(|element| element.text.as_str())
        .collect();
    for claim in ["significant", "optimal", "faster", "better"] {
        assert!(!words.contains(claim), "{claim}");
    }
}

#[test]
fn all_classes_that_occurred_have_a_lane_and_the_others_a_mention() {
    let record = sample::find();
    let elements = parse(&render(std::slice::from_ref(&record)));
    let captions = texts(&elements, "figcaption", "").join(" ");
    let drawn = texts(&elements, "text", "").join(" ");
    for outcome in plimsoll_core::Outcome::ALL.into_iter().skip(1) {
        let occurred = record
            .windows
            .iter()
            .any(|window| window.total().class(outcome).count > 0);
        let place = if occurred { &drawn } else { &captions };
        assert!(place.contains(outcome.name()), "{}", outcome.name());
    }
}
