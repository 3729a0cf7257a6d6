//! What was probably meant: a line without a command, a flag of another tool, and a value that looks like a flag.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{Flag, Form, Takes, Verb, flags_of};

/// Commands of k6 that are not ours, each with what there is instead.
const OF_K6: [(&str, &str); 13] = [
    (
        "archive",
        "scripts are run from their files and no archive is made; keep them in a tar, and run the script in it",
    ),
    (
        "cloud",
        "there is no cloud here, and nothing is sent to k6's: plimsoll run SCRIPT runs it on this host",
    ),
    (
        "login",
        "there is no cloud to log in to: plimsoll run SCRIPT runs it on this host",
    ),
    (
        "new",
        "no script is written for you; begin with: plimsoll run URL, or a file with: import http from 'k6/http'; \
         export default () => { http.get('http://127.0.0.1:3000/'); }",
    ),
    ("status", NO_API),
    ("stats", NO_API),
    ("pause", NO_API),
    ("resume", NO_API),
    (
        "scale",
        "a test that runs is not changed from outside, so that its record says what was played; write the change as \
         stages of a scenario",
    ),
    (
        "deps",
        "extensions of k6 are not used here; plimsoll inspect SCRIPT shows what a script asks for",
    ),
    (
        "x",
        "extensions of k6 are not used here; docs/scripts.md lists the modules that are",
    ),
    (
        "secret",
        "sources of secrets are not read here; give variables with -e NAME=VALUE",
    ),
    ("features", "there are no features of k6 to switch on"),
];

const NO_API: &str = "there is no REST API to ask a running test with; --live serves a page that shows it, and the \
                      terminal says the same";

/// What other load generators call a flag, and its rows here: the first that the command has for this form of the test.
const OF_OTHERS: [(&[&str], &[&str]); 5] = [
    (
        &["--time", "--max-time", "--duration", "--run-time", "-z"],
        &["duration", "within"],
    ),
    (
        &["--rps", "--throughput", "--arrival-rate", "-R"],
        &["rate", "rps"],
    ),
    (
        &["--concurrency", "--clients", "--users", "--vus", "-u"],
        &["connections", "vus"],
    ),
    (&["--num-requests", "--amount"], &["requests", "iterations"]),
    (&["--threads", "--cpus", "-t"], &["threads", "workers"]),
];

/// What the command calls a flag that it does not have under this name; no name that looks a little like it.
pub(super) fn of_others(verb: Verb, words: &[OsString], typed: &str) -> Option<String> {
    let word = typed.split('=').next()?;
    let (_, rows) = OF_OTHERS.iter().find(|(names, _)| names.contains(&word))?;
    let mut forms = words.iter().map(|word| Form::from_test(word));
    let form = forms.find(|form| *form != Form::Url).unwrap_or(Form::Url);
    let flags = flags_of(verb);
    let has = |row: &&str| {
        let mut flags = flags.iter();
        flags.find(|flag| flag.long == *row && flag.serves(Some(form)))
    };
    let spellings: Vec<String> = rows.iter().find_map(has)?.spellings().collect();
    Some(format!(
        "{} has no `{word}`; here it is {}",
        verb.name(),
        spellings.join(" or ")
    ))
}

/// What to type where a line names no command, but something that one would be given.
pub(super) fn without_command(words: &[OsString]) -> Option<String> {
    let first = words.first()?.to_string_lossy();
    if let Some((_, why)) = OF_K6.iter().find(|(name, _)| *name == first) {
        return Some(format!("`{first}`: {why}"));
    }
    if first == "help" || Verb::ALL.iter().any(|verb| verb.name() == first) {
        return None;
    }
    // A first word that is neither is a command with a typing mistake.
    let places = if first.starts_with('-') {
        words.len()
    } else {
        1
    };
    let mut candidates = words.iter().take(places).enumerate();
    let (index, meant) = candidates.find_map(|(index, word)| Some((index, Meant::of(word)?)))?;
    let mut typed: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let word = typed[index].clone();
    if matches!(meant, Meant::Address) {
        typed[index] = format!("http://{word}");
    }
    let typed = typed.iter().map(|word| quoted(word));
    Some(format!(
        "`{word}` is {}, not a command: plimsoll {} {}",
        meant.noun(),
        meant.verb().name(),
        typed.collect::<Vec<_>>().join(" ")
    ))
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Cow::into_owned)
}

/// What a word is that stands where a command should.
#[derive(Debug, Clone, Copy)]
enum Meant {
    Url,
    /// A URL without its scheme.
    Address,
    Script,
    Record,
    Experiment,
}

impl Meant {
    fn of(word: &OsStr) -> Option<Self> {
        let text = word.to_string_lossy();
        let path = Path::new(word);
        let extension = path.extension().and_then(OsStr::to_str);
        let is_address = |text: &str| {
            let place = text.split('/').next().unwrap_or_default();
            let (host, port) = place.rsplit_once(':').unwrap_or((place, ""));
            host == "localhost" && (port.is_empty() || port.parse::<u16>().is_ok())
                || host.contains('.') && port.parse::<u16>().is_ok()
        };
        if text.starts_with('-') {
            None
        } else if text.contains("://") {
            Some(Self::Url)
        } else if Form::from_test(word) == Form::Script {
            Some(Self::Script)
        } else if extension == Some("jsonl") {
            Some(Self::Record)
        } else if path.is_dir() && path.join("experiment.toml").is_file()
            || extension == Some("toml")
        {
            Some(Self::Experiment)
        } else {
            is_address(&text).then_some(Self::Address)
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Url => "a URL",
            Self::Address => "an address",
            Self::Script => "a script",
            Self::Record => "a record",
            Self::Experiment => "an experiment",
        }
    }

    const fn verb(self) -> Verb {
        match self {
            Self::Url | Self::Address | Self::Script => Verb::Run,
            Self::Record => Verb::Explain,
            Self::Experiment => Verb::Lab,
        }
    }
}

/// `-q -5` as `-q=-5`: so it reaches the flag, which says what is wrong with it. No flag of ours begins with a digit.
pub(super) fn joined(verb: Verb, words: Vec<OsString>) -> Vec<OsString> {
    let flags = flags_of(verb);
    let takes_value = |flag: &&Flag| {
        matches!(
            flag.takes,
            Takes::One(_) | Takes::Each(_) | Takes::Several(_) | Takes::Choice(..)
        )
    };
    let valued: Vec<String> = flags
        .iter()
        .copied()
        .filter(takes_value)
        .flat_map(Flag::spellings)
        .collect();
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    let mut is_over = false;
    for word in words {
        is_over |= word == "--";
        let text = word.to_string_lossy();
        let is_negative = text
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
        let flag = joined.last_mut().filter(|last| {
            is_negative && !is_over && valued.iter().any(|spelling| **last == **spelling)
        });
        match flag {
            Some(flag) => {
                flag.push("=");
                flag.push(&word);
            }
            None => joined.push(word),
        }
    }
    joined
}
