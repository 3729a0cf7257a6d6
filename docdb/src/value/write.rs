//! Writes BSON front to back: replies, whole documents, single elements, owned values. Nested documents and arrays go
//! straight into their place, without copies.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use super::kind;
use super::view::{Element, Fields, Value, with_value};
use crate::error::Result;

/// A length of four bytes, to be written when the document ends.
const OPEN: [u8; 4] = [0; 4];
/// From here on a document is written into large pages.
const LARGE: usize = 4 << 20;

/// One document in the making. Of a name everything from a zero byte on is left out: BSON names end there.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Where each document or array within it begins that is not yet ended.
    open: Vec<usize>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::with_capacity(64)
    }
}

impl Writer {
    /// `capacity` in bytes of BSON.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity.max(16));
        bytes.extend_from_slice(&OPEN);
        Self {
            bytes,
            open: Vec::new(),
        }
    }

    /// Makes room for so many bytes more.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        let before = self.bytes.capacity();
        self.bytes.reserve(bytes);
        let now = self.bytes.capacity();
        if now > before && now >= LARGE {
            plimsoll_base::heap::use_large_pages(&mut self.bytes);
        }
    }

    /// Bytes written so far, ends not counted.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds `element` as it is.
    pub(crate) fn element(&mut self, element: &Element<'_>) {
        self.named(element.kind, element.name);
        self.bytes.extend_from_slice(element.bytes);
    }

    /// Adds elements as they are, by whatever names.
    pub(crate) fn elements(&mut self, fields: Fields<'_>) {
        self.bytes.extend_from_slice(fields.bytes());
    }

    pub(crate) fn value(&mut self, name: &[u8], value: &Value<'_>) {
        self.named(value.kind(), name);
        append_payload(value, &mut self.bytes);
    }

    pub(crate) fn raw(&mut self, name: &str, value: RawBsonRef<'_>) {
        with_value(value, |value| self.value(name.as_bytes(), &value));
    }

    pub(crate) fn bson(&mut self, name: &[u8], value: &Bson) {
        if let Some(value) = Value::from_scalar(value) {
            self.value(name, &value);
            return;
        }
        // A value that cannot be written (a name or a regular expression with a NUL inside) becomes null.
        let owned = document_of(value);
        match Fields::new(&owned).elements().next() {
            Some(element) => self.element(&Element { name, ..element }),
            None => self.value(name, &Value::Null),
        }
    }

    pub(crate) fn begin_document(&mut self, name: &str) {
        self.begin(kind::DOCUMENT, name.as_bytes());
    }

    pub(crate) fn begin_array(&mut self, name: &str) {
        self.begin(kind::ARRAY, name.as_bytes());
    }

    /// Begins a document or an array: what is added up to [`Self::end`] goes into it.
    pub(crate) fn begin(&mut self, kind: u8, name: &[u8]) {
        self.named(kind, name);
        self.open.push(self.bytes.len());
        self.bytes.extend_from_slice(&OPEN);
    }

    /// Ends the innermost document or array.
    pub(crate) fn end(&mut self) {
        let start = self.open.pop().unwrap_or(0);
        self.bytes.push(0);
        let length = (self.bytes.len() - start) as u32;
        if let Some(place) = self.bytes.get_mut(start..start + OPEN.len()) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }

    pub(crate) fn double(&mut self, name: &str, value: f64) {
        self.value(name.as_bytes(), &Value::Double(value));
    }

    pub(crate) fn int(&mut self, name: &str, value: i32) {
        self.value(name.as_bytes(), &Value::Int(value));
    }

    pub(crate) fn long(&mut self, name: &str, value: i64) {
        self.value(name.as_bytes(), &Value::Long(value));
    }

    /// A count: int32 where it fits, int64 else, as MongoDB's replies have it.
    pub(crate) fn count(&mut self, name: &str, value: u64) {
        match i32::try_from(value) {
            Ok(small) => self.int(name, small),
            Err(_) => self.long(name, i64::try_from(value).unwrap_or(i64::MAX)),
        }
    }

    pub(crate) fn boolean(&mut self, name: &str, value: bool) {
        self.value(name.as_bytes(), &Value::Boolean(value));
    }

    pub(crate) fn string(&mut self, name: &str, value: &str) {
        self.value(name.as_bytes(), &Value::String(value.as_bytes()));
    }

    pub(crate) fn document(&mut self, name: &str, value: &RawDocument) {
        self.named(kind::DOCUMENT, name.as_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// Begins one document of the array that was begun last; its bytes follow with [`Self::append`]. `index` counts from 0.
    pub(crate) fn begin_item(&mut self, index: usize) {
        self.named(kind::DOCUMENT, decimal(index, &mut [0; 20]).as_bytes());
    }

    /// One document of the array that was begun last.
    pub(crate) fn item(&mut self, index: usize, value: &RawDocument) {
        self.begin_item(index);
        self.append(value.as_bytes());
    }

    /// Bytes of BSON as they are.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Ends what is still open.
    pub(crate) fn finish(mut self) -> RawDocumentBuf {
        while !self.open.is_empty() {
            self.end();
        }
        self.end();
        RawDocumentBuf::from_bytes(self.bytes).unwrap_or_default()
    }

    /// The reply of a command that succeeded.
    pub(crate) fn ok(mut self) -> RawDocumentBuf {
        self.double("ok", 1.0);
        self.finish()
    }

    fn named(&mut self, kind: u8, name: &[u8]) {
        self.bytes.push(kind);
        append_name(name, &mut self.bytes);
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

impl Value<'_> {
    /// The value on its own; what cannot be decoded, which [`super::validate`] lets none of in, as undefined.
    pub(crate) fn to_bson(self) -> Bson {
        let mut writer = Writer::default();
        writer.value(b"", &self);
        match Document::try_from(&*writer.finish()) {
            Ok(mut document) => document.remove("").unwrap_or(Bson::Undefined),
            Err(_) => Bson::Undefined,
        }
    }
}

pub(crate) fn decode(document: &RawDocument) -> Result<Document> {
    Ok(Document::try_from(document)?)
}

/// `{"": value}`; empty if `bson` cannot write the value.
pub(super) fn document_of(value: &Bson) -> RawDocumentBuf {
    let mut document = Document::new();
    document.insert("", value.clone());
    RawDocumentBuf::try_from(&document).unwrap_or_default()
}

fn append_name(name: &[u8], out: &mut Vec<u8>) {
    let end = name.iter().position(|byte| *byte == 0);
    out.extend_from_slice(name.get(..end.unwrap_or(name.len())).unwrap_or_default());
    out.push(0);
}

fn append_text(text: &[u8], out: &mut Vec<u8>) {
    append_length(text.len() + 1, out);
    out.extend_from_slice(text);
    out.push(0);
}

fn append_length(length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(length).unwrap_or(i32::MAX).to_le_bytes());
}

fn append_fields(fields: Fields<'_>, out: &mut Vec<u8>) {
    append_length(fields.bytes().len() + 5, out);
    out.extend_from_slice(fields.bytes());
    out.push(0);
}

fn append_payload(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::MinKey | Value::MaxKey | Value::Undefined | Value::Null => {}
        Value::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Long(value) | Value::Date(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Decimal(bytes) => out.extend_from_slice(bytes),
        Value::String(text) | Value::Symbol(text) | Value::JavaScript(text) => {
            append_text(text, out);
        }
        Value::Document(fields) | Value::Array(fields) => append_fields(*fields, out),
        Value::Binary { subtype, bytes } => append_binary(*subtype, bytes, out),
        Value::ObjectId(id) => out.extend_from_slice(id),
        Value::Boolean(value) => out.push(u8::from(*value)),
        Value::Timestamp(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Regex { pattern, options } => {
            append_name(pattern, out);
            append_name(options, out);
        }
        Value::DbPointer { namespace, id } => {
            append_text(namespace, out);
            out.extend_from_slice(id);
        }
        Value::JavaScriptWithScope { code, scope } => {
            append_length(code.len() + scope.bytes().len() + 14, out);
            append_text(code, out);
            append_fields(*scope, out);
        }
    }
}

fn append_binary(subtype: u8, bytes: &[u8], out: &mut Vec<u8>) {
    let is_old = subtype == kind::BINARY_OLD;
    append_length(bytes.len() + if is_old { 4 } else { 0 }, out);
    out.push(subtype);
    if is_old {
        append_length(bytes.len(), out);
    }
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn what_is_written_is_what_the_bson_crate_reads() {
        let mut writer = Writer::with_capacity(0);
        writer.double("d", 1.5);
        writer.begin_document("inner");
        writer.int("i", -1);
        writer.begin_array("list");
        let inner = RawDocumentBuf::try_from(&doc! { "x": 1 }).unwrap();
        for index in 0..11 {
            writer.item(index, &inner);
        }
        writer.end();
        writer.end();
        writer.string("s", "ü");
        writer.raw("v", RawBsonRef::Null);
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
