//! The third architecture of the doubled-servers test: the application pushes each request to a list and answers 202;
//! fifty loops of a worker pop, store and read. Nobody bounds the list, and nobody acknowledges.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bson::doc;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::super::clock::{burn, unix_seconds};
use super::super::documents::Documents;
use super::super::http;
use super::super::metrics::Metrics;
use super::super::pool::Pool;
use super::super::upstream::Upstream;
use super::super::{Context, Watch};
use crate::LabError;

/// The application: `--upstream` is the list.
pub(crate) fn start_app(context: Context) -> Result<(), LabError> {
    let address = context.upstream()?;
    let cpu = context.values.millis("cpu");
    let list = Upstream::new(address);
    let watch = [Watch::Port("list", address)];
    http::serve(context, &watch, move |asked| {
        let list = list.clone();
        async move {
            if asked.path != "/" {
                return http::text(StatusCode::NOT_FOUND, "GET /\n");
            }
            burn(cpu);
            let item = json!({ "asked_at": unix_seconds() }).to_string();
            match list.post("/push", item).await {
                Ok((StatusCode::OK, _)) => http::json(StatusCode::ACCEPTED, "{\"accepted\":true}"),
                Ok((status, _)) => http::text(StatusCode::BAD_GATEWAY, format!("list: {status}\n")),
                Err(failure) => http::text(StatusCode::BAD_GATEWAY, format!("list: {failure}\n")),
            }
        }
    })
}

/// What a worker did so far, and has in hand.
#[derive(Debug, Default)]
struct Progress {
    done: AtomicU64,
    failed: AtomicU64,
    in_hand: AtomicU64,
}

/// The worker: the first `--upstream` is the list, the second the database.
pub(crate) fn start_worker(context: Context) -> Result<(), LabError> {
    let [list, database] = context.two_upstreams()?;
    let loops = context.values.count("loops");
    let pool = Arc::new(Pool::new(context.values.count("pool"), None));
    let documents = Arc::new(Documents::new(database, "article", "numbers", pool));
    let done = Arc::new(Progress::default());
    let watch = [
        Watch::Port("list", list),
        Watch::Port("database", database),
        Watch::Metrics(context.address),
    ];
    let upstream = Upstream::new(list);
    let (running, counted) = (Arc::clone(&documents), Arc::clone(&done));
    let begin = move || {
        for _ in 0..loops {
            let (list, documents, done) =
                (upstream.clone(), Arc::clone(&running), Arc::clone(&counted));
            tokio::spawn(async move { work(&list, &documents, &done).await });
        }
    };
    http::serve_beside(context, &watch, begin, move |asked| {
        let (documents, done) = (Arc::clone(&documents), Arc::clone(&done));
        async move {
            match asked.path.as_str() {
                "/" => http::ok(),
                "/metrics" => documents.pool.metrics(done.metrics()).answer(),
                _ => http::text(StatusCode::NOT_FOUND, "GET /metrics\n"),
            }
        }
    })
}

/// One loop: pop, store, read, for ever.
async fn work(list: &Upstream, documents: &Documents, done: &Progress) {
    loop {
        let item = match list.post("/pop", "").await {
            Ok((StatusCode::OK, item)) => item,
            Ok(_) => continue,
            Err(_) => {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        done.in_hand.fetch_add(1, Ordering::Relaxed);
        let asked: Value = serde_json::from_slice(&item).unwrap_or_default();
        let asked_at = asked["asked_at"].as_f64().unwrap_or_default();
        let document =
            doc! { "number": asked_at.fract(), "asked_at": asked_at, "at": unix_seconds() };
        let stored = match documents.insert(document).await {
            Ok(()) => documents.find_one().await.map(drop),
            Err(failure) => Err(failure),
        };
        // As published: what fails here is gone, for the list has forgotten it.
        let counter = if stored.is_ok() {
            &done.done
        } else {
            &done.failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
        done.in_hand.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Progress {
    fn metrics(&self) -> Metrics {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        Metrics::default()
            .counter(
                "worker_done_total",
                "Items stored and read.",
                count(&self.done),
            )
            .counter(
                "worker_failed_total",
                "Items popped and lost.",
                count(&self.failed),
            )
            .gauge(
                "worker_pending",
                "Items popped and not yet done: lost if this process ends.",
                count(&self.in_hand),
            )
    }
}
