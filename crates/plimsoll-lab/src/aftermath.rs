//! Looks at what a load leaves behind: counts what was stored, and waits until nothing is left undone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_core::Nanos;
use plimsoll_core::record::After;
use plimsoll_net::Target;
use plimsoll_observe::{Subject, Watch, read_metrics};
use tokio::runtime::Runtime;

use crate::LabError;
use crate::experiment::{AfterLoad, Filler, collection, gauge};
use crate::serve::clock::now;
use crate::serve::documents::Documents;
use crate::serve::pool::Pool;
use crate::serve::stop;

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// An item on its way from a list to a worker is for a moment in neither gauge.
const LOOKS_IN_A_ROW: u32 = 3;
/// What the warm-up left undone gets so long before the load.
const BEFORE_WITHIN: Duration = Duration::from_secs(10);
/// A database that an experiment has stopped takes a question and never answers.
const COUNT_WITHIN: Duration = Duration::from_secs(10);

/// The places that are looked at, in one run.
#[derive(Debug)]
pub struct Aftermath {
    collections: Vec<Collection>,
    gauges: Vec<(Target, String)>,
    counters: Vec<(Target, String)>,
    within: Duration,
    runtime: Runtime,
    /// Stored, or sure to be, before the load.
    before: u64,
    /// Taken in before the load.
    taken_before: u64,
}

/// Where documents are counted.
#[derive(Debug)]
struct Collection {
    address: SocketAddr,
    database: String,
    name: String,
}

impl Collection {
    /// Over a connection of its own: an older one may lead to a process that was killed.
    async fn count(&self, within: Duration, stop: &AtomicBool) -> Result<u64, String> {
        let pool = Arc::new(Pool::new(1, None));
        let documents = Documents::new(self.address, &self.database, &self.name, pool);
        let stopped = async {
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            counted = tokio::time::timeout(within, documents.count()) => match counted {
                Ok(count) => count.map_err(|failure| failure.to_string()),
                Err(_) => Err(format!("{} gave no answer within {} s", self.address, within.as_secs())),
            },
            () = stopped => Err("the lab was stopped".to_owned()),
        }
    }
}

/// How a wait for the backlog ended.
struct Waited {
    left: u64,
    /// When it had come to nothing.
    drained: Option<Duration>,
}

