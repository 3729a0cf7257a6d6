//! A server of CQL in memory that speaks as much of version 4 of the protocol as the driver needs, over a real socket, with
//! faults that are chosen.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Mutex as Turn;

/// What goes wrong: of 100 operations so many.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    pub(super) delay_ms: u64,
    /// One operation at a time, whatever is sent.
    pub(super) serial: bool,
    /// Turned away as overloaded.
    pub(super) overloaded: u64,
    /// Answered with a timeout of the server, and done all the same.
    pub(super) late: u64,
    pub(super) unavailable: u64,
    /// Writes that are acknowledged and not done.
    pub(super) lose: u64,
    /// The connection is closed instead of an answer.
    pub(super) hang_up: u64,
    /// Only `me` with the password `s3cret` is let in.
    pub(super) auth: bool,
}

/// Timestamp, updates, payload; no payload: deleted.
type Row = (i64, i64, Option<Vec<u8>>);

#[derive(Debug)]
struct Store {
    faults: Faults,
    count: AtomicU64,
    turn: Turn<()>,
    tables: Mutex<BTreeMap<String, BTreeMap<i64, Row>>>,
    prepared: Mutex<Vec<String>>,
}

/// Serves until the test ends.
pub(super) fn start(faults: Faults) -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            let store = Arc::new(Store {
                faults,
                count: AtomicU64::new(0),
                turn: Turn::new(()),
                tables: Mutex::default(),
                prepared: Mutex::default(),
            });
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&store), stream));
            }
        });
    });
    told.recv().unwrap()
}

async fn serve(store: Arc<Store>, stream: TcpStream) {
    let (mut from, to) = stream.into_split();
    let to = Arc::new(Turn::new(to));
    let mut head = [0_u8; 9];
    while from.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut body = vec![0; length as usize];
        if from.read_exact(&mut body).await.is_err() {
            return;
        }
        let (store, to) = (Arc::clone(&store), Arc::clone(&to));
        tokio::spawn(async move {
            let Some((opcode, answer)) = store.answer(head[4], &body).await else {
                let _gone = to.lock().await.shutdown().await;
                return;
            };
            let mut frame = vec![0x84, 0, head[2], head[3], opcode];
            frame.extend((answer.len() as u32).to_be_bytes());
            frame.extend(answer);
            let _gone = to.lock().await.write_all(&frame).await;
        });
    }
}

/// What is put into a body.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn int(mut self, number: i32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn count(self, count: usize) -> Self {
        self.int((count as u32).cast_signed())
    }

    fn short(mut self, number: u16) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn string(self, text: &str) -> Self {
        let mut body = self.short(text.len() as u16);
        body.0.extend(text.as_bytes());
        body
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let mut body = self.count(bytes.len());
        body.0.extend(bytes);
        body
    }

    /// Names and types, as of one table.
    fn columns(self, names: &[&str]) -> Self {
        let named = self.string("k").string("documents");
        names.iter().fold(named, |body, name| {
            kind(name)
                .iter()
                .fold(body.string(name), |body, part| body.short(*part))
        })
    }
}

/// The type of a column by its name; `s` at the end of `ids` makes a list.
fn kind(name: &str) -> &'static [u16] {
    match name {
        "id" | "n" | "[timestamp]" => &[0x02],
        "ids" => &[0x20, 0x02],
        "p" => &[0x03],
        "host_id" | "schema_version" => &[0x0C],
        "rpc_address" => &[0x10],
        "durable_writes" => &[0x04],
        "position" => &[0x09],
        "tokens" => &[0x22, 0x0D],
        "field_names" | "field_types" => &[0x20, 0x0D],
        "replication" => &[0x21, 0x0D, 0x0D],
        _ => &[0x0D],
    }
}

const RESULT: u8 = 0x08;

fn void() -> (u8, Vec<u8>) {
    (RESULT, Body::default().int(1).0)
}

fn error(code: i32, words: &str) -> Body {
    Body::default().int(code).string(words)
}

fn rows(columns: &[&str], rows: &[Vec<Vec<u8>>]) -> (u8, Vec<u8>) {
    let head = Body::default().int(2).int(1).count(columns.len());
    let head = head.columns(columns).count(rows.len());
    let body = rows
        .iter()
        .flatten()
        .fold(head, |body, value| body.bytes(value));
    (RESULT, body.0)
}

