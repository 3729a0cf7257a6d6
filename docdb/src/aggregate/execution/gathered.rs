//! What a stage gathers for one result: counted, and no more than a document holds.

use bson::raw::RawDocument;

use crate::aggregate::documents::{DOCUMENT_BYTES_MAX, too_large};
use crate::error::Result;
use crate::memory::{Claim, Room};
use crate::value::Writer;

/// So much may be gathered however little memory others left.
const LEAST: usize = 64 << 10;

/// Documents, written as the array that they will be.
#[derive(Debug)]
pub(super) struct Gathered {
    array: Writer,
    count: usize,
    claim: Claim,
    what: &'static str,
}

impl Gathered {
    /// `what` names it in errors.
    pub(super) fn new(room: &Room, what: &'static str) -> Self {
        Self {
            array: Writer::default(),
            count: 0,
            claim: room.memory.claim(),
            what,
        }
    }

    pub(super) fn push(&mut self, document: &RawDocument) -> Result<()> {
        self.array.item(self.count, document);
        self.count += 1;
        let bytes = self.array.len();
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(too_large(bytes));
        }
        if !self.claim.hold(bytes) && bytes > LEAST {
            return Err(self.claim.exceeded(self.what));
        }
        Ok(())
    }

    /// The array, as the document of its elements.
    pub(super) fn take(&mut self) -> bson::RawDocumentBuf {
        self.count = 0;
        std::mem::take(&mut self.array).finish()
    }
}
