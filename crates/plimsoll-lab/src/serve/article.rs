//! The application of the doubled-servers test: a request stores a random number, reads any one document, and tells how
//! long that took. One thread, as Node has.

pub(crate) mod queue;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bson::doc;
use hyper::StatusCode;
use plimsoll_core::rng::Rng;
use serde_json::json;

use super::clock::{burn, now, unix_seconds};
use super::documents::{Documents, Failure};
use super::http::{self, Answer};
use super::metrics::Metrics;
use super::pool::Pool;
use super::{Context, Watch};
use crate::LabError;

pub(crate) fn start(context: Context) -> Result<(), LabError> {
    let wait_timeout = context.values.millis("wait_timeout");
    let pool = Pool::new(
        context.values.count("pool"),
        (!wait_timeout.is_zero()).then_some(wait_timeout),
    );
    let cpu = context.values.millis("cpu");
    let database = context.upstream()?;
    let documents = Documents::new(database, "article", "numbers", pool);
    let host = context.address.to_string();
    let rng = Rng::new(u64::from(std::process::id()), 0);
    let app = Arc::new(App {
        documents,
        host,
        cpu,
        rng: Mutex::new(rng),
    });
    let watch = [
        Watch::Port("database", database),
        Watch::Metrics(context.address),
    ];
    http::serve(context, &watch, move |asked| {
        let app = Arc::clone(&app);
        async move {
            match asked.path.as_str() {
                "/" => app.page().await,
                "/metrics" => app.documents.pool.metrics(Metrics::default()).answer(),
                _ => http::text(StatusCode::NOT_FOUND, "GET / or GET /metrics\n"),
            }
        }
    })
}

struct App {
    documents: Documents,
    host: String,
    /// What the framework and the page itself cost.
    cpu: Duration,
    rng: Mutex<Rng>,
}

impl App {
    async fn page(&self) -> Answer {
        let begun = now();
        burn(self.cpu);
        match self.store_and_read().await {
            Ok(()) => {
                let took = begun.elapsed().as_secs_f64() * 1e3;
                let page = json!({ "latency_ms": took, "host": self.host });
                http::json(StatusCode::OK, page.to_string())
            }
            Err(failure) => {
                let text = format!("{failure}\n");
                http::text(StatusCode::INTERNAL_SERVER_ERROR, text)
            }
        }
    }

    async fn store_and_read(&self) -> Result<(), Failure> {
        let number = {
            let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
            rng.unit()
        };
        self.documents
            .insert(doc! { "number": number, "at": unix_seconds() })
            .await?;
        self.documents.find_one().await.map(drop)
    }
}
