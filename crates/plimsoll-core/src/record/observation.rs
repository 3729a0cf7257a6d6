//! What was seen of a tier from outside: processes, host, control group, listeners, proxy logs, gauges.
//!
//! Cumulative kernel counters are stored as differences over the interval, so lines add up.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::histogram::Histogram;
use crate::units::Nanos;

/// One sample of one source over `length_ns` ending at `at_ns` (from the start of the run).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub at_ns: Nanos,
    pub length_ns: Nanos,
    /// The tier's name as shown: `target`, or what `--watch` named.
    pub tier: String,
    #[serde(flatten)]
    pub seen: Seen,
}

impl Observation {
    /// When the interval began that it speaks for.
    pub fn begin_ns(&self) -> Nanos {
        self.at_ns - self.length_ns
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "source")]
pub enum Seen {
    Process(ProcessSample),
    Host(HostSample),
    Cgroup(CgroupSample),
    Listener(ListenerSample),
    /// nginx timing fields of the requests logged in the interval.
    Proxy(ProxySample),
    /// Prometheus gauges and counters by name.
    Metrics(MetricsSample),
    /// A source that could not be read: absence is recorded, never guessed over.
    Absent(AbsentSample),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessSample {
    pub pid: u32,
    pub name: String,
    /// Cores the process may use (affinity).
    pub cores_allowed: u32,
    /// Which these are, where they are fewer than the host has: processes of a tier may share them or add to each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores_named: Vec<u32>,
    /// The busiest threads, run plus wait, at most 16; the rest is summed in `others`.
    pub threads: Vec<ThreadSample>,
    pub others: ThreadSample,
    pub threads_count: u32,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub resident_bytes: u64,
    pub major_faults: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Mean number of threads found in each state, over the looks of the interval.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub threads_by_state: BTreeMap<ThreadState, f64>,
    /// Established connections that the process opened, by remote port; needs its descriptors.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_by_number"
    )]
    pub connections_out: Option<BTreeMap<u16, u32>>,
    /// Connections that it holds to somebody whom no port names: over Unix sockets, or in another network namespace.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections_unnamed: u32,
}

/// What a thread was found doing. Where the kernel hides the place a thread sleeps in, it is `Asleep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadState {
    /// Running or runnable.
    Running,
    /// Uninterruptible: nearly always a disk, or a wait known to belong to one.
    Disk,
    /// A futex: a lock, or an idle worker of a pool.
    Futex,
    /// Reading, accepting or connecting on one socket.
    Socket,
    /// Waiting for any of many events: an idle event loop.
    Poll,
    Timer,
    Asleep,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadSample {
    pub tid: u32,
    pub name: String,
    /// Time on a processor.
    pub run_ns: Nanos,
    /// Time runnable but waiting for one.
    pub wait_ns: Nanos,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    pub cores: u32,
    /// Busy share of each core.
    pub core_busy_ratio: Vec<f64>,
    pub steal_ratio: f64,
    /// Pressure stall shares of the interval; absent where the kernel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_cpu_some_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_io_full_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_memory_some_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_io_some_ratio: Option<f64>,
    pub listen_overflows: u64,
    pub listen_drops: u64,
    pub retransmits: u64,
    /// The busiest processes that are neither watched nor ours, at most three; empty where none is worth a word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourSample>,
}

