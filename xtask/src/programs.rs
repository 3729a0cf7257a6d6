//! Runs the test programs in two lanes: those that load or time something one after another, the others beside them.
//!
//! Programs of the first lane sleep most of the time. Those of the second only compute; the kernel gives them a
//! processor when nobody else wants one (`SCHED_IDLE`), so that they disturb no measurement.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// Test targets that load sockets, wait with a deadline or compare times: package and target.
const LOADS: [(&str, &str); 13] = [
    ("plimsoll", "it"),
    ("plimsoll", "middleware"),
    ("plimsoll-lab", "it"),
    ("plimsoll-lab", "plimsoll_lab"),
    ("plimsoll-engine", "it"),
    ("plimsoll-engine", "allocations"),
    ("plimsoll-guard", "it"),
    ("plimsoll-workload", "plimsoll_workload"),
    ("plimsoll-docdb", "it"),
    ("plimsoll-net", "it"),
    ("plimsoll-net", "plimsoll_net"),
    ("plimsoll-observe", "plimsoll_observe"),
    ("plimsoll", "plimsoll"),
];

/// One program with what cargo would give it.
struct Program {
    package: String,
    target: String,
    path: PathBuf,
    folder: PathBuf,
}

/// What a program came to.
struct Ended {
    name: String,
    passed: bool,
    took: Duration,
}

/// Runs all test programs of the workspace; says whether all passed.
pub(crate) fn run() -> anyhow::Result<bool> {
    let (loads, computes): (Vec<Program>, Vec<Program>) =
        built()?.into_iter().partition(Program::loads);
    let unknown: Vec<&str> = LOADS
        .iter()
        .filter(|(package, target)| !loads.iter().any(|p| p.is(package, target)))
        .map(|(package, _)| *package)
        .collect();
    if !unknown.is_empty() {
        bail!("xtask/src/programs.rs names test targets that do not exist, of {unknown:?}");
    }
    let ended = std::thread::scope(|scope| {
        let beside = scope.spawn(|| run_all(&computes, true));
        let mut ended = run_all(&loads, false)?;
        ended.extend(beside.join().expect("the lane does not panic")?);
        anyhow::Ok(ended)
    })?;
    summarise(&ended);
    Ok(ended.iter().all(|program| program.passed))
}

impl Program {
    fn is(&self, package: &str, target: &str) -> bool {
        self.package == package && self.target == target
    }

    fn loads(&self) -> bool {
        LOADS
            .iter()
            .any(|(package, target)| self.is(package, target))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "how long a program took is for a person to read"
    )]
    /// Runs to its end; all that it printed is shown at once, so that lanes do not mix.
    fn run(&self, when_idle: bool) -> anyhow::Result<Ended> {
        let started = Instant::now();
        let mut command = if when_idle {
            let mut command = Command::new("chrt");
            command.args(["--idle", "0"]).arg(&self.path);
            command
        } else {
            Command::new(&self.path)
        };
        let output = command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("run {}", self.path.display()))?;
        let name = format!("{} {}", self.package, self.target);
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n     Running {name} ({})", self.path.display())?;
        out.write_all(&output.stdout)?;
        out.write_all(&output.stderr)?;
        if !output.status.success() {
            writeln!(out, "FAILED: {name}: {}", output.status)?;
        }
        Ok(Ended {
            name,
            passed: output.status.success(),
            took: started.elapsed(),
        })
    }
}

fn run_all(programs: &[Program], when_idle: bool) -> anyhow::Result<Vec<Ended>> {
    programs.iter().map(|one| one.run(when_idle)).collect()
}

/// The test programs of the workspace, built if they are not.
fn built() -> anyhow::Result<Vec<Program>> {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--locked", "--workspace", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("run cargo test --no-run")?;
    if !output.status.success() {
        bail!("the tests could not be built");
    }
    let text = String::from_utf8(output.stdout).context("read what cargo printed")?;
    let mut programs = Vec::new();
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).context("read what cargo printed")?;
        programs.extend(program_of(&message));
    }
    Ok(programs)
}

