//! What the server said of itself: its settings, and how much it still takes.

use std::sync::Arc;

use super::frame::setting;
use super::hpack::{Block, TABLE_EMPTIED};
use super::problem::{Problem, Result};

/// Streams at once to a server that names no limit, as most clients assume; servers usually say 100 to 250.
const STREAMS_BEFORE: u32 = 100;
/// Bytes of header table that every server has until it says otherwise (RFC 9113, section 6.5.2).
const TABLE_BEFORE: u32 = 4096;

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) streams_max: u32,
    pub(super) initial_window: u32,
    pub(super) frame_max: usize,
    /// What the connection as a whole may still send.
    pub(super) window: i64,
    table: Table,
}

/// What the server's header table knows of this side's requests.
#[derive(Debug)]
enum Table {
    /// Nothing yet.
    Empty,
    /// The first request of this connection; others leave no trace.
    Filled(Arc<Block>),
    /// The server made it smaller than requests may count on; it must be told that this was heard.
    Shrunk,
    /// It was told.
    Unused,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            streams_max: STREAMS_BEFORE,
            initial_window: 65_535,
            frame_max: 16_384,
            window: 65_535,
            table: Table::Empty,
        }
    }
}

impl Peer {
    /// Reads a payload of `SETTINGS`, a multiple of six bytes long.
    pub(super) fn settings(&mut self, payload: &[u8]) -> Result<()> {
        for six in payload.chunks_exact(6) {
            let [n0, n1, v0, v1, v2, v3] = *six else {
                continue;
            };
            let value = u32::from_be_bytes([v0, v1, v2, v3]);
            match u16::from_be_bytes([n0, n1]) {
                setting::HEADER_TABLE_SIZE if value < TABLE_BEFORE => self.table = Table::Shrunk,
                setting::MAX_CONCURRENT_STREAMS => self.streams_max = value,
                setting::INITIAL_WINDOW_SIZE if value > i32::MAX.cast_unsigned() => {
                    return Err(Problem::Flow("the server's window is too large"));
                }
                setting::INITIAL_WINDOW_SIZE => self.initial_window = value,
                setting::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => {
                    return Err(Problem::Frame("the server's frame size is not allowed"));
                }
                setting::MAX_FRAME_SIZE => self.frame_max = value as usize,
                _ => {}
            }
        }
        Ok(())
    }

    /// The word that its table is not used any more, if the server has to hear that before the next header block.
    pub(super) fn unheard_of_table(&mut self) -> Option<u8> {
        let is_unheard_of = matches!(self.table, Table::Shrunk);
        if is_unheard_of {
            self.table = Table::Unused;
        }
        is_unheard_of.then_some(TABLE_EMPTIED)
    }

    /// The form of a request's headers that this connection needs now.
    #[inline]
    pub(super) fn block<'a>(&mut self, block: &'a Arc<Block>) -> &'a [u8] {
        match &self.table {
            Table::Filled(known) if Arc::ptr_eq(known, block) => &block.next,
            Table::Filled(_) | Table::Unused => &block.plain,
            Table::Empty => {
                self.table = Table::Filled(Arc::clone(block));
                &block.first
            }
            Table::Shrunk => {
                self.table = Table::Unused;
                &block.emptied
            }
        }
    }
}
