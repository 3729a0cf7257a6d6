//! What a row of the table of flags is; the table feeds parser, environment, help, man page, completions and docs.

mod check;
mod complete;
mod given;
mod help;
mod hint;
mod man;
mod parse;
mod table;
mod value;
mod variable;
mod verb;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fmt;
use std::sync::LazyLock;

use anyhow::{Context as _, Result};
use plimsoll_core::scenario::{Kind, OPTIONS, OptionSpec};

pub(crate) use complete::script as completions;
pub(crate) use help::explained_line;
pub(crate) use man::page as man;
pub(crate) use parse::{Stop, parse, parse_point, parse_side};
pub(crate) use verb::Verb;

use crate::args::Args;
use crate::form::Form;

/// How many values a flag takes; the text names them in the help.
#[derive(Debug)]
enum Takes {
    /// A switch.
    Nothing,
    One(&'static str),
    /// One each time, and it may be given again.
    Each(&'static str),
    /// Some at a time: `--a one two`.
    Several(&'static str),
    /// One of these words, each with its help.
    Choice(&'static str, Vec<(&'static str, &'static str)>),
    /// An option of a script: when repeated, lists grow and everything else is replaced.
    Option(&'static str),
    /// A value behind `=`, or none: alone it means this.
    Bare(&'static str, &'static str),
    /// The same for one that is true or false; alone it means true.
    Boolean,
}

/// Where a flag stands in the help, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Load,
    Client,
    Search,
    Compared,
    Verdict,
    Thresholds,
    Tiers,
    Sent,
    Way,
    Script,
    Measured,
    Output,
    Database,
    Guard,
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
            Self::Load => "Load and objective",
            Self::Client => "The client and its store",
            Self::Search => "The search",
            Self::Compared => "Which runs",
            Self::Verdict => "The verdict",
            Self::Thresholds => "Thresholds",
            Self::Tiers => "The tiers",
            Self::Sent => "What is sent",
            Self::Way => "The way it takes",
            Self::Script => "How it is read",
            Self::Measured => "What is measured",
            Self::Output => "Output",
            Self::Database => "The database",
            Self::Guard => "The guard",
            Self::Service => "The service",
            Self::Options => "More options of k6",
            Self::General => "General",
            Self::Hidden => "",
        }
    }
}

/// Puts a value into its field; a switch has none.
type Read = Box<dyn Fn(&mut Args, &OsStr) -> Result<()> + Send + Sync>;

/// One row: a flag of some commands, for one form of the test or for several.
struct Flag {
    /// Without dashes; names the row within a command and a form.
    long: &'static str,
    short: Option<char>,
    takes: Takes,
    read: Read,
    /// Taken when nobody says otherwise; as one would type it.
    default: Option<&'static str>,
    /// What the help shows as default where it is not one value.
    default_words: &'static str,
    on: &'static [Verb],
    /// Empty: for all, or the command has no forms.
    forms: &'static [Form],
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
    /// The variable of k6 that says the same, where no option has it.
    k6_variable: Option<&'static str>,
}

impl fmt::Debug for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.long)
    }
}

impl Flag {
    fn new(long: &'static str, group: Group, on: &'static [Verb]) -> Self {
        Self {
            long,
            short: None,
            takes: Takes::Nothing,
            read: Box::new(|_, _| Ok(())),
            default: None,
            default_words: "",
            on,
            forms: &[],
            group,
            help: "",
            more: "",
            instead: "",
            is_required: false,
            not_with: &[],
            needs: None,
            option: None,
            k6_variable: None,
        }
    }

    fn short(self, letter: char) -> Self {
        Self {
            short: Some(letter),
            ..self
        }
    }

    fn switch(self, set: fn(&mut Args)) -> Self {
        Self {
            read: Box::new(move |args, _| {
                set(args);
                Ok(())
            }),
            ..self
        }
    }

