//! The record as others see it: the page that describes it, and the files that versions wrote.

use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/formats/record-1.md");

/// The sources whose public fields are written into records.
const SOURCES: [&str; 12] = [
    "record.rs",
    "record/after.rs",
    "record/observation.rs",
    "record/header.rs",
    "record/script.rs",
    "window.rs",
    "tally.rs",
    "verdict.rs",
    "step.rs",
    "test/setup.rs",
    "test/variation.rs",
    "schedule.rs",
];

/// Names of public fields, as rustfmt writes them; private ones of the types above are few.
fn fields(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let public = line.strip_prefix("    pub ");
        let public = public.or(line.strip_prefix("    pub(super) "))?;
        let (name, kind) = public.split_once(": ")?;
        (!name.contains(' ') && kind.ends_with(',')).then_some(name)
    })
}

#[test]
fn the_page_describes_every_field() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut known = 0;
    let mut missing = Vec::new();
    for name in SOURCES {
        let source = std::fs::read_to_string(folder.join(name)).expect("a source of this crate");
        // Without a name of its own in the file, or never in it.
        for field in fields(&source).filter(|field| {
            !matches!(
                *field,
                "step" | "seen" | "found" | "test" | "sink" | "was_full"
            )
        }) {
            known += 1;
            if !PAGE.contains(&format!("`{field}`")) {
                missing.push(format!("{field} of {name}"));
            }
        }
    }
    assert!(
        known > 100,
        "only {known} fields found: the sources changed shape"
    );
    assert!(
        missing.is_empty(),
        "docs/formats/record-1.md lacks {missing:?}"
    );
}
