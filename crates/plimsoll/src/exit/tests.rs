//! The table against itself and against its page.

use super::*;

#[test]
fn codes_are_unique_and_never_rusts_own() {
    let mut codes: Vec<u8> = Exit::TABLE.iter().map(|row| row.1).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), Exit::TABLE.len());
    assert!(!codes.contains(&101));
    for (exit, code, meaning) in Exit::TABLE {
        assert_eq!((exit.code(), exit.meaning()), (code, meaning));
    }
}

#[test]
fn every_cause_of_a_script_has_the_code_that_k6_gives_it() {
    for (cause, code) in [
        (Cause::ThresholdCrossed, 99),
        (Cause::SetupTimeout, 100),
        // 101 in k6: Rust's own code for a panic never leaves the program.
        (Cause::TeardownTimeout, 102),
        (Cause::SummaryTimeout, 102),
        (Cause::InvalidOptions, 104),
        (Cause::Interrupted, 105),
        (Cause::InitException, 107),
        (Cause::HookException, 107),
        (Cause::Aborted, 108),
        (Cause::Unsupported, 107),
        (Cause::Failed, 110),
        (Cause::Missing, 255),
    ] {
        assert_eq!(Exit::from(cause).code(), code, "{cause:?}");
    }
}

#[test]
fn the_page_says_what_the_table_says() {
    let page = include_str!("../../../../docs/exit-codes.md");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let written: Vec<Vec<&str>> = rows
        .map(|row| row.split('|').map(str::trim).skip(1).take(2).collect())
        .skip(1)
        .collect();
    let meant = Exit::TABLE.map(|(_, code, text)| vec![code.to_string(), text.to_owned()]);
    assert_eq!(written, meant, "docs/exit-codes.md and Exit::TABLE differ");
}

#[test]
fn a_panic_on_any_thread_is_an_internal_fault() {
    assert_eq!(guarded(|| Exit::Worse), Exit::Worse);
    let elsewhere = || {
        let thread = std::thread::spawn(|| panic!("for the test"));
        assert!(thread.join().is_err());
        Exit::Passed
    };
    assert_eq!(guarded(elsewhere), Exit::InternalPanic);
}
