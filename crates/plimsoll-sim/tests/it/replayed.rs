//! A search that is played again on its own windows comes to the same levels and the same result, and an edited one does not.

use std::io::BufReader;

use plimsoll_control::search::{Config, REVISION, Replayed, replay};
use plimsoll_core::record::{LevelStart, Line, Record, Writer};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::test::{Request, Script, What};

use crate::rendered::record_of;
use crate::{families, played, virtual_users, worlds};

fn url() -> What {
    Request::get("http://simulated/").into()
}

/// As it comes back from its file.
fn written_and_read(record: &Record) -> Record {
    let mut bytes = Vec::new();
    let mut writer = Writer::start(&mut bytes, record.header.clone()).unwrap();
    for start in &record.levels {
        writer.append(&Line::Level(start.clone())).unwrap();
        for window in record.windows_of(start.step.level) {
            writer.append(&Line::Window(window.clone())).unwrap();
        }
        let ended = record.level_result(start.step.level).cloned();
        if let Some(ended) = ended {
            writer.append(&Line::LevelEnd(ended)).unwrap();
        }
    }
    let verdict = record.verdict.clone().unwrap();
    writer.append(&Line::Verdict(verdict)).unwrap();
    Record::read(BufReader::new(bytes.as_slice())).unwrap()
}

fn played_again(config: &Config, record: &Record) -> Replayed {
    replay(config.clone(), &written_and_read(record)).unwrap()
}

#[test]
fn a_search_played_again_finds_what_it_found() {
    let mut searches: Vec<(String, Config, Record)> = Vec::new();
    let names = ["exp", "slow", "scale-out", "cron60", "fail0.2", "retry"];
    for world in worlds::all() {
        if names.contains(&world.name) {
            let config = played::config(world.slo);
            let record = record_of(&world.model, config.clone(), url());
            searches.push((world.name.to_owned(), config, record));
        }
    }
    assert_eq!(searches.len(), names.len());
    let users = virtual_users::over_vus();
    let script = What::Script(Script {
        name: "shop.js".to_owned(),
        setup: None,
    });
    let record = record_of(&virtual_users::shop(), users.clone(), script);
    searches.push(("virtual users".into(), users, record));
    for (name, config, record) in searches {
        let replayed = played_again(&config, &record);
        assert_eq!(replayed.departure, None, "{name}");
        let found = &record.verdict.as_ref().unwrap().found;
        assert_eq!(&replayed.found, found, "{name}");
    }
}

#[test]
fn a_search_that_was_edited_departs_where_it_was() {
    let [plain, ..] = families::four();
    let config = played::config(plain.slo);
    let record = record_of(&plain.model, config.clone(), url());
    let departs = |edit: &dyn Fn(&mut Record)| {
        let mut edited = record.clone();
        edit(&mut edited);
        let departure = played_again(&config, &edited).departure;
        departure.map_or(0, |departure| departure.level)
    };
    let held = record.level_results[12].level;
    let of_level = |record: &Record, level: u32| {
        let mut windows = record.windows.iter();
        windows.position(|window| window.level == level).unwrap()
    };
    let at = of_level(&record, held);
    assert_eq!(departs(&|_| ()), 0);
    // The rate of a level, its length, a window of it, and how it ended.
    let rate = |record: &mut Record| {
        let mut levels = record.levels.iter_mut();
        let level = levels.find(|start| start.step.level == held).unwrap();
        level.step.windows_max += 1;
    };
    assert_eq!(departs(&rate), held);
    let lost = |record: &mut Record| {
        record.windows.remove(at);
    };
    assert_eq!(departs(&lost), held);
    let twice = |record: &mut Record| {
        record.windows.insert(at, record.windows[at].clone());
    };
    assert_eq!(departs(&twice), held);
    let result = |record: &mut Record| record.level_results[12].discarded_windows += 1;
    assert_eq!(departs(&result), held);
    // Fewer levels than were played.
    let last = record.level_results.last().unwrap().level;
    let cut = |record: &mut Record| {
        record
            .levels
            .retain(|start| start.step.level < last || start.step.phase == Phase::Drain);
        record.windows.retain(|window| window.level != last);
    };
    assert_eq!(departs(&cut), last);
}

/// Whoever changes what a search plays or finds must raise its revision: records of the old rules would be accused of
/// having been edited. Then put the new sum here. One service stands still, the other changes while it is searched.
#[test]
fn a_change_of_the_rules_raises_the_revision() {
    let [plain, ..] = families::four();
    let all = worlds::all();
    let changes = all.iter().find(|world| world.name == "step-down").unwrap();
    let text = [(&plain.model, plain.slo), (&changes.model, changes.slo)].map(|(model, slo)| {
        let record = record_of(model, played::config(slo), url());
        let levels: String = record.levels.iter().map(level_text).collect();
        let capacity = record.verdict.unwrap().found.capacity_per_s.unwrap();
        format!("{levels}{:.3}", capacity.estimate)
    });
    let sum = text.concat().bytes().fold(0u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    assert_eq!((REVISION, sum), (7, 9_023_916_767_650_087_078), "{text:?}");
}

fn level_text(start: &LevelStart) -> String {
    let load = match start.step.load {
        StepLoad::Closed { in_flight } => f64::from(in_flight),
        StepLoad::Open { profile, .. } => profile.constant_rate().unwrap(),
    };
    let (phase, windows) = (start.step.phase, start.step.windows_max);
    format!("{phase:?} {load:.3} {windows}; ")
}
