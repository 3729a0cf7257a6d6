//! Parsers of the kernel's text files: total functions that answer `None` to what they do not know.

use std::collections::BTreeSet;

use plimsoll_core::record::ThreadState;

/// What of `/proc/PID/stat` (or a thread's) is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) major_faults: u64,
    /// User plus system time in clock ticks.
    pub(crate) run_ticks: u64,
    /// Start after boot in clock ticks: tells a reused process number from the old one.
    pub(crate) start_ticks: u64,
    pub(crate) resident_pages: u64,
}

/// The name may hold spaces and parentheses; it ends at the last `)`.
pub(crate) fn stat(text: &str) -> Option<Stat> {
    let (head, rest) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Field numbers of proc(5) count from 1 and the state is the third.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        name: name.to_owned(),
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(number(4)?).ok()?,
        major_faults: number(12)?,
        run_ticks: number(14)?.checked_add(number(15)?)?,
        start_ticks: number(22)?,
        resident_pages: number(24)?,
    })
}

/// `/proc/PID/schedstat`: nanoseconds run, nanoseconds runnable but waiting.
pub(crate) fn schedstat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_ascii_whitespace();
    let run = fields.next()?.parse().ok()?;
    let wait = fields.next()?.parse().ok()?;
    Some((run, wait))
}

/// The value of a `Name: value` line, as in `status` and `io`.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

pub(crate) fn number_field(text: &str, name: &str) -> Option<u64> {
    field(text, name)?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// More than any kernel can be built for.
const CORES_MAX: u32 = 1 << 16;

/// The cores that a list such as `0-3,8` names.
pub(crate) fn core_numbers(list: &str) -> Option<BTreeSet<u32>> {
    let mut cores = BTreeSet::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().ok()?;
        let last: u32 = last.trim().parse().ok()?;
        if last < first || last >= CORES_MAX {
            return None;
        }
        cores.extend(first..=last);
    }
    Some(cores)
}

/// The soft limit on open files from `/proc/PID/limits`; `None` without one.
pub(crate) fn open_files_max(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("Max open files"))?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// `some` or `full` of a pressure file: microseconds stalled since boot.
pub(crate) fn pressure_total(text: &str, kind: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(kind))?
        .split_ascii_whitespace()
        .find_map(|pair| pair.strip_prefix("total="))?
        .parse()
        .ok()
}

/// Ticks of one core since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CoreTicks {
    pub(crate) idle: u64,
    pub(crate) steal: u64,
    pub(crate) total: u64,
}

/// The per-core lines of `/proc/stat`, in order.
pub(crate) fn core_ticks(text: &str) -> Vec<CoreTicks> {
    let is_core = |line: &&str| {
        line.strip_prefix("cpu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    text.lines().filter(is_core).map(one_core).collect()
}

/// user nice system idle iowait irq softirq steal; guest time is part of user already.
fn one_core(line: &str) -> CoreTicks {
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .skip(1)
        .take(8)
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let at = |index: usize| fields.get(index).copied().unwrap_or(0);
    CoreTicks {
        idle: at(3).saturating_add(at(4)),
        steal: at(7),
        total: fields.iter().fold(0, |sum, x| sum.saturating_add(*x)),
    }
}

/// A counter of `net/netstat` or `net/snmp`: a line of names above a line of values.
pub(crate) fn paired_counter(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| {
        let (head, rest) = line.split_once(':')?;
        (head == table).then_some(rest)
    });
    let names = lines.next()?;
    let values = lines.next()?;
    let index = names.split_ascii_whitespace().position(|n| n == name)?;
    values.split_ascii_whitespace().nth(index)?.parse().ok()
}

/// The value after a key in a `key value` file such as `cpu.stat`.
pub(crate) fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

/// One line of `/proc/PID/cgroup`: controllers (none for version 2) and path.
pub(crate) fn cgroup_paths(text: &str) -> Vec<(Vec<&str>, &str)> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let controllers = controllers.split(',').filter(|c| !c.is_empty()).collect();
            path.starts_with('/').then_some((controllers, path))
        })
        .collect()
}

