//! A planted fault is found and made small; every real target survives a short run on fixed seeds.

use super::*;
use crate::{corpus, targets};

/// Panics on `4294967296` after a colon, which only the number edits produce.
fn planted(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let value = text.split(':').nth(1).unwrap_or_default().trim().to_owned();
    assert!(!value.starts_with("4294967296"), "planted");
    value.len().to_string()
}

const PLANTED: Target = Target {
    name: "planted",
    body: planted,
    words: &[],
};

fn turn(drive: &mut Drive) -> Result<(), Failure> {
    let input = drive.next_input();
    drive.take(input)
}

#[test]
fn a_planted_fault_is_found_and_shrunk() {
    let corpus = vec![b"some length: 12 and more".to_vec()];
    let mut drive = Drive::start(PLANTED, corpus, 1).expect("the corpus passes");
    let failure = (0..20_000)
        .find_map(|_| turn(&mut drive).err())
        .expect("the fault is found");
    assert_eq!(shrink(PLANTED, &failure.input), b":4294967296");
}

#[test]
fn inputs_with_new_outcomes_are_kept() {
    let sound = Target {
        body: |data| data.len().min(9).to_string(),
        ..PLANTED
    };
    let mut drive = Drive::start(sound, vec![b"a: 1".to_vec()], 1).expect("the corpus passes");
    for _ in 0..200 {
        turn(&mut drive).expect("no fault in it");
    }
    assert_eq!(drive.corpus.len(), drive.outcomes_count());
    assert!(drive.corpus.len() > 3, "only {} kept", drive.corpus.len());
}

#[test]
fn a_failing_start_is_reported() {
    let failure = Drive::start(PLANTED, vec![b":4294967296".to_vec()], 1);
    assert_eq!(
        failure.map(|_| ()).map_err(|failure| failure.input.len()),
        Err(11)
    );
}

#[test]
fn every_target_survives_a_short_run() {
    for target in targets::TARGETS.iter().copied() {
        let corpus = corpus::read(target.name).expect("a corpus");
        let kinds = corpus.len();
        let survived = Drive::start(target, corpus, 2).and_then(|mut drive| {
            (0..1_000).try_for_each(|_| turn(&mut drive))?;
            Ok(drive)
        });
        let drive = survived.unwrap_or_else(|failure| {
            let small = shrink(target, &failure.input);
            panic!("{}: {:?}", target.name, String::from_utf8_lossy(&small))
        });
        assert!(
            drive.outcomes_count() >= 3,
            "{}: {kinds} inputs, few outcomes",
            target.name
        );
    }
}
