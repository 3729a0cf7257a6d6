//! A small Rust service, a thread per connection, with one injected limit: a lock, workers, a pool of connections, a tier behind.
//!
//! usage: service lock|workers|pool|front|tier NUMBER MILLISECONDS [TIER]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n";
const QUESTION: &[u8] = b"GET / HTTP/1.1\r\nHost: tier\r\n\r\n";

/// Things of which a request borrows one; who finds none waits.
struct Shelf<T> {
    free: Mutex<Vec<T>>,
    returned: Condvar,
}

impl<T> Shelf<T> {
    fn of(things: Vec<T>) -> Self {
        Self {
            free: Mutex::new(things),
            returned: Condvar::new(),
        }
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut free = self.free.lock().unwrap();
        let mut thing = loop {
            match free.pop() {
                Some(thing) => break thing,
                None => free = self.returned.wait(free).unwrap(),
            }
        };
        drop(free);
        let result = work(&mut thing);
        self.free.lock().unwrap().push(thing);
        self.returned.notify_one();
        result
    }
}

/// What a request does before its answer.
enum Limit {
    Lock(Mutex<()>, Duration),
    Workers(Shelf<()>, Duration),
    Pool(Shelf<TcpStream>),
    Front(String),
}

impl Limit {
    fn pass(&self, own: &mut Option<TcpStream>) -> io::Result<()> {
        match self {
            Self::Lock(held, work) => {
                let _held = held.lock().unwrap();
                thread::sleep(*work);
                Ok(())
            }
            Self::Workers(permits, work) => {
                permits.with(|()| thread::sleep(*work));
                Ok(())
            }
            Self::Pool(connections) => connections.with(ask),
            Self::Front(tier) => {
                if own.is_none() {
                    *own = Some(connect(tier)?);
                }
                own.as_mut().map_or(Ok(()), ask)
            }
        }
    }
}

fn connect(tier: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(tier)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn ask(tier: &mut TcpStream) -> io::Result<()> {
    tier.write_all(QUESTION)?;
    let mut seen = Vec::new();
    while !seen.ends_with(b"done\n") {
        more(tier, &mut seen)?;
    }
    Ok(())
}

fn more(from: &mut TcpStream, seen: &mut Vec<u8>) -> io::Result<()> {
    let mut block = [0; 4096];
    let count = from.read(&mut block)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    seen.extend_from_slice(&block[..count]);
    Ok(())
}

fn serve(mut client: TcpStream, limit: &Limit) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut own = None;
    let mut seen = Vec::new();
    loop {
        while !seen.ends_with(b"\r\n\r\n") {
            more(&mut client, &mut seen)?;
        }
        seen.clear();
        limit.pass(&mut own)?;
        client.write_all(ANSWER)?;
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number: usize = arguments[1].parse().expect("NUMBER");
    let work = Duration::from_secs_f64(arguments[2].parse::<f64>().expect("MILLISECONDS") / 1e3);
    let tier = arguments.get(3).map_or("", |url| {
        url.trim_start_matches("http://").trim_end_matches('/')
    });
    let limit = Arc::new(match arguments[0].as_str() {
        "lock" => Limit::Lock(Mutex::new(()), work),
        "workers" | "tier" => Limit::Workers(Shelf::of(vec![(); number]), work),
        "pool" => Limit::Pool(Shelf::of(
            (0..number).map(|_| connect(tier).expect("tier")).collect(),
        )),
        "front" => Limit::Front(tier.to_owned()),
        other => panic!("no such limit: {other}"),
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("http://{}/", listener.local_addr().expect("an address"));
    for client in listener.incoming().flatten() {
        let limit = Arc::clone(&limit);
        thread::spawn(move || serve(client, &limit));
    }
}
