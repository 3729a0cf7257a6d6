//! The help: a line for each flag with -h, everything about each with --help; both from the rows.

use std::fmt::Write as _;

use super::given::Given;
use super::verb::Words;
use super::{FLAGS, Flag, Form, Group, Takes, Verb, flags_of};
use crate::exit::Exit;
use crate::output;

/// Lines longer than this are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 100;
/// Flags longer than this get their text on the next line.
const FLAG_WIDTH_MAX: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Short,
    Long,
}

/// The help of a command, or of all of them, as wide as the terminal.
pub(super) fn page(name: &str, length: Length) -> String {
    let width = output::help_columns().min(WIDTH_MAX);
    match Verb::ALL.into_iter().find(|verb| verb.name() == name) {
        Some(verb) => of_command(verb, length, width),
        None => of_all(width),
    }
}

/// `plimsoll run [FLAGS] TEST`
pub(super) fn usage(verb: Verb) -> String {
    let mut usage = format!("plimsoll {} [FLAGS]", verb.name());
    for flag in flags_of(verb).iter().filter(|flag| flag.is_required) {
        let _infallible = write!(usage, " --{} {}", flag.long, flag.value_name());
    }
    usage + &verb.words().usage()
}

pub(super) fn of_all(width: usize) -> String {
    let mut page = String::new();
    paragraph(
        &mut page,
        0,
        width,
        "Finds the load a service can carry, proves that the number is honest, and says what gives way first.",
    );
    page.push_str("\nUsage: plimsoll COMMAND [FLAGS]\n\nCommands:\n");
    for verb in Verb::ALL {
        entry(
            &mut page,
            &format!("  {}", verb.name()),
            15,
            width,
            verb.about(),
        );
    }
    page.push_str("\nFlags of every command:\n");
    for (flag, help) in [
        (
            "  -h, --help",
            "Print a line for each flag with -h, all about them with --help",
        ),
        (
            "  --explain-config",
            "Print every value with its origin, and do nothing else",
        ),
        ("  -V, --version", "Print the version; without a command"),
    ] {
        entry(&mut page, flag, 20, width, help);
    }
    page.push_str("\nExit codes:\n");
    for (_, code, text) in Exit::TABLE {
        entry(&mut page, &format!("  {code:>3}"), 7, width, text);
    }
    page
}

pub(super) fn of_command(verb: Verb, length: Length, width: usize) -> String {
    let mut page = String::new();
    paragraph(&mut page, 0, width, verb.about());
    let _infallible = writeln!(page, "\nUsage: {}", usage(verb));
    let words = verb.words();
    if !matches!(words, Words::Nothing) {
        page.push('\n');
        let name = format!("  {}", words.name());
        entry(&mut page, &name, name.len() + 2, width, words.help());
    }
    for (heading, flags) in sections(verb) {
        let _infallible = writeln!(page, "\n{heading}:");
        if length == Length::Short && flags.first().is_some_and(|it| it.group == Group::Options) {
            let names: Vec<String> = flags.iter().map(|it| format!("--{}", it.long)).collect();
            paragraph(
                &mut page,
                2,
                width,
                &format!("{}: see --help", names.join(" ")),
            );
            continue;
        }
        let widths = flags.iter().map(|flag| left(flag).chars().count() + 2);
        let indent = widths.max().unwrap_or(0).min(FLAG_WIDTH_MAX);
        for (index, flag) in flags.into_iter().enumerate() {
            if length == Length::Short {
                entry(&mut page, &left(flag), indent, width, &line(flag));
                continue;
            }
            if index > 0 {
                page.push('\n');
            }
            long(&mut page, flag, width);
        }
    }
    page.push('\n');
    paragraph(&mut page, 0, width, &notes(verb, length));
    page
}

/// The flags under their headings; what serves one form of the test stands by itself.
pub(super) fn sections(verb: Verb) -> Vec<(String, Vec<&'static Flag>)> {
    let mut sections: Vec<(String, Vec<&Flag>)> = Vec::new();
    for flag in flags_of(verb)
        .into_iter()
        .filter(|flag| flag.group != Group::Hidden)
    {
        let heading = match heading_form(flag, verb) {
            Some(form) => format!("{}, for {}", flag.group.title(), form.singular()),
            None => flag.group.title().to_owned(),
        };
        match sections.last_mut().filter(|(last, _)| *last == heading) {
            Some((_, flags)) => flags.push(flag),
            None => sections.push((heading, vec![flag])),
        }
    }
    sections
}

