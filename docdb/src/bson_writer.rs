//! Writes one BSON document front to back: nested documents and arrays go straight into their place, without copies.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf, cstr};

/// Element types of the BSON specification that the writer sets itself.
const DOUBLE: u8 = 0x01;
const STRING: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BOOLEAN: u8 = 0x08;
const INT32: u8 = 0x10;
const INT64: u8 = 0x12;

/// A length of four bytes, to be written when the document ends.
const OPEN: [u8; 4] = [0; 4];

/// One document under construction. Keys must be free of zero bytes, which keys from a document or this program are.
#[derive(Debug, Clone)]
pub(crate) struct DocumentWriter {
    bytes: Vec<u8>,
    /// Where each document that is not yet ended begins.
    open: Vec<usize>,
}

impl DocumentWriter {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity.max(64));
        bytes.extend_from_slice(&OPEN);
        Self {
            bytes,
            open: vec![0],
        }
    }

    /// Bytes written so far, ends not counted.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn begin_document(&mut self, key: &str) {
        self.begin(DOCUMENT, key);
    }

    pub(crate) fn begin_array(&mut self, key: &str) {
        self.begin(ARRAY, key);
    }

    fn begin(&mut self, kind: u8, key: &str) {
        self.key(kind, key);
        self.open.push(self.bytes.len());
        self.bytes.extend_from_slice(&OPEN);
    }

    /// Ends the innermost document or array.
    pub(crate) fn end(&mut self) {
        if let Some(start) = self.open.pop() {
            self.bytes.push(0);
            let length = (self.bytes.len() - start) as u32;
            if let Some(place) = self.bytes.get_mut(start..start + OPEN.len()) {
                place.copy_from_slice(&length.to_le_bytes());
            }
        }
    }

    pub(crate) fn double(&mut self, key: &str, value: f64) {
        self.key(DOUBLE, key);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn int(&mut self, key: &str, value: i32) {
        self.key(INT32, key);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn long(&mut self, key: &str, value: i64) {
        self.key(INT64, key);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A count: int32 where it fits, int64 else, as MongoDB's replies have it.
    pub(crate) fn count(&mut self, key: &str, value: u64) {
        match i32::try_from(value) {
            Ok(small) => self.int(key, small),
            Err(_) => self.long(key, i64::try_from(value).unwrap_or(i64::MAX)),
        }
    }

    pub(crate) fn boolean(&mut self, key: &str, value: bool) {
        self.key(BOOLEAN, key);
        self.bytes.push(u8::from(value));
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) {
        self.key(STRING, key);
        self.bytes
            .extend_from_slice(&(value.len() as u32 + 1).to_le_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.push(0);
    }

    pub(crate) fn document(&mut self, key: &str, value: &RawDocument) {
        self.key(DOCUMENT, key);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// One element of the array that was begun last. `index` counts from 0.
    pub(crate) fn element(&mut self, index: usize, value: &RawDocument) {
        let mut digits = [0_u8; 20];
        self.document(decimal(index, &mut digits), value);
    }

    /// Any value.
    pub(crate) fn value(&mut self, key: &str, value: RawBsonRef<'_>) {
        let mut one = RawDocumentBuf::new();
        one.append(cstr!(""), value);
        let bytes = one.as_bytes();
        // Four bytes of length, one of type, the empty key's zero; at the end the document's zero.
        if let (Some(kind), Some(payload)) = (bytes.get(4), bytes.get(6..bytes.len() - 1)) {
            self.key(*kind, key);
            self.bytes.extend_from_slice(payload);
        }
    }

    fn key(&mut self, kind: u8, key: &str) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.push(0);
    }

    /// Ends what is still open.
    pub(crate) fn finish(mut self) -> RawDocumentBuf {
        while !self.open.is_empty() {
            self.end();
        }
        RawDocumentBuf::from_bytes(self.bytes).expect("every document that was begun was ended")
    }
}

/// `index` in decimal digits, the key of an array element.
pub(crate) fn decimal(index: usize, digits: &mut [u8; 20]) -> &str {
    let mut rest = index;
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 || start == 0 {
            break;
        }
    }
    digits
        .get(start..)
        .and_then(|text| std::str::from_utf8(text).ok())
        .unwrap_or("0")
}

/// A reply without anything but its success.
pub(crate) fn ok_reply() -> RawDocumentBuf {
    let mut writer = DocumentWriter::with_capacity(32);
    writer.double("ok", 1.0);
    writer.finish()
}

#[cfg(test)]
mod tests {
    use bson::{Bson, Document, doc};

    use super::*;

    #[test]
    fn what_is_written_is_what_the_bson_crate_reads() {
        let mut writer = DocumentWriter::with_capacity(0);
        writer.double("d", 1.5);
        writer.begin_document("inner");
        writer.int("i", -1);
        writer.begin_array("list");
        let inner = RawDocumentBuf::try_from(&doc! { "x": 1 }).unwrap();
        for index in 0..11 {
            writer.element(index, &inner);
        }
        writer.end();
        writer.end();
        writer.string("s", "ü");
        writer.value("v", RawBsonRef::Null);
        writer.boolean("b", true);
        writer.count("small", 7);
        writer.count("big", 1 << 40);
        let list = vec![Bson::from(doc! { "x": 1 }); 11];
        let expected = doc! {
            "d": 1.5, "inner": { "i": -1, "list": list }, "s": "ü", "v": null, "b": true, "small": 7, "big": 1_i64 << 40,
        };
        let written = writer.finish();
        assert_eq!(Document::try_from(written.as_ref()).unwrap(), expected);
        assert_eq!(written, RawDocumentBuf::try_from(&expected).unwrap());
    }
}
