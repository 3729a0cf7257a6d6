//! The live page of a run: opening it in a browser.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Folder, Service, command, finished};

/// A run of a second with the page, on a machine whose programs are those in `path`.
fn run(folder: &Folder, url: &str, path: &str) -> (i32, String, String) {
    let args = ["run", url, "-z", "1s", "--no-record"];
    let mut command = command(folder, &args);
    command.env("PATH", path);
    for (name, value) in [("", "true"), ("_PORT", "0"), ("_OPEN", "true")] {
        command.env(format!("K6_WEB_DASHBOARD{name}"), value);
    }
    finished(&command.output().unwrap())
}

#[test]
fn the_page_is_opened_with_what_the_desktop_opens_pages_with() {
    let served = Service::start(&["echo"]);
    let folder = Folder::new();
    let told = folder.file("told");
    for name in ["xdg-open", "open"] {
        let opener = folder.file(name);
        std::fs::write(&opener, format!("#!/bin/sh\nprintf %s \"$*\" > '{told}'\n")).unwrap();
        std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = folder.0.display().to_string();
    let (code, out, err) = run(&folder, &served.url, &path);
    assert_eq!(code, 0, "{out}{err}");
    let opened = std::fs::read_to_string(told).unwrap();
    assert!(
        err.contains(&format!("live page  {opened}")),
        "{opened} in {err}"
    );
    assert!(opened.starts_with("http://127.0.0.1:"), "{opened}");
}

#[test]
fn a_machine_that_opens_no_pages_runs_all_the_same() {
    let served = Service::start(&["echo"]);
    let folder = Folder::new();
    let (code, out, err) = run(&folder, &served.url, &folder.file("nothing-here"));
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("live page  http://127.0.0.1:"), "{err}");
}
