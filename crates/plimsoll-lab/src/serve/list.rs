//! A list in memory, pushed at one end and popped at the other without an acknowledgement: what many take for a queue.
//! What was popped and not yet done is lost with who popped it, and what is in the list with this process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use tokio::sync::Notify;

use super::http::{self, Answer, Received};
use super::metrics::Metrics;
use super::{Context, Watch};
use crate::LabError;

/// A pop waits so long for an item, then says that there is none.
const POP_WAIT: Duration = Duration::from_secs(1);

#[derive(Default)]
struct List {
    items: Mutex<VecDeque<Bytes>>,
    /// Told of every push.
    came: Notify,
    pushed: AtomicU64,
    popped: AtomicU64,
}

pub(crate) fn start(context: Context) -> Result<(), LabError> {
    let list = Arc::new(List::default());
    let watch = [Watch::Metrics(context.address)];
    http::serve(context, &watch, move |asked| {
        let list = Arc::clone(&list);
        async move { list.route(asked).await }
    })
}

impl List {
    async fn route(&self, asked: Received) -> Answer {
        match (&asked.method, asked.path.as_str()) {
            (&Method::POST, "/push") => self.push(asked.body),
            (&Method::POST, "/pop") => self.pop().await,
            (&Method::GET, "/") => http::ok(),
            (&Method::GET, "/metrics") => self.metrics(),
            _ => http::text(
                StatusCode::NOT_FOUND,
                "POST /push with an item, POST /pop, GET /metrics\n",
            ),
        }
    }

    fn items(&self) -> MutexGuard<'_, VecDeque<Bytes>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, item: Bytes) -> Answer {
        self.items().push_back(item);
        self.pushed.fetch_add(1, Ordering::Relaxed);
        self.came.notify_one();
        http::text(StatusCode::OK, "pushed\n")
    }

    /// The oldest item, or 204 if none came in time.
    async fn pop(&self) -> Answer {
        let next = async {
            loop {
                if let Some(item) = self.items().pop_front() {
                    return item;
                }
                self.came.notified().await;
            }
        };
        match tokio::time::timeout(POP_WAIT, next).await {
            Ok(item) => {
                self.popped.fetch_add(1, Ordering::Relaxed);
                http::text(StatusCode::OK, item)
            }
            Err(_) => http::text(StatusCode::NO_CONTENT, ""),
        }
    }

    fn metrics(&self) -> Answer {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        Metrics::default()
            .gauge(
                "list_queue_length",
                "Items that wait.",
                self.items().len() as f64,
            )
            .counter("list_pushed_total", "Items pushed.", count(&self.pushed))
            .counter("list_popped_total", "Items popped.", count(&self.popped))
            .answer()
    }
}
