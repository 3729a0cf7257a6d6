//! A value that a filter compares with, kept as the bytes it came in.

use crate::value::{Element, Value};

/// One value with its own bytes; [`Constant::value`] reads it without a copy.
#[derive(Debug, Clone)]
pub(super) struct Constant {
    kind: u8,
    bytes: Box<[u8]>,
}

impl Constant {
    pub(super) fn of(element: &Element<'_>) -> Self {
        Self {
            kind: element.kind,
            bytes: element.bytes.into(),
        }
    }

    #[inline]
    pub(super) fn value(&self) -> Value<'_> {
        self.element().value()
    }

    pub(super) fn element(&self) -> Element<'_> {
        Element {
            kind: self.kind,
            name: b"",
            bytes: &self.bytes,
        }
    }
}
