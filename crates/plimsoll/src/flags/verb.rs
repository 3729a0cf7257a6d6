//! The commands: what each is for, and which words it takes beside flags.

use std::sync::LazyLock;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Run,
    Find,
    Explain,
    Audit,
    Compare,
    Sweep,
    Report,
    Doctor,
    Serve,
    Lab,
    Docdb,
    Guard,
    Inspect,
    Completions,
    Man,
}

/// The words of a command that are no flags.
#[derive(Debug, Clone, Copy)]
pub(super) enum Words {
    Nothing,
    One(&'static str, &'static str),
    Some(&'static str, &'static str),
    /// None are needed where flags say it.
    Any(&'static str, &'static str),
}

impl Words {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::One(name, _) | Self::Some(name, _) | Self::Any(name, _) => name,
        }
    }

    pub(super) const fn help(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::One(_, help) | Self::Some(_, help) | Self::Any(_, help) => help,
        }
    }

    /// As the line of usage shows them.
    pub(super) fn usage(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::One(name, _) => format!(" {name}"),
            Self::Some(name, _) => format!(" {name}..."),
            Self::Any(name, _) => format!(" [{name}]..."),
        }
    }
}

/// What can be audited, from the table of formats.
static AUDITED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "A record, or a result of {}; or a folder of them",
        plimsoll_analysis::import::known()
    )
});

const SCRIPT: &str = "A k6 script (.js .mjs .cjs .ts .mts .cts); - reads it from standard input";

impl Verb {
    /// In the order of the help; a service of `serve` has parameters of its own.
    pub(super) const ALL: [Self; 15] = [
        Self::Run,
        Self::Find,
        Self::Compare,
        Self::Sweep,
        Self::Explain,
        Self::Audit,
        Self::Report,
        Self::Lab,
        Self::Guard,
        Self::Serve,
        Self::Docdb,
        Self::Doctor,
        Self::Inspect,
        Self::Completions,
        Self::Man,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Find => "find",
            Self::Explain => "explain",
            Self::Audit => "audit",
            Self::Compare => "compare",
            Self::Sweep => "sweep",
            Self::Report => "report",
            Self::Doctor => "doctor",
            Self::Serve => "serve",
            Self::Lab => "lab",
            Self::Docdb => "docdb",
            Self::Guard => "guard",
            Self::Inspect => "inspect",
            Self::Completions => "completions",
            Self::Man => "man",
        }
    }

    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Run => {
                "Put a load on a URL or a database, or run a k6 script, and measure it honestly"
            }
            Self::Find => "Find the highest rate that meets an objective, and what gives way first",
            Self::Explain => "Print again what gave way first, from a saved record",
            Self::Audit => "Check the validity gates of a record, or of another tool's result",
            Self::Compare => {
                "Compare variants: targets played in turns, saved records, or one target over time"
            }
            Self::Sweep => {
                "Play a test at many values of its numbers, and fit models to what it carries at each"
            }
            Self::Report => "Render records as one self-contained HTML file",
            Self::Doctor => "Check whether this host is fit to generate load",
            Self::Serve => {
                "Start an embedded service: a fixture with one injected cause, the shop, a proxy"
            }
            Self::Lab => {
                "Start the tiers of an experiment, put the same load on each variant, and compare them"
            }
            Self::Docdb => {
                "Start a document database for MongoDB drivers: a write is acknowledged after it is on disk"
            }
            Self::Guard => {
                "Stand before a service as a proxy, and let in no more than it can do: nothing has to be set"
            }
            Self::Inspect => "Print the options of a k6 script as JSON, and send nothing",
            Self::Completions => "Print the completions for a shell: bash, zsh or fish",
            Self::Man => "Print the manual page; show it with: plimsoll man | man -l -",
        }
    }

    pub(super) fn words(self) -> Words {
        match self {
            Self::Run => Words::One(
                "TEST",
                "A URL with its scheme, such as http://127.0.0.1:3000/cart, a k6 script (.js .mjs .cjs .ts .mts \
                 .cts; - reads it from standard input), or a workload: a store such as mongodb://127.0.0.1:27017 or cql://127.0.0.1:9042, or a file \
                 (.toml), which can say requests to a URL and their shares, too",
            ),
            Self::Find | Self::Sweep => Words::One(
                "TEST",
                "A URL with its scheme, such as http://127.0.0.1:3000/cart, a k6 script that says what a user does, or a \
                 workload: a store such as mongodb://127.0.0.1:27017 or cql://127.0.0.1:9042, or a file (.toml), \
                 which can say requests to a URL and their shares, too",
            ),
            Self::Explain => Words::One(
                "RECORD",
                "A record, such as run.plimsoll.jsonl, or a folder of them",
            ),
            Self::Audit => Words::One("FILE", &AUDITED),
            Self::Compare => Words::Any(
                "URL|SCRIPT|RECORD",
                "Two or more targets to play in turns, the first being the one to beat: URLs, or scripts, each in \
                 quotes with the flags of its own: 'shop.js -e BASE=http://127.0.0.1:3001'. Or two or more records",
            ),
            Self::Report => Words::Some(
                "RECORD",
                "Records to show side by side, in this order, or a folder of them; those of one experiment of the \
                 lab make its page",
            ),
            Self::Serve => Words::Any(
                "NAME",
                "The service, with or without the word `fixture` before it; --list shows them all",
            ),
            Self::Doctor | Self::Docdb | Self::Guard | Self::Man => Words::Nothing,
            Self::Lab => Words::One(
                "EXPERIMENT",
                "The experiment: a file, or a folder with an experiment.toml",
            ),
            Self::Inspect => Words::One("SCRIPT", SCRIPT),
            Self::Completions => Words::One("SHELL", "bash, zsh or fish"),
        }
    }

    /// Whether its one word is a URL or a script, and its help has a part for each.
    pub(super) const fn has_forms(self) -> bool {
        matches!(self, Self::Run | Self::Find | Self::Sweep)
    }
}
