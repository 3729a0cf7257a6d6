//! Reads BSON in place: elements are found by their lengths and decoded only when they are asked for.

use bson::Bson;
use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf, cstr};

use super::decimal::Decimal;
use super::kind;

/// One value, borrowed from the bytes of a document. Strings are bytes: UTF-8 sorts as its bytes do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    MinKey,
    Undefined,
    Null,
    Int(i32),
    Long(i64),
    Double(f64),
    /// The 16 bytes as stored, least significant first.
    Decimal([u8; 16]),
    String(&'a [u8]),
    Symbol(&'a [u8]),
    Document(Fields<'a>),
    Array(Fields<'a>),
    Binary {
        subtype: u8,
        bytes: &'a [u8],
    },
    ObjectId([u8; 12]),
    Boolean(bool),
    /// Milliseconds since 1970.
    Date(i64),
    /// Seconds in the upper 32 bits, a counter in the lower.
    Timestamp(u64),
    Regex {
        pattern: &'a [u8],
        options: &'a [u8],
    },
    DbPointer {
        namespace: &'a [u8],
        id: [u8; 12],
    },
    JavaScript(&'a [u8]),
    JavaScriptWithScope {
        code: &'a [u8],
        scope: Fields<'a>,
    },
    MaxKey,
}

/// The elements of a document or array: its bytes without the length before and the end mark after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields<'a>(pub(super) &'a [u8]);

/// One element: its type byte, its name and the bytes of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub kind: u8,
    pub name: &'a [u8],
    pub bytes: &'a [u8],
}

/// Walks elements; ends early on bytes that are not well-formed.
#[derive(Debug, Clone)]
pub(crate) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) const EMPTY: Self = Fields(&[]);

    pub(crate) fn new(document: &'a RawDocument) -> Self {
        Self::from_bytes(document.as_bytes())
    }

    /// Of a whole document: length, elements, end mark.
    pub(crate) fn from_bytes(document: &'a [u8]) -> Self {
        let end = document.len().saturating_sub(1);
        Fields(document.get(4..end).unwrap_or_default())
    }

    pub(crate) fn elements(self) -> Elements<'a> {
        Elements { rest: self.0 }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The elements' bytes, neither length nor end mark among them.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// What follows the first `used` bytes: those of some whole elements.
    pub(crate) fn after(self, used: usize) -> Self {
        Fields(self.0.get(used..).unwrap_or_default())
    }

    /// The first element of that name.
    #[inline]
    pub(crate) fn find(self, name: &[u8]) -> Option<Element<'a>> {
        let mut elements = self.elements();
        loop {
            let element = elements.next()?;
            if element.name.len() == name.len() && element.name == name {
                return Some(element);
            }
        }
    }

    /// The values in order, without their names: what an array holds.
    pub(crate) fn values(self) -> impl Iterator<Item = Value<'a>> {
        self.elements().map(|element| element.value())
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        let (&kind, rest) = self.rest.split_first()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = rest.split_at_checked(end)?;
        let rest = rest.get(1..)?;
        let (bytes, rest) = rest.split_at_checked(value_size(kind, rest)?)?;
        self.rest = rest;
        Some(Element { kind, name, bytes })
    }
}

/// How many bytes the value at the start of `bytes` takes. The lengths within are not checked here.
#[inline]
pub(super) fn value_size(kind: u8, bytes: &[u8]) -> Option<usize> {
    Some(match kind {
        kind::INT => 4,
        kind::STRING | kind::JAVASCRIPT | kind::SYMBOL => length(bytes)?.checked_add(4)?,
        kind::DOCUMENT | kind::ARRAY | kind::JAVASCRIPT_WITH_SCOPE => length(bytes)?,
        kind::OBJECT_ID => 12,
        kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::LONG => 8,
        kind::BOOLEAN => 1,
        kind::NULL | kind::UNDEFINED | kind::MIN_KEY | kind::MAX_KEY => 0,
        kind::BINARY => length(bytes)?.checked_add(5)?,
        kind::DECIMAL => 16,
        kind::DB_POINTER => length(bytes)?.checked_add(16)?,
        kind::REGEX => {
            let pattern = bytes.iter().position(|byte| *byte == 0)? + 1;
            let options = bytes.get(pattern..)?.iter().position(|byte| *byte == 0)? + 1;
            pattern + options
        }
        _ => return None,
    })
}

/// The length that `bytes` begin with.
#[inline]
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()
}

/// The text after a length, without its end mark.
#[inline]
fn text(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.len().checked_sub(1)?;
    bytes.get(4..end)
}

impl<'a> Element<'a> {
    /// Bytes of it all: type, name, the name's end mark, value.
    pub(crate) fn size(&self) -> usize {
        2 + self.name.len() + self.bytes.len()
    }

