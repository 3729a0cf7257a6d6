//! Ways to a server other than the name in the URL: sockets of this host, `--connect-to`, one family of addresses, dead addresses.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Folder, command, finished, plimsoll};
use crate::wire::{Heard, Wire, ok};

const BOTH: &str = "127.0.0.1 both.test\n::1 both.test\n";

/// Ten requests of a URL; two connections.
fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let all = ["run", url, "-n", "10", "-c", "2", "--no-record", "--format"];
    [&all[..], &["json"], more].concat()
}

fn outcomes(out: &str) -> Value {
    let summary: Value = serde_json::from_str(out).unwrap_or_else(|_| panic!("{out}"));
    summary["outcomes"].clone()
}

fn all_well(folder: &Folder, url: &str, more: &[&str]) {
    let (code, out, err) = plimsoll(folder, &args(url, more));
    assert_eq!(code, 0, "{more:?}: {err}");
    assert_eq!(outcomes(&out)["ok"], 10, "{more:?}: {out}");
}

#[test]
fn a_socket_of_this_host_takes_the_place_of_every_host() {
    let folder = Folder::new();
    let heard = Heard::default();
    let listener = UnixListener::bind(folder.file("app.sock")).unwrap();
    let ears = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let ears = ears.clone();
            std::thread::spawn(move || ears.talk(stream, ok));
        }
    });
    all_well(
        &folder,
        "http://shop.test:81/cart",
        &["--unix-socket", "app.sock"],
    );
    let asked = heard.all();
    assert_eq!(asked.len(), 11);
    for asked in asked {
        assert_eq!(asked.line, "GET /cart HTTP/1.1");
        assert_eq!(asked.header("Host"), Some("shop.test:81"));
    }
}

#[test]
fn a_socket_that_nobody_serves_is_named() {
    let folder = Folder::new();
    drop(UnixListener::bind(folder.file("dead.sock")).unwrap());
    std::fs::write(folder.file("file.sock"), "").unwrap();
    let long = "d".repeat(120);
    std::fs::write(folder.file(&long), "").unwrap();
    for (path, exit, words) in [
        ("gone.sock", 104, "--unix-socket gone.sock: No such file"),
        ("dead.sock", 7, "unix:dead.sock): Connection refused"),
        ("file.sock", 104, "--unix-socket file.sock: it is no socket"),
        (&*long, 104, "has at most 107"),
    ] {
        let asked = args("http://shop.test/", &["--unix-socket", path]);
        let (code, out, err) = plimsoll(&folder, &asked);
        assert_eq!((code, &*out), (exit, ""), "{path}: {err}");
        assert!(err.contains(words), "{path}: {words} in {err}");
    }
}

#[test]
fn connections_lead_where_it_was_said_and_the_request_stays_as_it_is() {
    let folder = Folder::new();
    let (first, second) = (Wire::start(ok), Wire::start(ok));
    let rules = [
        format!("shop.test:80:127.0.0.1:{}", first.port),
        format!(":8080:127.0.0.1:{}", second.port),
    ];
    let rules = ["--connect-to", &rules[0], "--connect-to", &rules[1]];
    all_well(&folder, "http://shop.test/a", &rules);
    assert_eq!((first.all().len(), second.all().len()), (11, 0));
    all_well(&folder, "http://other.test:8080/b", &rules);
    assert_eq!((first.all().len(), second.all().len()), (11, 11));
    for (server, host, line) in [
        (&first, "shop.test", "GET /a HTTP/1.1"),
        (&second, "other.test:8080", "GET /b HTTP/1.1"),
    ] {
        for asked in server.all() {
            assert_eq!((asked.header("Host"), &*asked.line), (Some(host), line));
        }
    }
    // One that fits nothing leads nowhere else.
    let own = format!("http://127.0.0.1:{}/c", first.port);
    all_well(&folder, &own, &rules);
    assert_eq!((first.all().len(), second.all().len()), (22, 11));
    let (code, _, err) = plimsoll(&folder, &args(&own, &["--connect-to", "a:1:b"]));
    assert_eq!(code, 104, "{err}");
}

/// With names that are known for one process alone, where this machine lets a process have such a file of its own.
#[expect(
    clippy::print_stderr,
    reason = "who reads the tests' output learns what was not tried"
)]
fn with_names(folder: &Folder, names: &str, args: &[&str]) -> Option<Output> {
    std::fs::write(folder.file("hosts"), names).unwrap();
    let shut = ["--user", "--map-root-user", "--mount", "sh", "-c"];
    let script = "mount --bind hosts /etc/hosts && exec \"$@\"";
    let namespace = |script: &str, rest: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(shut).args([script, "sh"]).args(rest);
        let program = command(folder, &[]);
        for (name, value) in program.get_envs() {
            unshare.env(name, value.unwrap_or_default());
        }
        for name in ["HTTP_PROXY", "http_proxy"] {
            unshare.env_remove(name);
        }
        unshare.current_dir(&folder.0).output()
    };
    let allowed = namespace(script, &["true"]);
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("not tried: this machine lets no process have a hosts file of its own (unshare)");
        return None;
    }
    let program = [&[env!("CARGO_BIN_EXE_plimsoll")], args].concat();
    Some(namespace(script, &program).unwrap())
}

