//! The shop itself: one thread that reads its store, awaits the stock service and builds a page.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::store::{Item, Order, Store};
use crate::LabError;
use crate::serve::clock::thread_cpu;
use crate::serve::http::{self, Answer, Received};
use crate::serve::upstream::Upstream;
use crate::serve::{Context, disk};

/// Related items shown on a page.
const RELATED: usize = 8;

/// Items compared between two looks at the clock.
const COMPARED: u64 = 8;

struct Shop {
    store: Store,
    stock: Upstream,
    /// Processor time that a page may take to find related items.
    cpu: Duration,
}

pub(crate) fn start(context: Context) -> Result<(), LabError> {
    let folder = context.dir.clone().unwrap_or_else(disk::folder);
    let shop = Arc::new(Shop {
        store: Store::open(&folder)?,
        stock: Upstream::new(context.upstream()?),
        cpu: context.values.millis("cpu"),
    });
    http::serve(context, &[], move |asked| {
        let shop = Arc::clone(&shop);
        async move { shop.route(&asked).await }
    })
}

impl Shop {
    async fn route(&self, asked: &Received) -> Answer {
        match (&asked.method, asked.path.as_str()) {
            (&Method::GET, "/cart") => self.cart(),
            (&Method::POST, "/orders") => self.order(&asked.body).await,
            (&Method::GET, path) => match path.strip_prefix("/items/").map(str::parse) {
                Some(Ok(id)) => self.page(id).await,
                _ => not_found(),
            },
            _ => not_found(),
        }
    }

    /// The full path: store, stock service, then the work of the page itself.
    async fn page(&self, id: u64) -> Answer {
        let Some(item) = self.store.item(id) else {
            return not_found();
        };
        if let Err(failure) = self.stock.get("/").await {
            return http::text(StatusCode::BAD_GATEWAY, format!("stock: {failure}\n"));
        }
        self.store.viewed(id);
        let related: Vec<Value> = self.related(id, item).into_iter().map(Item::json).collect();
        let page = json!({ "item": item.json(), "in_stock": true, "related": related });
        http::json(StatusCode::OK, page.to_string())
    }

    /// Compares the item with others from the store for as long as the page's time allows, and
    /// keeps the closest. A time rather than a number keeps the demo's shape on any machine.
    fn related<'s>(&'s self, id: u64, item: &Item) -> Vec<&'s Item> {
        let start = thread_cpu();
        let mut nearest: Vec<(u64, &Item)> = Vec::new();
        let mut next = id + 1;
        while thread_cpu().saturating_sub(start) < self.cpu {
            for other in self.store.items(next, COMPARED) {
                let distance = item.distance(other);
                let place = nearest.partition_point(|(known, _)| *known <= distance);
                if place < RELATED {
                    nearest.insert(place, (distance, other));
                    nearest.truncate(RELATED);
                }
            }
            next += COMPARED;
        }
        nearest.into_iter().map(|(_, item)| item).collect()
    }

    fn cart(&self) -> Answer {
        let items = || self.store.items(0, 3);
        let total: u64 = items().map(|item| item.price_cents).sum();
        let items: Vec<Value> = items().map(Item::json).collect();
        let cart = json!({ "items": items, "total_cents": total });
        http::json(StatusCode::OK, cart.to_string())
    }

    async fn order(&self, body: &[u8]) -> Answer {
        let order: Result<Value, _> = serde_json::from_slice(body);
        let number = |key: &str| order.as_ref().ok().and_then(|order| order[key].as_u64());
        let (Some(item), Some(quantity @ 1..=100)) = (number("item"), number("quantity")) else {
            let usage = "an order is {\"item\": NUMBER, \"quantity\": 1 to 100}\n";
            return http::text(StatusCode::BAD_REQUEST, usage);
        };
        if self.store.item(item).is_none() {
            return not_found();
        }
        let Some(number) = self.store.order(Order { item, quantity }).await else {
            return http::text(StatusCode::SERVICE_UNAVAILABLE, "the order is not stored\n");
        };
        let text = json!({ "order": number }).to_string();
        http::json(StatusCode::CREATED, text)
    }
}

fn not_found() -> Answer {
    http::text(
        StatusCode::NOT_FOUND,
        "GET /items/ID, GET /cart or POST /orders\n",
    )
}
