//! This host: facts for the record's header, the wall clock, the limit of open files.

use std::time::SystemTime;

use plimsoll_base::{Nanos, calendar};
use plimsoll_core::record::Machine;

pub(crate) fn this_machine() -> Machine {
    let name = rustix::system::uname();
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = field(&text("/proc/cpuinfo"), "model name");
    let memory = field(&text("/proc/meminfo"), "MemTotal");
    let kib: u64 = memory
        .split_whitespace()
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    Machine {
        host: name.nodename().to_string_lossy().into_owned(),
        kernel: name.release().to_string_lossy().into_owned(),
        cpu,
        cores_count: cores_of(&text("/proc/stat")).unwrap_or_else(cores) as u32,
        memory_bytes: kib * 1024,
    }
}

/// Those of the machine, as they are watched, also where this process is confined to some.
fn cores_of(stat: &str) -> Option<usize> {
    let is_core = |line: &&str| {
        let number = line.strip_prefix("cpu");
        number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let cores = stat.lines().filter(is_core).count();
    (cores > 0).then_some(cores)
}

/// Processors this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Now, as RFC 3339 in UTC.
pub(crate) fn wall_time() -> String {
    calendar::rfc3339(Nanos(since_1970().as_nanos() as u64), false)
}

/// Now, as `20261121-101233` in UTC: sorts, and fits into a file name.
pub(crate) fn wall_time_compact() -> String {
    let text = wall_time();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let (date, time) = digits.split_at(8.min(digits.len()));
    format!("{date}-{time}")
}

/// A seed for runs that were given none; it is kept in the record.
pub(crate) fn fresh_seed() -> u64 {
    let since = since_1970();
    // Nanoseconds within fifty days: enough to differ, short enough to type again.
    (since.as_nanos() % (1 << 52)) as u64
}

/// Now, since 1970.
pub(crate) fn since_1970() -> std::time::Duration {
    now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Raises the limit of open files as far as goes without privilege, and says how many that is.
pub(crate) fn raise_descriptors() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match rustix::process::setrlimit(rustix::process::Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    current.unwrap_or(u64::MAX)
}

fn field(text: &str, name: &str) -> String {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(|rest| rest.trim_start_matches([':', ' ', '\t']).trim().to_owned())
        .unwrap_or_default()
}
