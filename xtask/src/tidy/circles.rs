//! No files of a crate use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::imports::Uses;

const FIX: &str = "move what both need into a file below them";

pub(crate) fn check(uses: &Uses) -> Vec<Finding> {
    let found = circles(uses);
    let finding = |circle: &Vec<String>| {
        let ties = ties(uses, circle);
        let problem = format!("{} files use each other in a circle:{ties}", circle.len());
        Finding::at(&circle[0], problem, FIX)
    };
    found.iter().map(finding).collect()
}

/// What ties the files of a circle, one line a pair.
fn ties(uses: &Uses, circle: &[String]) -> String {
    let mut text = String::new();
    for file in circle {
        for (target, names) in &uses[file] {
            if circle.contains(target) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                for part in ["\n      ", file, " -> ", target, ": ", &names.join(", ")] {
                    text.push_str(part);
                }
            }
        }
    }
    text
}

/// Groups of files of which each can be reached from each other one, in the order of their first files.
///
/// A file is in a circle if it reaches itself; files that reach each other are in the same. A few hundred files with a
/// few uses each need no cleverer algorithm.
fn circles(uses: &Uses) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|file| (file, reach(uses, file))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (file, reached_from) in &reached {
        if !reached_from.contains(*file) || !seen.insert(*file) {
            continue;
        }
        let mut circle = vec![(*file).clone()];
        for other in reached_from {
            let back = reached.get(*other).is_some_and(|set| set.contains(*file));
            if back && seen.insert(*other) {
                circle.push((*other).clone());
            }
        }
        circles.push(circle);
    }
    circles
}

/// All files that one uses, and those that these use, and so on.
fn reach<'u>(uses: &'u Uses, from: &String) -> BTreeSet<&'u String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = uses[from].keys().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file)
            && let Some(further) = uses.get(file)
        {
            open.extend(further.keys());
        }
    }
    reached
}
