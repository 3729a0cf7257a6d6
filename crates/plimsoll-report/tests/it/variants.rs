//! Variants side by side: what every rendering says of runs whose figures are known.

mod build;

use plimsoll_core::comparison::{Figure, Standing};
use plimsoll_core::experiment::Prediction;
use plimsoll_core::record::{After, LevelStart};
use plimsoll_core::step::Phase;
use plimsoll_core::window::Carried;
use plimsoll_core::{Nanos, Outcome, Tally};
use plimsoll_report::variants::Shown;
use plimsoll_report::{html, variants};
use serde_json::Value;

use crate::{comparison, sample};
use build::{Played, against, confirmed, experiment, invalid, played, ramped, two_instances};

/// The pages whose markup the tests of HTML look at, by name.
pub(crate) fn pages() -> Vec<(&'static str, String)> {
    let page = |all: &[Played], contrast| {
        html::experiment(&Shown::new(&experiment(all, contrast)), "0.1.0")
    };
    let six = [390.0, 395.0, 400.0, 402.0, 405.0, 410.0];
    let better = comparison::contrast(Figure::Goodput, (300.0, 390.0), Standing::Better);
    let mut hostile = two();
    hostile[1].name = "</title><script src=http://evil.example/x.js></script>\u{1b}[31m";
    hostile[1].changes = vec!["<img onerror='x'>".to_owned()];
    let mut broken = two();
    invalid(&mut broken[1].records[0]);
    let seven: Vec<Played> = [
        "A",
        "2A",
        "b",
        "c",
        "d",
        "e",
        "f",
        "a name as long as names get",
    ]
    .map(|name| ramped(played(name, &[520.0])))
    .into();
    let runs = [played("A", &six), played("2A", &six)];
    let runs = experiment(&runs, None);
    let compared = against(1.3, better.clone());
    let compared = html::comparison(&compared, Some(&runs), "0.1.0");
    vec![
        ("compare, with its records", compared),
        ("lab, one run", page(&two(), None)),
        (
            "lab, six runs",
            page(
                &[played("A", &six), played("2A", &six)],
                Some(against(1.3, better)),
            ),
        ),
        ("lab, confirmed", page(&with_confirmed(), None)),
        ("lab, invalid", page(&broken, None)),
        ("lab, many users", page(&seven, None)),
        ("lab, hostile", page(&hostile, None)),
        ("lab, nothing", page(&[], None)),
    ]
}

fn two() -> [Played; 2] {
    [played("A", &[200.0]), played("2A", &[400.0])]
}

/// 520/s are more than the queue carries, so that its limit of 112 in flight sheds.
fn with_confirmed() -> [Played; 2] {
    let mut all = [played("A", &[300.0]), played("2A", &[520.0])];
    sample::verdict_mut(&mut all[1].records[0]).limit = Some(confirmed());
    all[1].predicted = Some(Prediction {
        per_s: 400.0,
        from: "A".to_owned(),
        why: "2 × 200/s".to_owned(),
    });
    all
}

/// The document without the summaries of the runs, which have tests of their own.
fn outline(shown: &Shown<'_>) -> String {
    let mut document = variants::document(shown);
    for variant in document["variants"].as_array_mut().unwrap() {
        variant.as_object_mut().unwrap().remove("runs").unwrap();
    }
    serde_json::to_string_pretty(&document).unwrap()
}

#[test]
fn a_confirmed_limit_is_said_everywhere() {
    let all = with_confirmed();
    let experiment = experiment(&all, None);
    let shown = Shown::new(&experiment);
    insta::assert_snapshot!("confirmed_text", variants::text(&shown, 100));
    insta::assert_snapshot!("confirmed_markdown", variants::markdown(&shown));
    insta::assert_snapshot!("confirmed_json", outline(&shown));
}

#[test]
fn six_runs_have_an_interval_and_one_invalid_run_is_not_used() {
    let six = [300.0, 305.0, 310.0, 295.0, 302.0, 300.0];
    let mut all = [played("A", &six), played("2A", &six.map(|rate| rate * 1.3))];
    invalid(&mut all[1].records[2]);
    let better = comparison::contrast(Figure::Goodput, (300.0, 390.0), Standing::Better);
    let experiment = experiment(&all, Some(against(1.3, better)));
    let shown = Shown::new(&experiment);
    insta::assert_snapshot!("six_runs_text", variants::text(&shown, 120));
    insta::assert_snapshot!("six_runs_json", outline(&shown));
}

