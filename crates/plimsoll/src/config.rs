//! Where values come from: flags, then `PLIMSOLL_*`, then defaults; and a table that says which.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory as _, FromArgMatches as _};

use crate::args::{Cli, Command};

/// What the command line came to.
pub(crate) enum Parsed {
    Command(Box<Command>),
    /// `--explain-config`: the table to print instead.
    Explained(String),
}

/// Parses the arguments with the environment behind them.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(args)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    if cli.explain_config {
        return Ok(Parsed::Explained(table(&command, &matches)));
    }
    Ok(Parsed::Command(Box::new(cli.command)))
}

/// The one table of commands and flags; every long flag of a measuring command has its variable.
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    // Every command is taken up once, so that their order stays. The parameters of a service belong
    // to the experiment, not to the environment.
    for name in &names {
        command = command.mut_subcommand(name, |sub| match name.as_str() {
            "serve" => sub,
            _ => sub.mut_args(with_variable),
        });
    }
    command
}

/// `--no-record` can be set as `PLIMSOLL_NO_RECORD=true`.
fn with_variable(arg: Arg) -> Arg {
    match arg.get_long() {
        None | Some("help" | "version" | "explain-config") => arg,
        Some(long) => {
            let variable = format!("PLIMSOLL_{}", long.to_uppercase().replace('-', "_"));
            arg.env(variable).hide_env(true)
        }
    }
}

/// Each value of the chosen command and where it was said.
fn table(command: &clap::Command, matches: &ArgMatches) -> String {
    let Some((name, chosen)) = matches.subcommand() else {
        return String::new();
    };
    let Some(command) = command.find_subcommand(name) else {
        return String::new();
    };
    let mut table = format!("plimsoll {name}\n");
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        if matches!(id, "help" | "explain_config") {
            continue;
        }
        let values: Vec<String> = chosen
            .get_raw(id)
            .into_iter()
            .flatten()
            .map(|value| value.to_string_lossy().into_owned())
            .collect();
        let origin = match chosen.value_source(id) {
            Some(ValueSource::CommandLine) => "flag",
            Some(ValueSource::EnvVariable) => "environment",
            Some(_) => "default",
            None => "not set",
        };
        let shown = arg
            .get_long()
            .map_or_else(|| id.to_uppercase(), |long| format!("--{long}"));
        let line = format!("  {shown:<16} {:<40} {origin}", values.join(" "));
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        command().debug_assert();
    }

    /// Every command's help as one page; `UPDATE_DOCS=1 cargo test -p plimsoll` writes it anew.
    #[test]
    fn the_page_of_commands_is_the_table() {
        let mut page = String::from(
            "# Commands\n\nThe help of every command, generated from the table that also parses \
             them. Each flag of a measuring\ncommand can be set in the environment: `--no-record` \
             as `PLIMSOLL_NO_RECORD=true`; flags win.\n",
        );
        let mut command = command().term_width(100);
        command.build();
        for sub in command
            .get_subcommands_mut()
            .filter(|sub| sub.get_name() != "help")
        {
            let help = sub.render_long_help().to_string();
            let lines = help
                .lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n");
            let name = sub.get_name();
            page.extend([
                "
## plimsoll ",
                name,
                "

```text
",
                &lines,
                "
```
",
            ]);
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == page,
            "docs/commands.md is not the table; see this test's comment"
        );
    }

    #[test]
    fn every_value_says_its_origin() {
        let args = [
            "plimsoll",
            "run",
            "http://a.test/",
            "-c",
            "5",
            "--explain-config",
        ];
        let Ok(Parsed::Explained(table)) = parse(args.map(OsString::from)) else {
            panic!("--explain-config prints a table")
        };
        for (flag, value, origin) in [
            ("URL", "http://a.test/", "flag"),
            ("--connections", "5", "flag"),
            ("--timeout", "10s", "default"),
            ("--slo", "", "not set"),
        ] {
            let line = table
                .lines()
                .find(|line| line.trim_start().starts_with(flag));
            let line = line.unwrap_or_else(|| panic!("{flag} is missing in {table}"));
            assert!(line.contains(value) && line.ends_with(origin), "{line}");
        }
    }
}
