//! The application of the doubled-servers test: a request stores a random number, reads any one document, and tells how
//! long that took. One thread, as Node has.

pub(crate) mod queue;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bson::doc;
use hyper::StatusCode;
use plimsoll_base::random::Rng;
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
    let pool = Arc::new(Pool::new(
        context.values.count("pool"),
        (!wait_timeout.is_zero()).then_some(wait_timeout),
    ));
    let cpu = context.values.millis("cpu");
    let databases = context.upstreams()?;
    // One pool over all shards: their number alone is to make the difference.
    let shards = databases
        .iter()
        .map(|database| Documents::new(*database, "article", "numbers", Arc::clone(&pool)));
    let host = context.address.to_string();
    let rng = Rng::new(u64::from(std::process::id()), 0);
    let app = Arc::new(App {
        shards: shards.collect(),
        pool,
        host,
        cpu,
        rng: Mutex::new(rng),
    });
    let ports = databases
        .iter()
        .map(|database| Watch::Port("database", *database));
    let metrics = [Watch::Metrics(context.address)];
    let watch: Vec<Watch> = ports.chain(metrics).collect();
    http::serve(context, &watch, move |asked| {
        let app = Arc::clone(&app);
        async move {
            match asked.path.as_str() {
                "/" => app.page().await,
                "/metrics" => app.pool.metrics(Metrics::default()).answer(),
                _ => http::text(StatusCode::NOT_FOUND, "GET / or GET /metrics\n"),
            }
        }
    })
}

struct App {
    /// At least one; a number belongs to the one that its hash names.
    shards: Vec<Documents>,
    pool: Arc<Pool>,
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
        let documents = &self.shards[shard_of(number, self.shards.len())];
        documents
            .insert(doc! { "number": number, "at": unix_seconds() })
            .await?;
        documents.find_one().await.map(drop)
    }
}

/// Which of so many shards a number belongs to: always the same one, and each as often.
fn shard_of(number: f64, count: usize) -> usize {
    // Mixes the bits: the low ones of a random fraction are not all random.
    let mixed = number.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    mixed as usize % count.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_get_equal_parts_and_a_number_stays_where_it_is() {
        let mut rng = Rng::new(1, 0);
        let mut counts = [0_u32; 3];
        for _ in 0..9_000 {
            let number = rng.unit();
            assert_eq!(shard_of(number, 3), shard_of(number, 3));
            counts[shard_of(number, 3)] += 1;
        }
        assert!(
            counts.iter().all(|count| (2_700..3_300).contains(count)),
            "{counts:?}"
        );
    }
}
