//! The summary as people see it, for every way in which a run can end.

use plimsoll_core::record::{Event, EventKind, Line, Record};
use plimsoll_core::verdict::{Bounds, LoadSize, SearchRemark};
use plimsoll_report::terminal::{Style, summary};
use plimsoll_report::view::{Conclusion, View};
use plimsoll_report::{html, json, markdown};

use crate::sample;

fn style(width: usize) -> Style {
    Style {
        width,
        record: Some("plimsoll-1012/run.plimsoll.jsonl".to_owned()),
        report: Some("plimsoll-1012/report.html".to_owned()),
        ..Style::default()
    }
}

fn plain(record: &Record, width: usize) -> String {
    summary(record, &style(width))
}

#[test]
fn find_ends_with_the_load_line_and_what_gives_way() {
    insta::assert_snapshot!(plain(&sample::find(), 100));
}

/// Two rates of five digits ran into what is said of them.
#[test]
fn rates_of_five_digits_keep_a_space_behind_them() {
    let mut record = sample::find();
    sample::verdict_mut(&mut record).found.peak_goodput_per_s = Some(Bounds {
        estimate: 67_187.0,
        lower: Some(61_879.0),
        upper: Some(72_495.0),
    });
    let text = plain(&record, 100);
    let column = |name: &str, what: &str| {
        let row = text
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let row = row.unwrap_or_else(|| panic!("{text}"));
        let (before, _) = row.split_once(what)?;
        Some(before.chars().count())
    };
    let notes = [column("peak", " correct"), column("load line", " p99")];
    assert!(notes[0].is_some() && notes[0] == notes[1], "{text}");
}

#[test]
fn run_within_its_objective() {
    insta::assert_snapshot!(plain(&sample::run(400.0, 30), 100));
}

#[test]
fn run_beyond_its_objective_says_never() {
    insta::assert_snapshot!(plain(&sample::run(520.0, 30), 100));
}

#[test]
fn invalid_has_no_verdict() {
    insta::assert_snapshot!(plain(&sample::invalid(), 100));
}

#[test]
fn not_reached_is_a_lower_bound() {
    insta::assert_snapshot!(plain(&sample::not_reached(), 100));
}

#[test]
fn undecided_says_what_is_probable_and_why_no_load_was_held() {
    insta::assert_snapshot!(plain(&sample::undecided(), 100));
}

/// What it carried before is of no use to anybody, spells or not.
#[test]
fn a_change_is_said_before_slow_spells() {
    let mut record = sample::undecided();
    sample::verdict_mut(&mut record).found.remarks = vec![
        SearchRemark::Changed {
            at_seconds: 93.0,
            before: LoadSize::PerS(230.0),
            now: LoadSize::PerS(457.0),
        },
        SearchRemark::SlowSpells {
            count: 1,
            longest_seconds: 4.0,
            first_at_seconds: 40.0,
            apart_seconds: None,
            rarer_than_seconds: 400.0,
            watched_seconds: 90.0,
            outside: Some(LoadSize::PerS(440.0)),
        },
    ];
    let text = plain(&record, 200);
    let said = "shop-api probably carries about 457 requests per second now, but it changed during the search";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_load_that_was_checked_and_does_not_hold_is_missed() {
    let record = sample::refuted();
    let text = plain(&record, 100);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "does not hold the objective at 457 requests per second.";
    assert!(words.contains(said), "{text}");
    assert!(!words.contains("could not decide"), "{text}");
    assert!(words.contains("none held"), "{text}");
    assert_eq!(View::new(&record).conclusion, Conclusion::Missed);
}

#[test]
fn interrupted_shows_what_was_measured() {
    insta::assert_snapshot!(plain(&sample::interrupted(), 100));
}

#[test]
fn narrow_terminals_wrap_between_words() {
    let text = plain(&sample::find(), 64);
    insta::assert_snapshot!(text);
}

#[test]
fn no_line_is_wider_than_the_terminal_except_for_one_long_word() {
    for width in [60, 80, 100, 140] {
        for record in [sample::find(), sample::run(520.0, 10), sample::invalid()] {
            for line in plain(&record, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_adds_only_escapes() {
    let record = sample::find();
    let coloured = summary(
        &record,
        &Style {
            colour: true,
            ..style(100)
        },
    );
    assert!(coloured.contains("\u{1b}[32m"), "passes are green");
    let mut stripped = String::new();
    let mut escape = false;
    for letter in coloured.chars() {
        match letter {
            '\u{1b}' => escape = true,
            'm' if escape => escape = false,
            _ if escape => {}
            other => stripped.push(other),
        }
    }
    let without_trailing = |text: &str| {
        text.lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        without_trailing(&stripped),
        without_trailing(&plain(&record, 100))
    );
}

#[test]
fn quiet_keeps_verdict_figures_and_gates() {
    let text = summary(
        &sample::find(),
        &Style {
            quiet: true,
            ..style(100)
        },
    );
    assert!(text.contains("carries") && text.contains("load line") && text.contains("run valid"));
    assert!(
        !text.contains("offered   goodput") && !text.contains("advice"),
        "{text}"
    );
}

#[test]
fn hostile_text_cannot_steer_the_terminal() {
    let text = plain(&sample::hostile(), 100);
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
    assert!(text.contains("\\u{1b}"), "what was there is shown");
}

#[test]
fn a_record_with_nothing_in_it_says_so() {
    let record = Record::new(sample::find().header);
    let text = plain(&record, 100);
    assert!(
        text.contains("No verdict: the run was interrupted"),
        "{text}"
    );
    assert!(text.contains("nothing was measured"), "{text}");
}

/// A signal came in the middle; what an older version concluded all the same is not repeated.
#[test]
fn an_interrupted_run_says_when_and_claims_nothing() {
    for mut record in [sample::run(400.0, 30), sample::find()] {
        let at_ns = record.windows.last().unwrap().end_ns();
        record.push(Line::Event(Event {
            at_ns,
            what: EventKind::Interrupted,
            detail: String::new(),
        }));
        let pages = [
            plain(&record, 100),
            markdown::summary(std::slice::from_ref(&record)),
            html::render(std::slice::from_ref(&record)),
            json::summary(&record),
        ];
        for page in pages {
            let page = page.replace('\u{a0}', " ");
            assert!(page.contains("No verdict: the run was interrupted after "));
            for claim in [
                "holds its objective",
                "✓ passed",
                "gives way first",
                "Advice",
                "\"verdict\": \"pass\"",
            ] {
                assert!(!page.contains(claim), "{claim}");
            }
        }
    }
}

/// On the narrowest page that is laid out, too: every number is whole and has its unit, the slowest answer above all.
#[test]
fn numbers_and_units_survive_narrow_pages() {
    let line = |text: &str, label: &str| {
        let mut lines = text.lines();
        lines
            .find(|line| line.starts_with(label))
            .unwrap()
            .to_owned()
    };
    for record in [sample::run(400.0, 30), sample::run(520.0, 30)] {
        let wide = plain(&record, 120);
        for width in 60..=100 {
            let text = plain(&record, width);
            for label in ["  response ", "  service "] {
                let wide = line(&wide, label);
                let (_, slowest) = wide.rsplit_once("  ").unwrap();
                assert!(line(&text, label).ends_with(slowest), "{width}: {text}");
            }
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