#[test]
fn without_a_valid_run_there_is_no_verdict() {
    let mut all = two();
    for one in &mut all {
        invalid(&mut one.records[0]);
    }
    let experiment = experiment(&all, None);
    let shown = Shown::new(&experiment);
    let text = variants::text(&shown, 100);
    assert!(text.contains("No verdict: no run is valid."), "{text}");
    assert!(!text.contains("carried"), "{text}");
    assert!(text.contains("! ‘2A’: 1 of 1"), "{text}");
    insta::assert_snapshot!("invalid_markdown", variants::markdown(&shown));
}

fn verdict(all: &[Played]) -> String {
    let document = variants::document(&Shown::new(&experiment(all, None)));
    document["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn a_difference_of_one_run_within_the_noise_is_not_called_one() {
    let text = verdict(&[played("A", &[400.0]), played("2A", &[408.0])]);
    assert!(
        text.starts_with("Two servers and one server carried the most, "),
        "{text}"
    );
    assert!(text.contains("no difference has an interval"), "{text}");
    assert!(text.contains("nothing measured tells them apart"), "{text}");
    let text = verdict(&[played("A", &[200.0]), played("2A", &[400.0])]);
    assert!(text.starts_with("Two servers carried the most: "), "{text}");
    assert!(text.contains("% more than one server"), "{text}");
}

#[test]
fn a_limit_is_of_the_tier_unless_one_instance_alone_is_full() {
    let of = |part| {
        verdict(&[
            played("A", &[200.0]),
            two_instances(played("2A", &[400.0]), part),
        ])
    };
    let text = of(0.9);
    assert!(
        text.contains("the CPU quota of app (supported) in two servers"),
        "{text}"
    );
    let text = of(0.5);
    assert!(
        text.contains("the CPU quota of one of the 2 instances of app (supported) in two servers"),
        "{text}"
    );
    // Which of two equals is named in a run is chance: both speak for the tier.
    let mut all = [
        played("A", &[200.0, 201.0]),
        two_instances(played("2A", &[400.0, 401.0]), 1.0),
    ];
    let limit = sample::verdict_mut(&mut all[1].records[0]).limit.as_mut();
    limit.unwrap().tier = Some("app-1".to_owned());
    let text = verdict(&all);
    assert!(
        text.contains("the CPU quota of app (supported) in two servers"),
        "{text}"
    );
}

#[test]
fn what_was_only_tried_is_never_recommended() {
    let mut all = [
        played("A", &[200.0]),
        played("2A", &[300.0]),
        played("2A-confirm", &[400.0]),
    ];
    all[2].probe = true;
    let text = verdict(&all);
    assert!(text.starts_with("Two servers carried the most: "), "{text}");
}

#[test]
fn runs_that_overlap_are_not_told_apart_by_their_medians() {
    let text = verdict(&[
        played("A", &[200.0, 300.0, 400.0]),
        played("2A", &[250.0, 350.0, 450.0]),
    ]);
    assert!(
        text.starts_with("Two servers and one server carried the most, "),
        "{text}"
    );
}

#[test]
fn throughput_and_goodput_are_told_apart() {
    let mut late = played("2A", &[400.0]);
    let verdict_of = sample::verdict_mut(&mut late.records[0]);
    verdict_of.throughput_per_s = 7_175.0;
    verdict_of.goodput_per_s = 1_341.0;
    let text = verdict(&[played("A", &[200.0]), late]);
    let said = "Two servers answered 7,175/s, of which 1,341/s were correct and in time: 5,834/s came too late; no attempt of one \
         server failed.";
    assert!(text.contains(said), "{text}");
}

/// Whoever carried most and failed was said to have failed twice, in two sentences.
#[test]
fn failures_that_the_headline_says_are_not_said_again() {
    let mut failing = played("2A", &[400.0]);
    let verdict_of = sample::verdict_mut(&mut failing.records[0]);
    verdict_of.goodput_per_s = verdict_of.throughput_per_s;
    verdict_of.attempts_count = 10_000;
    verdict_of.outcomes = [(Outcome::Ok, 3_800), (Outcome::Eof, 6_200)].into();
    let both = [played("A", &[200.0]), failing];
    let text = verdict(&both);
    let said = "but 62 % of its attempts failed (eof 62 %). No attempt of one server failed.";
    assert!(text.contains(said), "{text}");
    let [_, failing] = both;
    let text = verdict(&[failing]);
    assert!(text.contains("failed (eof 62"), "{text}");
    assert_eq!(text.matches("failed").count(), 1, "{text}");
}

/// The verdict is for somebody who has not read the file: at most four sentences, and no name of a variant in any of them.
#[test]
fn the_verdict_names_what_the_variants_are_in_at_most_four_sentences() {
    let abouts = [
        "one server, called directly",
        "one server behind a proxy, which has 1,024 slots",
        "two servers behind it: as published",
        "two servers, and enough slots",
    ];
    let six = [390.0, 395.0, 400.0, 402.0, 405.0, 410.0];
    for rates in [&[520.0][..], &[200.0][..], &six] {
        let mut all: Vec<Played> = ["A", "proxied", "2A", "slots"]
            .map(|name| played(name, rates))
            .into();
        for (one, about) in all.iter_mut().zip(abouts) {
            one.about = about;
        }
        all[2].changes.push("tiers.proxy: added".to_owned());
        sample::verdict_mut(&mut all[3].records[0]).limit = Some(confirmed());
        all[3].predicted = Some(Prediction {
            per_s: 400.0,
            from: "A".to_owned(),
            why: "2 × 200/s".to_owned(),
        });
        let text = verdict(&all).replace("… ", "");
        let sentences = text.matches(". ").count() + 1;
        assert!(sentences <= 4, "{sentences}: {text}");
        for name in ["proxied", "‘", "2A"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
        for subject in [
            "ne server behind a proxy",
            "wo servers behind it",
            "wo servers",
        ] {
            assert!(text.contains(subject), "{subject}: {text}");
        }
        let (first, _) = text.split_once(". ").unwrap();
        assert!(first.contains("carried the most"), "{text}");
    }
}

#[test]
fn variants_that_say_nothing_or_the_same_are_named() {
    let mut all = two();
    all[0].about = "";
    assert!(verdict(&all).contains("more than ‘A’"), "{}", verdict(&all));
    all[0].about = "two servers, called directly";
    let text = verdict(&all);
    assert!(
        text.starts_with("‘2A’ carried") || text.starts_with("Two servers carried"),
        "{text}"
    );
    assert!(
        text.contains("more than two servers, called directly"),
        "{text}"
    );
}

/// As many variants as are played, on a terminal of 80 columns: no line is wider, and every cell is there.
#[test]
fn variants_fit_on_a_narrow_terminal() {
    let all: Vec<Played> = ["A", "2A", "b", "c", "d", "e"]
        .map(|name| played(name, &[300.0]))
        .into();
    let experiment = experiment(&all, None);
    let shown = Shown::new(&experiment);
    let text = variants::text(&shown, 80);
    for line in text.lines().filter(|line| !line.contains("report")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let goodputs = text.matches("\n  goodput  ").count();
    assert!(
        goodputs > 1,
        "the variants that do not fit come below\n{text}"
    );
}

#[test]
fn one_run_has_no_interval_and_several_have_a_range() {
    let one = two();
    let text = variants::text(&Shown::new(&experiment(&one, None)), 100);
    assert!(text.contains("single run, no interval"), "{text}");
    let goodput = |text: &str| -> String {
        let mut lines = text.lines();
        let found = lines.find(|line| line.starts_with("  goodput  "));
        found.unwrap().to_owned()
    };
    assert!(!goodput(&text).contains('('), "{text}");
    assert!(
        text.contains("differs in") && text.contains("tiers.app.instances: 1 → 2"),
        "{text}"
    );
    let markdown = variants::markdown(&Shown::new(&experiment(&one, None)));
    assert!(markdown.contains("### two \\| servers"), "{markdown}");

    let three = [played("A", &[100.0, 120.0, 140.0])];
    let experiment = experiment(&three, None);
    let shown = Shown::new(&experiment);
    let (text, document) = (variants::text(&shown, 100), variants::document(&shown));
    assert!(text.contains("median of 3\u{a0}runs"), "{text}");
    let spread = &document["variants"][0]["goodput_per_s"];
    let at = |key: &str| spread[key].as_f64().unwrap();
    assert!(
        at("lowest") < at("median") && at("median") < at("highest"),
        "{spread}"
    );
    let highest = format!("–{})", plimsoll_report::format::rate(at("highest")));
    assert!(goodput(&text).contains(&highest), "{text}");
}

#[test]
fn two_changes_and_invalid_runs_are_said() {
    let mut all = two();
    all[1].changes.push("tiers.proxy: added".to_owned());
    invalid(&mut all[1].records[0]);
    let experiment = experiment(&all, None);
    let shown = Shown::new(&experiment);
    let text = variants::text(&shown, 100);
    for said in ["! ‘2A’ differs from ‘A’ in 2 things", "! ‘2A’: 1 of 1"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(
        variants::markdown(&shown).contains("**Warning:** ‘2A’ differs from ‘A’ in 2 things"),
        "{text}"
    );
    let page = html::experiment(&shown, "0.1.0");
    assert!(page.contains("‘2A’ differs from ‘A’ in 2 things"));
    assert!(page.contains("No valid run: nothing is drawn."));
}

/// Capacity of the second variant as the document says it.
fn capacity(all: &[Played]) -> Value {
    variants::document(&Shown::new(&experiment(all, None)))["variants"][1]["capacity"].clone()
}

#[test]
fn capacity_is_found_read_from_a_ramp_or_not_probed() {
    assert_eq!(capacity(&two()), "not probed; 400/s met the objective");
    let ramp = [
        ramped(played("A", &[200.0])),
        ramped(played("2A", &[400.0])),
    ];
    assert_eq!(
        capacity(&ramp),
        "381/s, up to 1,950 users, the highest load played"
    );
    let mut searched = [played("A", &[200.0]), played("2A", &[])];
    searched[1].records = vec![sample::find()];
    assert!(capacity(&searched).as_str().unwrap().ends_with("/s"));
}

#[test]
fn what_was_given_and_what_an_answer_costs_follow_from_what_was_seen() {
    let all = two();
    let document = variants::document(&Shown::new(&experiment(&all, None)));
    let tier = &document["variants"][0]["tiers"][0];
    assert_eq!(tier["cores_given"], 0.4);
    assert!(
        (tier["cores_used"].as_f64().unwrap() - 0.3).abs() < 1e-9,
        "{tier}"
    );
    assert_eq!(tier["throttled_ratio"], 0.25);
    assert_eq!(tier["in_flight_max"], 64.0);
    // 0.3 cores for about 200 good answers a second.
    let cost = tier["processor_seconds_per_good"].as_f64().unwrap();
    assert!((cost * 200.0 / 0.3 - 1.0).abs() < 0.1, "{cost}");
}

#[test]
fn what_the_load_left_behind_has_rows_where_it_was_looked_at() {
    let mut all = two();
    let plain = variants::document(&Shown::new(&experiment(&all, None)));
    assert!(plain["variants"][0]["runs"][0].get("after").is_none());
    assert!(!variants::text(&Shown::new(&experiment(&all, None)), 100).contains("lost"));
    let queue = &mut all[1].records[0];
    let (ok, accepted) = queue.acknowledged();
    queue.after = Some(After {
        taken_count: Some(ok + accepted + 5),
        backlog_count: Some(1_200),
        backlog_left_count: Some(30),
        stored_at_end_count: Some(500),
        stored_count: Some(ok + accepted - 40),
        killed: vec!["worker at 50 s".to_owned()],
        ..After::default()
    });
    let seconds = queue.verdict.as_ref().unwrap().duration_seconds;
    let stored = plimsoll_report::format::rate(500.0 / seconds);
    let experiment = experiment(&all, None);
    let shown = Shown::new(&experiment);
    let text = variants::text(&shown, 100);
    let (markdown, document) = (variants::markdown(&shown), variants::document(&shown));
    for (row, cell) in [
        ("backlog at the end", "1,200"),
        ("left after the wait", "30"),
        ("lost, at least", "15"),
        ("stored", stored.as_str()),
    ] {
        let line = text.lines().find(|line| line.trim_start().starts_with(row));
        let line = line.unwrap_or_else(|| panic!("{row} is missing in\n{text}"));
        assert!(line.trim_end().ends_with(cell), "{line}");
        assert!(line.contains('–'), "nobody looked at A: {line}");
        assert!(markdown.contains(row), "{markdown}");
    }
    assert!(
        !text.contains("drained in"),
        "it never came to nothing\n{text}"
    );
    let after = &document["variants"][1]["runs"][0]["after"];
    assert_eq!(after["lost_count"], 15);
    assert_eq!(after["killed"][0], "worker at 50 s");
}

#[test]
fn what_ends_after_a_level_of_a_search_is_in_no_rate() {
    let highest = |record| {
        let mut all = [played("A", &[300.0])];
        all[0].records = vec![record];
        let page = html::experiment(&Shown::new(&experiment(&all, None)), "0.1.0");
        let (_, heading) = page.split_once("At the highest load").unwrap();
        heading.split_once('<').unwrap().0.to_owned()
    };
    let mut late = sample::find();
    let over = |level: &&LevelStart| level.step.phase == Phase::Overshoot;
    let level = late.levels.iter().rfind(over).unwrap().step.level;
    let next = late.windows.iter_mut().find(|w| w.level > level).unwrap();
    let mut tally = Tally::default();
    for _ in 0..30_000 {
        tally.record(
            Outcome::Ok,
            Nanos::from_millis(10),
            None,
            0,
            &[Nanos::from_millis(250)],
        );
    }
    next.carried.push(Carried {
        level,
        due_count: 0,
        in_flight_seconds: 0.0,
        tally,
    });
    assert_eq!(highest(late), highest(sample::find()));
}
