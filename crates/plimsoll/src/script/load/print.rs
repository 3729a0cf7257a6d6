//! Which script it is: a digest of its files and what it was given from outside, for the record.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plimsoll_core::scenario::{Executor, Kind, Options, Origin};
use plimsoll_core::test::ScriptSetup;
use plimsoll_script::Sources;
use sha2::{Digest as _, Sha256};

/// Digits of a digest that stand for a value which may be a secret.
const DIGITS: usize = 12;

/// Passes files on and keeps the digest of each, in the order of reading: the script itself is the first.
pub(super) struct Digests {
    from: Box<dyn Sources>,
    files: RefCell<Vec<(PathBuf, [u8; 32])>>,
}

impl Digests {
    pub(super) fn new(from: Box<dyn Sources>) -> Self {
        Self {
            from,
            files: RefCell::default(),
        }
    }

    /// The digest of all files, and how many they are. What they are called and where they lie does not count: a
    /// script has the same digest on every host.
    pub(super) fn whole(&self) -> (String, u32) {
        let files = self.files.borrow();
        let mut digests: Vec<[u8; 32]> = files.iter().map(|(_, digest)| *digest).collect();
        if let Some((_script, others)) = digests.split_first_mut() {
            others.sort_unstable();
        }
        let whole = Sha256::digest(digests.concat());
        (hexadecimal(&whole), files.len() as u32)
    }
}

impl Sources for Digests {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let content = self.from.read(path)?;
        let mut files = self.files.borrow_mut();
        if !files.iter().any(|(known, _)| known == path) {
            files.push((path.to_owned(), Sha256::digest(&content).into()));
        }
        Ok(content)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

/// What the record says of a script whose files came to `whole`.
pub(super) fn setup(
    whole: (String, u32),
    options: &Options,
    env: &[(String, String)],
) -> ScriptSetup {
    let (sha256, files_count) = whole;
    let said_outside = options.explained().filter(|(spec, _, origin)| {
        let is_outside = !matches!(origin, Origin::Default | Origin::Script);
        is_outside && !spec.is_load() && !matches!(spec.kind, Kind::NoEffect(_))
    });
    ScriptSetup {
        sha256,
        files_count,
        scenarios: scenarios(options),
        options: said_outside
            .map(|(spec, value, _)| (spec.name.to_owned(), without_secrets(spec.kind, value)))
            .collect(),
        environment: env
            .iter()
            .map(|(name, value)| (name.clone(), shown(value)))
            .collect(),
    }
}

/// None of one scenario whose load is steady: the plan says it.
fn scenarios(options: &Options) -> Vec<String> {
    let all: Vec<_> = options.scenarios.iter().collect();
    match all.as_slice() {
        [only]
            if matches!(
                only.executor,
                Executor::ConstantVus { .. } | Executor::ConstantArrivalRate { .. }
            ) =>
        {
            Vec::new()
        }
        all => all.iter().map(|scenario| scenario.describe()).collect(),
    }
}

/// What is free text may be a secret, such as the key of `tlsAuth`.
fn without_secrets(kind: Kind, value: String) -> String {
    match kind {
        Kind::Text | Kind::Texts | Kind::TextMap | Kind::Json => shown(&value),
        _ => value,
    }
}

/// An address without anything secret in it, or a number, as it is; of anything else its digest.
fn shown(value: &str) -> String {
    let is_number = value.parse::<f64>().is_ok();
    let is_address = ["http://", "https://", "ws://", "wss://"]
        .iter()
        .any(|scheme| value.starts_with(scheme))
        && !value.contains(['@', '?', '#']);
    if is_number || is_address {
        return value.to_owned();
    }
    let digest = hexadecimal(&Sha256::digest(value));
    let (digits, _) = digest.split_at(DIGITS);
    format!("sha256:{digits}")
}

#[cfg(test)]
mod tests {
    use plimsoll_script::Memory;

    use super::*;

    /// Of files read in this order, each twice.
    fn digest(files: &[(&str, &str)]) -> (String, u32) {
        let with = |memory: Memory, (path, text): &(&str, &str)| memory.with(*path, *text);
        let digests = Digests::new(Box::new(files.iter().fold(Memory::default(), with)));
        for (path, _) in files.iter().chain(files) {
            digests.read(Path::new(path)).unwrap();
        }
        assert!(digests.read(Path::new("/missing.js")).is_err());
        digests.whole()
    }

    #[test]
    fn the_content_counts_and_not_where_it_lies() {
        let whole = digest(&[("/a/main.js", "1"), ("/a/lib.js", "2")]);
        let moved = digest(&[("/b/other.js", "1"), ("/lib.js", "2")]);
        assert_eq!(whole, moved);
        assert_eq!((whole.0.len(), whole.1), (64, 2));
        let imported = digest(&[("/a/main.js", "1"), ("/a/lib.js", "3")]);
        assert_ne!(whole.0, imported.0, "an import changed");
        let libraries = [("/a/main.js", "1"), ("/a/x.js", "2"), ("/a/y.js", "3")];
        let [main, x, y] = libraries;
        assert_eq!(digest(&libraries), digest(&[main, y, x]));
        assert_ne!(
            digest(&libraries).0,
            digest(&[x, main, y]).0,
            "another is the script"
        );
    }

    #[test]
    fn secrets_are_not_kept() {
        assert_eq!(shown("http://127.0.0.1:3001"), "http://127.0.0.1:3001");
        assert_eq!(shown("12.5"), "12.5");
        for secret in ["hunter2", "https://me:word@host/", "https://host/?token=1"] {
            let shown = shown(secret);
            assert!(shown.starts_with("sha256:") && shown.len() == 19, "{shown}");
        }
        let key = "[{\"cert\":\"…\",\"key\":\"-----BEGIN PRIVATE KEY-----\"}]";
        assert!(without_secrets(Kind::Json, key.to_owned()).starts_with("sha256:"));
        assert_eq!(without_secrets(Kind::Count, "5".to_owned()), "5");
        // As `printf hunter2 | sha256sum` begins.
        assert_eq!(shown("hunter2"), "sha256:f52fbd32b2b3");
    }
}
