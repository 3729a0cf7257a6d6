//! Tag sets are found again, whatever the order in which they were built.

use super::*;

fn shown(table: &TagTable, id: TagSetId) -> String {
    let tags = table.tags(id).iter();
    let shown: Vec<String> = tags
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    shown.join(" ")
}

#[test]
fn the_same_tags_in_another_order_are_the_same_set() {
    let mut table = TagTable::default();
    let a = table.with(TagSetId::EMPTY, "a", "1");
    let ab = table.with(a, "b", "2");
    let b = table.with(TagSetId::EMPTY, "b", "2");
    assert_eq!(table.with(b, "a", "1"), ab);
    assert_eq!(shown(&table, ab), "a=1 b=2");
    assert_eq!(table.with(ab, "a", "9"), table.with(b, "a", "9"));
    assert_eq!(table.without(ab, "b"), a);
    assert_eq!(table.without(a, "a"), TagSetId::EMPTY);
}

#[test]
fn values_that_never_repeat_end_in_one_set_and_known_ones_stay() {
    let mut table = TagTable::default();
    let first = table.with(TagSetId::EMPTY, "url", "0");
    for index in 1..SETS_MAX * 2 {
        table.with(TagSetId::EMPTY, "url", &index.to_string());
    }
    let late = table.with(TagSetId::EMPTY, "url", "never seen");
    assert_eq!(shown(&table, late), format!("url={OVERFLOW}"));
    assert!(table.is_full() && table.sets.len() <= SETS_MAX + 1);
    assert_eq!(table.with(TagSetId::EMPTY, "url", "0"), first);
}

/// The status of every later answer became "(too many values)" too, and thresholds on it passed without data.
#[test]
fn ever_new_urls_cost_no_status_and_no_check() {
    let mut table = TagTable::default();
    for index in 0..SETS_MAX {
        table.with(TagSetId::EMPTY, "url", &index.to_string());
    }
    let known = table.with(TagSetId::EMPTY, "url", "7");
    let late = table.with(TagSetId::EMPTY, "url", "never seen");
    for (base, url) in [(known, "7"), (late, OVERFLOW)] {
        let status = table.with(base, "status", "503");
        assert_eq!(shown(&table, status), format!("status=503 url={url}"));
        let check = table.with(base, "check", "is 200");
        assert_eq!(shown(&table, check), format!("check=is 200 url={url}"));
    }
    for index in 0..SETS_MAX * 2 {
        table.with(TagSetId::EMPTY, "check", &index.to_string());
    }
    let endless = table.with(TagSetId::EMPTY, "check", "never seen");
    assert_eq!(shown(&table, endless), format!("check={OVERFLOW}"));
}
