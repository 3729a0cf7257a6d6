//! What a tier's log says at its end, and what an embedded service says to watch.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Enough for the last lines, whatever was written before.
const BYTES: u64 = 8_192;
const LINES: usize = 8;

/// The last lines, each indented; empty if there are none.
pub(super) fn last_words(log: &Path) -> String {
    let text = end_of(log).unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines
        .get(lines.len().saturating_sub(LINES)..)
        .unwrap_or_default();
    last.iter().flat_map(|line| ["    ", line, "\n"]).collect()
}

fn end_of(log: &Path) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// An embedded service prints `--watch` arguments. Ports are left out: tiers are named by the experiment.
pub(super) fn watches_in(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    if let Some(admin) = text.lines().find_map(admin_of_guard) {
        return vec![format!("metrics:http://{admin}/metrics")];
    }
    let line = text.lines().find(|line| line.starts_with("--watch "));
    let watches = line.and_then(|line| line.strip_prefix("--watch "));
    // A log may lie in a folder with a space in its name.
    let watches = watches.into_iter().flat_map(|all| all.split(" --watch "));
    let of_tier = |what: &&str| what.starts_with("nginx-log:") || what.starts_with("metrics:");
    watches.filter(of_tier).map(str::to_owned).collect()
}

/// `guard: http://127.0.0.1:8080 before http://127.0.0.1:3000, admin http://127.0.0.1:9464`
fn admin_of_guard(line: &str) -> Option<&str> {
    let (_, after) = line.strip_prefix("guard: ")?.split_once("admin http://")?;
    after.split([' ', ',']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_says_where_its_metrics_are() {
        let line = "guard: http://127.0.0.1:8080 before http://127.0.0.1:3000, admin http://127.0.0.1:9464";
        assert_eq!(admin_of_guard(line), Some("127.0.0.1:9464"));
        assert_eq!(admin_of_guard("guard: http://a before http://b"), None);
    }

    #[test]
    fn the_last_lines_are_shown_and_ports_are_not_watched_twice() {
        let log = std::env::temp_dir().join(format!("plimsoll-tail-{}", std::process::id()));
        let watch = "--watch upstream=port:7 --watch nginx-log:/x.log --watch metrics:http://a/m";
        let lines: Vec<String> = (0..20).map(|n| format!("line {n}\n\n")).collect();
        std::fs::write(&log, format!("{watch}\n{}", lines.concat())).unwrap();
        assert_eq!(watches_in(&log), ["nginx-log:/x.log", "metrics:http://a/m"]);
        let words = last_words(&log);
        assert!(
            words.starts_with("    line 12\n") && words.ends_with("    line 19\n"),
            "{words}"
        );
        let spaced = "--watch nginx-log:/home/u/My Projects/x.log --watch metrics:http://a/m\n";
        std::fs::write(&log, spaced).unwrap();
        assert_eq!(
            watches_in(&log),
            ["nginx-log:/home/u/My Projects/x.log", "metrics:http://a/m"]
        );
        std::fs::remove_file(&log).unwrap();
        assert_eq!(last_words(&log), "");
    }
}