    /// Takes a value that `read` understands, for a field of its type or one that may be absent.
    fn one<T, F: From<T> + 'static>(
        self,
        name: &'static str,
        read: impl Fn(&OsStr) -> Result<T> + Send + Sync + 'static,
        field: fn(&mut Args) -> &mut F,
    ) -> Self {
        Self {
            takes: Takes::One(name),
            read: Box::new(move |args, word| {
                *field(args) = read(word)?.into();
                Ok(())
            }),
            ..self
        }
    }

    fn each<T: 'static>(
        self,
        name: &'static str,
        read: impl Fn(&OsStr) -> Result<T> + Send + Sync + 'static,
        field: fn(&mut Args) -> &mut Vec<T>,
    ) -> Self {
        Self {
            takes: Takes::Each(name),
            read: Box::new(move |args, word| {
                field(args).push(read(word)?);
                Ok(())
            }),
            ..self
        }
    }

    fn several<T: 'static>(
        self,
        name: &'static str,
        read: fn(&OsStr) -> Result<T>,
        field: fn(&mut Args) -> &mut Vec<T>,
    ) -> Self {
        Self {
            takes: Takes::Several(name),
            ..self.each(name, read, field)
        }
    }

    /// Takes one of these words, each with its value and its help.
    fn choice<T: Copy + Send + Sync, F: From<T> + 'static>(
        self,
        name: &'static str,
        words: &'static [(&'static str, T, &'static str)],
        field: fn(&mut Args) -> &mut F,
    ) -> Self {
        let read = move |word: &OsStr| chosen(words, word);
        let shown = words.iter().map(|(word, _, help)| (*word, *help));
        Self {
            takes: Takes::Choice(name, shown.collect()),
            ..self.one(name, read, field)
        }
    }

    /// True or false; alone it means true.
    fn boolean<F: From<bool> + 'static>(self, field: fn(&mut Args) -> &mut F) -> Self {
        Self {
            takes: Takes::Boolean,
            ..self.one("", value::truth, field)
        }
    }

    /// Below our own variable, that of k6 says it.
    fn like_k6(self, variable: &'static str) -> Self {
        Self {
            k6_variable: Some(variable),
            ..self
        }
    }

    /// Takes one of these words, which all mean what happens anyway.
    fn accepts(
        self,
        name: &'static str,
        words: &'static [(&'static str, (), &'static str)],
    ) -> Self {
        let shown = words.iter().map(|(word, (), help)| (*word, *help));
        Self {
            takes: Takes::Choice(name, shown.collect()),
            read: Box::new(move |_, word| chosen(words, word)),
            ..self
        }
    }

    fn default(self, value: &'static str) -> Self {
        Self {
            default: Some(value),
            ..self
        }
    }

    fn default_words(self, default_words: &'static str) -> Self {
        Self {
            default_words,
            ..self
        }
    }

    /// For URLs only; `instead` says what a script does.
    fn url(self, instead: &'static str) -> Self {
        Self {
            forms: &[Form::Url],
            instead,
            ..self
        }
    }

    /// For scripts only; `instead` says what one does for a URL.
    fn script(self, instead: &'static str) -> Self {
        Self {
            forms: &[Form::Script],
            instead,
            ..self
        }
    }

    /// For workloads only; `instead` says what one does for others.
    fn workload(self, instead: &'static str) -> Self {
        Self {
            forms: &[Form::Workload],
            instead,
            ..self
        }
    }

    /// For URLs and workloads; `instead` says what a script does.
    fn plain(self, instead: &'static str) -> Self {
        Self {
            forms: &[Form::Url, Form::Workload],
            instead,
            ..self
        }
    }

    /// For URLs and scripts; `instead` says what a workload does.
    fn web(self, instead: &'static str) -> Self {
        Self {
            forms: &[Form::Url, Form::Script],
            instead,
            ..self
        }
    }

    /// For what is played now, and not for records.
    fn live(self) -> Self {
        let forms = &[Form::Url, Form::Script, Form::Workload];
        Self { forms, ..self }
    }

    fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    fn more(self, more: &'static str) -> Self {
        Self { more, ..self }
    }

    fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    fn not_with(self, not_with: &'static [&'static str]) -> Self {
        Self { not_with, ..self }
    }

    fn needs(self, other: &'static str) -> Self {
        Self {
            needs: Some(other),
            ..self
        }
    }

    /// The row of an option of scripts.
    fn from_option(spec: &'static OptionSpec, long: &'static str) -> Self {
        let group = match spec.name {
            _ if spec.is_load() => Group::Load,
            "thresholds" | "noThresholds" => Group::Thresholds,
            _ => Group::Options,
        };
        let flag = Self::new(long, group, of_script(spec));
        Self {
            read: Box::new(move |args, word| {
                let option = (long.to_owned(), value::text(word)?);
                args.script.options.push(option);
                Ok(())
            }),
            short: spec.short,
            takes: match spec.kind {
                Kind::Flag(_) => Takes::Boolean,
                Kind::Text if spec.name == "httpDebug" => Takes::Bare("WHAT", "headers"),
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
        self.forms.is_empty() || form.is_none_or(|form| self.forms.contains(&form))
    }

    /// A sweep may give it one value after the other.
    fn may_vary(&self) -> bool {
        let is_number = matches!(
            self.takes,
            Takes::One(_) | Takes::Choice(..) | Takes::Option(_)
        );
        let is_of_test = match self.group {
            Group::Load => !matches!(self.long, "slo" | "stage" | "ramp" | "mix"),
            Group::Sent | Group::Options => true,
            _ => self.long == "workers",
        };
        self.on.contains(&Verb::Sweep) && (is_number && is_of_test || self.long == "env")
    }

    /// The form that it is for alone.
    fn form(&self) -> Option<Form> {
        match *self.forms {
            [form] => Some(form),
            _ => None,
        }
    }

    /// The forms that it is for, in words.
    fn forms_words(&self) -> String {
        let words = self.forms.iter().map(|form| form.plural());
        words.collect::<Vec<_>>().join(" and ")
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

    /// Every variable that can say the same, the strongest first.
    fn variables(&self) -> impl Iterator<Item = String> + use<> {
        let own = self.variable().filter(|_| self.option.is_none());
        own.into_iter().chain(self.k6_variable.map(str::to_owned))
    }

    /// What stands behind the flag, in the help.
    fn value_name(&self) -> &'static str {
        match self.takes {
            Takes::Nothing | Takes::Boolean => "",
            Takes::One(name)
            | Takes::Each(name)
            | Takes::Several(name)
            | Takes::Option(name)
            | Takes::Bare(name, _)
            | Takes::Choice(name, _) => name,
        }
    }
}

/// What becomes of a script's results is of one run; everything else goes for each point of a sweep, too.
fn of_script(spec: &OptionSpec) -> &'static [Verb] {
    match spec.name {
        "summaryExport" | "summaryMode" | "summaryTimeUnit" | "summaryTrendStats" | "noSummary"
        | "legacySummary" | "noUsageReport" | "thresholds" | "noThresholds" => {
            &[Verb::Run, Verb::Inspect]
        }
        _ => &[Verb::Run, Verb::Inspect, Verb::Sweep],
    }
}

/// What the word stands for in a list of them.
fn chosen<T: Copy>(words: &[(&'static str, T, &'static str)], word: &OsStr) -> Result<T> {
    let chosen = words.iter().find(|(known, ..)| word == *known);
    chosen.map(|(_, value, _)| *value).with_context(|| {
        let known: Vec<&str> = words.iter().map(|(known, ..)| *known).collect();
        format!("`{}` is not one of {}", word.display(), known.join(", "))
    })
}

/// Every flag: ours, then the options of scripts that the command line can give.
static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let mut flags = (table::OWN)();
    let options = OPTIONS.iter();
    flags.extend(options.filter_map(|spec| Some(Flag::from_option(spec, spec.flag?))));
    flags
});

/// The flags of a command, as the help orders them.
fn flags_of(verb: Verb) -> Vec<&'static Flag> {
    let of_verb = FLAGS.iter().filter(|flag| flag.on.contains(&verb));
    let mut flags: Vec<&Flag> = of_verb.collect();
    flags.sort_by_key(|flag| (flag.group, help::heading_form(flag, verb)));
    flags
}
