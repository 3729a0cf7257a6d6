//! From words to the values of a command: one parse, and then the test decides what a spelling means.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use anyhow::{Result, anyhow, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};

use super::given::{Given, Origin, Value};
use super::help::{self, Length};
use super::verb::Words;
use super::{Flag, Form, Group, Takes, Verb, check, flags_of, hint};
use crate::args::{Args, ScriptSource};

const VERSION: &str = concat!("plimsoll ", env!("CARGO_PKG_VERSION"), "\n");

/// What is said of a flag that a workload does not have.
const OF_WORKLOAD: &str = "docs/workload.md has what a workload can say";

/// Why no command is carried out.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Help, a version, a table: what was asked for.
    Text(String),
    /// Nothing was asked; this says what can be.
    Nothing(String),
    /// What was typed is no command line, or one that makes no sense.
    Usage(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Usage(error)
    }
}

/// Reads a command line, with the environment behind it.
pub(crate) fn parse(line: impl IntoIterator<Item = OsString>) -> Result<(Verb, Args), Stop> {
    let mut line: Vec<OsString> = line.into_iter().collect();
    let first = |verb: &Verb| line.get(1).is_some_and(|word| word == verb.name());
    let named = Verb::ALL.into_iter().find(first);
    if let Some(verb) = named {
        line = hint::joined(verb, line);
    }
    if line.get(1).is_some_and(|word| word == "version") {
        return Err(Stop::Text(VERSION.to_owned()));
    }
    let wrong = |error: clap::Error| {
        let words = line.get(1..).unwrap_or_default();
        let meant = hint::without_command(words);
        let meant = meant.or_else(|| hint::of_others(named?, words, unknown(&error)?));
        anyhow!(meant.unwrap_or_else(|| text_of(&error)))
    };
    let matches = root(false).try_get_matches_from(&line).map_err(wrong)?;
    if matches.get_flag("-V") {
        return Err(Stop::Text(VERSION.to_owned()));
    }
    let (name, inner) = matches.subcommand().unwrap_or(("", &matches));
    if let Some(length) = wanted_help(inner).or_else(|| wanted_help(&matches)) {
        return Err(Stop::Text(help::page(name, length)));
    }
    let Some(verb) = Verb::ALL.into_iter().find(|verb| verb.name() == name) else {
        return match name {
            "help" => {
                let word = inner.get_one::<String>("word").map_or("", String::as_str);
                Err(Stop::Text(help::page(word, Length::Long)))
            }
            _ => Err(Stop::Nothing(help::page("", Length::Short))),
        };
    };
    let mut given = Given::typed(verb, inner)?;
    given.add_environment(&|name| std::env::var_os(name))?;
    given.add_file()?;
    check::whole(&mut given)?;
    // Read first, so that a value that is none is refused there, too.
    let mut args = given.args()?;
    if matches.get_flag("--explain-config") {
        args.explained = Some(help::explained(&given));
    }
    if verb == Verb::Sweep {
        args.sweep.line = line;
    }
    Ok((verb, args))
}

/// One point of a sweep: its own line, where some numbers have these values.
pub(crate) fn parse_point(line: &[OsString], values: &[(&str, &str)]) -> Result<Args> {
    let matches = root(false).try_get_matches_from(line);
    let matches = matches.map_err(|error| anyhow!(text_of(&error)))?;
    let (_, inner) = matches.subcommand().unwrap_or(("", &matches));
    let mut given = Given::typed(Verb::Sweep, inner)?;
    given.add_environment(&|name| std::env::var_os(name))?;
    for (name, value) in values {
        given.vary(name, value)?;
    }
    given.add_file()?;
    check::whole(&mut given)?;
    given.args()
}

/// One side of a comparison: what would stand after `plimsoll run`.
pub(crate) fn parse_side(words: impl IntoIterator<Item = OsString>) -> Result<ScriptSource> {
    let given = parse_run(words)?;
    given.refuse_beside_others()?;
    Ok(given.args()?.script)
}

