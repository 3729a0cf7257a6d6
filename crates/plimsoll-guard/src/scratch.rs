//! One buffer that every read goes into: on one thread, with what was read used before anybody else reads.

use std::cell::RefCell;

/// Fewer and larger reads cost less; beyond this little more is won.
const BYTES: usize = 64 << 10;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Hands out an empty buffer with room.
pub(crate) fn with<T>(used: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    SCRATCH.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.reserve(BYTES);
        used(buffer)
    })
}
