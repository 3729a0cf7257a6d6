//! What becomes of asking for a permit or a seat.

/// Most are decided at once, and nothing has to be waited for.
#[derive(Debug)]
pub(crate) enum Entry<T, W> {
    Decided(T),
    Waits(W),
}