    /// Bytes that are not well-formed decode as undefined; [`super::validate`] lets none in.
    #[inline]
    pub(crate) fn value(&self) -> Value<'a> {
        decode(self.kind, self.bytes).unwrap_or(Value::Undefined)
    }
}

#[inline]
fn decode(kind: u8, bytes: &[u8]) -> Option<Value<'_>> {
    Some(match kind {
        kind::INT => Value::Int(i32::from_le_bytes(*bytes.first_chunk()?)),
        kind::STRING => Value::String(text(bytes)?),
        kind::OBJECT_ID => Value::ObjectId(*bytes.first_chunk()?),
        kind::DOCUMENT => Value::Document(Fields::from_bytes(bytes)),
        kind::ARRAY => Value::Array(Fields::from_bytes(bytes)),
        kind::LONG => Value::Long(i64::from_le_bytes(*bytes.first_chunk()?)),
        kind::DOUBLE => Value::Double(f64::from_le_bytes(*bytes.first_chunk()?)),
        kind::DATE => Value::Date(i64::from_le_bytes(*bytes.first_chunk()?)),
        kind::BOOLEAN => Value::Boolean(*bytes.first()? != 0),
        kind::NULL => Value::Null,
        _ => return decode_rare(kind, bytes),
    })
}

#[cold]
fn decode_rare(kind: u8, bytes: &[u8]) -> Option<Value<'_>> {
    Some(match kind {
        kind::UNDEFINED => Value::Undefined,
        kind::MIN_KEY => Value::MinKey,
        kind::MAX_KEY => Value::MaxKey,
        kind::TIMESTAMP => Value::Timestamp(u64::from_le_bytes(*bytes.first_chunk()?)),
        kind::DECIMAL => Value::Decimal(*bytes.first_chunk()?),
        kind::SYMBOL => Value::Symbol(text(bytes)?),
        kind::JAVASCRIPT => Value::JavaScript(text(bytes)?),
        kind::BINARY => binary(bytes)?,
        kind::REGEX => {
            let mut parts = bytes.split(|byte| *byte == 0);
            let (pattern, options) = (parts.next()?, parts.next()?);
            Value::Regex { pattern, options }
        }
        kind::DB_POINTER => {
            let (namespace, id) = bytes.split_last_chunk()?;
            let namespace = text(namespace)?;
            Value::DbPointer { namespace, id: *id }
        }
        kind::JAVASCRIPT_WITH_SCOPE => {
            let rest = bytes.get(4..)?;
            let (code, scope) = rest.split_at_checked(length(rest)?.checked_add(4)?)?;
            Value::JavaScriptWithScope {
                code: text(code)?,
                scope: Fields::from_bytes(scope),
            }
        }
        _ => return None,
    })
}

/// The old subtype 2 repeats its length inside; like the `bson` crate, its bytes come without it.
fn binary(bytes: &[u8]) -> Option<Value<'_>> {
    let subtype = *bytes.get(4)?;
    let bytes = bytes.get(5..)?;
    let bytes = match bytes.get(4..) {
        Some(inner) if subtype == kind::BINARY_OLD && length(bytes) == Some(inner.len()) => inner,
        _ => bytes,
    };
    Some(Value::Binary { subtype, bytes })
}

impl<'a> Value<'a> {
    /// The type byte.
    pub(crate) const fn kind(&self) -> u8 {
        match self {
            Value::MinKey => kind::MIN_KEY,
            Value::Undefined => kind::UNDEFINED,
            Value::Null => kind::NULL,
            Value::Int(_) => kind::INT,
            Value::Long(_) => kind::LONG,
            Value::Double(_) => kind::DOUBLE,
            Value::Decimal(_) => kind::DECIMAL,
            Value::String(_) => kind::STRING,
            Value::Symbol(_) => kind::SYMBOL,
            Value::Document(_) => kind::DOCUMENT,
            Value::Array(_) => kind::ARRAY,
            Value::Binary { .. } => kind::BINARY,
            Value::ObjectId(_) => kind::OBJECT_ID,
            Value::Boolean(_) => kind::BOOLEAN,
            Value::Date(_) => kind::DATE,
            Value::Timestamp(_) => kind::TIMESTAMP,
            Value::Regex { .. } => kind::REGEX,
            Value::DbPointer { .. } => kind::DB_POINTER,
            Value::JavaScript(_) => kind::JAVASCRIPT,
            Value::JavaScriptWithScope { .. } => kind::JAVASCRIPT_WITH_SCOPE,
            Value::MaxKey => kind::MAX_KEY,
        }
    }

    /// The place of the value's type in MongoDB's order.
    #[inline]
    pub(crate) const fn rank(&self) -> u8 {
        kind::rank(self.kind())
    }

