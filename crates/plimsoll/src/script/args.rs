//! The command line of `plimsoll run SCRIPT`: k6's flags, from the table of options, and a few of ours.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use plimsoll_core::scenario::{Kind, OPTIONS, OptionSpec, Strictness};

/// What the flags say besides options of the test.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is switched by itself"
)]
pub(crate) struct ScriptArgs {
    /// `-` is standard input.
    pub(crate) script: String,
    /// Option flags with their values, in order.
    pub(crate) flags: Vec<(String, String)>,
    /// `-e NAME=VALUE`.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) outs: Vec<String>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) strictness: Strictness,
    pub(crate) system_env: bool,
    pub(crate) watch: Vec<String>,
    pub(crate) workers: Option<u32>,
    pub(crate) record: Option<PathBuf>,
    pub(crate) no_record: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) explain_config: bool,
    /// `inspect`: print the options and send nothing.
    pub(crate) inspect: bool,
    /// `inspect`: the scenarios that follow from them, the longest duration and the most virtual users.
    pub(crate) requirements: bool,
    /// The summary in the newer shape, for exports and `handleSummary`.
    pub(crate) machine_readable: bool,
    pub(crate) junit: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
    pub(crate) hlog: Option<PathBuf>,
}

/// The script among the arguments of `run`, if there is one: by its extension, or `-`. `inspect` knows
/// only scripts.
pub(crate) fn is_for_scripts(args: &[OsString]) -> bool {
    let is = |command: &str| args.get(1).is_some_and(|word| word == command);
    if is("inspect") {
        return true;
    }
    is("run") && args.iter().skip(2).any(|word| names_script(word))
}

/// A script by its extension, or `-`; not a URL, and not `-d @body.js` of one.
pub(crate) fn names_script(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let extension = Path::new(word).extension().and_then(OsStr::to_str);
    let is_source =
        extension.is_some_and(|e| ["js", "mjs", "cjs", "ts", "mts", "cts"].contains(&e));
    text == "-" || is_source && !text.contains("://") && !text.starts_with('@')
}

pub(crate) fn parse(args: &[OsString]) -> Result<ScriptArgs, clap::Error> {
    let inspect = args.get(1).is_some_and(|word| word == "inspect");
    let (name, command) = if inspect {
        ("plimsoll inspect", inspection())
    } else {
        ("plimsoll run", command())
    };
    let words = args.iter().skip(2).cloned();
    let words = std::iter::once(OsString::from(name)).chain(words);
    let matches = command.try_get_matches_from(words)?;
    let flag = |name: &str| matches!(matches.try_get_one::<bool>(name), Ok(Some(true)));
    let strictness = match (flag("lenient"), flag("strict")) {
        (true, _) => Strictness::Lenient,
        (_, true) => Strictness::Strict,
        _ => Strictness::Normal,
    };
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    Ok(ScriptArgs {
        script: matches
            .get_one::<String>("script")
            .cloned()
            .unwrap_or_default(),
        flags: option_flags(&matches),
        env: texts(&matches, "env").map(|text| pair(&text)).collect(),
        outs: texts(&matches, "out").collect(),
        config: path("config"),
        quiet: flag("quiet"),
        verbose: flag("verbose"),
        strictness,
        system_env: flag("include-system-env-vars"),
        watch: texts(&matches, "watch").collect(),
        workers: matches.get_one::<u32>("workers").copied(),
        record: path("record"),
        no_record: flag("no-record"),
        seed: matches.get_one::<u64>("seed").copied(),
        explain_config: flag("explain-config"),
        inspect,
        requirements: flag("execution-requirements"),
        machine_readable: flag("new-machine-readable-summary"),
        junit: path("junit"),
        markdown: path("markdown"),
        hlog: path("hlog"),
    })
}

/// What was given, in the order of the table; a flag without a value means true.
fn option_flags(matches: &ArgMatches) -> Vec<(String, String)> {
    let mut given = Vec::new();
    for spec in &OPTIONS {
        let Some(flag) = spec.flag else {
            continue;
        };
        for text in texts(matches, flag) {
            given.push((flag.to_owned(), text));
        }
    }
    given
}

fn texts<'a>(matches: &'a ArgMatches, name: &str) -> impl Iterator<Item = String> + use<'a> {
    matches
        .get_many::<String>(name)
        .into_iter()
        .flatten()
        .cloned()
}

pub(crate) fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (name.to_owned(), value.to_owned())
}

