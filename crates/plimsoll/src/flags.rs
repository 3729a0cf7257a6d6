//! What a row of the table of flags is; the table feeds parser, environment, help, man page, completions and docs.

mod check;
mod complete;
mod given;
mod help;
mod man;
mod parse;
mod table;
mod variable;
mod verb;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use plimsoll_core::scenario::{Kind, OPTIONS, OptionSpec};

pub(crate) use complete::{Shell, script as completions};
pub(crate) use given::Given;
pub(crate) use help::{explained, explained_line};
pub(crate) use man::page as man;
pub(crate) use parse::{Stop, parse, parse_run};
pub(crate) use verb::Verb;

/// What the test is; it decides which flags apply, and which of two meanings a letter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Url,
    Script,
}

impl Form {
    /// A script is known by its extension, or is `-`; everything else should be a URL.
    pub(crate) fn of_test(test: &OsStr) -> Self {
        let text = test.to_string_lossy();
        let extension = Path::new(test).extension().and_then(OsStr::to_str);
        let is_source =
            extension.is_some_and(|e| ["js", "mjs", "cjs", "ts", "mts", "cts"].contains(&e));
        if text == "-" || is_source && !text.contains("://") {
            Self::Script
        } else {
            Self::Url
        }
    }

    const fn plural(self) -> &'static str {
        match self {
            Self::Url => "URLs",
            Self::Script => "scripts",
        }
    }

    const fn singular(self) -> &'static str {
        match self {
            Self::Url => "a URL",
            Self::Script => "a script",
        }
    }
}

/// How many values a flag takes; the text names them in the help.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    /// A switch.
    Nothing,
    One(&'static str),
    /// One each time, and it may be given again.
    Each(&'static str),
    /// Some at a time: `--a one two`.
    Several(&'static str),
    /// One of these words, each with its help.
    Choice(&'static str, &'static [(&'static str, &'static str)]),
    /// An option of a script: when repeated, lists grow and everything else is replaced.
    Option(&'static str),
    /// The same for one that is true or false; alone it means true.
    Boolean,
}

/// Where a flag stands in the help, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    Load,
    Search,
    Compared,
    Objectives,
    Sent,
    Script,
    Measured,
    Output,
    Database,
    Service,
    /// Options of k6 that are seldom given on the command line.
    Options,
    General,
    /// Of processes that start each other; not shown.
    Hidden,
}

impl Group {
    const fn title(self) -> &'static str {
        match self {
            Self::Load => "How much load",
            Self::Search => "What is searched for",
            Self::Compared => "What is compared",
            Self::Objectives => "Objectives",
            Self::Sent => "What is sent",
            Self::Script => "How it is read",
            Self::Measured => "What is measured",
            Self::Output => "Output",
            Self::Database => "The database",
            Self::Service => "The service",
            Self::Options => "More options of k6",
            Self::General => "General",
            Self::Hidden => "",
        }
    }
}

/// One row: a flag of some commands, for one form of the test or for both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    /// Without dashes; names the row within a command and a form.
    pub(crate) long: &'static str,
    short: Option<char>,
    takes: Takes,
    /// Taken when nobody says otherwise; as one would type it.
    default: Option<&'static str>,
    /// What the help shows as default where it is not one value.
    default_words: &'static str,
    on: &'static [Verb],
    /// `None`: for both, or the command has no forms.
    form: Option<Form>,
    group: Group,
    /// One line.
    help: &'static str,
    /// What the long help adds.
    more: &'static str,
    /// What to do where it does not apply.
    instead: &'static str,
    is_required: bool,
    not_with: &'static [&'static str],
    needs: Option<&'static str>,
    /// The option of scripts that it gives.
    option: Option<&'static OptionSpec>,
}

impl Flag {
    const fn new(long: &'static str, group: Group, on: &'static [Verb]) -> Self {
        Self {
            long,
            short: None,
            takes: Takes::Nothing,
            default: None,
            default_words: "",
            on,
            form: None,
            group,
            help: "",
            more: "",
            instead: "",
            is_required: false,
            not_with: &[],
            needs: None,
            option: None,
        }
    }

