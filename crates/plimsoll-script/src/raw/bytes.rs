//! Copies bytes out of and into script buffers.

use std::ptr::NonNull;

use rquickjs::{ArrayBuffer, Object, Value};

/// The bytes of a string, an `ArrayBuffer` or a view of one; none for anything else.
pub(crate) fn bytes_of(value: &Value<'_>) -> Option<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return Some(text.to_string().unwrap_or_default().into_bytes());
    }
    let span = span_of(value.as_object()?)?;
    // SAFETY: the engine's memory, copied before any script code can run and resize or free it.
    Some(unsafe { span.as_ref() }.to_vec())
}

/// Overwrites the bytes of a view, as far as both go.
pub(crate) fn fill_view(value: &Value<'_>, bytes: &[u8]) {
    let Some(mut span) = value.as_object().and_then(span_of) else {
        return;
    };
    // SAFETY: the engine's memory; no script code runs and no other reference exists meanwhile.
    let target = unsafe { span.as_mut() };
    for (slot, byte) in target.iter_mut().zip(bytes) {
        *slot = *byte;
    }
}

/// Where the bytes of a buffer or a view lie.
fn span_of(object: &Object<'_>) -> Option<NonNull<[u8]>> {
    if let Some(buffer) = object.as_array_buffer() {
        return buffer.as_raw();
    }
    let buffer: Value<'_> = object.get("buffer").ok()?;
    let buffer: &ArrayBuffer<'_> = buffer.as_object()?.as_array_buffer()?;
    let offset: usize = object.get("byteOffset").ok()?;
    let length: usize = object.get("byteLength").ok()?;
    let whole = buffer.as_raw()?;
    if offset.checked_add(length)? > whole.len() {
        return None;
    }
    // SAFETY: the sum was just checked against the buffer's length.
    let start = unsafe { whole.cast::<u8>().add(offset) };
    Some(NonNull::slice_from_raw_parts(start, length))
}
