//! What is about to run, as users of k6 see it: the script, where results go, the scenarios.

use std::fmt::Write as _;
use std::path::Path;

use plimsoll_core::scenario::show_time;
use plimsoll_report::k6::Output;

use super::load::Loaded;

/// `record` is where the record goes.
pub(crate) fn banner(loaded: &Loaded, outs: &[Output], record: Option<&Path>) -> String {
    let mut places: Vec<String> = outs.iter().map(Output::shown).collect();
    places.extend(record.map(|path| format!("record ({})", path.display())));
    if places.is_empty() {
        places.push("-".to_owned());
    }
    let script = &loaded.script;
    let (count, vus) = (script.scenarios.len(), script.vus_max());
    let (_, parts) = script.part;
    let share = 100.0 / parts.max(1) as f64;
    let mut text = format!(
        "  execution: local\n     script: {}\n     output: {}\n\n  scenarios: ({share:.2}%) {count} scenario{}, {vus} max VUs, {} \
         max duration (incl. graceful stop):\n",
        loaded.name,
        places.join(", "),
        if count == 1 { "" } else { "s" },
        show_time(script.scenarios.longest_ns()),
    );
    for scenario in script.scenarios.iter() {
        let _infallible = writeln!(text, "           * {}", scenario.describe());
    }
    text
}
