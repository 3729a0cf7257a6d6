//! A server of CQL in memory that speaks as much of version 4 of the protocol as the driver needs, over a real socket, with
//! faults that are chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Mutex as Turn;
use tokio::task::JoinSet;

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
    /// Writes of several rows of which the first half is done when the rest is refused.
    pub(super) partial: u64,
    /// Writes that are done before the connection is closed; sent again, they are refused.
    pub(super) torn: u64,
    /// Two nodes with the same rows, so that the driver has one to try next.
    pub(super) is_pair: bool,
    /// Only `me` with the password `s3cret` is let in.
    pub(super) auth: bool,
}

/// Timestamp, updates, payload; no payload: deleted.
type Row = (i64, i64, Option<Vec<u8>>);
/// A statement, and what is bound to it.
type Asked = (String, Vec<Vec<u8>>);
/// The code of an answer and its body.
type Reply = (u8, Vec<u8>);

#[derive(Debug)]
struct Store {
    faults: Faults,
    count: AtomicU64,
    turn: Turn<()>,
    tables: Mutex<BTreeMap<String, BTreeMap<i64, Row>>>,
    prepared: Mutex<Vec<String>>,
    /// What was torn, and not sent again yet.
    torn: Mutex<BTreeSet<Vec<u8>>>,
}

/// Serves until the test ends.
pub(super) fn start(faults: Faults) -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let nodes = nodes(faults.is_pair).await;
            tell.send(nodes[0].local_addr().unwrap()).unwrap();
            let store = Arc::new(Store {
                faults,
                count: AtomicU64::new(0),
                turn: Turn::new(()),
                tables: Mutex::default(),
                prepared: Mutex::default(),
                torn: Mutex::default(),
            });
            let mut accepting = JoinSet::new();
            for (node, address) in nodes.into_iter().zip(ADDRESSES) {
                accepting.spawn(accept(node, address, Arc::clone(&store)));
            }
            accepting.join_all().await;
        });
    });
    told.recv().unwrap()
}

async fn accept(node: TcpListener, address: Ipv4Addr, store: Arc<Store>) {
    while let Ok((stream, _)) = node.accept().await {
        tokio::spawn(serve(Arc::clone(&store), stream, address));
    }
}

/// Nodes of one store have the same port.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)];

async fn nodes(is_pair: bool) -> Vec<TcpListener> {
    loop {
        let first = TcpListener::bind((ADDRESSES[0], 0)).await.unwrap();
        if !is_pair {
            return vec![first];
        }
        let port = first.local_addr().unwrap().port();
        if let Ok(second) = TcpListener::bind((ADDRESSES[1], port)).await {
            return vec![first, second];
        }
    }
}

