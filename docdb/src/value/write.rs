//! Writes views back as BSON: whole documents, single elements, owned values.

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document};

use super::kind;
use super::view::{Element, Fields, Value};

/// The elements of a document in the making; [`Writer::finish`] puts length and end mark around them.
#[derive(Debug)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::with_capacity(64)
    }
}

impl Writer {
    /// `capacity` in bytes of BSON.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(&[0; 4]);
        Self { bytes }
    }

    /// Adds `element` as it is.
    pub(crate) fn element(&mut self, element: &Element<'_>) {
        self.named(element.kind, element.name);
        self.bytes.extend_from_slice(element.bytes);
    }

    /// Adds `value` under `name`, of which everything from a NUL on is left out: BSON names end there.
    pub(crate) fn value(&mut self, name: &[u8], value: &Value<'_>) {
        self.named(value.kind(), name);
        append_payload(value, &mut self.bytes);
    }

    pub(crate) fn bson(&mut self, name: &[u8], value: &Bson) {
        if let Some(value) = Value::of_scalar(value) {
            self.value(name, &value);
            return;
        }
        // A value that cannot be written (a name or a regular expression with a NUL inside) becomes null.
        let owned = document_of(value);
        match Fields::of(&owned).elements().next() {
            Some(element) => self.element(&Element { name, ..element }),
            None => self.value(name, &Value::Null),
        }
    }

    /// Adds an array or document whose elements `inner` holds.
    pub(crate) fn nested(&mut self, kind: u8, name: &[u8], inner: &Self) {
        self.named(kind, name);
        append_fields(
            Fields(inner.bytes.get(4..).unwrap_or_default()),
            &mut self.bytes,
        );
    }

    pub(crate) fn finish(mut self) -> RawDocumentBuf {
        self.bytes.push(0);
        let length = i32::try_from(self.bytes.len()).unwrap_or(i32::MAX);
        if let Some(head) = self.bytes.first_chunk_mut() {
            *head = length.to_le_bytes();
        }
        RawDocumentBuf::from_bytes(self.bytes).unwrap_or_default()
    }

    fn named(&mut self, kind: u8, name: &[u8]) {
        self.bytes.push(kind);
        append_name(name, &mut self.bytes);
    }
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

/// `{"": value}`; empty if `bson` cannot write the value.
pub(super) fn document_of(value: &Bson) -> RawDocumentBuf {
    let mut document = Document::new();
    document.insert("", value.clone());
    RawDocumentBuf::try_from(&document).unwrap_or_default()
}

fn append_name(name: &[u8], out: &mut Vec<u8>) {
    out.extend(name.iter().take_while(|byte| **byte != 0));
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
