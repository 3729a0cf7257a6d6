//! Sockets that whoever started this process opened for it, as systemd does for its services (`sd_listen_fds(3)`).

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// They are the descriptors from here on.
const FIRST: RawFd = 3;
/// More are a mistake.
const MOST: RawFd = 1000;

/// All of them, in their order; none if none were passed, or if they were for another process. They can be had once: after that there
/// are none.
pub fn sockets() -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let said = |name: &str| std::env::var(name).ok();
    let count = count(said("LISTEN_PID"), said("LISTEN_FDS"), std::process::id())?;
    if count == 0 || TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    (FIRST..FIRST + count).map(take).collect()
}

/// How many were passed to the process of this number.
fn count(pid: Option<String>, fds: Option<String>, own: u32) -> io::Result<RawFd> {
    let (Some(pid), Some(fds)) = (pid, fds) else {
        return Ok(0);
    };
    // What a parent was given is in its children's environment, too.
    if pid != own.to_string() {
        return Ok(0);
    }
    let count = fds.parse().ok();
    let count = count.filter(|count| (0..=MOST).contains(count));
    count.ok_or_else(|| {
        let text = format!("LISTEN_FDS={fds}: it is the number of sockets that are passed");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

#[expect(unsafe_code, reason = "a number is all that is known of it")]
fn take(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call reads and writes no memory of ours. It fails if nothing is open there; and what is open goes to no child.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        let told = io::Error::last_os_error();
        let text = format!("descriptor {number}, which LISTEN_FDS speaks of: {told}");
        return Err(io::Error::new(told.kind(), text));
    }
    // SAFETY: it is open, for the call above has worked, and was before this process began; nobody but `sockets` owns it, which gives
    // it away once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_for_this_process_counts() {
        let said = |pid: &str, fds: &str| count(Some(pid.to_owned()), Some(fds.to_owned()), 7);
        assert_eq!(said("7", "2").unwrap(), 2);
        assert_eq!(said("7", "0").unwrap(), 0);
        assert_eq!(said("8", "2").unwrap(), 0);
        assert_eq!(count(None, Some("2".to_owned()), 7).unwrap(), 0);
        assert_eq!(count(Some("7".to_owned()), None, 7).unwrap(), 0);
        for wrong in ["", "two", "-1", "1001"] {
            let told = said("7", wrong).unwrap_err().to_string();
            assert!(told.contains("number of sockets"), "{told}");
        }
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_named() {
        let told = take(RawFd::MAX).unwrap_err().to_string();
        assert!(told.contains(&RawFd::MAX.to_string()), "{told}");
    }
}
