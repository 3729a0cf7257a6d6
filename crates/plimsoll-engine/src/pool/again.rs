//! Connections that have more than one turn of the loop may read: the others and the clock come first.

use std::io;

use plimsoll_core::Outcome;
use plimsoll_net::Failure;
use rustix::event::epoll::{self, EventData, EventFlags};

use super::Pool;
use super::call::Call;

impl<C: Call> Pool<C> {
    /// The socket is named again in the next turn, behind those that wait already.
    #[cold]
    pub(super) fn go_on_later(&mut self, token: u64) {
        if let Err(error) = self.name_again(token) {
            let reason = format!("cannot watch the socket: {error}");
            let now = self.clock.now();
            self.fail(token, &Failure::new(Outcome::Dropped, reason), now);
        }
    }

    /// What has come already raises no edge of its own, but watching a socket anew does (epoll(7)).
    fn name_again(&mut self, token: u64) -> io::Result<()> {
        let Some(socket) = self.links.get_mut(token).and_then(|link| link.socket()) else {
            return Ok(());
        };
        let epoll = self.poll.descriptor()?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::modify(
            &epoll,
            socket,
            EventData::new_u64(token),
            flags,
        )?)
    }
}