async fn serve(store: Arc<Store>, stream: TcpStream, node: Ipv4Addr) {
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
            let Some((opcode, answer)) = store.answer(head[4], &body, node).await else {
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

fn void() -> Reply {
    (RESULT, Body::default().int(1).0)
}

fn error(code: i32, words: &str) -> Body {
    Body::default().int(code).string(words)
}

fn unavailable() -> Reply {
    (0x00, error(0x1000, "not enough").short(4).int(2).int(1).0)
}

fn rows(columns: &[&str], rows: &[Vec<Vec<u8>>]) -> Reply {
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
    async fn answer(&self, opcode: u8, body: &[u8], node: Ipv4Addr) -> Option<Reply> {
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
            0x07 => self.query(&long_string(body), node),
            0x09 => self.prepare(&long_string(body)),
            0x0A | 0x0D => return self.execute(opcode, body, node).await,
            _ => (0x00, error(0x000A, "not spoken here").0),
        })
    }

    fn query(&self, text: &str, node: Ipv4Addr) -> Reply {
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
            _ if text.contains("system.local") => of_nodes(text, &[node]),
            _ if text.contains("system.peers") && self.faults.is_pair => {
                let others = ADDRESSES.into_iter().filter(|address| *address != node);
                of_nodes(text, &others.collect::<Vec<_>>())
            }
            _ => rows(&selected(text), &[]),
        }
    }

    fn prepare(&self, text: &str) -> Reply {
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

    fn statement(&self, id: &[u8]) -> String {
        let place = u16::from_be_bytes([id[0], id[1]]);
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)[place as usize].clone()
    }

    /// The statements of an EXECUTE, which has one, or of a BATCH.
    fn asked(&self, opcode: u8, body: &[u8]) -> Vec<Asked> {
        if opcode == 0x0A {
            let text = self.statement(&body[2..4]);
            let (values, _) = values(&body[7..], shape(&text).0.len());
            return vec![(text, values)];
        }
        let mut rest = &body[3..];
        let mut all = Vec::new();
        for _ in 0..u16::from_be_bytes([body[1], body[2]]) {
            // Behind its kind and the length of its identifier.
            let text = self.statement(&rest[3..5]);
            let (values, after) = values(&rest[5..], shape(&text).0.len());
            all.push((text, values));
            rest = after;
        }
        all
    }

    /// The faults of this request and its turn among 100. Filling and looking go well, if no faster than the rest; insertions
    /// begin to fail when the first of anything else was seen.
    fn faults(&self, text: &str) -> (Faults, u64) {
        let is_spared = shape(text).0.is_empty()
            || (text.starts_with("INSERT") && self.count.load(Ordering::Relaxed) == 0);
        if is_spared {
            let faults = Faults {
                delay_ms: self.faults.delay_ms,
                ..Faults::default()
            };
            return (faults, 0);
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        (self.faults, number * 37 % 100)
    }

    async fn execute(&self, opcode: u8, body: &[u8], node: Ipv4Addr) -> Option<Reply> {
        let asked = self.asked(opcode, body);
        let (text, values) = &asked[0];
        if text.contains("system") {
            return Some(self.query(text, node));
        }
        let (faults, turn) = self.faults(text);
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
        let mut torn = self.torn.lock().unwrap_or_else(PoisonError::into_inner);
        if turn < faults.unavailable || torn.remove(body) {
            return Some(unavailable());
        }
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.entry(keyspace(text)).or_default();
        if text.starts_with("SELECT") {
            return Some(read(table, &selected(text), values.first()));
        }
        let changes = changes(&asked);
        if turn < faults.partial && changes.len() > 1 {
            write(table, &changes[..changes.len() / 2]);
            return Some(unavailable());
        }
        if turn >= faults.lose {
            write(table, &changes);
        }
        if turn < faults.torn {
            torn.insert(body.to_vec());
            return None;
        }
        Some(if turn < faults.late { late() } else { void() })
    }
}

fn late() -> Reply {
    let late = error(0x1100, "gave up").short(4).int(0).int(1);
    (0x00, late.string("SIMPLE").0)
}

/// What a table of the system says of these nodes.
fn of_nodes(text: &str, nodes: &[Ipv4Addr]) -> Reply {
    let columns = selected(text);
    let of = |node: &Ipv4Addr| {
        let value = |name: &&str| match *name {
            "host_id" => vec![node.octets()[3]; 16],
            "schema_version" => vec![7; 16],
            "rpc_address" => node.octets().to_vec(),
            "tokens" => Body::default().int(1).bytes(b"0").0,
            _ => b"one".to_vec(),
        };
        columns.iter().map(value).collect()
    };
    rows(&columns, &nodes.iter().map(of).collect::<Vec<_>>())
}

fn long_string(body: &[u8]) -> String {
    let length = u32::from_be_bytes([body[0], body[1], body[2], body[3]]) as usize;
    String::from_utf8(body[4..4 + length].to_vec()).unwrap()
}

/// So many of them, behind their number, and what follows.
fn values(body: &[u8], count: usize) -> (Vec<Vec<u8>>, &[u8]) {
    let mut rest = body.get(2..).unwrap_or_default();
    let mut all = Vec::new();
    for _ in 0..count {
        let length = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        all.push(rest[4..4 + length].to_vec());
        rest = &rest[4 + length..];
    }
    (all, rest)
}

fn read(table: &BTreeMap<i64, Row>, selected: &[&str], asked: Option<&Vec<u8>>) -> Reply {
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

/// What statements write, row by row.
fn changes(asked: &[Asked]) -> Vec<(i64, Row)> {
    let mut all = Vec::new();
    for (text, values) in asked {
        let (bound, _) = shape(text);
        let value = |name: &str| {
            let place = bound.iter().position(|bound| *bound == name);
            place.map(|place| values[place].clone())
        };
        let stamp = number(&value("[timestamp]").unwrap());
        let updates = value("n").map_or(0, |updates| number(&updates));
        let ids = value("ids").map(|ids| numbers(&ids));
        let ids = ids.unwrap_or_else(|| vec![number(&value("id").unwrap())]);
        all.extend(ids.into_iter().map(|id| (id, (stamp, updates, value("p")))));
    }
    all
}

/// The highest timestamp stays.
fn write(table: &mut BTreeMap<i64, Row>, changes: &[(i64, Row)]) {
    for (id, change) in changes {
        let row = table.entry(*id).or_insert((i64::MIN, 0, None));
        if change.0 > row.0 {
            *row = change.clone();
        }
    }
}
