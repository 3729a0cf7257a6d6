//! Commands that take more than one slice: what they are, for `currentOp`, and that they are to end, for `killOp`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bson::RawDocumentBuf;
use bson::raw::RawBsonRef;
use plimsoll_base::Nanos;

use super::Client;
use crate::value::Writer;
use crate::wire::Request;

/// Bytes of a command that are shown.
const SHOWN_BYTES_MAX: usize = 2048;

/// All of a server. A command that is done within its first slice is never in it, so short ones cost nothing.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    last: AtomicI32,
    running: Mutex<BTreeMap<i32, Arc<Operation>>>,
}

/// One command under way.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) id: i32,
    pub(crate) name: String,
    /// Database and collection.
    pub(crate) namespace: String,
    /// Without what makes it long.
    pub(crate) command: RawDocumentBuf,
    pub(crate) client: Arc<Client>,
    pub(crate) begun: Nanos,
    killed: AtomicBool,
}

/// Keeps an operation listed for as long as it lives.
#[derive(Debug)]
pub(crate) struct Listed {
    operation: Arc<Operation>,
    operations: Arc<Operations>,
}

impl Operations {
    /// Lists a command that gave way for the first time.
    pub(crate) fn list(
        self: &Arc<Self>,
        request: &Request,
        client: &Arc<Client>,
        begun: Nanos,
    ) -> Listed {
        let id = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let name = request.name();
        let collection = match request.body().get(name) {
            Ok(Some(RawBsonRef::String(collection))) => collection,
            _ => request.body().get_str("collection").unwrap_or("$cmd"),
        };
        let operation = Arc::new(Operation {
            id,
            name: name.to_owned(),
            namespace: format!("{}.{collection}", request.database()),
            command: shortened(request),
            client: Arc::clone(client),
            begun,
            killed: AtomicBool::new(false),
        });
        self.lock().insert(id, Arc::clone(&operation));
        Listed {
            operation,
            operations: Arc::clone(self),
        }
    }

    pub(crate) fn running(&self) -> Vec<Arc<Operation>> {
        self.lock().values().cloned().collect()
    }

    /// Asks an operation to end. False if there is none of this number.
    pub(crate) fn kill(&self, id: i32) -> bool {
        let found = self.lock().get(&id).cloned();
        if let Some(operation) = &found {
            operation.killed.store(true, Ordering::Relaxed);
        }
        found.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Operation>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Operation {
    /// As `currentOp` shows it.
    pub(crate) fn describe(&self, now: Nanos) -> RawDocumentBuf {
        let time = now.0.saturating_sub(self.begun.0);
        let whole = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let mut shown = Writer::with_capacity(512);
        shown.string("type", "op");
        shown.int("opid", self.id);
        shown.boolean("active", true);
        shown.string("op", kind(&self.name));
        shown.string("ns", &self.namespace);
        shown.long("secs_running", whole(time / 1_000_000_000));
        shown.long("microsecs_running", whole(time / 1000));
        shown.document("command", &self.command);
        shown.string("client", &self.client.peer);
        shown.int("connectionId", self.client.id);
        shown.string("desc", &format!("conn{}", self.client.id));
        shown.boolean("killPending", self.is_killed());
        shown.finish()
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }
}

impl Listed {
    pub(crate) fn is_killed(&self) -> bool {
        self.operation.is_killed()
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.operations.lock().remove(&self.operation.id);
    }
}

/// What MongoDB calls an operation of this command.
fn kind(command: &str) -> &'static str {
    match command {
        "find" => "query",
        "getMore" => "getmore",
        "insert" => "insert",
        "update" => "update",
        "delete" => "remove",
        _ => "command",
    }
}

/// The command's fields up to a size: an `insert` of many documents need not be kept a second time.
fn shortened(request: &Request) -> RawDocumentBuf {
    let mut shown = RawDocumentBuf::new();
    let mut left = SHOWN_BYTES_MAX;
    for element in request.body().iter_elements().flatten() {
        let Some(rest) = left.checked_sub(element.size()) else {
            continue;
        };
        if let Ok(value) = element.value() {
            left = rest;
            shown.append(element.key(), value);
        }
    }
    shown
}
