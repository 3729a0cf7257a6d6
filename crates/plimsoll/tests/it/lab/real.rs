//! `--real` and the script of the doubled-servers experiment: real programs where they are installed, a clear word where not.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::TINY;
use super::experiment;
use super::processes::assert_none_mention;
use crate::support::{Folder, Service, plimsoll};

const DOUBLED: &str = "doubled-servers";
const LIMITS: &str = "server-limits";

fn shipped(name: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments")
        .join(name)
        .join(file)
}

/// Whether a program is on the path, or where Debian puts servers.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders
        .map(|folder| folder.join(program))
        .any(|file| file.is_file())
}

/// An experiment that ships, with seconds of load instead of minutes.
fn shortened(folder: &Folder, name: &str) -> String {
    let mut text = std::fs::read_to_string(shipped(name, "real.toml")).unwrap();
    for (long, short) in [
        ("duration = \"10s\"", "duration = \"1s\""),
        ("duration = \"12s\"", "duration = \"1s\""),
        ("duration = \"18s\"", "duration = \"1s\""),
        ("duration = \"20s\"", "duration = \"1s\""),
        ("kill_at = \"50s\"", "kill_at = \"2s\""),
        ("warm_up = 3000", "warm_up = 20"),
    ] {
        text = text.replace(long, short);
    }
    std::fs::write(folder.file("real.toml"), text).unwrap();
    let real = std::fs::canonicalize(shipped(name, "real")).unwrap();
    std::os::unix::fs::symlink(real, folder.0.join("real")).unwrap();
    experiment(folder, TINY)
}

/// One short run of a variant with a fiftieth of its users: what the lab says of that run, and its record.
fn played(folder: &Folder, name: &str, variant: &str) -> (Value, String) {
    let path = shortened(folder, name);
    let args = [
        "lab", &path, "--real", "--repeat", "1", "--scale", "0.02", "--only", variant, "--quiet",
        "-o", "out", "--format", "json",
    ];
    let (code, stdout, stderr) = plimsoll(folder, &args);
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let run = document["variants"][0]["runs"][0].clone();
    let record = folder.file(&format!("out/{variant}-1/run.plimsoll.jsonl"));
    (run, std::fs::read_to_string(record).unwrap())
}

#[test]
fn two_express_servers_run_behind_nginx() {
    let modules = shipped(DOUBLED, "real/node_modules/mongoose").exists();
    if !modules
        || !["node", "nginx", "redis-server"]
            .into_iter()
            .all(is_installed)
    {
        // `make test` and `make real` install them; without them the message is tested below.
        return;
    }
    let folder = Folder::new();
    let (run, record) = played(&folder, DOUBLED, "2A");
    let after = &run["after"];
    assert!(after["ok_count"].as_u64().unwrap() > 0, "{after}");
    assert_eq!(
        after["lost_count"], 0,
        "mongoose was told that it is stored: {after}"
    );
    let header: Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
    assert_eq!(header["lab"]["scale"], 0.02);
    let proxy = header["lab"]["tiers"].as_array().unwrap().last().unwrap();
    assert_eq!(proxy["limits"]["slots"], 20.0, "1,024 × 0.02");
    assert!(
        record.contains("\"source\":\"proxy\""),
        "nginx's log was read"
    );
    assert!(
        record.contains("\"pool_in_use\""),
        "the pool's gauges were read"
    );
    let conf = std::fs::read_to_string(folder.file("out/2A-1/proxy/nginx.conf")).unwrap();
    assert!(conf.contains("worker_connections 20;"), "{conf}");
    assert_eq!(conf.matches("    server 127.0.0.1:").count(), 2, "{conf}");
    assert_none_mention(&folder);
}

#[test]
fn three_express_instances_serve_one_page_behind_an_nginx_that_speaks_http2() {
    let there = ["real/node_modules/mongodb", "real/tls.key"]
        .into_iter()
        .all(|file| shipped(LIMITS, file).exists());
    if !there || !["node", "nginx"].into_iter().all(is_installed) {
        return;
    }
    let folder = Folder::new();
    let (run, record) = played(&folder, LIMITS, "h2");
    let outcomes = run["summary"]["outcomes"].as_object().unwrap();
    assert_eq!(outcomes.keys().collect::<Vec<_>>(), ["ok"], "{run}");
    let log = std::fs::read_to_string(folder.file("out/h2-1/proxy/access.log")).unwrap();
    assert!(log.contains("\"GET / HTTP/2.0\" 3"), "31 KB: {log}");
    let mut pages = 0;
    for line in record.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let points = &line["values"]["status_points"];
        assert!(points.is_null() || points == 480.0, "{line}");
        pages += usize::from(!points.is_null());
    }
    assert!(pages >= 3, "each instance's gauges were read:\n{record}");
    let conf = std::fs::read_to_string(folder.file("out/h2-1/proxy/nginx.conf")).unwrap();
    assert_eq!(conf.matches("    server 127.0.0.1:").count(), 3, "{conf}");
    assert_none_mention(&folder);
}

#[test]
fn an_experiment_without_real_tiers_and_a_missing_program_are_said() {
    let folder = Folder::new();
    let path = experiment(&folder, TINY);
    let (code, _, stderr) = plimsoll(&folder, &["lab", &path, "--real", "--check"]);
    assert_eq!(code, 104);
    assert!(
        stderr.contains("has no real.toml: leave --real out"),
        "{stderr}"
    );
    std::fs::write(
        folder.file("real.toml"),
        TINY.replace(
            "[tiers.proxy]",
            "[tiers.proxy]\nrequires = [\"no-such-server\"]\ninstall = \"make real\"",
        ),
    )
    .unwrap();
    let (code, _, stderr) = plimsoll(&folder, &["lab", &path, "--real", "--check"]);
    assert_eq!(code, 104);
    let said = "tiers.proxy.requires: `no-such-server` is not on the PATH; it is installed with: make real";
    assert!(stderr.contains(said), "{stderr}");
}

#[test]
fn the_published_script_has_the_stages_of_the_experiment_and_runs() {
    let folder = Folder::new();
    let script = shipped(DOUBLED, "load.js").display().to_string();
    let (code, stdout, stderr) = plimsoll(&folder, &["inspect", &script]);
    assert_eq!(code, 0, "{stderr}");
    let options: Value = serde_json::from_str(&stdout).unwrap();
    for file in ["experiment.toml", "real.toml"] {
        let text = std::fs::read_to_string(shipped(DOUBLED, file)).unwrap();
        for stage in options["stages"].as_array().unwrap() {
            let (target, duration) = (&stage["target"], &stage["duration"]);
            let line = format!("{{ target = {target}, duration = {duration} }}");
            assert!(text.contains(&line), "{file} lacks {line}");
        }
    }
    let service = Service::start(&["echo"]);
    let base = format!("BASE={}", service.url.trim_end_matches('/'));
    let args = ["run", &script, "-e", &base, "--stage", "1s:2", "--quiet"];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert!(
        stdout.contains("status is 200") || stdout.contains("checks"),
        "{stdout}"
    );
}
