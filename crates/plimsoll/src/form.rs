//! What the words of a command are: a URL, a script, a workload, or records. Decided here, once.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Result, bail};
use plimsoll_workload::StoreKind;

/// What the test is; it decides which flags apply, and which of two meanings a letter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Url,
    Script,
    /// Operations on a store: its URL, or a file that says them.
    Workload,
    /// Runs that were kept, of a comparison.
    Records,
}

impl Form {
    /// A script is known by its extension, or is `-`; a workload by the scheme of its store, or as a TOML file that does not
    /// load a URL; everything else should be a URL.
    pub(crate) fn from_test(test: &OsStr) -> Self {
        let text = test.to_string_lossy();
        if is_workload(test) {
            return match file_of(test) {
                Some(file) if plimsoll_workload::loads_url(&file) => Self::Url,
                _ => Self::Workload,
            };
        }
        let extension = Path::new(test).extension().and_then(OsStr::to_str);
        let is_source =
            extension.is_some_and(|e| ["js", "mjs", "cjs", "ts", "mts", "cts"].contains(&e));
        if text == "-" || is_source && !text.contains("://") {
            Self::Script
        } else {
            Self::Url
        }
    }

    /// A script may have flags of its own behind it: `shop.js -e BASE=http://127.0.0.1:3001`.
    fn from_target(target: &OsStr) -> Self {
        let text = target.to_string_lossy();
        let first = text.split_whitespace().next().unwrap_or_default();
        if is_workload(OsStr::new(first)) {
            Self::from_test(OsStr::new(first))
        } else if [target, OsStr::new(first)]
            .map(Self::from_test)
            .contains(&Self::Script)
        {
            Self::Script
        } else if text.contains("://") {
            Self::Url
        } else {
            Self::Records
        }
    }

    /// Of a comparison, whose targets are all alike.
    pub(crate) fn from_targets(targets: &[OsString]) -> Result<Self> {
        let forms: Vec<Self> = targets.iter().map(|it| Self::from_target(it)).collect();
        let has = |form| forms.contains(&form);
        if has(Self::Workload) {
            bail!(
                "a workload drops and fills its databases, so two cannot take turns: play each with plimsoll run -o FILE, and \
                 compare the records; plimsoll sweep varies one number of a workload"
            );
        }
        match (has(Self::Url), has(Self::Script), has(Self::Records)) {
            (true, false, false) => Ok(Self::Url),
            (false, true, false) => Ok(Self::Script),
            (false, false, _) => Ok(Self::Records),
            (true, true, false) => bail!(
                "URLs and scripts together: a script sets a load of its own; write the URL's request as a script, too"
            ),
            (is_url, _, true) => bail!(
                "{} and records together: give either targets to play, or records",
                if is_url { "URLs" } else { "scripts" }
            ),
        }
    }

    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Url => "URLs",
            Self::Script => "scripts",
            Self::Workload => "workloads",
            Self::Records => "records",
        }
    }

    pub(crate) const fn singular(self) -> &'static str {
        match self {
            Self::Url => "a URL",
            Self::Script => "a script",
            Self::Workload => "a workload",
            Self::Records => "a record",
        }
    }
}

/// Databases that a workload does not know yet: who names one is told which it knows, and not to use HTTP.
const OTHER_STORES: [&str; 9] = [
    "cassandra",
    "mariadb",
    "mysql",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "scylla",
    "valkey",
];

/// The text of a file; one that cannot be read is refused by who needs it.
fn file_of(test: &OsStr) -> Option<String> {
    let is_file = is_file(test);
    is_file.then(|| std::fs::read_to_string(test).ok())?
}

/// A file that says a test: of a workload, or of requests to a URL.
pub(crate) fn is_file(test: &OsStr) -> bool {
    !test.to_string_lossy().contains("://")
        && Path::new(test).extension() == Some(OsStr::new("toml"))
}

fn is_workload(test: &OsStr) -> bool {
    let text = test.to_string_lossy();
    match text.split_once("://") {
        Some((scheme, _)) => {
            let scheme = scheme.split_once('+').map_or(scheme, |(scheme, _)| scheme);
            StoreKind::SCHEMES.iter().any(|(known, _)| *known == scheme)
                || OTHER_STORES.contains(&scheme)
        }
        None => is_file(test),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_apart_and_belong_together() {
        let form = |targets: &[&str]| {
            let targets: Vec<OsString> = targets.iter().map(OsString::from).collect();
            Form::from_targets(&targets).map_err(|error| error.to_string())
        };
        for script in [
            "before.js",
            "a b/shop.ts",
            "shop.js -e BASE=http://127.0.0.1:3001 --vus 5",
        ] {
            assert_eq!(form(&[script]), Ok(Form::Script), "{script}");
        }
        assert_eq!(form(&["http://127.0.0.1/app.js"]), Ok(Form::Url));
        for workload in [
            "mongodb://127.0.0.1:27017",
            "orders.toml",
            "mongodb+srv://h/",
            "redis://127.0.0.1:6379",
            "postgresql://me@h/shop",
        ] {
            assert_eq!(
                Form::from_test(OsStr::new(workload)),
                Form::Workload,
                "{workload}"
            );
            assert!(form(&[workload]).unwrap_err().contains("take turns"));
        }
        assert_eq!(Form::from_test(OsStr::new("http://h/a.toml")), Form::Url);
        for records in [&[][..], &["run.plimsoll.jsonl"], &["summary.json", ""]] {
            assert_eq!(form(records), Ok(Form::Records), "{records:?}");
        }
        for mixed in [
            ["a.js", "http://h/"],
            ["http://h/", "a.json"],
            ["a.js", "b.json"],
        ] {
            assert!(form(&mixed).unwrap_err().contains("together"), "{mixed:?}");
        }
    }
}