/// A process that takes processor time of the host beside the tiers and the generator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NeighbourSample {
    pub pid: u32,
    pub name: String,
    pub cores: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupSample {
    pub path: String,
    /// Cores the quota allows; absent without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_cores: Option<f64>,
    /// The group that has this quota: the one at `path`, or one above it that several share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_path: Option<String>,
    pub run_ns: Nanos,
    pub throttled_periods: u64,
    pub periods: u64,
    pub throttled_ns: Nanos,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Absent without a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_max_bytes: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ListenerSample {
    pub port: u16,
    /// Accept queue now and its bound.
    pub accept_queue: u32,
    /// Zero where only the length can be read.
    pub accept_queue_max: u32,
    /// The queue was full in a look that became a part of this one; not in the file, where each look has its own line.
    #[serde(skip)]
    pub was_full: bool,
    pub established: u32,
    /// Of these, connections whose received bytes the process has not read yet.
    #[serde(default)]
    pub unread: u32,
    /// Where the requests of its connections were; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitSample>,
}

impl ListenerSample {
    pub fn is_full(&self) -> bool {
        self.accept_queue_max > 0 && self.accept_queue >= self.accept_queue_max
    }
}

/// Requests of a port's connections by where they were, in the mean over some looks of the interval. One request at a time on
/// each connection: of HTTP/2 and of pipelining it tells too few.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitSample {
    pub looks: u32,
    /// Read by the service and not answered.
    pub inside: f64,
    /// Received, and not read by the service.
    pub unread: f64,
    /// On connections that wait to be accepted.
    pub not_accepted: f64,
    /// Answered, and the rest of the answer waits for an acknowledgement to be sent.
    pub held: f64,
    /// Answers that the caller has not read, where it is on this host.
    pub answers_unread: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProxySample {
    pub requests: u64,
    /// Answers by status class digit: 2, 4, 5.
    #[serde(deserialize_with = "by_number")]
    pub status: BTreeMap<u16, u64>,
    /// Requests whose upstream was never reached (`upstream_status` is `-`).
    pub upstream_unreached: u64,
    pub request_time: Histogram,
    pub upstream_time: Histogram,
    pub upstream_connect_time: Histogram,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsSample {
    /// Gauges as read; counters as differences per interval, marked by the suffix `_total`.
    pub values: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentSample {
    /// The source as a noun: `descriptors`, `psi`, `process`.
    pub what: String,
    /// Why, and what would make it readable.
    pub reason: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A map by number. JSON keys are text, and behind a flattened tag serde no longer turns them into
/// numbers by itself.
fn by_number<'de, D, V>(deserializer: D) -> Result<BTreeMap<u16, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    let named = BTreeMap::<String, V>::deserialize(deserializer)?;
    let numbered = named.into_iter().map(|(key, value)| {
        let number = key
            .parse()
            .map_err(|_| D::Error::custom(format!("`{key}` is not a number")))?;
        Ok((number, value))
    });
    numbered.collect()
}

fn some_by_number<'de, D, V>(deserializer: D) -> Result<Option<BTreeMap<u16, V>>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    by_number(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What earlier versions did not write reads as nothing, and nothing is not written.
    #[test]
    fn figures_of_later_versions_may_be_missing() {
        let process = serde_json::to_string(&ProcessSample::default()).unwrap();
        let group = serde_json::to_string(&CgroupSample::default()).unwrap();
        for name in ["cores_named", "connections_unnamed", "quota_path"] {
            assert!(!process.contains(name) && !group.contains(name), "{name}");
        }
        let read: ProcessSample = serde_json::from_str(&process).unwrap();
        assert_eq!(read, ProcessSample::default());
        let read: CgroupSample = serde_json::from_str(&group).unwrap();
        assert_eq!(read, CgroupSample::default());
    }

    #[test]
    fn maps_by_number_survive_writing_and_reading() {
        let mut proxy = ProxySample::default();
        proxy.status.insert(2, 7);
        let process = ProcessSample {
            connections_out: Some(BTreeMap::from([(5432, 8)])),
            ..ProcessSample::default()
        };
        for seen in [Seen::Proxy(proxy), Seen::Process(process)] {
            let observation = Observation {
                at_ns: Nanos(1),
                length_ns: Nanos(1),
                tier: "target".to_owned(),
                seen,
            };
            let written = serde_json::to_string(&observation).unwrap();
            let read: Observation = serde_json::from_str(&written).unwrap();
            assert_eq!(read, observation);
        }
    }
}
