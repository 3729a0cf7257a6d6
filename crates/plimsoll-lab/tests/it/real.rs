//! The demo's tiers as they are started by its script, and our proxy beside the real nginx.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Load, Served, alone, binary, get, load};

const LENGTH: Duration = Duration::from_millis(1500);
const CONNECTIONS: usize = 40;
const SLOTS: &str = "24";

fn demo(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments/demo")
        .join(file)
}

/// Whether a program is on the path, or where Debian puts servers.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// A real nginx with the demo's configuration, ended with the value.
struct Nginx {
    master: Child,
    folder: PathBuf,
    address: SocketAddr,
}

impl Nginx {
    fn start(program: &Path, upstream: SocketAddr) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let folder = std::env::temp_dir().join(format!("plimsoll-nginx-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let names = [
            ("@FOLDER@", folder.display().to_string()),
            ("@SLOTS@", SLOTS.to_owned()),
            ("@PORT@", address.port().to_string()),
            ("@APP@", upstream.port().to_string()),
        ];
        let mut text = std::fs::read_to_string(demo("real/nginx.conf")).unwrap();
        for (name, value) in names {
            text = text.replace(name, &value);
        }
        let configuration = folder.join("nginx.conf");
        let mut file = std::fs::File::create(&configuration).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let master = Command::new(program)
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(&configuration)
            .arg("-e")
            .arg(folder.join("error.log"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Self {
            master,
            folder,
            address,
        };
        for _ in 0..200 {
            if std::net::TcpStream::connect(address).is_ok() {
                return nginx;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("nginx does not listen on {address}");
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = self.master.id().to_string();
        drop(Command::new("kill").args(["-s", "TERM", &pid]).status());
        drop(self.master.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Answers without one, as a share of all that ended.
fn unanswered(load: &Load) -> f64 {
    f64::from(load.unanswered) / f64::from(load.unanswered + load.ok + load.refused)
}

#[test]
fn our_proxy_fails_as_nginx_does_when_slots_run_out() {
    let Some(nginx) = program("nginx") else {
        // `make test` installs it; without it there is nothing to stand beside.
        return;
    };
    let upstream = Served::start("downstream", &["--set", "answer=60"]);
    let to = upstream.address.to_string();
    let ours = Served::beside(
        "proxy",
        &["--upstream", &to, "--set", &format!("slots={SLOTS}")],
    );
    let nginx = Nginx::start(&nginx, upstream.address);
    assert_eq!(get(nginx.address, "/").status, 200);
    let theirs = load(nginx.address, CONNECTIONS, LENGTH);
    let ours = load(ours.address, CONNECTIONS, LENGTH);
    for load in [&theirs, &ours] {
        assert!(unanswered(load) > 0.3, "{} unanswered", unanswered(load));
        assert!(
            load.refused <= load.unanswered / 4,
            "{} refused",
            load.refused
        );
    }
    let ratio = ours.ok_per_second() / theirs.ok_per_second();
    assert!(
        (0.5..2.0).contains(&ratio),
        "ours {}/s, nginx {}/s",
        ours.ok,
        theirs.ok
    );
    // What `--watch nginx-log:` reads stands at the end of the line in both.
    let log = std::fs::read_to_string(nginx.folder.join("access.log")).unwrap();
    assert!(
        log.lines()
            .any(|line| line.contains(" rt=") && line.ends_with(" us=200 st=200"))
    );
}

/// Runs the demo's script up to the point where the searches would begin.
fn check(arguments: &[&str]) {
    let _alone = alone();
    let out = std::env::temp_dir().join(format!("plimsoll-demo-{}", std::process::id()));
    let ended = Command::new("bash")
        .arg(demo("run.sh"))
        .arg("--check")
        .args(arguments)
        .env("PLIMSOLL", binary())
        .env("OUT", &out)
        .output()
        .unwrap();
    drop(std::fs::remove_dir_all(&out));
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 2, "{said}");
}

#[test]
fn the_demo_starts_its_embedded_tiers_with_few_and_many_slots() {
    check(&[]);
}

#[test]
fn the_demo_starts_express_behind_nginx() {
    // `make demo-find REAL=1` installs Express; without it the script says so, see below.
    let express = demo("real/node_modules/express").exists();
    if express && program("nginx").is_some() && program("node").is_some() {
        check(&["--real"]);
    }
}

#[test]
fn the_demo_names_a_mistaken_argument_and_a_missing_binary() {
    let script = |arguments: &[&str], binary: &str| {
        let mut command = Command::new("bash");
        command
            .arg(demo("run.sh"))
            .args(arguments)
            .env("PLIMSOLL", binary);
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status.code(), said)
    };
    let (code, said) = script(&["--reel"], "x");
    assert_eq!(code, Some(104));
    assert!(said.contains("usage: experiments/demo/run.sh"), "{said}");
    let (code, said) = script(&[], "/nowhere/plimsoll");
    assert_eq!(code, Some(1));
    assert!(
        said.contains("build it with: cargo build --release -p plimsoll"),
        "{said}"
    );
}
