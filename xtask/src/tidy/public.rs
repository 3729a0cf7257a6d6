//! `pub` means used outside: every public name of a library crate is named by somebody who is not that crate.
//!
//! A search for words, not a compiler. It cannot see that a name outside means another item of the same name (`new`, `name`
//! and their like always pass), and it takes a re-export for a use. What it finds is unused outside for certain, but for what
//! only a macro names.

use std::collections::BTreeSet;

use super::Finding;
use super::exceptions::Exceptions;
use super::source::Source;
use super::tree::File;

const LIST: &str = "xtask/exceptions/public.txt";
/// Names in the list when it was last shortened; it may not grow.
const LISTED_MOST: usize = 18;

const NARROW: &str = "make it pub(crate), or delete it if the compiler then calls it dead";

/// What a public item can be; `mod` is left out, because a module counts by what is in it.
const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "union", "trait", "type", "const", "static",
];
const QUALIFIERS: [&str; 4] = ["const", "unsafe", "async", "extern"];

/// The Rust files with their code.
type Sources<'a> = [(&'a File, &'a Source)];

/// A public name, where it is, and every word of the declaration that others see.
struct Item {
    name: String,
    path: String,
    line: usize,
    signature: BTreeSet<String>,
}

pub(crate) fn check(files: &[File], sources: &Sources<'_>) -> Vec<Finding> {
    let mut listed = Exceptions::read(files, LIST);
    let mut findings = Vec::new();
    for (folder, package) in libraries(files) {
        let outside = words_outside(files, sources, &folder, &package);
        let inside = format!("{folder}/src/");
        let own = sources
            .iter()
            .filter(|(file, _)| file.path.starts_with(&inside) && !is_program(&file.path));
        let items: Vec<Item> = own
            .flat_map(|(file, source)| items(&file.path, source))
            .collect();
        for item in unused(&items, &outside) {
            if !listed.take(&format!("{package} {}", item.name)) {
                let problem = format!("`{}` is public and used in {package} only", item.name);
                findings.push(Finding::at_line(&item.path, item.line, problem, NARROW));
            }
        }
    }
    findings.extend(listed.unneeded(LISTED_MOST));
    findings
}

/// A program beside a library is a user of it.
fn is_program(path: &str) -> bool {
    path.ends_with("/src/main.rs") || path.contains("/src/bin/")
}

/// Folder and name of every package with a library.
fn libraries(files: &[File]) -> Vec<(String, String)> {
    let folders = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/src/lib.rs"));
    let named = folders.filter_map(|folder| {
        let manifest = format!("{folder}/Cargo.toml");
        let manifest = files.iter().find(|file| file.path == manifest)?;
        Some((folder.to_owned(), package_name(&manifest.text)?))
    });
    named.collect()
}

fn package_name(manifest: &str) -> Option<String> {
    let line = manifest.lines().find(|line| line.starts_with("name = "))?;
    line.split('"').nth(1).map(str::to_owned)
}

/// Every word of code outside of the library: its own tests, benches and examples, and all packages that can reach it.
fn words_outside(
    files: &[File],
    sources: &Sources<'_>,
    folder: &str,
    package: &str,
) -> BTreeSet<String> {
    let users = users(files, package);
    let own = format!("{folder}/");
    let inside = format!("{folder}/src/");
    let mut found = BTreeSet::new();
    for (file, source) in sources {
        let path = &file.path;
        let is_own = path.starts_with(&own) && (!path.starts_with(&inside) || is_program(path));
        if is_own || users.iter().any(|user| path.starts_with(user)) {
            for line in &source.lines {
                found.extend(words(line).map(str::to_owned));
            }
        }
    }
    found
}

/// Folders of the packages that name `package` in their manifest, or name one that does.
fn users(files: &[File], package: &str) -> BTreeSet<String> {
    let manifests: Vec<(String, &str)> = files
        .iter()
        .filter_map(|file| {
            let folder = file.path.strip_suffix("Cargo.toml")?;
            (!folder.is_empty()).then(|| (folder.to_owned(), file.text.as_str()))
        })
        .collect();
    let (mut found, mut wanted) = (BTreeSet::new(), vec![package.to_owned()]);
    while let Some(package) = wanted.pop() {
        let names = |text: &str| {
            text.lines()
                .any(|line| line.split(['.', ' ', '=']).next() == Some(package.as_str()))
        };
        for (folder, text) in manifests.iter().filter(|(_, text)| names(text)) {
            if found.insert(folder.clone()) {
                wanted.extend(package_name(text));
            }
        }
    }
    found
}

/// Items that nobody outside names, and that no item in use shows in its declaration.
fn unused<'a>(items: &'a [Item], outside: &BTreeSet<String>) -> Vec<&'a Item> {
    let mut known = outside.clone();
    let mut left: Vec<&Item> = items.iter().collect();
    loop {
        let (used, rest): (Vec<&Item>, Vec<&Item>) = left
            .into_iter()
            .partition(|item| known.contains(&item.name));
        if used.is_empty() {
            return rest;
        }
        for item in used {
            known.extend(item.signature.iter().cloned());
        }
        left = rest;
    }
}

fn items(path: &str, source: &Source) -> Vec<Item> {
    let found = source.lines.iter().enumerate();
    found
        .filter(|(line, _)| !source.in_test[*line])
        .filter_map(|(line, text)| {
            let (kind, name) = declared(text)?;
            Some(Item {
                name: name.to_owned(),
                path: path.to_owned(),
                line,
                signature: signature(source, line, kind),
            })
        })
        .collect()
}

/// Kind and name of what a line declares public: an item, or a field (of kind "").
fn declared(line: &str) -> Option<(&'static str, &str)> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let mut words = words(rest).peekable();
    let mut word = words.next()?;
    if word == "use" || word == "mod" {
        return None;
    }
    while QUALIFIERS.contains(&word) && words.peek().is_some_and(|next| is_keyword(next)) {
        word = words.next()?;
    }
    match ITEMS.iter().find(|kind| **kind == word) {
        Some(kind) => Some((kind, words.next()?)),
        // A field; a tuple's field has no name.
        None => rest
            .strip_prefix(word)
            .is_some_and(|after| after.starts_with(':') && !after.starts_with("::"))
            .then_some(("", word)),
    }
}

fn is_keyword(word: &str) -> bool {
    ITEMS.contains(&word) || QUALIFIERS.contains(&word)
}

/// Words that an item shows to others: of a function its head, of an enum or a trait all of it, of a struct its own line and
/// whatever is implemented for it, since that can hand out types of the crate (`type Item = …`).
fn signature(source: &Source, first: usize, kind: &str) -> BTreeSet<String> {
    let last = match kind {
        "enum" | "trait" | "type" | "union" => source.end_of_item(first),
        "fn" | "const" | "static" => {
            let ends = |line: &String| line.contains('{') || line.trim_end().ends_with(';');
            let head = source.lines[first..].iter().position(ends);
            first + head.unwrap_or(0)
        }
        _ => first,
    };
    let text = &source.lines[first..=last];
    text.iter()
        .flat_map(|line| words(line))
        .map(str::to_owned)
        .collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}
