//! A value that a filter compares with, kept as the bytes it came in.

use crate::value::{Element, Value, kind};

/// So long a value is kept without a piece of memory of its own: numbers, dates, ids and short strings, of which an `$in` may have
/// a million.
const SHORT: usize = 21;

/// One value with its own bytes; [`Constant::value`] reads it without a copy.
#[derive(Debug, Clone)]
pub(super) struct Constant {
    kind: u8,
    bytes: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    /// So many of these.
    Short(u8, [u8; SHORT]),
    Long(Box<[u8]>),
}

impl Constant {
    pub(super) fn from_element(element: &Element<'_>) -> Self {
        let length = element.bytes.len();
        let mut short = [0; SHORT];
        let bytes = match (short.get_mut(..length), u8::try_from(length)) {
            (Some(place), Ok(count)) => {
                place.copy_from_slice(element.bytes);
                Bytes::Short(count, short)
            }
            _ => Bytes::Long(element.bytes.into()),
        };
        Self {
            kind: element.kind,
            bytes,
        }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Short(count, bytes) => bytes.get(..usize::from(*count)).unwrap_or_default(),
            Bytes::Long(bytes) => bytes,
        }
    }

    #[inline]
    pub(super) fn value(&self) -> Value<'_> {
        self.element().value()
    }

    /// Whether `element` is equal, where both are of one type whose equal values have equal bytes.
    #[inline]
    pub(super) fn equals_bytewise(&self, element: &Element<'_>) -> Option<bool> {
        const BYTEWISE: [u8; 6] = [
            kind::OBJECT_ID,
            kind::STRING,
            kind::INT,
            kind::LONG,
            kind::DATE,
            kind::BOOLEAN,
        ];
        let is_told = self.kind == element.kind && BYTEWISE.contains(&self.kind);
        is_told.then(|| self.bytes() == element.bytes)
    }

    pub(super) fn element(&self) -> Element<'_> {
        Element {
            kind: self.kind,
            name: b"",
            bytes: self.bytes(),
        }
    }
}
