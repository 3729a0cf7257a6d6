//! Reading a socket, and what its errors mean.

use std::os::fd::BorrowedFd;

use plimsoll_core::Outcome;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::failure::Failure;

#[inline]
pub(crate) fn receive(socket: BorrowedFd<'_>, scratch: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::net::recv(socket, &mut *scratch, RecvFlags::empty()) {
            Ok((_, read)) => return Ok(read),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

pub(crate) fn stream_failure(errno: Errno) -> Failure {
    let outcome = match errno {
        Errno::TIMEDOUT => Outcome::Timeout,
        _ => Outcome::Reset,
    };
    Failure::new(outcome, std::io::Error::from(errno).to_string())
}
