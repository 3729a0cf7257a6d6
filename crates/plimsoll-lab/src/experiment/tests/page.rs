//! The page of keys is made of the table of keys.

use super::super::file::SECTIONS;

/// The tables of `docs/lab.md`.
fn markdown() -> String {
    let tables = SECTIONS.iter().map(|section| section.markdown());
    tables.collect::<String>() + "\n"
}

/// `UPDATE_DOCS=1 cargo test -p plimsoll-lab` writes the page's tables anew.
#[test]
fn the_page_has_every_key_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lab.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- keys: begin -->\n", "<!-- keys: end -->");
    let (before, rest) = page.split_once(begin).expect("the page marks its tables");
    let (_, after) = rest.split_once(end).expect("the page marks their end");
    let made = format!("{before}{begin}{}{end}{after}", markdown());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == made,
        "docs/lab.md is not the table; see this test's comment"
    );
}
