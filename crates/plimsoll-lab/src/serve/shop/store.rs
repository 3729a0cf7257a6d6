//! The shop's store: the catalogue in memory, orders and counted views in a log on disk; one thread writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_base::random::Rng;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::LabError;
use crate::serve::disk;

/// Items in the catalogue.
const CATALOGUE: u64 = 512;

/// Views may wait this long until they are written; orders never wait.
const VIEWS_DELAY: Duration = Duration::from_millis(250);

/// Orders that are forced to the disk together at most.
const BATCH: usize = 256;

#[derive(Debug)]
pub(super) struct Item {
    name: String,
    pub(super) price_cents: u64,
    weight_grams: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    pub(super) item: u64,
    pub(super) quantity: u64,
}

pub(super) struct Store {
    items: Vec<Item>,
    views: Views,
    orders: Sender<Waiting>,
}

/// Views that are not written yet, by item.
type Views = Arc<Mutex<BTreeMap<u64, u64>>>;

/// An order, and where its number goes once it is durable.
type Waiting = (Order, oneshot::Sender<Option<u64>>);

impl Store {
    /// A new store with the catalogue in it, and a log that goes with the process.
    pub(super) fn open(folder: &Path) -> Result<Self, LabError> {
        let (orders, queue) = channel();
        let views = Views::default();
        let writer = Writer {
            log: disk::unnamed_file(folder)?,
            views: Arc::clone(&views),
            orders_count: 0,
        };
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(LabError::io("start the store's writer"))?;
        let mut rng = Rng::new(0x5109, 0);
        let items = (0..CATALOGUE).map(|id| Item {
            name: format!("item {id}"),
            price_cents: 100 + rng.below(50_000),
            weight_grams: 10 + rng.below(20_000),
        });
        Ok(Self {
            items: items.collect(),
            views,
            orders,
        })
    }

    pub(super) fn item(&self, id: u64) -> Option<&Item> {
        self.items.get(usize::try_from(id).ok()?)
    }

    /// `count` items from `first` on; the catalogue has no end, it starts again.
    pub(super) fn items(&self, first: u64, count: u64) -> impl Iterator<Item = &Item> {
        (first..first + count).filter_map(|id| self.item(id % CATALOGUE))
    }

    /// Counts a view, soon.
    pub(super) fn viewed(&self, id: u64) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        *views.entry(id).or_default() += 1;
    }

    /// Stores an order durably and returns its number; none when the store cannot.
    pub(super) async fn order(&self, order: Order) -> Option<u64> {
        let (reply, number) = oneshot::channel();
        // Without the writer nobody replies.
        drop(self.orders.send((order, reply)));
        number.await.ok().flatten()
    }
}

/// The one thread that writes.
struct Writer {
    log: File,
    views: Views,
    orders_count: u64,
}

impl Writer {
    /// Writes orders at once, as many as wait together, and views with them or in time.
    fn run(mut self, queue: &Receiver<Waiting>) {
        loop {
            let first = match queue.recv_timeout(VIEWS_DELAY) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let orders: Vec<Waiting> = first
                .into_iter()
                .chain(queue.try_iter().take(BATCH))
                .collect();
            let views =
                std::mem::take(&mut *self.views.lock().unwrap_or_else(PoisonError::into_inner));
            if orders.is_empty() && views.is_empty() {
                continue;
            }
            let stored = self.append(&views, &orders).is_ok();
            for (number, (_, reply)) in (self.orders_count..).zip(orders) {
                self.orders_count += u64::from(stored);
                // The client may have left; its order counts all the same.
                reply.send(stored.then_some(number)).ok();
            }
        }
    }

    /// Forces orders to the disk. A lost view harms nobody: it is durable with the next order.
    fn append(&mut self, views: &BTreeMap<u64, u64>, orders: &[Waiting]) -> std::io::Result<()> {
        let mut lines = Vec::new();
        for (id, count) in views {
            writeln!(lines, "{}", json!({ "item": id, "views": count }))?;
        }
        for (number, (order, _)) in (self.orders_count..).zip(orders) {
            let line = json!({ "order": number, "item": order.item, "quantity": order.quantity });
            writeln!(lines, "{line}")?;
        }
        self.log.write_all(&lines)?;
        if orders.is_empty() {
            return Ok(());
        }
        self.log.sync_data()
    }
}

impl Item {
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "price_cents": self.price_cents,
            "weight_grams": self.weight_grams,
        })
    }

    /// How far apart two items are: in price and in weight, both counted alike.
    pub(super) fn distance(&self, other: &Self) -> u64 {
        self.price_cents.abs_diff(other.price_cents)
            + self.weight_grams.abs_diff(other.weight_grams)
    }
}
