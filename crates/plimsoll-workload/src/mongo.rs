//! MongoDB through its official driver: a client with a pool of its own for each database.

mod errors;

use std::collections::BTreeMap;
use std::time::Duration;

use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, RawDocumentBuf, doc};
use mongodb::event::EventHandler;
use mongodb::event::cmap::CmapEvent;
use mongodb::options::{Acknowledgment, ClientOptions, ServerMonitoringMode};
use mongodb::{Client, Collection, Database};
use plimsoll_base::random::Rng;

use crate::driver::{Answer, Driver, Failure, Seat};
use crate::wire;

/// Where the documents are.
const COLLECTION: &str = "documents";
/// What a document takes beside its payload: the length, `_id`, `n` and `p` with their types and names, the end.
pub(crate) const OVERHEAD_BYTES: u32 = 4 + (1 + 4 + 8) + (1 + 2 + 8) + (1 + 2 + 4 + 1) + 1;
/// Payloads are cut from so many bytes of noise, at places that differ from key to key.
const NOISE_BYTES: usize = 1 << 16;
/// Payloads are not compressible, and the same in every run.
const NOISE_SEED: u64 = 0x0BAD_CAFE;
/// A server that is gone is looked for as often.
const HEARTBEAT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Mongo {
    database: Database,
    documents: Collection<RawDocumentBuf>,
    payload_bytes: usize,
    noise: Vec<u8>,
    is_unacknowledged: bool,
    closes_given_up: bool,
}

/// The options that a URL asks for, or what is wrong with it; what belongs to the workload is not taken from there.
pub(crate) async fn options_of(store: &str) -> Result<ClientOptions, Failure> {
    ClientOptions::parse(store)
        .await
        .map_err(|error| errors::failure(&error))
}

/// Counts what the pool says of its connections for that lane.
fn counted(lane: usize) -> EventHandler<CmapEvent> {
    EventHandler::callback(move |event: CmapEvent| match event {
        CmapEvent::ConnectionCheckedOut(_) => wire::taken(lane),
        CmapEvent::ConnectionCheckedIn(_) => wire::given_back(lane),
        CmapEvent::ConnectionReady(_) => wire::connected(),
        CmapEvent::ConnectionClosed(_) => wire::closed(),
        _ => {}
    })
}

impl Mongo {
    fn payload(&self, key: u32) -> Bson {
        let places = self.noise.len() - self.payload_bytes;
        let place = (key as usize).wrapping_mul(61) % places.max(1);
        let bytes = self.noise[place..place + self.payload_bytes].to_vec();
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes,
        })
    }

    fn document(&self, key: u32) -> Result<RawDocumentBuf, Failure> {
        let document = doc! { "_id": i64::from(key), "n": 0_i64, "p": self.payload(key) };
        RawDocumentBuf::try_from(&document).map_err(|error| errors::malformed(&error))
    }

    fn written(&self, documents: u64) -> Answer {
        Answer {
            documents,
            bytes: documents * (self.payload_bytes as u64 + u64::from(OVERHEAD_BYTES)),
            is_unacknowledged: self.is_unacknowledged,
        }
    }
}

fn filter(keys: &[u32]) -> Document {
    match keys {
        [key] => doc! { "_id": i64::from(*key) },
        keys => {
            let keys: Vec<Bson> = keys.iter().map(|key| Bson::Int64((*key).into())).collect();
            doc! { "_id": { "$in": keys } }
        }
    }
}

impl Driver for Mongo {
    async fn open(seat: Seat<'_>) -> Result<Self, Failure> {
        let Seat {
            workload, database, ..
        } = seat;
        let plan = &workload.databases[database];
        let mut options = options_of(&workload.store).await?;
        options
            .app_name
            .get_or_insert_with(|| "plimsoll".to_owned());
        options.max_pool_size = Some(seat.connections);
        options.min_pool_size = Some(seat.connections);
        options.cmap_event_handler = Some(counted(seat.lane));
        options.retry_reads = Some(workload.client.driver_retries);
        options.retry_writes = Some(workload.client.driver_retries);
        options.server_selection_timeout = Some(seat.patience);
        options.connect_timeout = Some(seat.patience);
        options.heartbeat_freq.get_or_insert(HEARTBEAT);
        // One connection for watching instead of two, and no thread of control that waits in the server.
        options
            .server_monitoring_mode
            .get_or_insert(ServerMonitoringMode::Poll);
        let concern = options
            .write_concern
            .as_ref()
            .and_then(|concern| concern.w.as_ref());
        let is_unacknowledged = matches!(concern, Some(Acknowledgment::Nodes(0)));
        let client = Client::with_options(options).map_err(|error| errors::failure(&error))?;
        let database = client.database(&plan.name);
        let payload_bytes = plan.document_bytes.saturating_sub(OVERHEAD_BYTES) as usize;
        let mut rng = Rng::new(NOISE_SEED, 0);
        let words = NOISE_BYTES.max(payload_bytes * 2).div_ceil(8);
        let mongo = Self {
            documents: database.collection(COLLECTION),
            database,
            payload_bytes,
            noise: (0..words)
                .flat_map(|_| rng.next_u64().to_le_bytes())
                .collect(),
            is_unacknowledged,
            closes_given_up: workload.client.closes_given_up,
        };
        // Says what is wrong, which warming the pool would not.
        let ping = mongo.database.run_command(doc! { "ping": 1 }).await;
        ping.map_err(|error| errors::failure(&error))?;
        client.warm_connection_pool().await;
        Ok(mongo)
    }

