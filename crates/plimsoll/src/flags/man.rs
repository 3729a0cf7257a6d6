//! The manual page, from the same rows, in the macros of man(7).

use std::fmt::Write as _;

use super::verb::Words;
use super::{Flag, Takes, Verb, help};
use crate::exit::Exit;

/// `plimsoll(1)`, all commands on one page.
pub(crate) fn page() -> String {
    let mut page = format!(
        ".TH PLIMSOLL 1 \"\" \"plimsoll {}\" \"User Commands\"\n.ad l\n.nh\n.SH NAME\nplimsoll \\- finds the load a service can \
         carry, proves the number, and says what gives way first\n.SH SYNOPSIS\n.B plimsoll\n.I COMMAND\n[\\fIFLAGS\\fR]\n\
         .SH DESCRIPTION\n",
        env!("CARGO_PKG_VERSION")
    );
    page.push_str(
        "Each command has a section below. Results go to standard output, progress to standard error.\n",
    );
    for verb in Verb::ALL {
        section(&mut page, verb);
    }
    page.push_str(".SH ENVIRONMENT\n");
    text(
        &mut page,
        "Each flag can be set in the environment, --no-record as PLIMSOLL_NO_RECORD=true. A flag wins over PLIMSOLL_*, \
         that over K6_*, the options of the script, the file of --config and the default.",
    );
    page.push_str(".SH EXIT STATUS\n");
    for (_, code, meaning) in Exit::TABLE {
        let _infallible = writeln!(page, ".TP\n.B {code}");
        text(&mut page, meaning);
    }
    page
}

fn section(page: &mut String, verb: Verb) {
    let title = escaped(&help::usage(verb));
    let _infallible = writeln!(page, ".SH {}\n.B {title}\n.PP", verb.name().to_uppercase());
    text(page, &format!("{}.", verb.about()));
    let words = verb.words();
    if !matches!(words, Words::Nothing) {
        let _infallible = writeln!(page, ".TP\n.I {}", escaped(words.name()));
        text(page, words.help());
    }
    for (heading, flags) in help::sections(verb) {
        let _infallible = writeln!(page, ".SS {}", escaped(&heading));
        for flag in flags {
            entry(page, flag);
        }
    }
}

fn entry(page: &mut String, flag: &Flag) {
    let _infallible = writeln!(page, ".TP\n.B {}", escaped(help::left(flag).trim()));
    text(page, &format!("{}. {}", help::help(flag), flag.more));
    if let Takes::Choice(_, words) = &flag.takes {
        let words = words.iter().map(|(word, help)| match *help {
            "" => (*word).to_owned(),
            help => format!("{word} ({help})"),
        });
        text(
            page,
            &format!("One of {}.", words.collect::<Vec<_>>().join(", ")),
        );
    }
    if let Some(default) = help::default(flag) {
        text(page, &format!("Default: {default}."));
    }
}

fn text(page: &mut String, text: &str) {
    let _infallible = writeln!(page, "{}", escaped(text.trim()));
}

/// A dash is a hyphen to man unless it is escaped, and a line that begins with a dot or a quote is a request.
fn escaped(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('…', "...");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}
