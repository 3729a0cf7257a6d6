//! Loads that are multiples, and variants that are left out.

use std::num::NonZeroU32;
use std::path::Path;

use super::*;

const FILE: &str = r#"
[tiers.app]
embedded = "pinned-loop"
set = { cpu = 2 }

[test]
url = "http://${app.address}/"
ramp = "1x..10x"
times_of = "bare"
times_connections = 6
duration = "30s"

[variants.bare]

[variants.twice.test]
ramp = "2x..4x"
"#;

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::parse("experiment.toml", text, Path::new("/lab")).map_err(|error| error.to_string())
}

fn arrivals(variant: &Variant) -> (Arrivals, Option<u32>) {
    match &variant.test.load {
        Load::Url {
            arrivals,
            connections,
            ..
        } => (*arrivals, connections.map(NonZeroU32::get)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_capacity_is_measured_once_and_every_multiple_becomes_a_rate() {
    let mut experiment = read(FILE).unwrap();
    let yardsticks = experiment.yardsticks();
    let [(times, alone)] = yardsticks.as_slice() else {
        panic!("{yardsticks:?}");
    };
    let [variant] = alone.variants.as_slice() else {
        panic!("{alone:?}");
    };
    assert_eq!(
        (variant.name.as_str(), alone.runs, arrivals(variant)),
        ("bare", 1, (Arrivals::Closed, Some(6)))
    );
    assert!(
        experiment.remarks[0].contains("measured before"),
        "{:?}",
        experiment.remarks
    );
    experiment.set_capacity(times, 200.0, None);
    let all: Vec<Arrivals> = experiment
        .variants
        .iter()
        .map(|it| arrivals(it).0)
        .collect();
    assert_eq!(
        all,
        [
            Arrivals::Ramp {
                from: 200.0,
                to: 2_000.0
            },
            Arrivals::Ramp {
                from: 400.0,
                to: 800.0
            }
        ]
    );
    assert!(experiment.yardsticks().is_empty());
    assert_eq!(experiment.remarks.len(), 1);
    assert!(
        experiment.remarks[0].contains("200.0/s"),
        "{:?}",
        experiment.remarks
    );
}

#[test]
fn nothing_is_done_to_tiers_while_their_capacity_is_measured() {
    let text = FILE.replace("[test]", "end_at = \"4s\"\n\n[test]");
    let experiment = read(&text).unwrap();
    let faults = |of: &Experiment| of.variants[0].tiers[0].faults.len();
    assert_eq!(faults(&experiment.yardsticks()[0].1), 0);
    assert_eq!(faults(&experiment), 1, "the runs themselves have it");
}

#[test]
fn capacities_of_one_variant_are_kept_apart() {
    let folders = |text: &str| -> Vec<String> {
        let yardsticks = read(text).unwrap().yardsticks();
        let all = || yardsticks.iter().map(|(times, _)| times);
        all().map(|times| times.folder(all())).collect()
    };
    assert_eq!(folders(FILE), ["capacity-bare"]);
    let two = format!("{FILE}times_connections = 8\n");
    assert_eq!(
        folders(&two),
        [
            "capacity-bare-over-6-connections",
            "capacity-bare-over-8-connections"
        ]
    );
}

#[test]
fn a_capacity_of_a_run_that_is_not_valid_is_said_to_be_in_doubt() {
    let mut experiment = read(FILE).unwrap();
    let (times, _) = experiment.yardsticks().remove(0);
    experiment.set_capacity(&times, 200.0, Some("not valid: gate 1 failed"));
    assert!(
        experiment.remarks[0].contains("that run is not valid: gate 1 failed, so that"),
        "{:?}",
        experiment.remarks
    );
}

#[test]
fn the_yardstick_need_not_be_played() {
    let chosen = read(FILE).unwrap().only(&["twice".to_owned()]).unwrap();
    assert_eq!(chosen.yardsticks()[0].1.variants[0].name, "bare");
}

#[test]
fn mistakes_with_multiples_are_named() {
    for (from, to, said) in [
        ("times_of = \"bare\"", "", "of what?"),
        (
            "\"bare\"\ntimes",
            "\"bore\"\ntimes",
            "no variant `bore`; did you mean `bare`?",
        ),
        ("1x..10x", "1x..50/s", "`50/s` is no multiple"),
        ("1x..10x", "0x..10x", "`0x` is no multiple"),
        ("1x..10x", "10/s..20/s", "`10/s` is no multiple"),
        ("times_connections = 6", "times_connections = 0", "is zero"),
        ("times_of = \"bare\"\n", "", "of what?"),
    ] {
        let text = FILE.replace(from, to);
        let error = read(&text).expect_err(&text);
        assert!(error.contains(said), "{error}");
    }
}

const OPTIONAL: &str = r#"
quick = ["here", "gone"]

[tiers.app]
embedded = "echo"

[test]
url = "http://${app.address}/"

[variants.here]

[variants.gone]
optional = true

[variants.gone.tiers.proxy]
command = "no-such-program-of-anybody"
install = "ask somebody"
"#;

#[test]
fn an_optional_variant_without_its_program_is_left_out_and_that_is_said() {
    let experiment = read(OPTIONAL).unwrap();
    assert_eq!(experiment.variants.len(), 1);
    let said = "`gone` is left out: `no-such-program-of-anybody` is not on the PATH";
    assert!(
        experiment.remarks[0].starts_with(said),
        "{:?}",
        experiment.remarks
    );
    assert!(experiment.remarks[0].ends_with("it is installed with: ask somebody"));
    assert_eq!(experiment.clone().short().unwrap().variants.len(), 1);
    let asked = experiment
        .only(&["gone".to_owned()])
        .unwrap_err()
        .to_string();
    assert!(asked.contains("not on the PATH"), "{asked}");
    let all = OPTIONAL
        .replace("[variants.here]\n", "")
        .replace("\"here\", ", "");
    assert!(read(&all).unwrap_err().contains("no variant is left"));
    let must = OPTIONAL.replace("optional = true", "");
    assert!(read(&must).unwrap_err().contains("not on the PATH"));
}

#[test]
fn a_guard_is_a_tier_whose_flags_are_arguments() {
    let file = r#"
[tiers.app]
embedded = "echo"

[tiers.guard]
embedded = "guard"
args = ["--upstream=http://${app.address}"]

[test]
url = "http://${guard.address}/"
"#;
    let experiment = read(file).unwrap();
    let names: Vec<&str> = experiment.variants[0]
        .tiers
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["app", "guard"],
        "the guard starts after what it stands before"
    );
    let wrong = file.replace(
        "embedded = \"guard\"",
        "embedded = \"guard\"\nset = { limit = 4 }",
    );
    let error = read(&wrong).unwrap_err();
    assert!(
        error.contains("guard has no parameter `limit`; give its flags in `args`"),
        "{error}"
    );
}
