//! A deadline that moves with every byte, at next to no cost: the timer is set again only when it has gone off too early.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

#[derive(Debug)]
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    at: Instant,
}

impl Alarm {
    pub(crate) fn after(time: Duration) -> Self {
        let at = Instant::now() + time;
        Self {
            sleep: Box::pin(sleep_until(at)),
            at,
        }
    }

    pub(crate) fn set(&mut self, at: Instant) {
        self.at = at;
        if at < self.sleep.deadline() {
            self.sleep.as_mut().reset(at);
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            if self.at <= self.sleep.deadline() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[test]
    fn it_goes_off_at_the_time_that_was_set_last() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let begun = Instant::now();
            let mut alarm = Alarm::after(Duration::from_secs(3600));
            // Sooner than at first, then later than that.
            alarm.set(begun + Duration::from_millis(10));
            alarm.set(begun + Duration::from_millis(40));
            poll_fn(|cx| alarm.poll(cx)).await;
            assert!(begun.elapsed() >= Duration::from_millis(40));
        });
    }
}
