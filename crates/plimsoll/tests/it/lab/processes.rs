//! Processes of a test, found by what they mention in command line, environment and working folder.

use std::time::Duration;

use crate::support::Folder;

/// Living processes that mention `needle`, with their command lines.
pub(crate) fn mentioning(needle: &str) -> Vec<(u32, String)> {
    let me = std::process::id();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let read = |file: &str| {
            let bytes = std::fs::read(entry.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let command = read("cmdline");
        // The guardian has no argument that tells it apart: it runs where the lab was started.
        let place = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let places = [
            command.clone(),
            read("environ"),
            place.display().to_string(),
        ];
        if pid != me && places.iter().any(|place| place.contains(needle)) {
            found.push((pid, command));
        }
    }
    found
}

/// None is left of a lab in this folder: every tier has it in its `TMPDIR`. The kernel may need a moment.
pub(crate) fn assert_none_mention(folder: &Folder) {
    let needle = folder.0.display().to_string();
    let mut left = Vec::new();
    for _ in 0..500 {
        left = mentioning(&needle);
        if left.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("processes are left: {left:?}");
}
