//! Commands as a driver sends them, carried out by a shard in a directory of its own.

mod crud;
mod cursors;
mod full;
mod harness;
mod indexes;
mod metadata;
mod model;
mod queries;

use std::collections::BTreeSet;

use super::*;

#[test]
fn the_table_is_in_order_and_every_name_is_found_once() {
    let names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let mut all = BTreeSet::new();
    for one in TABLE {
        for name in one.aliases.iter().chain([&one.name]) {
            assert!(all.insert(*name), "{name} twice");
            assert_eq!(entry(name).map(|found| found.name), Some(one.name));
        }
        let outside = matches!(one.kind, Kind::Connection | Kind::Cluster);
        assert_eq!(one.run.is_none(), outside, "{}", one.name);
        assert!(one.help.ends_with('.'), "{}", one.name);
    }
    assert!(entry("mapReduce").is_none());
}
