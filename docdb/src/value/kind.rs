//! The type bytes of BSON, their names in error texts and `$type`, and their places in MongoDB's order.

use crate::error::{Code, Result};

pub(crate) const DOUBLE: u8 = 0x01;
pub(crate) const STRING: u8 = 0x02;
pub(crate) const DOCUMENT: u8 = 0x03;
pub(crate) const ARRAY: u8 = 0x04;
pub(crate) const BINARY: u8 = 0x05;
pub(crate) const UNDEFINED: u8 = 0x06;
pub(crate) const OBJECT_ID: u8 = 0x07;
pub(crate) const BOOLEAN: u8 = 0x08;
pub(crate) const DATE: u8 = 0x09;
pub(crate) const NULL: u8 = 0x0A;
pub(crate) const REGEX: u8 = 0x0B;
pub(crate) const DB_POINTER: u8 = 0x0C;
pub(crate) const JAVASCRIPT: u8 = 0x0D;
pub(crate) const SYMBOL: u8 = 0x0E;
pub(crate) const JAVASCRIPT_WITH_SCOPE: u8 = 0x0F;
pub(crate) const INT: u8 = 0x10;
pub(crate) const TIMESTAMP: u8 = 0x11;
pub(crate) const LONG: u8 = 0x12;
pub(crate) const DECIMAL: u8 = 0x13;
pub(crate) const MAX_KEY: u8 = 0x7F;
pub(crate) const MIN_KEY: u8 = 0xFF;

/// The subtype of binary data that repeats its length inside.
pub(super) const BINARY_OLD: u8 = 2;

/// The name that `$type` and error texts use for a type byte.
pub(crate) const fn name(kind: u8) -> &'static str {
    match kind {
        DOUBLE => "double",
        STRING => "string",
        DOCUMENT => "object",
        ARRAY => "array",
        BINARY => "binData",
        UNDEFINED => "undefined",
        OBJECT_ID => "objectId",
        BOOLEAN => "bool",
        DATE => "date",
        NULL => "null",
        REGEX => "regex",
        DB_POINTER => "dbPointer",
        JAVASCRIPT => "javascript",
        SYMBOL => "symbol",
        JAVASCRIPT_WITH_SCOPE => "javascriptWithScope",
        INT => "int",
        TIMESTAMP => "timestamp",
        LONG => "long",
        DECIMAL => "decimal",
        MAX_KEY => "maxKey",
        MIN_KEY => "minKey",
        _ => "missing",
    }
}

/// The type byte that a `$type` alias stands for; `number` is not one type and has none.
pub(crate) fn from_name(alias: &str) -> Result<u8> {
    (0..=u8::MAX)
        .find(|kind| is_known(*kind) && name(*kind) == alias)
        .ok_or_else(|| Code::BadValue.error(format!("Unknown type name alias: {alias}")))
}

pub(crate) const fn is_known(kind: u8) -> bool {
    matches!(kind, DOUBLE..=DECIMAL | MAX_KEY | MIN_KEY)
}

pub(crate) const fn is_number(kind: u8) -> bool {
    matches!(kind, DOUBLE | INT | LONG | DECIMAL)
}

/// A type's place in MongoDB's order; types of one rank compare by value.
///
/// The numbers are the first bytes of [`super::key`]'s encodings, so they keep clear of 0x00 (the
/// end of an array or document there) and leave numbers room for NaN, negative, zero and positive.
/// Undefined is below null, as in MongoDB: that is why `[]`, whose sort key is undefined, sorts
/// before null.
pub(crate) const fn rank(kind: u8) -> u8 {
    match kind {
        MIN_KEY => 0x10,
        UNDEFINED => 0x18,
        NULL => 0x1C,
        DOUBLE | INT | LONG | DECIMAL => RANK_NUMBER,
        STRING | SYMBOL => 0x30,
        DOCUMENT => 0x38,
        ARRAY => 0x40,
        BINARY => 0x48,
        OBJECT_ID => 0x50,
        BOOLEAN => 0x58,
        DATE => 0x60,
        TIMESTAMP => 0x68,
        REGEX => 0x70,
        DB_POINTER => 0x78,
        JAVASCRIPT => 0x80,
        JAVASCRIPT_WITH_SCOPE => 0x88,
        _ => RANK_MAX_KEY,
    }
}

pub(crate) const RANK_NUMBER: u8 = 0x20;
pub(crate) const RANK_MAX_KEY: u8 = 0xE0;
