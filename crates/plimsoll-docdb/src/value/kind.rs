//! The type bytes of BSON, their names in error texts and `$type`, and their places in MongoDB's order.

use crate::error::{Code, CommandError};

pub const DOUBLE: u8 = 0x01;
pub const STRING: u8 = 0x02;
pub const DOCUMENT: u8 = 0x03;
pub const ARRAY: u8 = 0x04;
pub const BINARY: u8 = 0x05;
pub const UNDEFINED: u8 = 0x06;
pub const OBJECT_ID: u8 = 0x07;
pub const BOOLEAN: u8 = 0x08;
pub const DATE: u8 = 0x09;
pub const NULL: u8 = 0x0A;
pub const REGEX: u8 = 0x0B;
pub const DB_POINTER: u8 = 0x0C;
pub const JAVASCRIPT: u8 = 0x0D;
pub const SYMBOL: u8 = 0x0E;
pub const JAVASCRIPT_WITH_SCOPE: u8 = 0x0F;
pub const INT: u8 = 0x10;
pub const TIMESTAMP: u8 = 0x11;
pub const LONG: u8 = 0x12;
pub const DECIMAL: u8 = 0x13;
pub const MAX_KEY: u8 = 0x7F;
pub const MIN_KEY: u8 = 0xFF;

/// The subtype of binary data that repeats its length inside.
pub(super) const BINARY_OLD: u8 = 2;

/// The name that `$type` and error texts use for a type byte.
pub const fn name(kind: u8) -> &'static str {
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
pub fn from_name(alias: &str) -> Result<u8, CommandError> {
    (0..=u8::MAX)
        .find(|kind| is_known(*kind) && name(*kind) == alias)
        .ok_or_else(|| Code::BadValue.error(format!("Unknown type name alias: {alias}")))
}

pub const fn is_known(kind: u8) -> bool {
    matches!(kind, DOUBLE..=DECIMAL | MAX_KEY | MIN_KEY)
}

pub const fn is_number(kind: u8) -> bool {
    matches!(kind, DOUBLE | INT | LONG | DECIMAL)
}

/// A type's place in MongoDB's order; types of one rank compare by value.
///
/// The numbers are the first bytes of [`super::key`]'s encodings, so they keep clear of 0x00 (the
/// end of an array or document there) and leave numbers room for NaN, negative, zero and positive.
/// Undefined is below null, as in MongoDB: that is why `[]`, whose sort key is undefined, sorts
/// before null.
pub const fn rank(kind: u8) -> u8 {
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

pub const RANK_NUMBER: u8 = 0x20;
pub const RANK_MAX_KEY: u8 = 0xE0;
