//! Unix sockets and TLS, on both sides.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{AccessLogConfig, Certificate, Config, Group, Listener, LogTo, Place, check};
use plimsoll_net::tls::{ClientConfig, Offer, TlsChoice, client_config_of, server_name};
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

use crate::support::{OK, Upstream, config, eventually, metric, refuses, sent, start};

const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A folder of this test's own, removed at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("plimsoll-guard-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Usual but for the place where clients come in.
fn at(place: Place, upstream: SocketAddr) -> Config {
    Config {
        listeners: vec![Listener::plain(place)],
        ..config(&[upstream], Rule::HalfLoad)
    }
}

/// Usual but for the service.
fn before(upstream: &str) -> Config {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let origin = plimsoll_guard::settings::origin(upstream).unwrap();
    Config {
        groups: vec![Group::simple(vec![origin])],
        ..config(&[any], Rule::HalfLoad)
    }
}

fn over(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(GET.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn both_sides_may_be_unix_sockets_and_one_left_behind_is_replaced() {
    let folder = Folder::new("unix");
    let (front, back) = (folder.0.join("front"), folder.0.join("back"));
    let upstream = Upstream::answering(OK);
    // What a guard that was killed leaves behind.
    drop(std::os::unix::net::UnixListener::bind(&back).unwrap());
    let inner = at(Place::Unix(back.clone()), upstream.address);
    start(inner.clone());
    let outer = Config {
        listeners: vec![Listener::plain(Place::Unix(front.clone()))],
        ..before(&format!("unix:{}", back.display()))
    };
    start(outer);
    assert!(over(&front).ends_with("ok\n"));
    let mode = fs::metadata(&front).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    assert!(upstream.requests().contains("X-Forwarded-For: 127.0.0.1"));
    // One that is listened on, and a file that is no socket, stay.
    assert!(refuses(&inner).contains("somebody listens there already"));
    let file = folder.0.join("file");
    fs::write(&file, "precious").unwrap();
    let wrong = at(Place::Unix(file.clone()), upstream.address);
    assert!(refuses(&wrong).contains("is no socket"));
    assert_eq!(fs::read_to_string(file).unwrap(), "precious");
}

/// Makes a certificate for a name and writes it and its key; its text, which is also its authority.
pub(crate) fn certificate(folder: &Path, name: &str) -> (Certificate, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (chain, key) = (
        folder.join(format!("{name}.pem")),
        folder.join(format!("{name}.key")),
    );
    fs::write(&chain, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (
        Certificate {
            chain,
            key: Some(key),
        },
        made.cert.pem(),
    )
}

pub(crate) fn client(authorities: &str, offer: Offer) -> Arc<ClientConfig> {
    client_config_of(&TlsChoice {
        authorities: authorities.to_owned(),
        offer,
        ..TlsChoice::default()
    })
    .unwrap()
}

pub(crate) type Secure = StreamOwned<ClientConnection, TcpStream>;

pub(crate) fn secure(address: SocketAddr, name: &str, config: &Arc<ClientConfig>) -> Secure {
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let name = server_name(name).unwrap();
    StreamOwned::new(
        ClientConnection::new(Arc::clone(config), name).unwrap(),
        stream,
    )
}

/// The answer, or why the certificate is not taken.
fn asked(address: SocketAddr, name: &str, authorities: &str) -> Result<String, String> {
    let mut stream = secure(address, name, &client(authorities, Offer::Http1));
    stream
        .write_all(GET.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn with_tls(upstream: SocketAddr, certificates: Vec<Certificate>) -> Config {
    let mut config = config(&[upstream], Rule::HalfLoad);
    config.listeners[0].certificates = certificates;
    config
}

#[test]
fn each_name_is_shown_its_certificate_and_files_are_read_again_on_sighup() {
    let folder = Folder::new("tls");
    let (one, one_pem) = certificate(&folder.0, "one.test");
    let (two, two_pem) = certificate(&folder.0, "two.test");
    let upstream = Upstream::answering(OK);
    let config = with_tls(upstream.address, vec![one, two]);
    let listening = start(config.clone());
    assert!(
        asked(listening.proxy, "one.test", &one_pem)
            .unwrap()
            .ends_with("ok\n")
    );
    assert!(
        asked(listening.proxy, "two.test", &two_pem)
            .unwrap()
            .ends_with("ok\n")
    );
    assert!(upstream.requests().contains("X-Forwarded-Proto: https"));
    let unknown = asked(listening.proxy, "three.test", &one_pem).unwrap_err();
    assert!(unknown.contains("certificate"), "{unknown}");
    // Plain words where TLS is expected end the connection and reach nobody.
    assert!(!sent(listening.proxy, GET).contains("HTTP/1.1"));
    let (_, newer) = certificate(&folder.0, "one.test");
    assert!(asked(listening.proxy, "one.test", &newer).is_err());
    let renew = || {
        *listening.next.lock().unwrap() = Some(config.clone());
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::HUP).unwrap();
    };
    renew();
    eventually("the new certificate", || {
        asked(listening.proxy, "one.test", &newer).is_ok()
    });
    // What is of no use changes nothing.
    fs::write(folder.0.join("two.test.pem"), "nonsense").unwrap();
    renew();
    let refused = "reloads_total{outcome=\"refused\"}";
    eventually("a refusal", || metric(&listening, refused) > 0.5);
    assert!(asked(listening.proxy, "two.test", &two_pem).is_ok());
}

/// Bytes of memory that this process, with guard and upstream in it, has now.
pub(crate) fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// An answer of so many bytes.
fn long(bytes: usize) -> Upstream {
    Upstream::start(Arc::new(move |stream, read| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
        let some = vec![b'x'; 1 << 20];
        read.ends_with(b"\r\n\r\n")
            && stream.write_all(head.as_bytes()).is_ok()
            && (0..bytes >> 20).all(|_| stream.write_all(&some).is_ok())
            && stream.write_all(&some[..bytes % some.len()]).is_ok()
    }))
}

/// Reads slowly: the kernel, which holds little of a Unix socket, never has room for all that there is.
fn read_slowly(stream: &mut impl std::io::Read, bytes: usize, mut looks: impl FnMut()) {
    let (mut got, mut room) = (0, vec![0; 64 << 10]);
    while got < bytes {
        got += stream.read(&mut room).unwrap();
        looks();
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// What a client was given is not kept, also of one that is slower than the service all the time.
#[test]
fn an_answer_to_a_slow_client_is_not_kept() {
    const BYTES: usize = 256 << 20;
    let folder = Folder::new("slow");
    let front = folder.0.join("front");
    start(at(Place::Unix(front.clone()), long(BYTES).address));
    let mut client = UnixStream::connect(front).unwrap();
    client.write_all(GET.as_bytes()).unwrap();
    let (before, mut most) = (resident(), 0);
    read_slowly(&mut client, BYTES, || {
        most = most.max(resident().saturating_sub(before));
    });
    assert!(most < BYTES / 2, "{} MiB more", most >> 20);
}

/// What TLS has taken and the kernel has not must go out all the same, when nothing else happens any more: lengths of which some
/// end while the kernel is full.
#[test]
fn a_large_answer_in_tls_arrives_to_its_end() {
    let folder = Folder::new("large");
    let (own, pem) = certificate(&folder.0, "one.test");
    let trusting = client(&pem, Offer::Http1);
    for pages in 0..12 {
        let bytes = (2 << 20) + pages * (16 << 10);
        let front = folder.0.join(format!("front-{pages}"));
        let mut config = at(Place::Unix(front.clone()), long(bytes).address);
        config.listeners[0].certificates = vec![own.clone()];
        start(config);
        let stream = UnixStream::connect(front).unwrap();
        let patience = Some(Duration::from_secs(10));
        stream.set_read_timeout(patience).unwrap();
        let name = server_name("one.test").unwrap();
        let connection = ClientConnection::new(Arc::clone(&trusting), name).unwrap();
        let mut client = StreamOwned::new(connection, stream);
        let get = GET.replace("Connection: close\r\n", "");
        client.write_all(get.as_bytes()).unwrap();
        read_slowly(&mut client, bytes, || {});
    }
}

/// One socket for both families: a client of IPv4 is known by its address of IPv4.
/// `:8080` is every address of this host.
#[test]
fn a_port_alone_is_listened_on_in_both_families() {
    let upstream = Upstream::answering(OK);
    let place = plimsoll_guard::settings::place(":0").unwrap();
    let guard = start(at(place, upstream.address));
    let port = guard.proxy.port();
    let mut hosts = vec!["127.0.0.1"];
    // Not every machine has both.
    if TcpListener::bind("[::1]:0").is_ok() {
        hosts.push("::1");
    }
    for host in hosts {
        let address = SocketAddr::new(host.parse().unwrap(), port);
        assert!(sent(address, GET).ends_with("ok\n"), "{host}");
    }
}

#[test]
fn a_client_has_one_address_whatever_the_listener_is() {
    let upstream = Upstream::answering(OK);
    let any = SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, 0));
    if TcpListener::bind(any).is_err() {
        // A machine without IPv6.
        return;
    }
    let listening = start(at(any.into(), upstream.address));
    let over_four = SocketAddr::from(([127, 0, 0, 1], listening.proxy.port()));
    assert!(sent(over_four, GET).ends_with("ok\n"));
    assert!(
        upstream
            .requests()
            .contains("X-Forwarded-For: 127.0.0.1\r\n")
    );
}

#[test]
fn an_upstream_in_tls_is_verified() {
    let folder = Folder::new("upstream");
    let upstream = Upstream::answering(OK);
    let (own, _) = certificate(&folder.0, "127.0.0.1");
    let (other, _) = certificate(&folder.0, "other.test");
    for (shown, trusted, is_fine) in [
        (&own, &own, true),
        (&own, &other, false),
        (&other, &other, false),
    ] {
        let inner = start(with_tls(upstream.address, vec![shown.clone()]));
        let outer = start(Config {
            upstream_ca: Some(trusted.chain.clone()),
            ..before(&format!("https://{}", inner.proxy))
        });
        for _ in 0..3 {
            let text = sent(outer.proxy, GET);
            assert_eq!(text.ends_with("ok\n"), is_fine, "{text}");
            assert_eq!(text.contains("X-Plimsoll: unreachable"), !is_fine, "{text}");
        }
    }
    let nobody = folder.0.join("empty.pem");
    fs::write(&nobody, "").unwrap();
    let config = Config {
        upstream_ca: Some(nobody),
        ..before("https://127.0.0.1:9")
    };
    assert!(refuses(&config).contains("empty.pem"));
}

/// The upstream stays, and with it what its limit has learned; who vouches for it changes.
#[test]
fn other_authorities_of_upstreams_hold_after_a_reload() {
    let folder = Folder::new("authorities");
    let upstream = Upstream::answering(OK);
    let (own, _) = certificate(&folder.0, "127.0.0.1");
    let (other, _) = certificate(&folder.0, "other.test");
    let inner = start(with_tls(upstream.address, vec![own.clone()]));
    let trusting = |authority: &Certificate| Config {
        upstream_ca: Some(authority.chain.clone()),
        ..before(&format!("https://{}", inner.proxy))
    };
    let outer = start(trusting(&other));
    assert!(sent(outer.proxy, GET).contains("X-Plimsoll: unreachable"));
    let renew = |config: Config| {
        *outer.next.lock().unwrap() = Some(config);
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::HUP).unwrap();
    };
    renew(trusting(&own));
    eventually("the right authority", || {
        sent(outer.proxy, GET).ends_with("ok\n")
    });
    assert!(metric(&outer, "arrived_total{") > 1.5);
    // A connection that the authorities of before had let in is not used either.
    renew(trusting(&other));
    eventually("the wrong authority", || {
        sent(outer.proxy, GET).contains("X-Plimsoll: unreachable")
    });
}

#[test]
fn certificates_of_no_use_are_named_at_the_start() {
    let folder = Folder::new("wrong");
    let (own, _) = certificate(&folder.0, "a.test");
    let (other, _) = certificate(&folder.0, "b.test");
    let start = |certificate: Certificate| {
        let any = SocketAddr::from(([127, 0, 0, 1], 9));
        refuses(&with_tls(any, vec![certificate]))
    };
    let mixed = Certificate {
        key: other.key,
        ..own.clone()
    };
    assert!(start(mixed).contains("a.test.pem"));
    let missing = Certificate {
        chain: folder.0.join("none.pem"),
        key: None,
    };
    assert!(start(missing).contains("none.pem"));
    let keyless = Certificate { key: None, ..own };
    assert!(start(keyless).contains("a.test.pem"));
}

/// What a start would refuse is refused without one, in the same words; and nothing is made by looking.
#[test]
fn files_of_no_use_are_found_without_a_start() {
    let folder = Folder::new("checked");
    let (own, _) = certificate(&folder.0, "a.test");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let log = |path: PathBuf| AccessLogConfig {
        to: LogTo::File(path),
        mask: str::to_owned,
    };
    let none = folder.0.join("none");
    let missing = Certificate {
        chain: none.join("cert.pem"),
        key: None,
    };
    let wrong = [
        (with_tls(any, vec![missing]), "none/cert.pem"),
        (
            Config {
                upstream_ca: Some(none.join("ca.pem")),
                ..before("https://127.0.0.1:9")
            },
            "none/ca.pem",
        ),
        (
            Config {
                access_log: Some(log(none.join("log"))),
                ..before("http://127.0.0.1:9")
            },
            "none/log",
        ),
        (
            Config {
                access_log: Some(log(folder.0.clone())),
                ..before("http://127.0.0.1:9")
            },
            "checked",
        ),
    ];
    for (config, file) in wrong {
        let said = check(&config).unwrap_err().to_string();
        assert!(said.contains(file), "{said}");
        assert_eq!(said, refuses(&config));
    }
    let fine = Config {
        access_log: Some(log(folder.0.join("log"))),
        ..with_tls(any, vec![own])
    };
    check(&fine).unwrap();
    assert!(!folder.0.join("log").exists());
    // Names are for the start, and so are ports.
    check(&before("http://nowhere.invalid:1")).unwrap();
}
