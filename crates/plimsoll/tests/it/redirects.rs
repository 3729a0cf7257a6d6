//! Redirects to other hosts: what the request before the load does to them, and which way leads there.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::support::{Folder, command, finished, plimsoll};
use crate::wire::{Asked, Wire, ok};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server that gives the same answer to everything, and the first lines that it was asked.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, answer) = (Arc::clone(&heard), answer.clone());
                std::thread::spawn(move || talk(stream, &answer, &heard));
            }
        });
        Self { port, asked }
    }

    fn leading_to(location: &str) -> Self {
        Self::start(format!(
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        ))
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn talk(mut stream: TcpStream, answer: &str, heard: &Mutex<Vec<String>>) {
    let mut buffer = [0; 4096];
    // A request is short and comes in one piece.
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..read]);
        let first = text.lines().next().unwrap_or_default();
        heard.lock().unwrap().push(first.to_owned());
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Runs ten requests to `server`, and follows so many redirects of each.
fn followed(server: &Server, redirects: &str, more: &[&str], proxy: Option<u16>) -> Value {
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{}/", server.port);
    let run = ["run", &url, "-n", "10", "-c", "2", "--redirects", redirects];
    let shape = ["--no-record", "--format", "json"];
    let mut command = command(&folder, &[&run[..], &shape, more].concat());
    for name in ["HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"] {
        command.env_remove(name);
    }
    if let Some(port) = proxy {
        command.env("HTTP_PROXY", format!("http://127.0.0.1:{port}"));
    }
    let (code, stdout, stderr) = finished(&command.output().unwrap());
    assert_eq!(code, 0, "{stdout}{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

/// The first server saw the request before the load once more for each place that was new.
#[test]
fn a_redirect_to_another_host_costs_no_second_request_before_the_load() {
    let end = Server::start(OK.to_owned());
    let middle = Server::leading_to(&format!("http://127.0.0.1:{}/end", end.port));
    let begin = Server::leading_to(&format!("http://127.0.0.1:{}/", middle.port));
    let summary = followed(&middle, "1", &["-d", "an order"], None);
    assert_eq!(summary["outcomes"]["ok"], 10, "{summary}");
    let posts = middle
        .asked()
        .iter()
        .filter(|line| line.starts_with("POST / "))
        .count();
    assert_eq!((posts, middle.asked().len()), (11, 11));
    assert_eq!(end.asked().len(), 11, "the one before the load went on");
    let two = followed(&begin, "2", &["-d", "an order"], None);
    assert_eq!(two["outcomes"]["ok"], 10, "{two}");
    let asked = [&begin, &middle, &end].map(|server| server.asked().len());
    assert_eq!(asked, [11, 22, 22]);
}

/// Beyond what is followed nothing is looked up, and nobody is asked.
#[test]
fn a_redirect_too_many_is_not_followed() {
    let end = Server::start(OK.to_owned());
    let middle = Server::leading_to(&format!("http://127.0.0.1:{}/end", end.port));
    let begin = Server::leading_to(&format!("http://127.0.0.1:{}/", middle.port));
    let summary = followed(&begin, "1", &[], None);
    assert_eq!(summary["outcomes"]["http_3xx"], 10, "{summary}");
    let asked = [&begin, &middle, &end].map(|server| server.asked().len());
    assert_eq!(asked, [11, 11, 0]);
}

/// The name was looked up here, where nobody knows it.
#[test]
fn a_host_that_a_redirect_leads_to_is_reached_by_the_way_of_all_others() {
    let away = || Server::leading_to("http://shop.invalid/end");
    let (proxy, begin) = (Server::start(OK.to_owned()), away());
    let summary = followed(&begin, "1", &[], Some(proxy.port));
    assert_eq!(summary["outcomes"]["ok"], 10, "{summary}");
    let line = "GET http://shop.invalid/end HTTP/1.1".to_owned();
    assert_eq!(proxy.asked(), vec![line; 11]);
    let (other, begin) = (Server::start(OK.to_owned()), away());
    let rule = format!("shop.invalid:80:127.0.0.1:{}", other.port);
    let summary = followed(&begin, "1", &["--connect-to", &rule], None);
    assert_eq!(summary["outcomes"]["ok"], 10, "{summary}");
    assert_eq!(other.asked(), vec!["GET /end HTTP/1.1".to_owned(); 11]);
}

/// What says who somebody is, in a request that was led on; one header of no such meaning goes along in any case.
fn secrets(asked: &Asked) -> [Option<&str>; 2] {
    assert_eq!(asked.header("X-Own"), Some("1"), "{asked:?}");
    [asked.header("Cookie"), asked.header("Authorization")]
}

/// As curl has it: another port is another service.
#[test]
fn a_url_that_is_left_for_another_place_takes_no_secrets_along() {
    let end = Wire::start(ok);
    let headers = ["-H", "Cookie: a=1", "-H", "X-Own: 1", "--user", "me:secret"];
    let begin = Server::leading_to(&format!("http://127.0.0.1:{}/end", end.port));
    let summary = followed(&begin, "1", &headers, None);
    assert_eq!(summary["outcomes"]["ok"], 10, "{summary}");
    let led = end.all();
    assert_eq!(led.len(), 11);
    for asked in led {
        assert_eq!(secrets(&asked), [None, None]);
    }
}

/// As Go's client and so k6 have it: the first host and those below it are told, whatever their port.
#[test]
fn a_script_that_is_led_elsewhere_takes_its_secrets_to_hosts_below_the_first_alone() {
    let (folder, end) = (Folder::new(), Wire::start(ok));
    for (host, kept) in [
        ("shop.test", true),
        ("api.shop.test", true),
        ("other.test", false),
        ("myshop.test", false),
        ("test", false),
    ] {
        let begin = Server::leading_to(&format!("http://{host}:{}/end", end.port));
        let text = format!(
            "import http from 'k6/http';
             export const options = {{ hosts: {{ '*test': '127.0.0.1' }} }};
             export default () => {{
               const headers = {{ Cookie: 'a=1', Authorization: 'b', 'X-Own': '1' }};
               http.get('http://shop.test:{}/', {{ headers }});
             }}",
            begin.port
        );
        let script = folder.file("led.js");
        std::fs::write(&script, text).unwrap();
        let before = end.all().len();
        let (code, _, err) = plimsoll(&folder, &["run", &script, "--no-record", "--quiet"]);
        assert_eq!(code, 0, "{host}: {err}");
        let led = end.all();
        assert_eq!(led.len(), before + 1, "{host}: {err}");
        let told = if kept {
            [Some("a=1"), Some("b")]
        } else {
            [None, None]
        };
        assert_eq!(secrets(led.last().unwrap()), told, "{host}");
    }
}