/// The same port of both families, each with a server of its own; none where this machine has no IPv6.
#[expect(
    clippy::print_stderr,
    reason = "who reads the tests' output learns what was not tried"
)]
fn listeners() -> Option<(TcpListener, TcpListener)> {
    let found = (0..20).find_map(|_| {
        let v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok()?;
        let port = v6.local_addr().unwrap().port();
        let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?;
        Some((v4, v6))
    });
    if found.is_none() {
        eprintln!("not tried: this machine has no IPv6");
    }
    found
}

#[test]
fn of_a_name_of_both_families_the_one_that_was_asked_for_is_used() {
    let folder = Folder::new();
    let Some((v4, v6)) = listeners() else { return };
    let (v4, v6) = (Wire::on(v4, ok), Wire::on(v6, ok));
    let literal = format!("http://[::1]:{}/", v6.port);
    all_well(&folder, &literal, &["-6"]);
    assert_eq!((v4.all().len(), v6.all().len()), (0, 11));
    let (code, _, err) = plimsoll(&folder, &args(&literal, &["-4"]));
    assert_eq!(code, 7, "{err}");
    assert!(
        err.contains("no address of IPv4, which -4 asks for"),
        "{err}"
    );
    let url = format!("http://both.test:{}/", v4.port);
    let mut before = (0, 11);
    for (flags, both) in [(&["-4"][..], (11, 0)), (&["-6"], (0, 11)), (&[], (1, 1))] {
        let Some(output) = with_names(&folder, BOTH, &args(&url, flags)) else {
            return;
        };
        let (code, out, err) = finished(&output);
        assert_eq!(code, 0, "{flags:?}: {err}");
        assert_eq!(outcomes(&out)["ok"], 10, "{flags:?}: {out}");
        let seen = (v4.all().len(), v6.all().len());
        let new = (seen.0 - before.0, seen.1 - before.1);
        before = seen;
        if flags.is_empty() {
            assert!(new.0 >= both.0 && new.1 >= both.1, "used in turn: {new:?}");
            assert_eq!(new.0 + new.1, 11);
        } else {
            assert_eq!(new, both, "{flags:?}");
        }
    }
}

/// Takes no connection more: those that wait fill its queue, and a further one is not even refused.
fn deaf(listener: &TcpListener) -> Vec<TcpStream> {
    rustix::net::listen(listener, 0).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let patience = Duration::from_millis(300);
    let waiting = (0..64).map_while(|_| TcpStream::connect_timeout(&address, patience).ok());
    let waiting: Vec<TcpStream> = waiting.collect();
    assert!(waiting.len() < 64, "the queue is never full");
    waiting
}

/// A service that listens on one family of two, of which the other refuses or says nothing.
#[test]
fn an_address_that_is_dead_costs_no_request() {
    let folder = Folder::new();
    for (is_v4_alive, is_deaf) in [(true, false), (false, false), (true, true), (false, true)] {
        let Some((v4, v6)) = listeners() else { return };
        let (alive, dead) = if is_v4_alive { (v4, v6) } else { (v6, v4) };
        let alive = Wire::on(alive, ok);
        let waiting = is_deaf.then(|| deaf(&dead));
        let dead = is_deaf.then_some(dead);
        let url = format!("http://both.test:{}/", alive.port);
        let Some(output) = with_names(&folder, BOTH, &args(&url, &[])) else {
            return;
        };
        let (code, out, err) = finished(&output);
        let case = format!("v4 alive: {is_v4_alive}, deaf: {is_deaf}");
        assert_eq!(code, 0, "{case}: {err}");
        let outcomes = outcomes(&out);
        assert_eq!(outcomes["ok"], 10, "{case}: {out}");
        assert_eq!(alive.all().len(), 11, "{case}");
        drop((waiting, dead));
    }
}

/// k6 goes to IPv4 where a name has both; a service on the other one is reached by an option.
#[test]
fn scripts_go_to_the_family_that_k6_goes_to() {
    let folder = Folder::new();
    let text = "import http from 'k6/http';
        export const options = { dns: { policy: __ENV.POLICY } };
        export default () => { const r = http.get(__ENV.TARGET); console.log(`said ${r.status} ${r.error_code}`); }";
    std::fs::write(folder.file("x.js"), text).unwrap();
    let Some((v4, v6)) = listeners() else { return };
    drop(v6);
    let server = Wire::on(v4, ok);
    let target = format!("TARGET=http://both.test:{}/", server.port);
    for (policy, said) in [
        ("POLICY=preferIPv4", "said 200 0"),
        ("POLICY=onlyIPv6", "said 0 1212"),
    ] {
        let args = ["run", "x.js", "-e", &target, "--no-record", "-q", "-e"];
        let Some(output) = with_names(&folder, BOTH, &[&args[..], &[policy]].concat()) else {
            return;
        };
        let (code, _, err) = finished(&output);
        assert!(code == 0 && err.contains(said), "{policy}: {err}");
    }
}