/// A control-group mount of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CgroupMount {
    /// The part of the hierarchy that is mounted: not `/` inside a container.
    pub(crate) root: String,
    pub(crate) point: String,
    /// Empty for version 2.
    pub(crate) controllers: Vec<String>,
}

pub(crate) fn cgroup_mounts(text: &str) -> Vec<CgroupMount> {
    text.lines().filter_map(one_mount).collect()
}

fn one_mount(line: &str) -> Option<CgroupMount> {
    let (front, back) = line.split_once(" - ")?;
    let mut back = back.split_ascii_whitespace();
    let kind = back.next()?;
    let options = back.nth(1)?;
    let mut front = front.split_ascii_whitespace().skip(3);
    let (root, point) = (front.next()?.to_owned(), front.next()?.to_owned());
    let controllers = match kind {
        "cgroup2" => Vec::new(),
        "cgroup" => options.split(',').map(str::to_owned).collect(),
        _ => return None,
    };
    Some(CgroupMount {
        root,
        point,
        controllers,
    })
}

/// What a thread was doing, from its state letter and the kernel function it sleeps in.
/// `wchan` is `0` or empty where the kernel hides it (another user's process).
pub(crate) fn thread_state(state: char, wchan: &str) -> ThreadState {
    match state {
        'R' => return ThreadState::Running,
        'D' => return ThreadState::Disk,
        _ => {}
    }
    let any = |needles: &[&str]| needles.iter().any(|needle| wchan.contains(needle));
    if any(&["futex"]) {
        ThreadState::Futex
    } else if any(&["poll", "select"]) {
        ThreadState::Poll
    } else if any(&["nanosleep", "hrtimer"]) {
        ThreadState::Timer
    } else if any(&["jbd2", "folio", "io_schedule", "blk_", "fsync", "writeback"]) {
        ThreadState::Disk
    } else if any(&[
        "wait_woken",
        "sk_wait",
        "inet_",
        "tcp_",
        "unix_stream",
        "skb_",
    ]) {
        ThreadState::Socket
    } else {
        ThreadState::Asleep
    }
}

/// What of a line of `net/tcp` is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpLine {
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// The kernel's number: 1 established, 10 listening.
    pub(crate) state: u8,
    /// Of a listener: connections waiting to be accepted.
    pub(crate) receive_queue: u32,
    pub(crate) user: u32,
    pub(crate) inode: u64,
}

/// One line of `/proc/net/tcp` or `tcp6`; `None` for the heading and for anything malformed.
pub(crate) fn tcp_line(line: &str) -> Option<TcpLine> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let port = |index: usize| {
        let (_, port) = fields.get(index)?.rsplit_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    let (_, receive) = fields.get(4)?.split_once(':')?;
    Some(TcpLine {
        local_port: port(1)?,
        remote_port: port(2)?,
        state: u8::from_str_radix(fields.get(3)?, 16).ok()?,
        receive_queue: u32::from_str_radix(receive, 16).ok()?,
        user: fields.get(7)?.parse().ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// What of a line of `net/unix` is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnixLine {
    pub(crate) inode: u64,
    /// This end asked for the connection: one that was accepted has the listener's name, as has the listener. A pair of
    /// sockets that a process made for itself cannot be told from it.
    pub(crate) is_out: bool,
}

/// One line of `/proc/net/unix`; `None` for the heading and for anything malformed.
pub(crate) fn unix_line(line: &str) -> Option<UnixLine> {
    const STREAM: [&str; 2] = ["0001", "0005"];
    const CONNECTED: &str = "03";
    let mut fields = line.split_ascii_whitespace().skip(4);
    let (kind, state) = (fields.next()?, fields.next()?);
    let inode = fields.next()?.parse().ok()?;
    let is_out = STREAM.contains(&kind) && state == CONNECTED && fields.next().is_none();
    Some(UnixLine { inode, is_out })
}

/// The inode in a descriptor link such as `socket:[51397]`.
pub(crate) fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests;
