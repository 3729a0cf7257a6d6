//! A value that a filter compares with, kept as the bytes it came in.

use crate::value::{Element, Value, kind};

/// One value with its own bytes; [`Constant::value`] reads it without a copy.
#[derive(Debug, Clone)]
pub(super) struct Constant {
    kind: u8,
    bytes: Box<[u8]>,
}

impl Constant {
    pub(super) fn from_element(element: &Element<'_>) -> Self {
        Self {
            kind: element.kind,
            bytes: element.bytes.into(),
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
        is_told.then(|| *self.bytes == *element.bytes)
    }

    pub(super) fn element(&self) -> Element<'_> {
        Element {
            kind: self.kind,
            name: b"",
            bytes: &self.bytes,
        }
    }
}
