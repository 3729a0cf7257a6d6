//! What a person reads about services: the list, the page in the documentation, the introduction.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::LabError;
use crate::serve::catalogue::{self, Expected, Group, Parameter, Service, Tier, Twin, Values};

/// Prints the whole table.
pub(crate) fn print(markdown: bool) -> Result<(), LabError> {
    let text = if markdown { page() } else { list() };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(LabError::io("print the list"))
}

/// Says on stderr what was started. Nobody has to read it, so a closed stderr is no failure.
pub(crate) fn introduce(service: &Service, values: &Values, healthy: bool) {
    let mut text = format!("{}: {}\n", service.name, service.about);
    if !service.parameters.is_empty() {
        writeln!(text, "  {values}").expect("invariant: a string takes any text");
    }
    if let Some(expected) = &service.expected {
        let verdict = verdict(expected, values, healthy);
        writeln!(text, "  {verdict}").expect("invariant: a string takes any text");
    }
    text.push_str("  Ctrl-C ends it\n");
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

fn verdict(expected: &Expected, values: &Values, healthy: bool) -> String {
    let ceiling = (expected.ceiling)(values);
    let rate = if ceiling.is_finite() {
        format!("{ceiling:.0}/s = {}", expected.formula)
    } else {
        expected.formula.to_owned()
    };
    if healthy {
        format!("healthy twin ({}): ceiling {rate}", expected.twin)
    } else {
        let cause = cause(expected);
        format!("gives way by {cause}: ceiling {rate}")
    }
}

fn cause(expected: &Expected) -> String {
    let word = serde_json::to_value(expected.cause).ok();
    let word = word.as_ref().and_then(|value| value.as_str());
    let tier = match expected.tier {
        Tier::Entry => "",
        Tier::Downstream => " (downstream)",
    };
    format!("{}{tier}", word.unwrap_or_default().replace('_', " "))
}

fn span(parameter: &Parameter) -> String {
    let symbol = parameter.unit.symbol();
    let space = if symbol.is_empty() { "" } else { " " };
    let Parameter { low, high, .. } = parameter;
    if (high - low).abs() < f64::EPSILON {
        format!("{low}{space}{symbol}")
    } else {
        format!("{low} to {high}{space}{symbol}")
    }
}

fn list() -> String {
    let mut text = String::new();
    for service in catalogue::services() {
        text.push_str(service.name);
        text.push_str("  ");
        text.push_str(service.about);
        text.push('\n');
        for parameter in service.parameters {
            let line = format!(
                "    {} {}: {}\n",
                parameter.name,
                span(parameter),
                parameter.about
            );
            text.push_str(&line);
        }
        if let Some(expected) = &service.expected {
            let cause = cause(expected);
            let Expected {
                formula, slo, twin, ..
            } = expected;
            let line = format!("    gives way by {cause} at {formula}, under {slo}\n");
            text.push_str(&line);
            let line = format!("    --healthy: {twin}\n");
            text.push_str(&line);
        }
    }
    text
}

/// The page `docs/serve.md`; a test keeps it in step with the table.
pub(crate) fn page() -> String {
    let mut text = String::from(
        "# Embedded services\n\n\
         `plimsoll serve NAME` starts one of these on 127.0.0.1 and prints its address as the first\n\
         line; a second line holds the `--watch` arguments where there is more to watch. `--seed N`\n\
         draws another instance, `--set PARAMETER=VALUE` fixes a number, `--healthy` starts the twin\n\
         whose limit is lifted. This page is printed by `plimsoll serve --list --markdown`.\n\n\
         ## Fixtures\n\n\
         One injected cause each, and the verdict that `plimsoll find` must reach.\n\n\
         | name | what it is | gives way by | ceiling per second | objectives | healthy twin |\n\
         |---|---|---|---|---|---|\n",
    );
    for service in catalogue::services() {
        if let Some(expected) = &service.expected {
            let row = format!(
                "| `{}` | {} | {} | {} | `{}` | {} |\n",
                service.name,
                service.about,
                cause(expected),
                expected.formula,
                expected.slo,
                expected.twin,
            );
            text.push_str(&row);
        }
    }
    text.push_str(
        "\n## The shop, and parts that others start\n\n| name | what it is |\n|---|---|\n",
    );
    for service in catalogue::services().filter(|service| service.group != Group::Fixture) {
        let row = format!("| `{}` | {} |\n", service.name, service.about);
        text.push_str(&row);
    }
    text.push_str(
        "\n## Parameters\n\n\
         | service | parameter | value | meaning | healthy twin |\n|---|---|---|---|---|\n",
    );
    for service in catalogue::services() {
        for parameter in service.parameters {
            let row = format!(
                "| `{}` | `{}` | {} | {} | {} |\n",
                service.name,
                parameter.name,
                span(parameter),
                parameter.about,
                change(parameter.twin),
            );
            text.push_str(&row);
        }
    }
    text
}

fn change(twin: Twin) -> String {
    match twin {
        Twin::Same => String::new(),
        Twin::Times(factor) => format!("× {factor}"),
        Twin::Set(value) => format!("{value}"),
    }
}
