//! One batch of a cursor, written straight into the reply.

use bson::RawDocumentBuf;
use bson::raw::RawDocument;

use crate::value::Writer;

/// Documents in a first batch unless the client says otherwise (MongoDB's default).
pub(crate) const FIRST_BATCH: u64 = 101;
/// Largest sum of documents in a batch: with it a reply stays below 16 MB and the 16 KB that MongoDB allows on top.
const LARGEST: usize = 16 * 1024 * 1024;

/// At most what a reply has beside its documents, and the name of one of them: a namespace has 255 bytes.
const END_BYTES_MAX: usize = 512;

/// A reply with a cursor, under construction.
#[derive(Debug)]
pub(crate) struct Batch {
    writer: Writer,
    count: usize,
    most: u64,
    /// Bytes of the document that came last.
    last: usize,
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
        }
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
        let size = self.writer.len() + document.as_bytes().len();
        if self.count as u64 >= self.most || (self.count > 0 && size > LARGEST) {
            return false;
        }
        // With room for the end: without it, the last bytes would double what a document of 16 MB holds.
        self.writer
            .reserve(document.as_bytes().len() + END_BYTES_MAX);
        self.writer.item(self.count, document);
        self.count += 1;
        self.last = document.as_bytes().len();
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
    fn a_batch_holds_little_more_than_its_largest_document() {
        let document = rawdoc! { "text": "x".repeat(LARGEST - 100) };
        let mut batch = Batch::new("nextBatch", 1);
        assert!(batch.push(&document));
        let held = batch.finish(1, "d", "c").into_bytes();
        assert!(held.capacity() < LARGEST + 4096, "{}", held.capacity());
    }
}