    const fn short(self, letter: char) -> Self {
        Self {
            short: Some(letter),
            ..self
        }
    }

    const fn takes(self, takes: Takes) -> Self {
        Self { takes, ..self }
    }

    const fn one(self, name: &'static str) -> Self {
        self.takes(Takes::One(name))
    }

    const fn each(self, name: &'static str) -> Self {
        self.takes(Takes::Each(name))
    }

    const fn default(self, value: &'static str) -> Self {
        Self {
            default: Some(value),
            ..self
        }
    }

    const fn default_words(self, default_words: &'static str) -> Self {
        Self {
            default_words,
            ..self
        }
    }

    /// For URLs only; `instead` says what a script does.
    const fn url(self, instead: &'static str) -> Self {
        Self {
            form: Some(Form::Url),
            instead,
            ..self
        }
    }

    /// For scripts only; `instead` says what one does for a URL.
    const fn script(self, instead: &'static str) -> Self {
        Self {
            form: Some(Form::Script),
            instead,
            ..self
        }
    }

    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn more(self, more: &'static str) -> Self {
        Self { more, ..self }
    }

    const fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    const fn not_with(self, not_with: &'static [&'static str]) -> Self {
        Self { not_with, ..self }
    }

    const fn needs(self, other: &'static str) -> Self {
        Self {
            needs: Some(other),
            ..self
        }
    }

    /// The row of an option of scripts.
    fn of_option(spec: &'static OptionSpec, long: &'static str) -> Self {
        let group = match spec.name {
            _ if spec.is_load() => Group::Load,
            "thresholds" | "noThresholds" => Group::Objectives,
            _ => Group::Options,
        };
        let flag = Self::new(long, group, &[Verb::Run, Verb::Inspect]);
        Self {
            short: spec.short,
            takes: match spec.kind {
                Kind::Flag(_) => Takes::Boolean,
                Kind::Duration => Takes::Option("TIME"),
                Kind::Vus | Kind::Count | Kind::Number => Takes::Option("NUMBER"),
                Kind::Stages => Takes::Option("TIME:TARGET"),
                Kind::TextMap => Takes::Option("NAME=VALUE"),
                _ => Takes::Option("TEXT"),
            },
            default_words: spec.default,
            help: spec.help,
            option: Some(spec),
            ..flag.script(table::instead_of(long))
        }
    }

    /// `None` is a command whose test has no forms.
    fn serves(&self, form: Option<Form>) -> bool {
        self.form.is_none() || form.is_none() || self.form == form
    }

    /// With dashes, the letter first.
    fn spellings(&self) -> impl Iterator<Item = String> + use<> {
        let letter = self.short.map(|letter| format!("-{letter}"));
        letter.into_iter().chain([format!("--{}", self.long)])
    }

    /// The variable that can say the same.
    fn variable(&self) -> Option<String> {
        let name = match self.option {
            Some(spec) => spec.env?.to_owned(),
            // The parameters of a service belong to the experiment, not to the environment.
            None if matches!(self.group, Group::General | Group::Service | Group::Hidden) => {
                return None;
            }
            None => self.long.to_uppercase().replace('-', "_"),
        };
        Some(format!("PLIMSOLL_{name}"))
    }

    /// What stands behind the flag, in the help.
    fn value_name(&self) -> &'static str {
        match self.takes {
            Takes::Nothing | Takes::Boolean => "",
            Takes::One(name)
            | Takes::Each(name)
            | Takes::Several(name)
            | Takes::Option(name)
            | Takes::Choice(name, _) => name,
        }
    }
}

/// Every flag: ours, then the options of scripts that the command line can give.
static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let options = OPTIONS.iter();
    let options = options.filter_map(|spec| Some(Flag::of_option(spec, spec.flag?)));
    table::OWN.iter().copied().chain(options).collect()
});

/// The flags of a command, as the help orders them.
fn flags_of(verb: Verb) -> Vec<&'static Flag> {
    let mut flags: Vec<&Flag> = FLAGS
        .iter()
        .filter(|flag| flag.on.contains(&verb))
        .collect();
    flags.sort_by_key(|flag| (flag.group, flag.form));
    flags
}
