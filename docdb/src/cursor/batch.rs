//! One batch of a cursor, written straight into the reply.

use std::sync::Arc;

use bson::RawDocumentBuf;
use bson::raw::RawDocument;

use crate::budget::Budget;
use crate::memory::{Claim, Memory};
use crate::store::Slice;
use crate::value::Writer;

/// Documents in a first batch unless the client says otherwise (MongoDB's default).
pub(crate) const FIRST_BATCH: u64 = 101;
/// Largest sum of documents in a batch: with it a reply stays below 16 MB and the 16 KB that MongoDB allows on top.
const LARGEST: usize = 16 * 1024 * 1024;

/// At most what a reply has beside its documents, and the name of one of them: a namespace has 255 bytes.
const END_BYTES_MAX: usize = 512;

/// Copied at once: to copy 16 MB takes ten milliseconds and more, and everybody behind waits for it.
const PIECE: usize = 256 << 10;

/// A reply with a cursor, under construction.
#[derive(Debug)]
pub(crate) struct Batch {
    writer: Writer,
    count: usize,
    most: u64,
    /// Bytes of the document that came last.
    last: usize,
    /// Where large documents may be copied piece by piece: what they hold meanwhile is counted there.
    memory: Option<Arc<Memory>>,
    copying: Option<Copying>,
}

/// A document of which a part is in the reply.
#[derive(Debug)]
struct Copying {
    document: Slice,
    done: usize,
    _claim: Claim,
}

impl Batch {
    /// `most` documents; the name is `firstBatch` or `nextBatch`.
    pub(crate) fn new(name: &str, most: u64) -> Self {
        let mut writer = Writer::with_capacity(512);
        writer.begin_document("cursor");
        writer.begin_array(name);
        Self {
            writer,
            count: 0,
            most,
            last: 0,
            memory: None,
            copying: None,
        }
    }

    /// Large documents are copied piece by piece, as long as there is `memory`.
    pub(crate) fn in_pieces(mut self, memory: &Arc<Memory>) -> Self {
        self.memory = Some(Arc::clone(memory));
        self
    }

    /// Also where one more as large as the last would not fit: to read 16 MB only to find that there is no room for them costs
    /// as much as to answer, and everybody behind waits for it.
    pub(crate) fn is_full(&self) -> bool {
        self.count as u64 >= self.most || self.len() + self.last > LARGEST
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.writer.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// False if the document does not fit any more; then nothing was written. The first one always fits.
    #[must_use]
    pub(crate) fn push(&mut self, document: &RawDocument) -> bool {
        let bytes = document.as_bytes();
        let fits = self.begin(bytes.len());
        if fits {
            self.writer.append(bytes);
        }
        fits
    }

    /// The same with one that can be held until [`Self::copy`] has copied all of it. Without memory for that it is copied at once.
    #[must_use]
    pub(crate) fn push_slice(&mut self, document: &Slice) -> bool {
        let fits = self.begin(document.len());
        if fits {
            match self.claim(document.len()) {
                Some(claim) => {
                    self.copying = Some(Copying {
                        document: document.clone(),
                        done: 0,
                        _claim: claim,
                    });
                }
                None => self.writer.append(document),
            }
        }
        fits
    }

    fn claim(&self, bytes: usize) -> Option<Claim> {
        let memory = self.memory.as_ref().filter(|_| bytes > 2 * PIECE)?;
        let mut claim = memory.claim();
        claim.hold(bytes).then_some(claim)
    }

    /// Goes on with a document that is copied piece by piece. False if the budget was used up before its end: then the batch is
    /// not whole.
    #[must_use]
    pub(crate) fn copy(&mut self, budget: &mut Budget) -> bool {
        while let Some(mut copying) = self.copying.take() {
            if !budget.take() {
                self.copying = Some(copying);
                return false;
            }
            let rest = copying.document.get(copying.done..).unwrap_or_default();
            let piece = rest.get(..PIECE).unwrap_or(rest);
            self.writer.append(piece);
            if piece.len() < rest.len() {
                copying.done += piece.len();
                self.copying = Some(copying);
            }
        }
        true
    }

    /// A part of a document is in it.
    pub(crate) fn is_copying(&self) -> bool {
        self.copying.is_some()
    }

    /// Makes room and writes what stands before a document. False if it does not fit.
    fn begin(&mut self, bytes: usize) -> bool {
        let size = self.writer.len() + bytes;
        if self.count as u64 >= self.most || (self.count > 0 && size > LARGEST) {
            return false;
        }
        // With room for the end: without it, the last bytes would double what a document of 16 MB holds.
        self.writer.reserve(bytes + END_BYTES_MAX);
        self.writer.begin_item(self.count);
        self.count += 1;
        self.last = bytes;
        true
    }

    /// Pushes the document that did not fit into the batch before, if there is one. False if it does not fit this one.
    #[must_use]
    pub(crate) fn push_pending(&mut self, pending: &mut Option<RawDocumentBuf>) -> bool {
        let fits = pending.as_ref().is_none_or(|document| self.push(document));
        if fits {
            *pending = None;
        }
        fits
    }

    /// The reply. `cursor` is 0 if nothing is left.
    pub(crate) fn finish(
        mut self,
        cursor: i64,
        database: &str,
        collection: &str,
    ) -> RawDocumentBuf {
        self.writer.end();
        self.writer.long("id", cursor);
        self.writer
            .string("ns", &format!("{database}.{collection}"));
        self.writer.end();
        self.writer.ok()
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[test]
    fn a_batch_is_full_where_another_such_document_would_not_fit() {
        let document = rawdoc! { "text": "x".repeat(LARGEST / 3) };
        let mut batch = Batch::new("nextBatch", u64::MAX);
        assert!(!batch.is_full());
        assert!(batch.push(&document) && !batch.is_full());
        assert!(batch.push(&document) && batch.is_full());
        let small = rawdoc! { "text": "x" };
        assert!(batch.push(&small) && !batch.is_full(), "what fits comes in");
    }

    #[test]
    fn a_large_document_is_copied_in_pieces_as_long_as_there_is_memory() {
        let document = rawdoc! { "text": "x".repeat(LARGEST - 100) };
        let slice = Slice::from(document.as_bytes());
        let replies = [64 << 20, 1 << 20].map(|memory| {
            let memory = Arc::new(Memory::new(memory));
            let mut batch = Batch::new("nextBatch", 1).in_pieces(&memory);
            assert!(batch.push_slice(&slice));
            assert_eq!(memory.held() >= slice.len(), batch.is_copying());
            let mut slices = 1;
            while !batch.copy(&mut Budget::stepping(3, plimsoll_base::Nanos(0))) {
                slices += 1;
            }
            assert_eq!(memory.held(), 0);
            (slices, batch.finish(1, "d", "c"))
        });
        assert_eq!(
            replies.each_ref().map(|(slices, _)| *slices),
            [64_usize.div_ceil(3), 1]
        );
        assert_eq!(replies[0].1, replies[1].1);
        let copied = replies[0].1.get_document("cursor").unwrap();
        let copied = copied
            .get_array("nextBatch")
            .unwrap()
            .get_document(0)
            .unwrap();
        assert_eq!(copied, &*document);
    }

    #[test]
    fn a_batch_holds_little_more_than_its_largest_document() {
        let document = rawdoc! { "text": "x".repeat(LARGEST - 100) };
        let mut batch = Batch::new("nextBatch", 1);
        assert!(batch.push(&document));
        let held = batch.finish(1, "d", "c").into_bytes();
        assert!(held.capacity() < LARGEST + 4096, "{}", held.capacity());
    }
}