/// Placeholders of a statement, and what it returns.
fn shape(text: &str) -> (Vec<&'static str>, Vec<&str>) {
    let bound: &[&str] = match text {
        _ if text.starts_with("INSERT") => &["id", "p", "[timestamp]"],
        _ if text.starts_with("UPDATE") => &["[timestamp]", "n", "p", "id"],
        _ if text.starts_with("DELETE") && text.contains("IN ?") => &["[timestamp]", "ids"],
        _ if text.starts_with("DELETE") => &["[timestamp]", "id"],
        _ if text.contains("IN ?") => &["ids"],
        _ if text.contains("id = ?") => &["id"],
        _ => &[],
    };
    (bound.to_vec(), selected(text))
}

fn selected(text: &str) -> Vec<&str> {
    let list = text.strip_prefix("SELECT ");
    let list = list.and_then(|rest| rest.split(" FROM ").next());
    list.map_or(Vec::new(), |list| list.split(", ").collect())
}

fn keyspace(text: &str) -> String {
    text.split('"').nth(1).unwrap_or_default().to_owned()
}

fn number(bytes: &[u8]) -> i64 {
    i64::from_be_bytes(bytes.try_into().unwrap())
}

/// What a list of `bigint` has.
fn numbers(bytes: &[u8]) -> Vec<i64> {
    bytes[4..]
        .chunks(12)
        .map(|each| number(&each[4..]))
        .collect()
}

impl Store {
    async fn answer(&self, opcode: u8, body: &[u8]) -> Option<(u8, Vec<u8>)> {
        Some(match opcode {
            // OPTIONS: nothing is optional.
            0x05 => (0x06, Body::default().short(0).0),
            // STARTUP
            0x01 if self.faults.auth => (
                0x03,
                Body::default()
                    .string("org.apache.cassandra.auth.PasswordAuthenticator")
                    .0,
            ),
            0x01 | 0x0B => (0x02, Vec::new()),
            // AUTH_RESPONSE
            0x0F if body.ends_with(b"\0me\0s3cret") => (0x10, Body::default().int(-1).0),
            0x0F => (
                0x00,
                error(0x0100, "Provided username and/or password are incorrect").0,
            ),
            0x07 => self.query(&long_string(body)),
            0x09 => self.prepare(&long_string(body)),
            0x0A => return self.execute(body).await,
            _ => (0x00, error(0x000A, "not spoken here").0),
        })
    }

