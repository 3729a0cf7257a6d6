//! Groups and checks as a tree, for the text summary and both JSON shapes.

use plimsoll_core::metrics::{Check, Store};
use serde_json::{Map, Value, json};

use super::md5;

/// A group with what it holds; the root has no name.
#[derive(Debug, Default)]
pub(super) struct Group<'a> {
    pub(super) name: &'a str,
    /// `::outer::inner`
    pub(super) path: String,
    pub(super) groups: Vec<Self>,
    pub(super) checks: Vec<&'a Check>,
}

const SEPARATOR: &str = "::";

impl<'a> Group<'a> {
    /// The tree of everything that a store has seen. The groups that surround setup and teardown
    /// appear only when they hold something.
    pub(super) fn root(store: &'a Store) -> Self {
        let mut root = Self::default();
        for path in store.groups() {
            if path != "::setup" && path != "::teardown" {
                root.at(path);
            }
        }
        for check in store.checks() {
            root.at(&check.group).checks.push(check);
        }
        root
    }

    fn at(&mut self, path: &'a str) -> &mut Self {
        let mut group = self;
        for name in path.split(SEPARATOR).filter(|name| !name.is_empty()) {
            let known = group.groups.iter().position(|inner| inner.name == name);
            let place = known.unwrap_or_else(|| {
                let path = format!("{}{SEPARATOR}{name}", group.path);
                group.groups.push(Self {
                    name,
                    path,
                    ..Self::default()
                });
                group.groups.len() - 1
            });
            group = &mut group.groups[place];
        }
        group
    }

    /// For `handleSummary(data)`: groups and checks are lists.
    pub(super) fn listed(&self) -> Value {
        let mut map = self.head();
        let groups: Vec<Value> = self.groups.iter().map(Self::listed).collect();
        let checks: Vec<Value> = self.checks.iter().map(|check| self.check(check)).collect();
        map.insert("groups".to_owned(), json!(groups));
        map.insert("checks".to_owned(), json!(checks));
        Value::Object(map)
    }

    /// For `--summary-export`: groups and checks are maps by name.
    pub(super) fn mapped(&self) -> Value {
        let mut map = self.head();
        let groups = self
            .groups
            .iter()
            .map(|group| (group.name.to_owned(), group.mapped()));
        let checks = self
            .checks
            .iter()
            .map(|check| (check.name.clone(), self.check(check)));
        map.insert("groups".to_owned(), Value::Object(groups.collect()));
        map.insert("checks".to_owned(), Value::Object(checks.collect()));
        Value::Object(map)
    }

    fn head(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("name".to_owned(), json!(self.name));
        map.insert("path".to_owned(), json!(self.path));
        map.insert("id".to_owned(), json!(md5::hex(&self.path)));
        map
    }

    fn check(&self, check: &Check) -> Value {
        let path = format!("{}{SEPARATOR}{}", self.path, check.name);
        json!({
            "name": check.name,
            "path": path,
            "id": md5::hex(&path),
            "passes": check.passes,
            "fails": check.fails,
        })
    }
}
