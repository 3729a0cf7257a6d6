//! The proxy speaks TLS, with HTTP/2 to who can, and keeps its connections to upstreams where it is told to.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use plimsoll_net::tls::{Offer, TlsChoice, client_config_of};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Served, binary, gone};

/// A proxy with TLS: it prints an address of another scheme than `Served` expects.
struct Proxy {
    child: Child,
    address: SocketAddr,
    log: std::path::PathBuf,
}

impl Proxy {
    fn start(upstreams: &[SocketAddr], keepalive: &str) -> Self {
        let log = std::env::temp_dir().join(format!(
            "plimsoll-tls-{}-{}.log",
            std::process::id(),
            upstreams[0].port()
        ));
        let mut command = Command::new(binary());
        command
            .args(["serve", "proxy", "--port", "0", "--log"])
            .arg(&log);
        command.args(["--set", "tls=1", "--set", "slots=512", "--set", keepalive]);
        for upstream in upstreams {
            command.args(["--upstream", &upstream.to_string()]);
        }
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line
            .trim_end()
            .strip_prefix("listening on https://")
            .unwrap();
        Self {
            address: address.parse().unwrap(),
            child,
            log,
        }
    }

    /// The fields of that name in the log, line by line.
    fn logged(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        let field = |line: &str| {
            let mut fields = line
                .split(' ')
                .filter_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            fields.next().unwrap_or_default().to_owned()
        };
        text.lines().map(field).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_file(&self.log));
    }
}

async fn connect(address: SocketAddr, offer: Offer) -> TlsStream<TcpStream> {
    let connector = TlsConnector::from(
        client_config_of(&TlsChoice {
            insecure: true,
            offer,
            ..TlsChoice::default()
        })
        .unwrap(),
    );
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    connector.connect(name, stream).await.unwrap()
}

fn request(address: SocketAddr) -> Request<Empty<Bytes>> {
    let url = format!("https://{address}/x");
    let request = Request::get(url).header("host", "localhost");
    request.body(Empty::new()).unwrap()
}

async fn text(answer: Response<hyper::body::Incoming>) -> String {
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

fn run<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

#[test]
fn both_protocols_are_negotiated_and_answered_alike() {
    let upstream = Served::start("downstream", &["--set", "answer=20"]);
    let proxy = Proxy::start(&[upstream.address], "keepalive=0");
    run(async {
        let stream = connect(proxy.address, Offer::Http1).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        for _ in 0..2 {
            let answer = sender.send_request(request(proxy.address)).await.unwrap();
            assert_eq!(
                (answer.version(), answer.status().as_u16()),
                (Version::HTTP_11, 200)
            );
            assert_eq!(text(answer).await, "done\n");
            sender.ready().await.unwrap();
        }

        let stream = connect(proxy.address, Offer::Both).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let io = TokioIo::new(stream);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        let asked: Vec<_> = (0..20)
            .map(|_| tokio::spawn(sender.clone().send_request(request(proxy.address))))
            .collect();
        for answer in asked {
            let answer = answer.await.unwrap().unwrap();
            assert_eq!(
                (answer.version(), answer.status().as_u16()),
                (Version::HTTP_2, 200)
            );
            assert_eq!(text(answer).await, "done\n");
        }
    });
    assert_eq!(proxy.logged("st"), vec!["200"; 22]);
}

#[test]
fn kept_connections_are_used_again_and_every_upstream_has_its_turn() {
    let first = Served::start("downstream", &["--set", "answer=0"]);
    let second = Served::beside("downstream", &["--set", "answer=0"]);
    let proxy = Proxy::start(&[first.address, second.address], "keepalive=4");
    let connections = |served: &Served| open_to(served.address.port());
    run(async {
        let stream = connect(proxy.address, Offer::Both).await;
        let io = TokioIo::new(stream);
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        for _ in 0..10 {
            let answer = sender.send_request(request(proxy.address)).await.unwrap();
            assert_eq!(text(answer).await, "done\n");
        }
        assert_eq!((connections(&first), connections(&second)), (1, 1));
    });
    // An upstream that goes away takes its kept connections with it: the next request finds that out.
    let pid = first.pid();
    drop(first);
    assert!(gone(pid));
    let statuses = run(async {
        let stream = connect(proxy.address, Offer::Http1).await;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut statuses = Vec::new();
        for _ in 0..4 {
            let answer = sender.send_request(request(proxy.address)).await.unwrap();
            statuses.push(answer.status().as_u16());
            drop(text(answer).await);
            sender.ready().await.unwrap();
        }
        statuses
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        2,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 502).count(),
        2,
        "{statuses:?}"
    );
}

/// Established connections of this machine whose remote port is `port`, from the kernel's table.
fn open_to(port: u16) -> usize {
    const ESTABLISHED: &str = "01";
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    let rows = table
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[2].ends_with(&remote) && row[3] == ESTABLISHED)
        .count()
}
