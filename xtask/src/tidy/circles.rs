//! No files of a crate use each other in a circle, except those that a design page names with the reason.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::imports::Uses;

/// Circles that are still there: the first file of each, and how many files it may have. The list may only shrink; what
/// stays for good is named with its reason on a design page.
const ALLOWED: &[(&str, usize)] = &[];

const FIX: &str = "move what both need into a file below them";

pub(crate) fn check(uses: &Uses) -> Vec<Finding> {
    check_with(uses, ALLOWED)
}

pub(crate) fn check_with(uses: &Uses, allowed: &[(&str, usize)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = BTreeMap::new();
    for circle in circles(uses) {
        let may_have = allowed.iter().find(|(file, _)| *file == circle[0]);
        if circle.len() > may_have.map_or(1, |(_, most)| *most) {
            let ties = ties(uses, &circle);
            let problem = format!("{} files use each other in a circle:{ties}", circle.len());
            findings.push(Finding::at(&circle[0], problem, FIX));
        }
        found.insert(circle[0].clone(), circle.len());
    }
    for (file, most) in allowed {
        let has = found.get(*file).copied().unwrap_or_default();
        if has < *most {
            let problem = format!("is allowed a circle of {most} files and has one of {has}");
            let fix = "set it right in the list of xtask/src/tidy/circles.rs: it may only shrink";
            findings.push(Finding::at(file, problem, fix));
        }
    }
    findings
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