/// Without the environment.
pub(super) fn parse_run(words: impl IntoIterator<Item = OsString>) -> Result<Given> {
    let command = command(Verb::Run, false).no_binary_name(true);
    let words = hint::joined(Verb::Run, words.into_iter().collect());
    let matches = command.try_get_matches_from(words).map_err(|error| {
        let text = text_of(&error);
        anyhow!(text.lines().next().unwrap_or_default().to_owned())
    })?;
    Given::typed(Verb::Run, &matches)
}

/// What clap says, with its tips. It begins with a word of its own, where our errors begin with the program's name.
fn text_of(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.trim_end().to_owned()
}

/// The flag that no command or not this one has.
fn unknown(error: &clap::Error) -> Option<&str> {
    let ContextValue::String(typed) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    (error.kind() == ErrorKind::UnknownArgument).then_some(typed)
}

fn wanted_help(matches: &ArgMatches) -> Option<Length> {
    let is_set = |id| matches!(matches.try_get_one::<bool>(id), Ok(Some(true)));
    match (is_set("--help"), is_set("-h")) {
        (true, _) => Some(Length::Long),
        (_, true) => Some(Length::Short),
        _ => None,
    }
}

/// Every command. `merged` is for completions: the letter and the long name of a flag are one entry where they mean
/// the same; the parser takes each spelling by itself, so that an error can name what was typed.
pub(super) fn root(merged: bool) -> Command {
    let explain = Arg::new("--explain-config")
        .long("explain-config")
        .global(true)
        .action(ArgAction::SetTrue)
        .help("Print every value with its origin, and do nothing else");
    let version = Arg::new("-V")
        .long("version")
        .short('V')
        .action(ArgAction::SetTrue)
        .help("Print the version");
    let help = Command::new("help")
        .about("Print the help of a command")
        .arg(Arg::new("word").value_name("COMMAND"))
        .disable_help_flag(true);
    let commands = Verb::ALL.map(|verb| command(verb, merged));
    help_flags(Command::new("plimsoll"), merged)
        .about(
            "Finds the load a service can carry, proves the number, and says what gives way first",
        )
        .override_usage("plimsoll COMMAND [FLAGS]")
        .disable_help_subcommand(true)
        .args([explain, version])
        .subcommands(commands)
        .subcommand(help)
}

fn help_flags(command: Command, merged: bool) -> Command {
    let command = command.disable_help_flag(true);
    let switch = |name| Arg::new(name).action(ArgAction::SetTrue).help("Print help");
    if merged {
        return command.arg(switch("--help").short('h').long("help"));
    }
    command.args([switch("-h").short('h'), switch("--help").long("help")])
}

pub(super) fn command(verb: Verb, merged: bool) -> Command {
    let command = Command::new(verb.name())
        .about(verb.about())
        .override_usage(help::usage(verb));
    let mut command = help_flags(command, merged);
    if !matches!(verb.words(), Words::Nothing) {
        command = command.arg(words_arg(verb.words()));
    }
    let flags = flags_of(verb);
    let mut spellings: BTreeMap<String, Vec<&Flag>> = BTreeMap::new();
    for flag in flags.iter().filter(|flag| flag.long != "explain-config") {
        for spelling in flag.spellings() {
            spellings.entry(spelling).or_default().push(flag);
        }
    }
    let own = |flag: &Flag| flag.spellings().all(|it| spellings[&it].len() == 1);
    let mut args = Vec::new();
    for (spelling, flags) in &spellings {
        match flags[..] {
            [flag] if merged && own(flag) => {
                if spelling.starts_with("--") {
                    args.extend(
                        flag.spellings()
                            .fold(None, |arg, it| Some(arg_of(arg, &it, &[flag]))),
                    );
                }
            }
            _ => args.push(arg_of(None, spelling, flags)),
        }
    }
    command.args(args)
}