pub(crate) fn command() -> Command {
    let command = Command::new("plimsoll run")
        .about("Run a k6 script and measure it honestly")
        .arg(
            Arg::new("script")
                .required(true)
                .value_name("SCRIPT")
                .help("Script (.js, .ts); `-` reads it from standard input"),
        )
        .arg(many(
            "env",
            'e',
            "NAME=VALUE",
            "Set a variable of `__ENV`, repeatable",
        ))
        .arg(many(
            "out",
            'o',
            "KIND[=WHERE]",
            "Samples: json=FILE, csv=FILE, experimental-prometheus-rw[=URL], web-dashboard; repeatable",
        ))
        .arg(
            Arg::new("config")
                .short('c')
                .long("config")
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Options as a JSON file"),
        )
        .arg(switch("quiet", Some('q'), "No progress on stderr"))
        .arg(switch("verbose", Some('v'), "Show what scripts say by console.debug, too"))
        .arg(switch(
            "lenient",
            None,
            "Only warn about misplaced options, as k6 does",
        ))
        .arg(switch("strict", None, "Refuse unknown options").conflicts_with("lenient"))
        .arg(switch(
            "include-system-env-vars",
            None,
            "Give the script the variables of this process, too",
        ))
        .arg(many_long(
            "watch",
            "[TIER=]WHAT",
            "Sample a tier: pid:N, port:N, name:TEXT, nginx-log:FILE or metrics:URL",
        ));
    let command = ours(command);
    OPTIONS
        .iter()
        .fold(command, |command, spec| match spec.flag {
            Some(flag) => command.arg(of_option(spec, flag)),
            None => command,
        })
}

/// Flags that k6 does not have.
fn ours(command: Command) -> Command {
    command
        .arg(
            Arg::new("workers")
                .long("workers")
                .value_name("COUNT")
                .value_parser(clap::value_parser!(u32).range(1..=1024))
                .help("Load threads; default: half of the cores"),
        )
        .arg(
            Arg::new("record")
                .long("record")
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Write the record here; default: plimsoll-DATE-TIME/run.plimsoll.jsonl"),
        )
        .arg(switch(
            "no-record",
            None,
            "Keep no record and write no report",
        ))
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("NUMBER")
                .value_parser(clap::value_parser!(u64))
                .help("Seed of all randomness; kept in the record"),
        )
        .arg(switch(
            "explain-config",
            None,
            "Print every option with its origin, and do nothing else",
        ))
        .arg(switch(
            "new-machine-readable-summary",
            None,
            "Give exports and handleSummary the newer shape",
        ))
        .arg(file("junit", "Write the thresholds as JUnit test cases"))
        .arg(file(
            "markdown",
            "Write the summary as Markdown; also goes to $GITHUB_STEP_SUMMARY",
        ))
        .arg(file("hlog", "Write the response times as a histogram log"))
}

/// `plimsoll inspect`: the same options, and nothing is sent.
fn inspection() -> Command {
    command()
        .name("plimsoll inspect")
        .about("Print the options of a k6 script as JSON, and send nothing")
        .arg(switch(
            "execution-requirements",
            None,
            "Add the scenarios that follow, the longest duration and the most VUs",
        ))
}

fn file(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help(help)
}

fn of_option(spec: &'static OptionSpec, flag: &'static str) -> Arg {
    let arg = Arg::new(flag)
        .long(flag)
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
        .help(spec.help);
    let arg = match spec.short {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    match spec.kind {
        Kind::Flag(_) => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("true|false"),
        Kind::Duration => arg.value_name("DURATION"),
        Kind::Vus | Kind::Count | Kind::Number => arg.value_name("NUMBER"),
        Kind::Stages => arg.value_name("DURATION:TARGET"),
        Kind::TextMap => arg.value_name("NAME=VALUE"),
        _ => arg.value_name("TEXT"),
    }
}

fn many(name: &'static str, letter: char, value: &'static str, help: &'static str) -> Arg {
    many_long(name, value, help).short(letter)
}

fn many_long(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::Append)
        .value_name(value)
        .help(help)
}

fn switch(name: &'static str, letter: Option<char>, help: &'static str) -> Arg {
    let arg = Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help);
    match letter {
        Some(letter) => arg.short(letter),
        None => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn scripts_are_told_from_urls() {
        assert!(is_for_scripts(&words("plimsoll run -u 5 a/b.js")));
        assert!(is_for_scripts(&words("plimsoll run -")));
        assert!(!is_for_scripts(&words(
            "plimsoll run http://127.0.0.1/app.js"
        )));
        assert!(!is_for_scripts(&words("plimsoll find a.js")));
    }

    #[test]
    fn flags_of_k6_are_understood() {
        command().debug_assert();
        let line = "plimsoll run s.ts -u 5 -d 10s -e A=b=c --no-setup -s 10s:5 -s 5s:0 -q";
        let args = parse(&words(line)).unwrap();
        assert_eq!(args.env, [("A".to_owned(), "b=c".to_owned())]);
        for (flag, value) in [
            ("vus", "5"),
            ("duration", "10s"),
            ("stage", "5s:0"),
            ("no-setup", "true"),
        ] {
            assert!(
                args.flags.contains(&(flag.to_owned(), value.to_owned())),
                "{flag}"
            );
        }
        assert!(args.quiet && args.script == "s.ts");
        assert!(parse(&words("plimsoll run s.js --vuss 5")).is_err());
    }
}