/// The form under whose heading a flag stands. What a workload has by the same name is used most, and stands with what
/// all have in common; the workload's heading says how it differs there.
pub(super) fn heading_form(flag: &Flag, verb: Verb) -> Option<Form> {
    let has_twin = || {
        let mut others = FLAGS.iter().filter(|other| other.on.contains(&verb));
        others.any(|other| other.long == flag.long && other.form() == Some(Form::Workload))
    };
    flag.form()
        .filter(|&form| verb.has_forms() && !(form == Form::Url && has_twin()))
}

/// `  -c, --connections COUNT`
pub(super) fn left(flag: &Flag) -> String {
    let spellings: Vec<String> = flag.spellings().collect();
    let value = match flag.takes {
        Takes::Several(name) => format!(" {name}..."),
        Takes::Bare(name, _) => format!("[={name}]"),
        _ if flag.value_name().is_empty() => String::new(),
        _ => format!(" {}", flag.value_name()),
    };
    let gap = if flag.short.is_some() { "  " } else { "      " };
    format!("{gap}{}{value}", spellings.join(", "))
}

/// What stands behind it, with the default.
fn line(flag: &Flag) -> String {
    default(flag).map_or_else(
        || help(flag),
        |default| format!("{} [{default}]", help(flag)),
    )
}

/// The texts of k6's options begin small.
pub(super) fn help(flag: &Flag) -> String {
    let mut letters = flag.help.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

pub(super) fn default(flag: &Flag) -> Option<String> {
    if matches!(flag.takes, Takes::Nothing | Takes::Boolean) {
        return None;
    }
    let words = flag.default.unwrap_or(flag.default_words);
    match flag.option {
        _ if words.is_empty() => None,
        // A list without spaces could not be broken into lines.
        Some(_) => Some(words.replace(',', ", ")),
        None => Some(words.to_owned()),
    }
}

fn long(page: &mut String, flag: &Flag, width: usize) {
    let _infallible = writeln!(page, "{}", left(flag));
    paragraph(page, 10, width, &format!("{}. {}", help(flag), flag.more));
    if let Takes::Choice(_, words) = &flag.takes {
        for (word, help) in words {
            let text = format!("{word}: {help}");
            paragraph(page, 12, width, text.trim_end_matches(": "));
        }
    }
    if let Some(default) = default(flag) {
        paragraph(page, 10, width, &format!("Default: {default}"));
    }
}

fn notes(verb: Verb, length: Length) -> String {
    let mut notes = String::new();
    let flags = flags_of(verb);
    for (name, example) in [
        ("TIME", "30s or 5m"),
        ("RATE", "200, 200/s or 6000/m"),
        ("COUNT", "5000 or 10k"),
        ("RATIO", "5% or 0.05"),
    ] {
        if flags.iter().any(|flag| flag.value_name() == name) {
            let _infallible = write!(notes, "{name} is {example}. ");
        }
    }
    if flags.iter().any(|flag| flag.variable().is_some()) {
        notes.push_str(
            "Each flag can be set in the environment, --quiet as PLIMSOLL_QUIET=true; flags win. ",
        );
    }
    if length == Length::Short {
        notes.push_str("--help says more.");
    }
    notes
}

/// A name in a column of its own with text beside it, or below it where the name is too long.
fn entry(page: &mut String, name: &str, indent: usize, width: usize, text: &str) {
    let mut lines = wrap(text, width.saturating_sub(indent)).into_iter();
    if name.chars().count() + 1 < indent {
        let first = lines.next().unwrap_or_default();
        let line = format!("{name:<indent$}{first}");
        let _infallible = writeln!(page, "{}", line.trim_end());
    } else {
        let _infallible = writeln!(page, "{name}");
    }
    for line in lines {
        let _infallible = writeln!(page, "{:indent$}{line}", "");
    }
}

fn paragraph(page: &mut String, indent: usize, width: usize, text: &str) {
    for line in wrap(text.trim(), width.saturating_sub(indent)) {
        let _infallible = writeln!(page, "{:indent$}{line}", "");
    }
}

/// Lines of at most so many characters, broken between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + length <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `--explain-config`: each value of the command and where it was said.
pub(super) fn explained(given: &Given) -> String {
    let form = given
        .form
        .map_or_else(String::new, |form| format!(" with {}", form.singular()));
    let mut table = format!("plimsoll {}{form}\n", given.verb.name());
    let words: Vec<_> = given
        .words
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let first = (!words.is_empty()).then(|| {
        (
            given.verb.words().name().to_owned(),
            words.join(" "),
            "flag",
        )
    });
    for (name, value, origin) in first.into_iter().chain(given.explained()) {
        table.push_str(&explained_line(&name, &value, origin));
    }
    table
}

/// One line of that table; options of scripts have the same.
pub(crate) fn explained_line(name: &str, value: &str, origin: &str) -> String {
    format!("  {name:<30} {value:<40} {origin}\n")
}