fn words_arg(words: Words) -> Arg {
    let arg = Arg::new("words")
        .value_name(words.name())
        .help(words.help())
        .value_parser(value_parser!(OsString))
        .value_hint(ValueHint::AnyPath);
    match words {
        Words::Nothing | Words::One(..) if words.name() == "SHELL" => {
            arg.value_parser(["bash", "zsh", "fish"])
        }
        Words::Nothing | Words::One(..) => arg,
        Words::Some(..) | Words::Any(..) => arg.num_args(0..),
    }
}

/// One spelling and what it may mean; `arg` has another spelling of the same flag already.
fn arg_of(arg: Option<Arg>, spelling: &str, flags: &[&Flag]) -> Arg {
    let name = spelling.trim_start_matches('-').to_owned();
    let is_bare = |flag: &&Flag| matches!(flag.takes, Takes::Nothing);
    let new = || {
        let arg = Arg::new(spelling.to_owned());
        if flags.iter().all(is_bare) {
            return arg.action(ArgAction::Count);
        }
        let arg = arg
            .action(ArgAction::Append)
            .value_parser(value_parser!(OsString));
        let arg = flags.iter().fold(arg, |arg, flag| takes(arg, &flag.takes));
        // A value for one form of the test, none for the other.
        if flags.iter().any(is_bare) {
            arg.num_args(0..=1)
        } else {
            arg
        }
    };
    let arg = arg.unwrap_or_else(new);
    let help: Vec<String> = flags
        .iter()
        .map(|flag| match flag.form() {
            Some(form) if flags.len() > 1 => format!("{}: {}", form.plural(), flag.help),
            _ => flag.help.to_owned(),
        })
        .collect();
    let arg = match name.chars().next() {
        Some(letter) if !spelling.starts_with("--") => arg.short(letter),
        _ => arg.long(name),
    };
    let is_hidden = flags.iter().all(|flag| flag.group == Group::Hidden);
    arg.help(help.join("; ")).hide(is_hidden)
}

fn takes(arg: Arg, takes: &Takes) -> Arg {
    let named = |arg: Arg, name: &'static str| {
        let hint = match name {
            "DIR" | "FOLDER" => ValueHint::DirPath,
            "FILE" | "RECORD" | "PATH" => ValueHint::FilePath,
            _ => ValueHint::Other,
        };
        arg.value_name(name).value_hint(hint)
    };
    match takes {
        Takes::Nothing => arg,
        Takes::One(name) | Takes::Each(name) => named(arg, name),
        Takes::Several(name) => named(arg, name).num_args(1..),
        Takes::Choice(name, words) => {
            named(arg, name).value_parser(words.iter().map(|(word, _)| *word).collect::<Vec<_>>())
        }
        Takes::Option(name) => named(arg, name).allow_hyphen_values(true),
        Takes::Bare(name, alone) => named(arg, name)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(*alone),
        Takes::Boolean => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
    }
}

/// A spelling as it was typed, with its values and their places on the line.
struct Typed {
    spelling: String,
    values: Vec<(usize, OsString)>,
}

impl Given {
    /// What the words say, without the environment.
    fn typed(verb: Verb, matches: &ArgMatches) -> Result<Self> {
        let words = matches.try_get_raw("words").ok().flatten();
        let mut words: Vec<OsString> = words.into_iter().flatten().map(OsString::from).collect();
        let mut all = typed(verb, matches);
        let form = form(verb, &mut words, &mut all)?;
        let mut given = Self {
            verb,
            form,
            words,
            values: BTreeMap::new(),
            legs: Vec::new(),
        };
        for typed in all {
            given.add(typed)?;
        }
        for value in given.values.values_mut() {
            value.texts.sort_by_key(|(place, _)| *place);
        }
        Ok(given)
    }

