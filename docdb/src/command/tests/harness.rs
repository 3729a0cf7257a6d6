//! A shard to send commands to.

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document, doc};
use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;

use crate::backend::Task;
use crate::folder::Folder;
use crate::scheduler::{Backend, Context, Step};
use crate::shard::{Shard, ShardOptions};
use crate::wire::Request;

/// A shard in a directory that goes away with it.
pub(super) struct Server {
    pub(super) shard: Option<Shard>,
    folder: Folder,
    pub(super) options: ShardOptions,
    /// Times that a command gave way.
    pub(super) slices: usize,
    pub(super) session: Option<[u8; 16]>,
    pub(super) now: i64,
}

impl Server {
    pub(super) fn new() -> Self {
        Self::with_slice(1000)
    }

    /// A command gives way after so many documents, however long a busy machine takes for them.
    pub(super) fn with_slice(slice: usize) -> Self {
        let mut options = ShardOptions {
            slice,
            slice_time: Nanos(u64::MAX),
            ..ShardOptions::default()
        };
        // Opening reads the journal's segments to their ends, and these tests open often.
        options.store.segment_bytes = 256 << 10;
        let mut server = Self {
            shard: None,
            folder: Folder::new("commands"),
            options,
            slices: 0,
            session: None,
            now: 1_700_000_000_000,
        };
        server.reopen();
        server
    }

    pub(super) fn reopen(&mut self) {
        self.shard = None;
        let shard = Shard::open(self.folder.path(), &self.options, Clock::start()).unwrap();
        self.shard = Some(shard);
    }

    pub(super) fn shard(&mut self) -> &mut Shard {
        self.shard.as_mut().unwrap()
    }

    /// As a connection does when a client ends sessions.
    pub(super) fn end_sessions(&mut self, sessions: impl IntoIterator<Item = [u8; 16]>) {
        self.options.ended.tell(sessions);
        let now = self.context().now;
        self.shard().tend(now);
    }

    pub(super) fn context(&self) -> Context {
        Context {
            now: bson::DateTime::from_millis(self.now),
            session: self.session,
        }
    }

    pub(super) fn begin(&mut self, mut command: Document) -> Step<Task> {
        if !command.contains_key("$db") {
            command.insert("$db", "db");
        }
        let raw = RawDocumentBuf::try_from(&command).unwrap();
        let context = self.context();
        let request = Request::from_document(&raw);
        self.shard().begin(&request, &context)
    }

    pub(super) fn go_on(&mut self, task: Task) -> Step<Task> {
        let context = self.context();
        self.shard().go_on(task, &context, None)
    }

    /// The reply to a command, whatever it is.
    pub(super) fn run(&mut self, command: Document) -> Document {
        let mut step = self.begin(command);
        loop {
            match step {
                Step::Done(reply) => {
                    self.shard().commit().unwrap();
                    return Document::try_from(reply.as_ref()).unwrap();
                }
                Step::More(task) => {
                    self.slices += 1;
                    self.shard().commit().unwrap();
                    step = self.go_on(task);
                }
            }
        }
    }

    /// The reply to a command that succeeds.
    pub(super) fn ok(&mut self, command: Document) -> Document {
        let shown = command.to_string();
        let reply = self.run(command);
        let ok = reply.get("ok");
        assert_eq!(ok, Some(&Bson::Double(1.0)), "{shown} answers {reply}");
        reply
    }

    /// Code and text of the error of a command that fails.
    pub(super) fn fail(&mut self, command: Document) -> (i32, String) {
        let shown = command.to_string();
        let reply = self.run(command);
        let ok = reply.get("ok");
        assert_eq!(ok, Some(&Bson::Double(0.0)), "{shown} answers {reply}");
        (
            reply.get_i32("code").unwrap(),
            reply.get_str("errmsg").unwrap().to_owned(),
        )
    }

    /// The `n` that a command answers.
    pub(super) fn n(&mut self, command: Document) -> i32 {
        self.ok(command).get_i32("n").unwrap()
    }

    /// The indexes of the collection `c`.
    pub(super) fn indexes(&mut self) -> Vec<Document> {
        batch(&self.ok(doc! { "listIndexes": "c" }), "firstBatch")
    }

    pub(super) fn insert(&mut self, collection: &str, documents: Vec<Document>) {
        let count = documents.len();
        let reply = self.ok(doc! { "insert": collection, "documents": documents });
        assert_eq!(reply.get_i32("n").unwrap() as usize, count, "{reply}");
        assert!(!reply.contains_key("writeErrors"), "{reply}");
    }

    /// All documents of a find, through as many batches as it takes.
    pub(super) fn find(&mut self, command: Document) -> Vec<Document> {
        let collection = command.get_str("find").unwrap().to_owned();
        let reply = self.ok(command);
        let mut documents = batch(&reply, "firstBatch");
        let mut id = cursor_id(&reply);
        while id != 0 {
            let reply = self.ok(doc! { "getMore": id, "collection": &collection });
            documents.extend(batch(&reply, "nextBatch"));
            id = cursor_id(&reply);
        }
        documents
    }

    /// The `_id`s of a find.
    pub(super) fn ids(&mut self, command: Document) -> Vec<Bson> {
        ids(&self.find(command))
    }

    /// Documents, index entries and counts must agree.
    pub(super) fn validate(&mut self, collection: &str) {
        let reply = self.ok(doc! { "validate": collection });
        assert_eq!(reply.get("valid"), Some(&Bson::Boolean(true)), "{reply}");
    }
}

pub(super) fn batch(reply: &Document, name: &str) -> Vec<Document> {
    let cursor = reply.get_document("cursor").unwrap();
    let batch = cursor.get_array(name).unwrap();
    batch
        .iter()
        .map(|one| one.as_document().unwrap().clone())
        .collect()
}

pub(super) fn ids(documents: &[Document]) -> Vec<Bson> {
    let ids = documents.iter().map(|one| one.get("_id").unwrap().clone());
    ids.collect()
}

/// The first write error of a reply.
pub(super) fn write_error(reply: &Document) -> &Document {
    let errors = reply.get_array("writeErrors").unwrap();
    errors[0].as_document().unwrap()
}

pub(super) fn cursor_id(reply: &Document) -> i64 {
    reply.get_document("cursor").unwrap().get_i64("id").unwrap()
}

/// `[1, 2, 3]` as BSON.
pub(super) fn ints(values: &[i32]) -> Vec<Bson> {
    values.iter().map(|value| Bson::Int32(*value)).collect()
}