    /// NaN, as a double or a decimal.
    pub(crate) fn is_nan(&self) -> bool {
        match self {
            Value::Double(value) => value.is_nan(),
            Value::Decimal(bytes) => Decimal::from_bytes(*bytes).is_nan(),
            _ => false,
        }
    }

    /// `None` for a `DbPointer`, whose parts the `bson` crate does not give away; [`with_value`] reads those too.
    #[inline]
    pub(crate) fn from_raw(raw: RawBsonRef<'a>) -> Option<Self> {
        Some(match raw {
            RawBsonRef::Int32(value) => Value::Int(value),
            RawBsonRef::String(text) => Value::String(text.as_bytes()),
            RawBsonRef::ObjectId(id) => Value::ObjectId(id.bytes()),
            RawBsonRef::Document(document) => Value::Document(Fields::new(document)),
            RawBsonRef::Array(array) => Value::Array(Fields::from_bytes(array.as_bytes())),
            RawBsonRef::Int64(value) => Value::Long(value),
            RawBsonRef::Double(value) => Value::Double(value),
            RawBsonRef::DateTime(time) => Value::Date(time.timestamp_millis()),
            RawBsonRef::Boolean(value) => Value::Boolean(value),
            RawBsonRef::Null => Value::Null,
            RawBsonRef::Undefined => Value::Undefined,
            RawBsonRef::MinKey => Value::MinKey,
            RawBsonRef::MaxKey => Value::MaxKey,
            RawBsonRef::Timestamp(time) => Value::Timestamp(timestamp(time)),
            RawBsonRef::Decimal128(decimal) => Value::Decimal(decimal.bytes()),
            RawBsonRef::Symbol(text) => Value::Symbol(text.as_bytes()),
            RawBsonRef::JavaScriptCode(code) => Value::JavaScript(code.as_bytes()),
            RawBsonRef::Binary(binary) => Value::Binary {
                subtype: binary.subtype.into(),
                bytes: binary.bytes,
            },
            RawBsonRef::RegularExpression(regex) => Value::Regex {
                pattern: regex.pattern.as_str().as_bytes(),
                options: regex.options.as_str().as_bytes(),
            },
            RawBsonRef::JavaScriptCodeWithScope(both) => Value::JavaScriptWithScope {
                code: both.code.as_bytes(),
                scope: Fields::new(both.scope),
            },
            RawBsonRef::DbPointer(_) => return None,
        })
    }

    /// A value that holds no other and that a view can borrow from; `None` for the rest.
    pub(crate) fn from_scalar(value: &'a Bson) -> Option<Self> {
        Some(match value {
            Bson::Int32(value) => Value::Int(*value),
            Bson::Int64(value) => Value::Long(*value),
            Bson::Double(value) => Value::Double(*value),
            Bson::String(text) => Value::String(text.as_bytes()),
            Bson::ObjectId(id) => Value::ObjectId(id.bytes()),
            Bson::Boolean(value) => Value::Boolean(*value),
            Bson::DateTime(time) => Value::Date(time.timestamp_millis()),
            Bson::Null => Value::Null,
            Bson::Undefined => Value::Undefined,
            Bson::MinKey => Value::MinKey,
            Bson::MaxKey => Value::MaxKey,
            Bson::Timestamp(time) => Value::Timestamp(timestamp(*time)),
            Bson::Decimal128(decimal) => Value::Decimal(decimal.bytes()),
            Bson::Symbol(text) => Value::Symbol(text.as_bytes()),
            Bson::JavaScriptCode(code) => Value::JavaScript(code.as_bytes()),
            Bson::Binary(binary) => Value::Binary {
                subtype: binary.subtype.into(),
                bytes: &binary.bytes,
            },
            Bson::RegularExpression(regex) => Value::Regex {
                pattern: regex.pattern.as_str().as_bytes(),
                options: regex.options.as_str().as_bytes(),
            },
            Bson::Document(_)
            | Bson::Array(_)
            | Bson::DbPointer(_)
            | Bson::JavaScriptCodeWithScope(_) => return None,
        })
    }
}

fn timestamp(time: bson::Timestamp) -> u64 {
    u64::from(time.time) << 32 | u64::from(time.increment)
}

/// Calls `with` on the view of `raw`.
#[inline]
pub(crate) fn with_value<R>(raw: RawBsonRef<'_>, with: impl FnOnce(Value<'_>) -> R) -> R {
    if let Some(value) = Value::from_raw(raw) {
        return with(value);
    }
    let mut document = RawDocumentBuf::new();
    document.append(cstr!(""), raw);
    let element = Fields::new(&document).elements().next();
    with(element.map_or(Value::Undefined, |element| element.value()))
}
