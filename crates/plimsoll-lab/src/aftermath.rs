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

/// The places that are looked at, in one run.
#[derive(Debug)]
pub struct Aftermath {
    collections: Vec<Documents>,
    gauges: Vec<(Target, String)>,
    counters: Vec<(Target, String)>,
    within: Duration,
    runtime: Runtime,
    /// Stored, or sure to be, before the load.
    before: u64,
    /// Taken in before the load.
    taken_before: u64,
}

/// How a wait for the backlog ended.
struct Waited {
    left: u64,
    /// When it had come to nothing.
    drained: Option<Duration>,
}

impl Aftermath {
    /// Called when the tiers are up and warm, before the load. None if the test asks for nothing.
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
        aftermath.before = aftermath.stored()? + waited.left;
        aftermath.taken_before = sum("taken", &aftermath.counters)?;
        Ok(Some(aftermath))
    }

    /// Called when the load has ended; the time of the answer is left to the caller.
    pub fn look(&self, killed: Vec<String>, stop: &AtomicBool) -> Result<After, LabError> {
        let at_end = (self.backlog()?, self.stored_since()?);
        let waited = self.wait(self.within, stop)?;
        let taken = sum("taken", &self.counters)?.saturating_sub(self.taken_before);
        let (waits, stores) = (!self.gauges.is_empty(), !self.collections.is_empty());
        let drained = waited.drained.map(|took| Nanos(took.as_nanos() as u64));
        Ok(After {
            at_ns: Nanos::ZERO,
            taken_count: (!self.counters.is_empty()).then_some(taken),
            backlog_count: waits.then_some(at_end.0),
            backlog_left_count: waits.then_some(waited.left),
            drained_ns: drained.filter(|_| waits),
            stored_at_end_count: stores.then_some(at_end.1),
            stored_count: stores.then_some(self.stored_since()?),
            killed,
            verified: None,
        })
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

    fn stored(&self) -> Result<u64, LabError> {
        let mut sum = 0;
        for documents in &self.collections {
            let count = self.runtime.block_on(documents.count());
            sum += count.map_err(|failure| LabError::look("stored", failure.to_string()))?;
        }
        Ok(sum)
    }

    fn stored_since(&self) -> Result<u64, LabError> {
        Ok(self.stored()?.saturating_sub(self.before))
    }
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

fn collections(texts: &[String]) -> Result<Vec<Documents>, LabError> {
    let wrong = |problem: String| LabError::look("stored", problem);
    let mut all = Vec::new();
    for text in texts {
        let (address, database, name) = collection(text).map_err(wrong)?;
        let address: SocketAddr = address
            .parse()
            .map_err(|_| wrong(format!("`{text}` has no address such as 127.0.0.1:27017")))?;
        let pool = Arc::new(Pool::new(1, None));
        all.push(Documents::new(address, database, name, pool));
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
    use super::*;

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
