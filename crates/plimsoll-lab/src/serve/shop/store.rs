//! The shop's embedded store: items, views and orders in one file; one thread writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_core::rng::Rng;
use redb::backends::FileBackend;
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::LabError;
use crate::serve::disk;

const ITEMS: TableDefinition<u64, &[u8]> = TableDefinition::new("items");
const VIEWS: TableDefinition<u64, u64> = TableDefinition::new("views");
const ORDERS: TableDefinition<u64, (u64, u64)> = TableDefinition::new("orders");

/// Items in the catalogue.
const CATALOGUE: u64 = 512;

/// Views may wait this long for their transaction; orders never wait.
const VIEWS_DELAY: Duration = Duration::from_millis(250);

/// Orders that share one transaction at most.
const BATCH: usize = 256;

/// Memory that the store may use for pages: the whole catalogue fits.
const CACHE_BYTES: usize = 8 << 20;

type Failed = redb::Error;

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
    database: Arc<Database>,
    views: Views,
    orders: Sender<Waiting>,
}

/// Views that are not written yet, by item.
type Views = Arc<Mutex<BTreeMap<u64, u64>>>;

/// An order, and where its number goes once it is durable.
type Waiting = (Order, oneshot::Sender<Option<u64>>);

impl Store {
    /// A new store with the catalogue in it, in a file that goes with the process.
    pub(super) fn open(folder: &Path) -> Result<Self, LabError> {
        let file = disk::unnamed_file(folder)?;
        let filled = || -> Result<Arc<Database>, Failed> {
            let database = Database::builder()
                .set_cache_size(CACHE_BYTES)
                .create_with_backend(FileBackend::new(file).map_err(failed)?)
                .map_err(failed)?;
            fill(&database)?;
            Ok(Arc::new(database))
        };
        let database = filled().map_err(|source| LabError::Store {
            path: folder.display().to_string(),
            source: Box::new(source),
        })?;
        let (orders, queue) = channel();
        let views = Views::default();
        let writer = Writer {
            database: Arc::clone(&database),
            views: Arc::clone(&views),
            orders_count: 0,
        };
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(LabError::io("start the store's writer"))?;
        Ok(Self {
            database,
            views,
            orders,
        })
    }

    fn read(&self) -> Result<ReadOnlyTable<u64, &'static [u8]>, Failed> {
        let transaction = self.database.begin_read().map_err(failed)?;
        transaction.open_table(ITEMS).map_err(failed)
    }

    pub(super) fn item(&self, id: u64) -> Result<Option<Item>, Failed> {
        let table = self.read()?;
        Ok(table
            .get(id)
            .map_err(failed)?
            .and_then(|bytes| Item::parse(bytes.value())))
    }

    /// `count` items from `first` on; the catalogue has no end, it starts again.
    pub(super) fn items(&self, first: u64, count: u64) -> Result<Vec<Item>, Failed> {
        let table = self.read()?;
        let mut items = Vec::new();
        for id in first..first + count {
            if let Some(bytes) = table.get(id % CATALOGUE).map_err(failed)? {
                items.extend(Item::parse(bytes.value()));
            }
        }
        Ok(items)
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

fn fill(database: &Database) -> Result<(), Failed> {
    let transaction = database.begin_write().map_err(failed)?;
    {
        let mut items = transaction.open_table(ITEMS).map_err(failed)?;
        let mut rng = Rng::new(0x5109, 0);
        for id in 0..CATALOGUE {
            let item = Item {
                name: format!("item {id}"),
                price_cents: 100 + rng.below(50_000),
                weight_grams: 10 + rng.below(20_000),
            };
            items
                .insert(id, item.json().to_string().as_bytes())
                .map_err(failed)?;
        }
        transaction.open_table(VIEWS).map_err(failed)?;
        transaction.open_table(ORDERS).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

/// The one thread that writes: a second one would only wait for the store's write lock.
struct Writer {
    database: Arc<Database>,
    views: Views,
    orders_count: u64,
}

impl Writer {
    /// Writes orders at once, as many as wait in one transaction, and views with them or in time.
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
            let stored = self.commit(&views, &orders).is_ok();
            for (number, (_, reply)) in (self.orders_count..).zip(orders) {
                self.orders_count += u64::from(stored);
                // The client may have left; its order counts all the same.
                reply.send(stored.then_some(number)).ok();
            }
        }
    }

    fn commit(&self, views: &BTreeMap<u64, u64>, orders: &[Waiting]) -> Result<(), Failed> {
        let mut transaction = self.database.begin_write().map_err(failed)?;
        if orders.is_empty() {
            // A lost view harms nobody: it is durable with the next order.
            transaction
                .set_durability(Durability::None)
                .map_err(failed)?;
        }
        {
            let mut table = transaction.open_table(VIEWS).map_err(failed)?;
            for (id, count) in views {
                let before = table
                    .get(id)
                    .map_err(failed)?
                    .map_or(0, |count| count.value());
                table.insert(id, before + count).map_err(failed)?;
            }
            let mut table = transaction.open_table(ORDERS).map_err(failed)?;
            for (number, (order, _)) in (self.orders_count..).zip(orders) {
                table
                    .insert(number, (order.item, order.quantity))
                    .map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }
}

/// The store has an error type per call; here they are all one.
fn failed(error: impl Into<redb::Error>) -> Failed {
    error.into()
}

impl Item {
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "price_cents": self.price_cents,
            "weight_grams": self.weight_grams,
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        Some(Self {
            name: value["name"].as_str()?.to_owned(),
            price_cents: value["price_cents"].as_u64()?,
            weight_grams: value["weight_grams"].as_u64()?,
        })
    }

    /// How far apart two items are: in price and in weight, both counted alike.
    pub(super) fn distance(&self, other: &Self) -> u64 {
        self.price_cents.abs_diff(other.price_cents)
            + self.weight_grams.abs_diff(other.weight_grams)
    }
}
