//! Letters from other threads to one event loop, which a letter wakes.

use std::sync::{Mutex, PoisonError};

use plimsoll_base::poll::Waker;

#[derive(Debug)]
pub(crate) struct Inbox<T> {
    letters: Mutex<Vec<T>>,
    waker: Waker,
}

impl<T> Inbox<T> {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            letters: Mutex::new(Vec::new()),
            waker,
        }
    }

    /// Wakes the receiver for the first letter only: the others are taken with it.
    pub(crate) fn send(&self, letter: T) {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let first = letters.is_empty();
        letters.push(letter);
        drop(letters);
        if first {
            self.waker.wake();
        }
    }

    /// Exchanges the letters for an empty vector, whose capacity is used again.
    pub(crate) fn take(&self, into: &mut Vec<T>) {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *letters, into);
    }
}
