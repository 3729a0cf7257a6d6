//! The alarm of a session, for what must end in time: set once for many operations, because hardly any of them takes as long
//! as it may.
//!
//! A timer that is set and taken back for each operation costs as much as its four clock readings; this one rings at the
//! end of the first operation's time, sees that nobody is late, and is set to the end of the present one's.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use tokio::time::{Instant, Sleep, sleep};

#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    /// None until something had to be waited for.
    sleep: Option<Pin<Box<Sleep>>>,
    /// When it rings, on that clock.
    rings: Nanos,
}

/// The time was over first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Late;

impl Alarm {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            sleep: None,
            rings: Nanos::ZERO,
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// What the operation came to, if that was before the end of its time; it goes on from where it is if polled again.
    pub(crate) async fn before<T>(
        &mut self,
        end: Nanos,
        operation: impl Future<Output = T>,
    ) -> Result<T, Late> {
        let mut operation = pin!(operation);
        poll_fn(|task| {
            if let Poll::Ready(done) = operation.as_mut().poll(task) {
                return Poll::Ready(Ok(done));
            }
            self.poll_late(end, task).map(Err)
        })
        .await
    }

    /// Ready from that moment on; until then the session is woken then, or earlier.
    fn poll_late(&mut self, end: Nanos, task: &mut Context<'_>) -> Poll<Late> {
        if let Some(sleep) = &self.sleep
            && self.rings <= end
            && !sleep.is_elapsed()
        {
            return Poll::Pending;
        }
        loop {
            let now = self.now();
            if now >= end {
                return Poll::Ready(Late);
            }
            let sleep = self.set(now, end);
            match sleep.as_mut().poll(task) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => {}
            }
        }
    }

    fn set(&mut self, now: Nanos, end: Nanos) -> &mut Pin<Box<Sleep>> {
        self.rings = end;
        let rest = Duration::from_nanos((end - now).0);
        if let Some(sleep) = &mut self.sleep {
            sleep.as_mut().reset(Instant::now() + rest);
        }
        self.sleep.get_or_insert_with(|| Box::pin(sleep(rest)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn played(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn an_alarm_of_an_earlier_operation_ends_nothing() {
        played(async {
            let mut alarm = Alarm::new(Clock::start());
            let end = alarm.now() + Nanos::from_millis(5);
            // Late on a machine that stands still just then; the alarm is set all the same.
            let _in_time = alarm.before(end, tokio::task::yield_now()).await;
            let end = alarm.now() + Nanos::from_secs(30);
            let slow = sleep(Duration::from_millis(30));
            assert_eq!(alarm.before(end, slow).await, Ok(()));
        });
    }

    #[test]
    fn who_is_late_is_told_at_the_end_of_the_time_and_not_before() {
        played(async {
            let mut alarm = Alarm::new(Clock::start());
            // Set far ahead, then much earlier, then again: it rings for each.
            let end = alarm.now() + Nanos::from_secs(3600);
            assert_eq!(alarm.before(end, tokio::task::yield_now()).await, Ok(()));
            for _ in 0..3 {
                let end = alarm.now() + Nanos::from_millis(3);
                assert_eq!(alarm.before(end, pending::<()>()).await, Err(Late));
                assert!(alarm.now() >= end);
            }
        });
    }

    #[test]
    fn what_is_done_counts_even_if_its_time_is_over() {
        played(async {
            let mut alarm = Alarm::new(Clock::start());
            let over = alarm.now();
            assert_eq!(alarm.before(over, async { 7 }).await, Ok(7));
            assert_eq!(alarm.before(over, pending::<()>()).await, Err(Late));
        });
    }
}
