//! The status page of the server-limits test: every second it reads its documents into an object, and a request only
//! serialises that object. One thread, as Node has: requests are handled one after another.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bson::{DateTime, Document, doc};
use bytes::Bytes;
use hyper::StatusCode;
use plimsoll_base::random::Rng;
use serde::Serialize;

use super::clock::{now, thread_cpu, unix_seconds};
use super::documents::{Documents, Failure};
use super::http::{self, Answer};
use super::metrics::Metrics;
use super::pool::Pool;
use super::{Context, Watch, stop};
use crate::LabError;

/// The published page: 8 sites, the last 30 minutes of each in 60 points, about 31 KB.
const SITES: i32 = 8;
const POINTS: i32 = 60;
const POINT_EVERY: Duration = Duration::from_secs(30);
const REFRESH_EVERY: Duration = Duration::from_secs(1);
/// One reader; the second connection is for the writes at the start.
const POOL: usize = 2;

/// What a request serialises.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    sites: Vec<Site>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Site {
    name: String,
    url: String,
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Point {
    at: String,
    status: i32,
    response_ms: f64,
}

/// The object, and its string where that is made ahead.
#[derive(Debug)]
struct Held {
    page: Page,
    text: Option<Bytes>,
}

struct App {
    documents: Documents,
    held: Mutex<Arc<Held>>,
    /// Processor time that serialising takes for each answer.
    serialise: Duration,
    preserialised: bool,
    refreshes: AtomicU64,
    failures: AtomicU64,
}

pub(crate) fn start(context: Context) -> Result<(), LabError> {
    let database = context.upstream()?;
    let app = Arc::new(App {
        documents: Documents::new(
            database,
            "status",
            "points",
            Arc::new(Pool::new(POOL, None)),
        ),
        held: Mutex::new(Arc::new(Held {
            page: Page::default(),
            text: None,
        })),
        serialise: context.values.millis("serialise"),
        preserialised: context.values.is_on("preserialised"),
        refreshes: AtomicU64::new(0),
        failures: AtomicU64::new(0),
    });
    let watch = [Watch::Port("database", database)];
    stop::one_thread()?.block_on(async {
        let failed = |failure: Failure| {
            let action = format!("fill the database at {database}");
            LabError::io(action)(std::io::Error::other(failure.to_string()))
        };
        app.documents
            .insert_missing(first_points())
            .await
            .map_err(failed)?;
        app.refresh().await.map_err(failed)?;
        tokio::spawn(refresh_for_ever(Arc::clone(&app)));
        http::until_stopped(context, &watch, move |asked| {
            let app = Arc::clone(&app);
            async move {
                match asked.path.as_str() {
                    "/" => app.answer(),
                    "/metrics" => app.metrics(),
                    _ => http::text(StatusCode::NOT_FOUND, "GET / or GET /metrics\n"),
                }
            }
        })
        .await
    })
}

/// What a prober would have left behind, under fixed `_id`s: whoever starts second finds it there.
fn first_points() -> Vec<Document> {
    let start = unix_seconds() - POINT_EVERY.as_secs_f64() * f64::from(POINTS);
    let mut rng = Rng::new(1, 0);
    let mut points = Vec::new();
    for site in 0..SITES {
        for point in 0..POINTS {
            let at = start + POINT_EVERY.as_secs_f64() * f64::from(point);
            points.push(doc! {
                "_id": site * POINTS + point,
                "site": site,
                "at": DateTime::from_millis((at * 1e3) as i64),
                "status": 200,
                "response_ms": 100.0 + (rng.unit() * 9_000.0).round() / 10.0,
            });
        }
    }
    points
}

async fn refresh_for_ever(app: Arc<App>) {
    let mut due = tokio::time::interval_at((now() + REFRESH_EVERY).into(), REFRESH_EVERY);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        // The page of before stays; the counter tells.
        if app.refresh().await.is_err() {
            app.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl App {
    async fn refresh(&self) -> Result<(), Failure> {
        let page = Page::of(&self.documents.find_all().await?);
        let text = self.preserialised.then(|| Bytes::from(page.text()));
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(Held { page, text });
        self.refreshes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn held(&self) -> Arc<Held> {
        Arc::clone(&self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn answer(&self) -> Answer {
        let held = self.held();
        let text = match &held.text {
            Some(text) => text.clone(),
            None => Bytes::from(serialised(&held.page, self.serialise)),
        };
        http::json(StatusCode::OK, text)
    }

    fn metrics(&self) -> Answer {
        let points: usize = self.held().page.sites.iter().map(|s| s.points.len()).sum();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        Metrics::default()
            .gauge("status_points", "Points of the page.", points as f64)
            .counter(
                "status_refreshes_total",
                "Times that the documents were read.",
                count(&self.refreshes),
            )
            .counter(
                "status_refresh_failures_total",
                "Times that they could not be read.",
                count(&self.failures),
            )
            .answer()
    }
}

/// The page as text, made again and again until `cpu` of this thread's processor time has gone into it: this program
/// needs some tens of microseconds for what takes a slower language milliseconds.
fn serialised(page: &Page, cpu: Duration) -> String {
    let start = thread_cpu();
    loop {
        let text = page.text();
        if thread_cpu().saturating_sub(start) >= cpu {
            return text;
        }
    }
}

impl Page {
    /// Points of a site in the order of the documents. What lacks a field is left out.
    fn of(documents: &[Document]) -> Self {
        let mut sites: Vec<Site> = Vec::new();
        for document in documents {
            let Some((site, point)) = read(document) else {
                continue;
            };
            let name = format!("site {}", site + 1);
            match sites.iter_mut().find(|known| known.name == name) {
                Some(known) => known.points.push(point),
                None => sites.push(Site {
                    url: format!("https://site-{}.example/", site + 1),
                    name,
                    points: vec![point],
                }),
            }
        }
        Self { sites }
    }

    fn text(&self) -> String {
        // Strings, whole and finite numbers: nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn read(document: &Document) -> Option<(i32, Point)> {
    let at = document.get_datetime("at").ok()?;
    let point = Point {
        at: at.try_to_rfc3339_string().ok()?,
        status: document.get_i32("status").ok()?,
        response_ms: document.get_f64("response_ms").ok()?,
    };
    Some((document.get_i32("site").ok()?, point))
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("documents", &self.documents)
            .field("preserialised", &self.preserialised)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_as_large_as_the_published_one_and_made_ahead_it_is_the_same() {
        let page = Page::of(&first_points());
        assert_eq!(page.sites.len(), 8);
        assert!(page.sites.iter().all(|site| site.points.len() == 60));
        let text = page.text();
        assert!((30_000..33_000).contains(&text.len()), "{}", text.len());
        assert_eq!(serialised(&page, Duration::from_millis(1)), text);
    }

    #[test]
    fn a_document_that_lacks_a_field_is_left_out() {
        let mut documents = first_points();
        documents[0].remove("status");
        assert_eq!(Page::of(&documents).sites[0].points.len(), 59);
    }
}
