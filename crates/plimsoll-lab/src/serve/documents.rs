//! A client of a MongoDB server for embedded applications: a pool of connections, and the operations they use.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bson::{Bson, Document, doc};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::pool::Pool;

const OP_MSG: i32 = 2013;
/// Length, request id, response id, operation; then the flags and the kind of the only section.
const HEAD: usize = 16 + 4 + 1;
/// Longer than any answer to these operations.
const ANSWER_MAX: usize = 1 << 20;
/// Of an insert: a document with this `_id` is there already.
const DUPLICATE_KEY: i32 = 11000;

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No connection of the pool became free in time.
    Pool,
    /// The server could not be reached, or refused.
    Server(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool => f.write_str("no connection of the database's pool became free in time"),
            Self::Server(text) => f.write_str(text),
        }
    }
}

/// One collection of a server.
#[derive(Debug)]
pub(crate) struct Documents {
    address: SocketAddr,
    database: String,
    collection: String,
    pub(crate) pool: Arc<Pool>,
    idle: Mutex<Vec<TcpStream>>,
}

impl Documents {
    pub(crate) fn new(
        address: SocketAddr,
        database: &str,
        collection: &str,
        pool: Arc<Pool>,
    ) -> Self {
        Self {
            address,
            database: database.to_owned(),
            collection: collection.to_owned(),
            pool,
            idle: Mutex::default(),
        }
    }

    pub(crate) async fn insert(&self, document: Document) -> Result<(), Failure> {
        let command = doc! { "insert": &self.collection, "documents": [document] };
        self.command(command).await.map(drop)
    }

    /// Any one document, as `findOne()` without a filter.
    pub(crate) async fn find_one(&self) -> Result<Option<Document>, Failure> {
        let command = doc! { "find": &self.collection, "limit": 1, "singleBatch": true };
        let answer = self.command(command).await?;
        let batch = answer
            .get_document("cursor")
            .and_then(|cursor| cursor.get_array("firstBatch"));
        let first = batch.ok().and_then(|batch| batch.first());
        Ok(first.and_then(|one| one.as_document()).cloned())
    }

    /// How many documents there are.
    pub(crate) async fn count(&self) -> Result<u64, Failure> {
        let answer = self.command(doc! { "count": &self.collection }).await?;
        let count = match answer.get("n") {
            Some(Bson::Int32(count)) => u64::try_from(*count).ok(),
            Some(Bson::Int64(count)) => u64::try_from(*count).ok(),
            Some(Bson::Double(count)) => Some(count.max(0.0) as u64),
            _ => None,
        };
        count.ok_or_else(|| Failure::Server(format!("{}: no count in {answer}", self.address)))
    }

    /// Every document, in the order of their `_id`; no more than fit into one answer of 1 MiB.
    pub(crate) async fn find_all(&self) -> Result<Vec<Document>, Failure> {
        let command = doc! {
            "find": &self.collection, "sort": { "_id": 1 }, "batchSize": i32::MAX, "singleBatch": true,
        };
        let mut answer = self.command(command).await?;
        let batch = answer
            .get_document_mut("cursor")
            .and_then(|cursor| cursor.get_array_mut("firstBatch"));
        let documents = batch.map(std::mem::take).unwrap_or_default().into_iter();
        let documents = documents.filter_map(|one| match one {
            Bson::Document(document) => Some(document),
            _ => None,
        });
        Ok(documents.collect())
    }

    /// Inserts those whose `_id` is not there yet.
    pub(crate) async fn insert_missing(&self, documents: Vec<Document>) -> Result<(), Failure> {
        let command = doc! { "insert": &self.collection, "documents": documents, "ordered": false };
        let answer = self.answer(command).await?;
        let errors = answer.get_array("writeErrors").into_iter().flatten();
        let is_other = |error: &Bson| {
            let code = error
                .as_document()
                .and_then(|error| error.get_i32("code").ok());
            code != Some(DUPLICATE_KEY)
        };
        let mut others = errors.filter(|error| is_other(error));
        if answer.get_f64("ok").ok() == Some(1.0) && others.next().is_none() {
            return Ok(());
        }
        Err(Failure::Server(format!("{}: {answer}", self.address)))
    }

    /// The answer to a command, if it says that all went well.
    async fn command(&self, command: Document) -> Result<Document, Failure> {
        let answer = self.answer(command).await?;
        let failed = answer.get_f64("ok").ok() != Some(1.0) || answer.contains_key("writeErrors");
        if failed {
            return Err(Failure::Server(format!("{}: {answer}", self.address)));
        }
        Ok(answer)
    }

    /// The answer to a command, whatever it says.
    async fn answer(&self, mut command: Document) -> Result<Document, Failure> {
        command.insert("$db", &self.database);
        let _one_of_the_pool = self.pool.take().await.map_err(|_| Failure::Pool)?;
        let server =
            |error: &dyn fmt::Display| Failure::Server(format!("{}: {error}", self.address));
        let mut stream = self.stream().await.map_err(|error| server(&error))?;
        let answer = exchange(&mut stream, &command)
            .await
            .map_err(|error| server(&error))?;
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(stream);
        Ok(answer)
    }

    async fn stream(&self) -> std::io::Result<TcpStream> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        if let Some(stream) = idle {
            return Ok(stream);
        }
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

async fn exchange(stream: &mut TcpStream, command: &Document) -> std::io::Result<Document> {
    let invalid = |error| std::io::Error::new(std::io::ErrorKind::InvalidData, error);
    let body = command
        .to_vec()
        .map_err(|error| invalid(error.to_string()))?;
    let length = i32::try_from(HEAD + body.len()).unwrap_or(i32::MAX);
    let mut message = Vec::with_capacity(HEAD + body.len());
    for number in [length, 1, 0, OP_MSG, 0] {
        message.extend_from_slice(&number.to_le_bytes());
    }
    message.push(0);
    message.extend_from_slice(&body);
    stream.write_all(&message).await?;
    let length = usize::try_from(stream.read_i32_le().await?).unwrap_or(0);
    if !(HEAD..ANSWER_MAX).contains(&length) {
        return Err(invalid(format!("an answer of {length} bytes")));
    }
    let mut rest = vec![0; length - 4];
    stream.read_exact(&mut rest).await?;
    let body = rest.get(HEAD - 4..).unwrap_or_default();
    Document::from_reader(body).map_err(|error| invalid(error.to_string()))
}
