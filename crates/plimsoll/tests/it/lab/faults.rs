//! Tiers that an experiment stops, continues and ends while the load is on.

use std::path::Path;

use serde_json::Value;

use super::experiment;
use super::processes::assert_none_mention;
use crate::support::{Folder, plimsoll};

const FAULTS: &str = r#"
[tiers.app]
embedded = "downstream"
set = { answer = 1 }

[test]
url = "http://${app.address}/"
rate = "200/s"
connections = 50
duration = "11s"
warm_up = 0
timeout = "600ms"

[variants.calm]

[variants.stalled]
tiers.app.stop_at = "3s"
tiers.app.continue_at = "6s"

[variants.ended]
tiers.app.end_at = "4s"
"#;

/// A record by the seconds since the load began.
#[derive(Default)]
struct Seconds {
    /// Good answers and failures of each.
    ends: Vec<(u64, u64)>,
    /// What was done to the tier, and in which second.
    faults: Vec<(u64, String)>,
}

fn ends(window: &Value) -> (u64, u64) {
    let (mut good, mut bad) = (0, 0);
    let operations = window["operations"].as_array().unwrap().iter();
    for (class, tally) in operations.flat_map(|it| it["classes"].as_object().unwrap()) {
        let count = tally["count"].as_u64().unwrap();
        let side = if class == "ok" { &mut good } else { &mut bad };
        *side += count;
    }
    (good, bad)
}

fn seconds(record: &Path) -> Seconds {
    let text = std::fs::read_to_string(record).unwrap();
    let (mut seconds, mut began) = (Seconds::default(), 0);
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let second = |at: &Value| (at.as_u64().unwrap() - began) / 1_000_000_000;
        match line["kind"].as_str().unwrap() {
            "level" if began == 0 => began = line["start_ns"].as_u64().unwrap(),
            "window" if line["level"] == 0 => seconds.ends.push(ends(&line)),
            "event" if line["event"] == "fault" => {
                let what = line["figures"]["what"].as_str().unwrap();
                assert_eq!(line["figures"]["instance"], "app");
                seconds
                    .faults
                    .push((second(&line["at_ns"]), what.to_owned()));
            }
            _ => {}
        }
    }
    seconds
}

#[test]
fn a_tier_is_stopped_continued_and_ended_when_the_experiment_says_so() {
    let folder = Folder::new();
    let path = experiment(&folder, FAULTS);
    let args = [
        "lab", &path, "--quick", "--quiet", "-o", "out", "--format", "json",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!([0, 3, 99].contains(&code), "{code}\n{stdout}\n{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let variant = |place: usize| &document["variants"][place];
    let played = |place: usize| {
        let record = variant(place)["runs"][0]["record"].as_str().unwrap();
        seconds(&folder.0.join(record))
    };

    let calm = played(0);
    assert!(calm.faults.is_empty(), "{:?}", calm.faults);
    assert!(variant(0).get("recovery").is_none(), "{}", variant(0));

    let Seconds {
        ends: stalled,
        faults,
    } = played(1);
    let done = |second, what: &str| (second, what.to_owned());
    assert_eq!(faults, [done(3, "stopped"), done(6, "continued")]);
    // The second in the middle of the stall has no good answer at all, whatever the machine does; all the others have.
    assert_eq!(stalled[4].0, 0, "{stalled:?}");
    assert!(stalled[1].0 > 0 && stalled[9].0 > 0, "{stalled:?}");
    let recovery = &variant(1)["recovery"];
    assert_eq!(recovery["runs_count"], 1, "{recovery}");

    let Seconds {
        ends: ended,
        faults,
    } = played(2);
    assert_eq!(faults, [done(4, "ended")]);
    assert!(ended[2].0 > 0, "{ended:?}");
    let after = &ended[5..];
    assert!(after.iter().all(|(good, _)| *good == 0), "{ended:?}");
    assert!(after.iter().any(|(_, bad)| *bad > 0), "{ended:?}");
    assert_eq!(variant(2)["recovery"]["lost_count"], 1, "{}", variant(2));
    assert_none_mention(&folder);
}