    fn add(&mut self, typed: Typed) -> Result<()> {
        let flags = flags_of(self.verb);
        let spelled = |flag: &&&Flag| flag.spellings().any(|it| it == typed.spelling);
        let mut meant = flags.iter().filter(spelled);
        let Some(flag) = meant.clone().find(|flag| flag.serves(self.form)) else {
            let (form, instead) = match (self.form, meant.next()) {
                (Some(Form::Records), _) => (
                    "targets that are played now".to_owned(),
                    "records say how they were made",
                ),
                (Some(Form::Workload), Some(other)) => (other.forms_words(), OF_WORKLOAD),
                (_, Some(other)) => (other.forms_words(), other.instead),
                (_, None) => ("other commands".to_owned(), ""),
            };
            bail!("{} is for {form}; {instead}", typed.spelling);
        };
        let texts: Vec<&OsString> = typed.values.iter().map(|(_, text)| text).collect();
        check::arity(&typed.spelling, flag, &texts, self.form)?;
        let value = self.values.entry(flag.long).or_insert_with(|| Value {
            texts: Vec::new(),
            origin: Origin::Flag,
            spelling: typed.spelling.clone(),
        });
        value.texts.extend(typed.values);
        check::times(flag, value)
    }
}

/// Every spelling on the line. A switch has no values.
fn typed(verb: Verb, matches: &ArgMatches) -> Vec<Typed> {
    let mut all = Vec::new();
    for id in matches.ids().map(clap::Id::as_str) {
        let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
        if !is_typed || !id.starts_with('-') || id == "--explain-config" {
            continue;
        }
        let flags = flags_of(verb);
        let is_switch = flags
            .iter()
            .filter(|flag| flag.spellings().any(|it| it == id))
            .all(|flag| matches!(flag.takes, Takes::Nothing));
        let texts = matches.get_raw(id).filter(|_| !is_switch);
        let texts = texts.into_iter().flatten().map(OsString::from);
        let places = matches.indices_of(id).into_iter().flatten();
        all.push(Typed {
            spelling: id.to_owned(),
            values: places.zip(texts).collect(),
        });
    }
    all
}

/// `--type` as a variable, for a file whose name says nothing: it decides which flags apply, so it is looked at first.
fn is_script_by_variable(test: &OsStr) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !test.to_string_lossy().contains("://") && ["PLIMSOLL_TYPE", "K6_TYPE"].into_iter().any(is_set)
}

/// What the test is. A flag that takes a value for one form and none for the other takes the word behind it: where
/// that leaves no test, the word is the test.
fn form(verb: Verb, words: &mut Vec<OsString>, all: &mut [Typed]) -> Result<Option<Form>> {
    if verb.has_forms() && words.is_empty() {
        let may_be_bare = |typed: &&mut Typed| {
            let flags = flags_of(verb);
            let mut meant = flags
                .iter()
                .filter(|flag| flag.spellings().any(|it| it == typed.spelling));
            meant.any(|flag| matches!(flag.takes, Takes::Nothing))
        };
        let mut with_value = all.iter_mut().filter(|typed| !typed.values.is_empty());
        let taken = with_value.find(may_be_bare);
        if let Some(typed) = taken
            && let Some((_, word)) = typed.values.pop()
        {
            if Form::from_test(&word) == Form::Url {
                bail!(
                    "{} takes `{}`, which leaves no TEST: give both, {} VALUE TEST",
                    typed.spelling,
                    word.display(),
                    typed.spelling
                );
            }
            words.push(word);
        }
    }
    let first = words.first();
    let is_typed_script = all.iter().any(|typed| typed.spelling == "--type");
    if first.is_none()
        && let Words::One(name, help) | Words::Some(name, help) = verb.words()
    {
        bail!("{} needs {name}: {help}", verb.name());
    }
    Ok(match (verb, first) {
        (Verb::Inspect, _) => Some(Form::Script),
        (Verb::Run, Some(_)) if is_typed_script => Some(Form::Script),
        (Verb::Run, Some(test)) if is_script_by_variable(test) => Some(Form::Script),
        (Verb::Compare, _) => Some(Form::from_targets(words)?),
        (_, Some(test)) if verb.has_forms() => Some(Form::from_test(test)),
        _ => None,
    })
}
