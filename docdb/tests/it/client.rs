//! A server in this process and a client that sends what it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use plimsoll_docdb::internals::{HEADER_BYTES, Header};
use plimsoll_docdb::server::{Config, Durability, Scheduler, Server};

use crate::folder::Folder;

pub(crate) fn config(folder: &Folder) -> Config {
    Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        unix: None,
        tls: None,
        data: folder.path().join("data"),
        durability: Durability::Always,
        scheduler: Scheduler::Sharded,
        shards: None,
        auth: false,
        queue: 1000,
        connections: 20_000,
        cache_bytes: 16 << 20,
        memory_bytes: 256 << 20,
        slow_fsync: Duration::ZERO,
        log: |_| {},
    }
}

pub(crate) fn start(config: Config) -> Server {
    Server::start(config).unwrap()
}

/// A server on a folder of its own, and a client of it.
pub(crate) fn serve() -> (Folder, Server, Client) {
    let folder = Folder::new("it");
    let server = start(config(&folder));
    let client = Client::connect(server.address());
    (folder, server, client)
}

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream }
    }

    /// Sends a command for `database` and waits for its reply.
    pub(crate) fn command(&mut self, database: &str, mut command: Document) -> Document {
        command.insert("$db", database);
        self.stream.write_all(&message(0, &command)).unwrap();
        self.reply().expect("a reply")
    }

    /// The same, and `ok` is expected.
    pub(crate) fn ok(&mut self, database: &str, command: Document) -> Document {
        let sent = command.to_string();
        let reply = self.command(database, command);
        assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{sent} got {reply}");
        assert!(!reply.contains_key("writeErrors"), "{sent} got {reply}");
        reply
    }

    /// The next reply; `None` if the server closed the connection.
    pub(crate) fn reply(&mut self) -> Option<Document> {
        let mut head = [0; HEADER_BYTES];
        self.stream.read_exact(&mut head).ok()?;
        let length = Header::read(&head).unwrap().unwrap().length;
        let mut body = vec![0; length - HEADER_BYTES];
        self.stream.read_exact(&mut body).ok()?;
        Some(Document::from_reader(&body[5..]).unwrap())
    }

    /// Whether the server closed the connection, or does so now.
    pub(crate) fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 64]), Ok(0) | Err(_))
    }

    pub(crate) fn insert(&mut self, database: &str, collection: &str, documents: Vec<Document>) {
        self.ok(
            database,
            doc! { "insert": collection, "documents": documents },
        );
    }

    pub(crate) fn count(&mut self, database: &str, collection: &str) -> i32 {
        self.ok(database, doc! { "count": collection })
            .get_i32("n")
            .unwrap()
    }

    /// The first batch of a find.
    pub(crate) fn find(
        &mut self,
        database: &str,
        collection: &str,
        filter: Document,
    ) -> Vec<Document> {
        let reply = self.ok(database, doc! { "find": collection, "filter": filter });
        let batch = reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        batch
            .iter()
            .map(|one| one.as_document().unwrap().clone())
            .collect()
    }
}

/// An `OP_MSG` with these flags and one body.
pub(crate) fn message(flags: u32, body: &Document) -> Vec<u8> {
    let body = RawDocumentBuf::try_from(body).unwrap();
    let length = HEADER_BYTES + 5 + body.as_bytes().len();
    let mut bytes = Vec::with_capacity(length);
    for field in [length as i32, 1, 0, 2013] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    bytes.extend_from_slice(&flags.to_le_bytes());
    bytes.push(0);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}