    fn query(&self, text: &str) -> (u8, Vec<u8>) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let name = keyspace(text);
        let changed = |what: &str| {
            let body = Body::default().int(5).string(what).string("KEYSPACE");
            (RESULT, body.string(&name).0)
        };
        match text {
            _ if text.starts_with("DROP") => {
                tables.remove(&name);
                changed("DROPPED")
            }
            _ if text.starts_with("CREATE") => {
                tables.entry(name.clone()).or_default();
                changed("CREATED")
            }
            _ if text.contains("scylla_") => (0x00, error(0x2200, "no such table").0),
            _ if text.contains("system.local") => {
                let columns = selected(text);
                let value = |name: &&str| match *name {
                    "host_id" | "schema_version" => vec![7; 16],
                    "rpc_address" => vec![127, 0, 0, 1],
                    "tokens" => Body::default().int(1).bytes(b"0").0,
                    _ => b"one".to_vec(),
                };
                rows(&columns, &[columns.iter().map(value).collect()])
            }
            _ => rows(&selected(text), &[]),
        }
    }

    fn prepare(&self, text: &str) -> (u8, Vec<u8>) {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if !text.contains("system") && !tables.contains_key(&keyspace(text)) {
            return (0x00, error(0x2200, "unconfigured table documents").0);
        }
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let place = prepared.iter().position(|known| known == text);
        let place = place.unwrap_or_else(|| {
            prepared.push(text.to_owned());
            prepared.len() - 1
        });
        let (bound, selected) = shape(text);
        let body = Body::default().int(4).short(2).short(place as u16);
        let body = body.int(1).count(bound.len()).int(0);
        let body = body.columns(&bound);
        let body = if selected.is_empty() {
            body.int(4).int(0)
        } else {
            body.int(1).count(selected.len()).columns(&selected)
        };
        (RESULT, body.0)
    }

    async fn execute(&self, body: &[u8]) -> Option<(u8, Vec<u8>)> {
        let place = u16::from_be_bytes([body[2], body[3]]);
        let text =
            self.prepared.lock().unwrap_or_else(PoisonError::into_inner)[place as usize].clone();
        let (bound, selected) = shape(&text);
        if text.contains("system") {
            return Some(self.query(&text));
        }
        // Filling and looking go well, if no faster than the rest; insertions begin to fail when the first of anything else
        // was seen.
        let is_write = !text.starts_with("SELECT");
        let is_spared = bound.is_empty()
            || (text.starts_with("INSERT") && self.count.load(Ordering::Relaxed) == 0);
        let faults = if is_spared {
            Faults {
                delay_ms: self.faults.delay_ms,
                ..Faults::default()
            }
        } else {
            self.faults
        };
        let turn = if is_spared {
            0
        } else {
            self.count.fetch_add(1, Ordering::Relaxed) * 37 % 100
        };
        let _alone = if faults.serial {
            Some(self.turn.lock().await)
        } else {
            None
        };
        if faults.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(faults.delay_ms)).await;
        }
        if turn < faults.hang_up {
            return None;
        }
        if turn < faults.overloaded {
            return Some((0x00, error(0x1001, "too much").0));
        }
        if turn < faults.unavailable {
            return Some((0x00, error(0x1000, "not enough").short(4).int(2).int(1).0));
        }
        let values = values(&body[7..], bound.len());
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.entry(keyspace(&text)).or_default();
        let answer = if !is_write {
            read(table, &selected, values.first())
        } else if turn < faults.lose {
            void()
        } else {
            write(table, &bound, &values);
            void()
        };
        if turn < faults.late && is_write {
            let late = error(0x1100, "gave up")
                .short(4)
                .int(0)
                .int(1)
                .string("SIMPLE");
            return Some((0x00, late.0));
        }
        Some(answer)
    }
}

fn long_string(body: &[u8]) -> String {
    let length = u32::from_be_bytes([body[0], body[1], body[2], body[3]]) as usize;
    String::from_utf8(body[4..4 + length].to_vec()).unwrap()
}

fn values(mut body: &[u8], count: usize) -> Vec<Vec<u8>> {
    body = body.get(2..).unwrap_or_default();
    let mut all = Vec::new();
    for _ in 0..count {
        let length = u32::from_be_bytes([body[0], body[1], body[2], body[3]]) as usize;
        all.push(body[4..4 + length].to_vec());
        body = &body[4 + length..];
    }
    all
}

fn read(table: &BTreeMap<i64, Row>, selected: &[&str], asked: Option<&Vec<u8>>) -> (u8, Vec<u8>) {
    let asked = asked.map(|asked| match asked.len() {
        8 => vec![number(asked)],
        _ => numbers(asked),
    });
    let is_asked = |id: &i64| asked.as_ref().is_none_or(|asked| asked.contains(id));
    let there = table.iter().filter(|(id, _)| is_asked(id));
    let all: Vec<Vec<Vec<u8>>> = there
        .filter_map(|(id, (_, updates, payload))| {
            let payload = payload.clone()?;
            let value = |name: &&str| match *name {
                "id" => id.to_be_bytes().to_vec(),
                "n" => updates.to_be_bytes().to_vec(),
                _ => payload.clone(),
            };
            Some(selected.iter().map(value).collect())
        })
        .collect();
    rows(selected, &all)
}

/// The highest timestamp stays.
fn write(table: &mut BTreeMap<i64, Row>, bound: &[&str], values: &[Vec<u8>]) {
    let value = |name: &str| {
        let place = bound.iter().position(|bound| *bound == name);
        place.map(|place| values[place].clone())
    };
    let stamp = number(&value("[timestamp]").unwrap());
    let ids = value("ids").map_or_else(|| vec![number(&value("id").unwrap())], |ids| numbers(&ids));
    let updates = value("n").map_or(0, |updates| number(&updates));
    for id in ids {
        let row = table.entry(id).or_insert((i64::MIN, 0, None));
        if stamp > row.0 {
            *row = (stamp, updates, value("p"));
        }
    }
}