    /// Dropped, its connection is closed, and the pool opens two at a time; the driver's own documentation asks that every
    /// operation be polled to its end ("Warning about timeouts / cancellation").
    fn must_finish(&self) -> bool {
        !self.closes_given_up
    }

    async fn read(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        if let [key] = keys {
            let found = self.documents.find_one(filter(keys)).await;
            if let Some(document) = found.map_err(|error| errors::failure(&error))? {
                add(&mut answer, &document, &[*key]);
            }
            return Ok(answer);
        }
        // All of them in one answer: a cursor that stays open would be asked again.
        let count = keys.len() as u32;
        let found = self.documents.find(filter(keys));
        let found = found.limit(count.into()).batch_size(count + 1).await;
        let mut found = found.map_err(|error| errors::failure(&error))?;
        while found
            .advance()
            .await
            .map_err(|error| errors::failure(&error))?
        {
            let document = found.current().to_owned();
            add(&mut answer, &document, keys);
        }
        Ok(answer)
    }

    async fn insert(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let inserted = if let [key] = keys {
            let document = self.document(*key)?;
            self.documents.insert_one(document).await.map(|_| 1)
        } else {
            let documents: Result<Vec<_>, _> = keys.iter().map(|key| self.document(*key)).collect();
            let inserted = self.documents.insert_many(documents?).await;
            inserted.map(|result| result.inserted_ids.len() as u64)
        };
        let inserted = inserted.map_err(|error| errors::failure(&error))?;
        Ok(self.written(inserted))
    }

    async fn update(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let payload = self.payload(keys.first().copied().unwrap_or_default());
        let change = doc! { "$inc": { "n": 1_i64 }, "$set": { "p": payload } };
        let updated = if keys.len() == 1 {
            self.documents.update_one(filter(keys), change).await
        } else {
            self.documents.update_many(filter(keys), change).await
        };
        let updated = updated.map_err(|error| errors::failure(&error))?;
        // A document that is found and not changed was not updated: its counter goes up every time.
        Ok(self.written(updated.matched_count.min(updated.modified_count)))
    }

    async fn delete(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let deleted = if keys.len() == 1 {
            self.documents.delete_one(filter(keys)).await
        } else {
            self.documents.delete_many(filter(keys)).await
        };
        let deleted = deleted.map_err(|error| errors::failure(&error))?;
        Ok(Answer {
            documents: deleted.deleted_count,
            bytes: 0,
            is_unacknowledged: self.is_unacknowledged,
        })
    }

    async fn clear(&self) -> Result<(), Failure> {
        self.database
            .drop()
            .await
            .map_err(|error| errors::failure(&error))
    }

    async fn prepare(&self) -> Result<(), Failure> {
        Ok(())
    }

    async fn stored(&self) -> Result<BTreeMap<i64, i64>, Failure> {
        let only = doc! { "n": 1 };
        let found = self
            .documents
            .find(doc! {})
            .projection(only)
            .batch_size(10_000)
            .await;
        let mut found = found.map_err(|error| errors::failure(&error))?;
        let mut stored = BTreeMap::new();
        while found
            .advance()
            .await
            .map_err(|error| errors::failure(&error))?
        {
            let document = found.current();
            let number = |name| document.get_i64(name).unwrap_or(i64::MIN);
            stored.insert(number("_id"), number("n"));
        }
        Ok(stored)
    }
}

/// Counts a document that was asked for and is whole.
fn add(answer: &mut Answer, document: &RawDocumentBuf, keys: &[u32]) {
    let is_asked = |key: i64| keys.iter().any(|asked| i64::from(*asked) == key);
    if document.get_i64("_id").is_ok_and(is_asked) && document.get_binary("p").is_ok() {
        answer.documents += 1;
    }
    answer.bytes += document.as_bytes().len() as u64;
}
