//! The priority of a thread that must be on time: what the kernel gives is taken, and given back where it would hurt.

use std::fmt;

use rustix::process::{getpid, getpriority_process, setpriority_process};
use serde::{Deserialize, Serialize};

/// Real-time threads have priorities from 1 to 99.
const REAL_TIME_LOWEST: i32 = 1;
/// The best that is left where real time is not allowed.
const NICE_BEST: i32 = -20;

/// How the kernel treats a thread beside others that want the same processor.
///
/// Measured beside two busy loops on two cores, 150 sends a second, p99 of how late they were: normal 3.6 ms, nice −5
/// 3.8 ms, nice −20 1.5 ms, real time 0.075 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Runs as soon as it can (`SCHED_RR` at its lowest, above every thread that is not of real time).
    RealTime,
    /// Goes before threads of normal priority, but may wait for the end of their turn (nice −20).
    High,
    #[default]
    Normal,
}

impl Priority {
    /// Takes the best that the kernel gives the calling thread.
    pub fn raise() -> Self {
        if is_started_in_real_time() || set_policy(libc::SCHED_RR, REAL_TIME_LOWEST) {
            return Self::RealTime;
        }
        if policy_of_process() == libc::SCHED_OTHER && setpriority_process(None, NICE_BEST).is_ok()
        {
            return Self::High;
        }
        // Also for a process of `SCHED_IDLE` or `SCHED_BATCH` (a build machine's jobs), where nice means little.
        Self::Normal
    }

    /// Gives it back, so that the calling thread starves nobody.
    #[must_use]
    pub fn leave(self) -> Self {
        match self {
            // What could be raised can be lowered; if not, the thread goes on as it is.
            // Who started the process in real time asked for it.
            Self::RealTime if is_started_in_real_time() => return self,
            Self::RealTime if !set_policy(policy_of_process(), 0) => return self,
            Self::High if setpriority_process(None, nice_of_process()).is_err() => return self,
            _ => {}
        }
        Self::Normal
    }
}

/// The nice value that the process was started with: its first thread keeps it.
fn nice_of_process() -> i32 {
    getpriority_process(Some(getpid())).unwrap_or(0)
}

/// The policy that the process was started with: its first thread keeps it.
#[expect(unsafe_code, reason = "rustix has no call for it")]
fn policy_of_process() -> i32 {
    // SAFETY: the call reads no memory of ours; it returns −1 where it fails.
    match unsafe { libc::sched_getscheduler(libc::getpid()) } {
        policy if policy >= 0 => policy,
        _ => libc::SCHED_OTHER,
    }
}

fn is_started_in_real_time() -> bool {
    matches!(policy_of_process(), libc::SCHED_RR | libc::SCHED_FIFO)
}

/// For the calling thread alone; false where the kernel does not allow it.
#[expect(unsafe_code, reason = "rustix has no call for it")]
fn set_policy(policy: i32, priority: i32) -> bool {
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the thread is this one, so it lives; `param` outlives the call, which only reads it.
    let result =
        unsafe { libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const param) };
    result == 0
}

/// `real-time priority`
impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RealTime => "real-time priority",
            Self::High => "high priority (nice −20)",
            Self::Normal => "normal priority",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field 41 of stat: the policy, 2 for `SCHED_RR`; field 19: nice.
    fn policy_and_nice() -> (String, String) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let after = stat.rsplit_once(") ").unwrap().1;
        let fields: Vec<&str> = after.split(' ').collect();
        (fields[41 - 3].to_owned(), fields[19 - 3].to_owned())
    }

    /// Also in a process that `chrt --idle 0` started: what is given back is what it had.
    #[test]
    fn what_is_taken_is_what_the_kernel_says_and_is_given_back() {
        std::thread::spawn(|| {
            let before = policy_and_nice();
            let taken = Priority::raise();
            let (policy, nice) = policy_and_nice();
            match taken {
                Priority::RealTime => assert_eq!(policy, "2"),
                Priority::High => assert_eq!((policy.as_str(), nice.as_str()), ("0", "-20")),
                Priority::Normal => assert_eq!((policy, nice), before),
            }
            let left = match before.0.as_str() {
                "1" | "2" => Priority::RealTime,
                _ => Priority::Normal,
            };
            assert_eq!(taken.leave(), left);
            assert_eq!(policy_and_nice(), before);
        })
        .join()
        .unwrap();
    }
}