/// `None` if the message is not about a test program.
fn program_of(message: &Value) -> Option<Program> {
    if message["profile"]["test"] != true {
        return None;
    }
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let folder = manifest.parent()?.to_owned();
    Some(Program {
        package: package_of(message["package_id"].as_str()?)?,
        target: message["target"]["name"].as_str()?.to_owned(),
        path: PathBuf::from(message["executable"].as_str()?),
        folder,
    })
}

/// `path+file:///…/crates/plimsoll-core#0.1.0` or `…/elsewhere#plimsoll-core@0.1.0`, as cargo's package ids go.
fn package_of(id: &str) -> Option<String> {
    let (path, fragment) = id.rsplit_once('#')?;
    let name = match fragment.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next()?,
    };
    Some(name.to_owned())
}

fn summarise(ended: &[Ended]) {
    println!("\ntest programs:");
    for program in ended {
        let word = if program.passed { "passed" } else { "FAILED" };
        let seconds = program.took.as_secs_f64();
        println!("  {word}  {seconds:>6.1} s  {}", program.name);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    /// Who waits for an answer has a deadline; in the lane of those that only compute it starved (a machine whose
    /// other lane computed for three minutes: 10,725 of 22,000 answers came in time).
    #[test]
    fn whoever_opens_a_socket_is_in_the_lane_of_those_that_load() {
        let root = crate::workspace_root().unwrap();
        let crates = root.join("crates").read_dir().unwrap();
        let folders = crates.map(|entry| entry.unwrap().path());
        let mut strays = Vec::new();
        for folder in folders.chain([root.join("docdb")]) {
            let name = folder.file_name().unwrap().to_str().unwrap();
            let package = match name {
                "docdb" => format!("plimsoll-{name}"),
                _ => name.to_owned(),
            };
            if sockets_in(&folder.join("src"), true) {
                strays.push((package.clone(), package.replace('-', "_")));
            }
            let tests = folder.join("tests").read_dir().into_iter().flatten();
            for test in tests.map(|test| test.unwrap().path()) {
                if sockets_in(&test, false) {
                    let target = test.file_stem().unwrap().to_str().unwrap();
                    strays.push((package.clone(), target.to_owned()));
                }
            }
        }
        assert!(strays.len() > 5, "the search found hardly any: {strays:?}");
        strays.retain(|(package, target)| !super::LOADS.contains(&(package, target)));
        assert!(strays.is_empty(), "name them in LOADS: {strays:?}");
    }

    /// Whether tests in this Rust file, or those in this folder, open sockets; of sources only what stands below `cfg(test)` is a test.
    fn sockets_in(path: &Path, source: bool) -> bool {
        if path.is_dir() {
            let mut entries = path.read_dir().unwrap();
            return entries.any(|entry| sockets_in(&entry.unwrap().path(), source));
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            return false;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let tests = if source {
            text.split_once("#[cfg(test)]")
                .map_or("", |(_, tests)| tests)
        } else {
            &text
        };
        ["TcpListener", "TcpStream", "UnixListener"]
            .iter()
            .any(|socket| tests.contains(socket))
    }

    #[test]
    fn package_ids_of_both_kinds() {
        let name = |id| super::package_of(id).unwrap();
        assert_eq!(
            name("path+file:///a/crates/plimsoll-core#0.1.0"),
            "plimsoll-core"
        );
        assert_eq!(
            name("path+file:///a/docdb#plimsoll-docdb@0.1.0"),
            "plimsoll-docdb"
        );
    }

    #[test]
    fn only_test_programs_are_run() {
        let message = |is_test: bool| {
            json!({
                "package_id": "path+file:///a/crates/plimsoll-net#0.1.0",
                "manifest_path": "/a/crates/plimsoll-net/Cargo.toml",
                "target": { "name": "it" },
                "profile": { "test": is_test },
                "executable": "/a/target/debug/deps/it-0",
            })
        };
        assert!(super::program_of(&message(false)).is_none());
        let program = super::program_of(&message(true)).unwrap();
        assert!(program.loads() && program.folder.ends_with("plimsoll-net"));
    }
}
