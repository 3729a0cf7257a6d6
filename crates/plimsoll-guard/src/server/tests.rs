//! The end of a guard, as those see it who have come and were not looked at yet.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

const CLIENTS: usize = 8;
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Answers whoever comes.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
                    stream.write_all(answer).unwrap();
                }
            });
        }
    });
    address
}

/// All but its signals.
async fn opened(config: &Config) -> (Doors, Rc<Server>) {
    let clock = Clock::start();
    let registry = Registry::new(clock);
    let groups = groups(config, &registry).await.unwrap();
    let policy = Policy::new(config.clone(), groups, RandomState::new());
    let server = Server::new(clock, registry, policy);
    let mut doors = Doors::default();
    let ready = doors.open(config, None, Vec::new()).unwrap();
    doors.take(ready, config, &server);
    (doors, server)
}

/// Clients come while the event loop does nothing; then this happens, and all are answered.
fn all_are_answered(then: &impl AsyncFn(&mut Doors, &Rc<Server>, &mut Config)) {
    let (process, thread) = (std::process::id(), thread::current().id());
    // The guard removes it at its end.
    let path = std::env::temp_dir().join(format!("plimsoll-door-{process}-{thread:?}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let local = LocalSet::new();
    let clients = local.block_on(&runtime, async {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut config = Config::simple(any.into(), vec![upstream().into()]);
        let unix = crate::config::Listener::plain(Place::Unix(path.clone()));
        config.listeners.push(unix);
        config.groups[0].rule = plimsoll_control::admission::Rule::Fixed(64);
        let (mut doors, server) = opened(&config).await;
        // They listen, and the event loop has seen that nobody is there.
        sleep(LOOK).await;
        let Place::Tcp(address) = doors.listening(&config).proxies[0] else {
            panic!("the first is a port");
        };
        let tcp = (0..CLIENTS).map(|_| TcpStream::connect(address).unwrap());
        let mut tcp: Vec<_> = tcp.collect();
        let unix = (0..CLIENTS).map(|_| UnixStream::connect(&path).unwrap());
        let mut unix: Vec<_> = unix.collect();
        for client in &mut tcp {
            client.write_all(GET).unwrap();
        }
        for client in &mut unix {
            client.write_all(GET).unwrap();
        }
        then(&mut doors, &server, &mut config).await;
        assert_eq!(server.counts.connections.get(), 2 * CLIENTS as u64);
        server.stop.send_replace(true);
        while server.open.get() > 0 {
            sleep(LOOK).await;
        }
        assert!(TcpStream::connect(address).is_err());
        (tcp, unix)
    });
    let (tcp, unix) = clients;
    let read = |mut stream: Box<dyn std::io::Read>| {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("ok\n"), "{text}");
    };
    for client in tcp {
        read(Box::new(client));
    }
    for client in unix {
        read(Box::new(client));
    }
}

#[test]
fn whoever_came_before_the_end_is_answered() {
    all_are_answered(&async |doors, server, _| {
        server.stop.send_replace(true);
        doors.close().await;
    });
}

/// The same where only the place is given up.
#[test]
fn whoever_came_before_its_door_was_taken_away_is_answered() {
    all_are_answered(&async |doors, server, config| {
        config.listeners.clear();
        let ready = doors.open(config, None, Vec::new()).unwrap();
        doors.take(ready, config, server);
        sleep(LOOK).await;
        sleep(LOOK).await;
    });
}

/// Whoever balances before it hears of the end while what was begun goes on.
#[test]
fn it_is_not_ready_once_it_stops() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut config = Config::simple(any.into(), vec![upstream().into()]);
        config.admin = Some(any);
        let (mut doors, server) = opened(&config).await;
        let admin = doors.listening(&config).admin.unwrap();
        let ready = async || {
            let mut client = tokio::net::TcpStream::connect(admin).await.unwrap();
            client
                .write_all(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n")
                .await
                .unwrap();
            let mut text = String::new();
            client.read_to_string(&mut text).await.unwrap();
            text
        };
        assert!(ready().await.starts_with("HTTP/1.1 200 OK"));
        server.stop.send_replace(true);
        doors.close().await;
        let text = ready().await;
        assert!(
            text.starts_with("HTTP/1.1 503 ") && text.contains("\"ready\":false"),
            "{text}"
        );
    });
}