impl Aftermath {
    /// Called when the tiers are up and warm, before the load. None if the test asks for nothing, or nobody goes on with it.
    pub fn prepare(
        asked: Option<&AfterLoad>,
        filler: &Filler,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, LabError> {
        let Some(asked) = asked else { return Ok(None) };
        let mut aftermath = Self {
            collections: collections(&filled("stored", &asked.stored, filler)?)?,
            gauges: gauges("backlog", &asked.backlog, filler)?,
            counters: gauges("taken", &asked.taken, filler)?,
            within: Duration::from_nanos(asked.within.0),
            runtime: stop::one_thread()?,
            before: 0,
            taken_before: 0,
        };
        let waited = aftermath.wait(BEFORE_WITHIN, stop)?;
        let stored = aftermath.stored(stop);
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        aftermath.before = stored? + waited.left;
        aftermath.taken_before = sum("taken", &aftermath.counters)?;
        Ok(Some(aftermath))
    }

    /// Called when the load has ended; the time of the answer is left to the caller. A tier that the experiment has stopped or
    /// ended costs what would be counted in it and nothing else: what was measured is kept.
    pub fn look(&self, killed: Vec<String>, stop: &AtomicBool) -> After {
        let mut uncounted = BTreeMap::new();
        let (waits, stores) = (!self.gauges.is_empty(), !self.collections.is_empty());
        let backlog = known("backlog", self.backlog(), &mut uncounted);
        let stored_at_end = known("stored", self.stored_since(stop), &mut uncounted);
        let waited = known("backlog", self.wait(self.within, stop), &mut uncounted);
        let taken = known("taken", sum("taken", &self.counters), &mut uncounted);
        let stored = known("stored", self.stored_since(stop), &mut uncounted);
        let taken = taken.map(|taken| taken.saturating_sub(self.taken_before));
        let left = waited.as_ref().map(|waited| waited.left);
        let drained = waited.and_then(|waited| waited.drained);
        // What still waits is not lost: where nobody knows how much that is, nobody knows what is missing.
        let tells = !waits || left.is_some();
        if stores && !tells {
            let problem = "test.stored: what still waits is not lost, and how much that is could not be counted";
            uncounted
                .entry("stored".to_owned())
                .or_insert_with(|| problem.to_owned());
        }
        After {
            at_ns: Nanos::ZERO,
            taken_count: taken.filter(|_| !self.counters.is_empty()),
            backlog_count: backlog.filter(|_| waits),
            backlog_left_count: left.filter(|_| waits),
            drained_ns: drained
                .filter(|_| waits)
                .map(|took| Nanos(took.as_nanos() as u64)),
            stored_at_end_count: stored_at_end.filter(|_| stores),
            stored_count: stored.filter(|_| stores && tells),
            killed,
            uncounted,
            verified: None,
        }
    }

    /// Until nothing is left, the time is up, or somebody wants to stop.
    fn wait(&self, within: Duration, stop: &AtomicBool) -> Result<Waited, LabError> {
        let begun = now();
        let mut empty = 0;
        let mut since = Duration::ZERO;
        loop {
            let left = self.backlog()?;
            let passed = begun.elapsed();
            if left > 0 {
                empty = 0;
            } else {
                if empty == 0 {
                    since = passed;
                }
                empty += 1;
            }
            if empty == LOOKS_IN_A_ROW {
                return Ok(Waited {
                    left,
                    drained: Some(since),
                });
            }
            if passed > within || stop.load(Ordering::Relaxed) {
                return Ok(Waited {
                    left,
                    drained: None,
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn backlog(&self) -> Result<u64, LabError> {
        sum("backlog", &self.gauges)
    }

    fn stored(&self, stop: &AtomicBool) -> Result<u64, LabError> {
        let mut sum = 0;
        for collection in &self.collections {
            let count = self.runtime.block_on(collection.count(COUNT_WITHIN, stop));
            sum += count.map_err(|problem| LabError::look("stored", problem))?;
        }
        Ok(sum)
    }

    fn stored_since(&self, stop: &AtomicBool) -> Result<u64, LabError> {
        Ok(self.stored(stop)?.saturating_sub(self.before))
    }
}

/// What was found; the first reason why not is kept.
fn known<T>(
    what: &str,
    looked: Result<T, LabError>,
    uncounted: &mut BTreeMap<String, String>,
) -> Option<T> {
    let note = |error: LabError| {
        let of_it = uncounted.entry(what.to_owned());
        of_it.or_insert_with(|| error.to_string());
    };
    looked.map_err(note).ok()
}

/// Of all the series of a key, as they stand now.
fn sum(key: &str, all: &[(Target, String)]) -> Result<u64, LabError> {
    let mut sum = 0.0;
    for (url, series) in all {
        let values = read_metrics(url).map_err(|problem| LabError::look(key, problem))?;
        let missing = || LabError::look(key, format!("{url} has no series `{series}`"));
        sum += value_of(&values, series).ok_or_else(missing)?;
    }
    Ok(sum.max(0.0).round() as u64)
}

/// A name with labels is one series; a bare one is all series of that name.
fn value_of(values: &BTreeMap<String, f64>, series: &str) -> Option<f64> {
    if let Some(value) = values.get(series) {
        return Some(*value);
    }
    let named = |name: &String| name.split('{').next() == Some(series);
    let mut found = values.iter().filter(|(name, _)| named(name)).peekable();
    found.peek()?;
    Some(found.map(|(_, value)| value).sum())
}

fn filled(key: &str, texts: &[String], filler: &Filler) -> Result<Vec<String>, LabError> {
    let mut all = Vec::new();
    for text in texts {
        let filled = filler.fill_each(text);
        all.extend(filled.map_err(|problem| LabError::look(key, problem))?);
    }
    Ok(all)
}

fn collections(texts: &[String]) -> Result<Vec<Collection>, LabError> {
    let wrong = |problem: String| LabError::look("stored", problem);
    let mut all = Vec::new();
    for text in texts {
        let (address, database, name) = collection(text).map_err(wrong)?;
        let address: SocketAddr = address
            .parse()
            .map_err(|_| wrong(format!("`{text}` has no address such as 127.0.0.1:27017")))?;
        all.push(Collection {
            address,
            database: database.to_owned(),
            name: name.to_owned(),
        });
    }
    Ok(all)
}

fn gauges(key: &str, texts: &[String], filler: &Filler) -> Result<Vec<(Target, String)>, LabError> {
    let wrong = |problem: String| LabError::look(key, problem);
    let mut all = Vec::new();
    for text in filled(key, texts, filler)? {
        let (page, series) = gauge(&text).map_err(wrong)?;
        let watch = Watch::parse(&format!("metrics:{page}"));
        match watch.map_err(|error| wrong(error.to_string()))?.subject {
            Subject::Metrics(url) => all.push((url, series.to_owned())),
            _ => return Err(wrong(format!("`{text}` is no page of metrics"))),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use bson::doc;

    use super::*;

    /// A database with three documents whose connections end after an answer, or one that only listens.
    fn database(answers: bool) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming().flatten() {
                if answers {
                    answer(stream);
                } else {
                    kept.push(stream);
                }
            }
        });
        address
    }

    fn answer(mut stream: TcpStream) {
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut rest = vec![0; i32::from_le_bytes(length) as usize - 4];
        stream.read_exact(&mut rest).unwrap();
        let body = doc! { "n": 3, "ok": 1.0 }.to_vec().unwrap();
        let mut message = Vec::new();
        let length = i32::try_from(21 + body.len()).unwrap();
        for number in [length, 1, 1, 2013, 0] {
            message.extend(number.to_le_bytes());
        }
        message.push(0);
        message.extend(body);
        stream.write_all(&message).unwrap();
    }

    fn of(address: SocketAddr) -> Aftermath {
        Aftermath {
            collections: collections(&[format!("mongodb://{address}/shop.orders")]).unwrap(),
            gauges: Vec::new(),
            counters: Vec::new(),
            within: Duration::from_secs(1),
            runtime: stop::one_thread().unwrap(),
            before: 1,
            taken_before: 0,
        }
    }

    #[test]
    fn a_database_that_was_started_again_is_counted() {
        let after = of(database(true)).look(Vec::new(), &AtomicBool::new(false));
        assert_eq!(after.uncounted, BTreeMap::new());
        assert_eq!(
            (after.stored_at_end_count, after.stored_count),
            (Some(2), Some(2))
        );
        assert_eq!(after.backlog_count, None, "nobody asked for it");
    }

    #[test]
    fn a_database_that_is_gone_costs_its_count_and_nothing_else() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
        let killed = vec!["db at 1 s".to_owned()];
        let after = of(address.unwrap()).look(killed.clone(), &AtomicBool::new(false));
        assert_eq!(after.stored_count, None);
        assert_eq!(after.killed, killed);
        assert_eq!(after.uncounted.len(), 1, "{after:?}");
        let problem = &after.uncounted["stored"];
        assert!(problem.starts_with("test.stored: "), "{problem}");
    }

    #[test]
    fn what_is_stored_tells_nothing_without_what_still_waits() {
        let gone = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let filler = Filler::default();
        let gauge = [format!("http://{gone}/metrics#queue_depth")];
        let aftermath = Aftermath {
            gauges: gauges("backlog", &gauge, &filler).unwrap(),
            ..of(database(true))
        };
        let after = aftermath.look(Vec::new(), &AtomicBool::new(false));
        assert_eq!(after.backlog_left_count, None);
        assert_eq!(after.stored_count, None, "{after:?}");
        assert!(after.uncounted["backlog"].starts_with("test.backlog: "));
        let problem = &after.uncounted["stored"];
        assert!(problem.contains("what still waits"), "{problem}");
    }

    #[test]
    fn a_database_that_stands_still_is_not_waited_for() {
        let aftermath = of(database(false));
        let count = |stop| {
            let within = Duration::from_millis(100);
            let stop = AtomicBool::new(stop);
            let counted = aftermath.collections[0].count(within, &stop);
            aftermath.runtime.block_on(counted).unwrap_err()
        };
        assert!(count(false).contains("gave no answer within"));
        let _either_ends_it = count(true);
    }

    #[test]
    fn a_bare_name_is_the_sum_of_its_series() {
        let values = BTreeMap::from([
            ("depth{queue=\"a\"}".to_owned(), 2.0),
            ("depth{queue=\"b\"}".to_owned(), 3.0),
            ("depths".to_owned(), 50.0),
        ]);
        assert_eq!(value_of(&values, "depth"), Some(5.0));
        assert_eq!(value_of(&values, "depth{queue=\"b\"}"), Some(3.0));
        assert_eq!(value_of(&values, "dept"), None);
    }
}
