//! Which file of a crate uses which other: paths in code, resolved to the file that defines what they name.
//!
//! Text is enough: modules are files here, and a path starts with `crate`, `super`, `self` or a module below. Not seen
//! are paths that a macro builds, and methods called on values whose type was never named. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;
use super::tree::File;

/// File to the files that it uses, each with the names taken from it.
pub(crate) type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Segments from the root of the crate.
type ModulePath = Vec<String>;

/// One crate: its modules, and what each hands on from others.
#[derive(Default)]
struct Crate {
    /// Module to its file.
    files: BTreeMap<ModulePath, String>,
    /// Module and name to the path that is handed on under that name.
    handed_on: BTreeMap<(ModulePath, String), ModulePath>,
}

/// A path as it stands in code, and the name that it gets.
struct Path {
    segments: ModulePath,
    alias: String,
    hands_on: bool,
}

/// Every crate of the workspace, file by file.
pub(crate) fn uses(files: &[(&File, &Source)]) -> Uses {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    let mut read = Vec::new();
    for (file, source) in files {
        let Some((home, module)) = module_of(&file.path).filter(|_| !file.is_test()) else {
            continue;
        };
        let code = code_of(source);
        let whole = crates.entry(home).or_default();
        whole.files.insert(module.clone(), file.path.clone());
        read.push((home, module, &file.path, code));
    }
    let mut named = Vec::new();
    for (home, module, path, code) in &read {
        let whole = crates.entry(home).or_default();
        for found in paths(code, module, whole) {
            if found.hands_on {
                let key = (module.clone(), found.alias);
                whole.handed_on.insert(key, found.segments);
            } else {
                named.push((*home, *path, found.segments));
            }
        }
    }
    let mut uses = Uses::new();
    for (home, path, segments) in named {
        if let Some((target, name)) = crates[home].definer(&segments, 0)
            && target != *path
            && !is_part(&target, path)
        {
            let taken = uses.entry(path.clone()).or_default();
            taken.entry(target).or_default().insert(name);
        }
    }
    uses
}

impl Crate {
    /// The file that defines what a path names, and the name.
    fn definer(&self, segments: &[String], depth: usize) -> Option<(String, String)> {
        let length = (0..=segments.len())
            .rev()
            .find(|&length| self.files.contains_key(&segments[..length]))?;
        let module = &segments[..length];
        let name = segments.get(length).cloned().unwrap_or_default();
        let key = (module.to_vec(), name.clone());
        if let Some(origin) = self.handed_on.get(&key).filter(|_| depth < 5) {
            let mut whole = origin.clone();
            whole.extend(segments[(length + 1).min(segments.len())..].iter().cloned());
            return self.definer(&whole, depth + 1);
        }
        Some((self.files[module].clone(), name))
    }
}

/// `crates/plimsoll-net/src/h2/frame.rs` is module `h2::frame` of the crate at `crates/plimsoll-net/src/`.
fn module_of(path: &str) -> Option<(&str, ModulePath)> {
    let at = path.find("src/")? + "src/".len();
    let (home, rest) = path.split_at(at);
    let stem = rest.strip_suffix(".rs")?;
    let segments = match stem {
        "lib" | "main" => Vec::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    };
    Some((home, segments))
}

/// The files of the folder that bears a file's name are its parts: `tidy/imports.rs` of `tidy.rs`.
fn is_part(path: &str, of: &str) -> bool {
    let folder = of.strip_suffix(".rs").unwrap_or(of);
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Code outside of tests, in one piece.
fn code_of(source: &Source) -> String {
    let lines = source.lines.iter().zip(&source.in_test);
    let code = lines.filter(|(_, is_test)| !**is_test);
    let lines: Vec<&str> = code.map(|(line, _)| line.as_str()).collect();
    lines.join("\n")
}

/// Every path of the crate itself: those of `use` declarations, then those in the code between them.
fn paths(code: &str, module: &[String], whole: &Crate) -> Vec<Path> {
    let mut found = Vec::new();
    let mut rest = String::new();
    for statement in code.split_inclusive([';', '{', '}']) {
        rest.push_str(statement);
        let Some(at) = declaration(&rest) else {
            if !is_open(&rest) {
                scan(&rest, module, whole, &mut found);
                rest.clear();
            }
            continue;
        };
        if !statement.ends_with(';') {
            continue;
        }
        let (before, tree) = rest.split_at(at);
        let visibility = before.lines().last().unwrap_or_default();
        let hands_on = visibility.trim_start().starts_with("pub");
        let tree = tree.trim_start_matches("use ").trim_end_matches(';');
        expand(tree, &[], &mut |segments, alias| {
            found.extend(absolute(&segments, module, whole).map(|segments| Path {
                segments,
                alias,
                hands_on,
            }));
        });
        rest.clear();
    }
    scan(&rest, module, whole, &mut found);
    found
}

/// Where a `use` declaration begins, if the text has one.
fn declaration(text: &str) -> Option<usize> {
    text.match_indices("use ").map(|(at, _)| at).find(|&at| {
        let before = text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line == "pub" || line.starts_with("pub(") && line.ends_with(')')
    })
}

/// A declaration that has only begun: more of it follows.
fn is_open(text: &str) -> bool {
    declaration(text).is_some()
}

/// Hands each path of a `use` tree to `each`, with the name that it is known by.
fn expand(tree: &str, prefix: &[String], each: &mut impl FnMut(ModulePath, String)) {
    let mut segments = prefix.to_vec();
    let Some((head, inside)) = tree.trim().split_once('{') else {
        let (path, alias) = match tree.split_once(" as ") {
            Some((path, alias)) => (path, Some(alias.trim().to_owned())),
            None => (tree, None),
        };
        segments.extend(words(path).filter(|word| word != "self" || prefix.is_empty()));
        let last = segments.last().cloned().unwrap_or_default();
        each(segments, alias.unwrap_or(last));
        return;
    };
    segments.extend(words(head));
    let (mut depth, mut part) = (0, String::new());
    // Ends at the brace that closes this group.
    for character in inside.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        let ends = depth < 0 || depth == 0 && character == ',';
        if !ends {
            part.push(character);
            continue;
        }
        if !part.trim().is_empty() {
            expand(&std::mem::take(&mut part), &segments, each);
        }
        part.clear();
        if depth < 0 {
            break;
        }
    }
}

fn words(path: &str) -> impl Iterator<Item = String> {
    path.split("::")
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty())
}

/// From the root of the crate; `None` for a path into another crate.
fn absolute(segments: &[String], module: &[String], whole: &Crate) -> Option<ModulePath> {
    let (first, rest) = segments.split_first()?;
    let mut path = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        child => {
            let mut path = module.to_vec();
            path.push(child.to_owned());
            whole.files.contains_key(&path).then_some(path)?
        }
    };
    for word in rest {
        if word == "super" {
            path.pop();
        } else {
            path.push(word.clone());
        }
    }
    Some(path)
}

/// Paths in code that no `use` declares: `super::judge::sequential(…)`.
fn scan(code: &str, module: &[String], whole: &Crate, found: &mut Vec<Path>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for word in code.split(|c: char| !is_word(c) && c != ':') {
        let word = word.trim_matches(':');
        if !word.contains("::") {
            continue;
        }
        let segments: Vec<String> = words(word).collect();
        if let Some(segments) = absolute(&segments, module, whole) {
            found.push(Path {
                alias: String::new(),
                segments,
                hands_on: false,
            });
        }
    }
}
