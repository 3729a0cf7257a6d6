//! Bodies: what scripts give becomes bytes, and what comes back is decoded.

use std::io::{Read as _, Write as _};

use rquickjs::{Class, Coerced, JsLifetime, Result, Value};

use super::params::Coding;
use crate::http::HttpResult;
use crate::raw::{Call, bytes_of};

/// Bytes to send, and the content type that they imply.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) content_type: Option<String>,
}

/// A part of a multipart body (`http.file`).
#[derive(JsLifetime)]
pub(crate) struct FilePart {
    bytes: Vec<u8>,
    name: String,
    content_type: String,
}

class!(FilePart, "FileData", |_| Ok(()));

/// `http.file(data, name, contentType)`.
pub(crate) fn file<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let Some(bytes) = bytes_of(&call.arg(0)) else {
        return call.fail_type(
            "http.file() needs a string or bytes: http.file(open(\"a.png\", \"b\"), \"a.png\")",
        );
    };
    let unique = call.vu.worker.host.now().0.to_string();
    let part = FilePart {
        bytes,
        name: call.text_if_given(1)?.unwrap_or(unique),
        content_type: call
            .text_if_given(2)?
            .unwrap_or_else(|| "application/octet-stream".to_owned()),
    };
    let (name, content_type) = (part.name.clone(), part.content_type.clone());
    let object = Class::instance(call.ctx.clone(), part)?.into_inner();
    object.set("data", call.arg(0))?;
    object.set("filename", name)?;
    object.set("content_type", content_type)?;
    Ok(object.into_value())
}

/// Strings and buffers as they are; objects as a form, or as multipart when a file is among the members.
pub(crate) fn encode(call: &Call<'_, '_>, body: &Value<'_>) -> Result<Option<Encoded>> {
    if body.is_undefined() || body.is_null() {
        return Ok(None);
    }
    if let Some(bytes) = bytes_of(body) {
        let content_type = None;
        return Ok(Some(Encoded {
            bytes,
            content_type,
        }));
    }
    let Some(object) = body.as_object().filter(|_| !body.is_function()) else {
        let bytes = body.get::<Coerced<String>>()?.0.into_bytes();
        let content_type = None;
        return Ok(Some(Encoded {
            bytes,
            content_type,
        }));
    };
    let mut fields = Vec::new();
    for entry in object.props::<String, Value<'_>>() {
        fields.push(entry?);
    }
    let is_file = |(_, value): &(String, Value<'_>)| Class::<FilePart>::from_value(value).is_ok();
    if fields.iter().any(is_file) {
        return multipart(call, &fields).map(Some);
    }
    form(call, &fields).map(Some)
}

fn form(call: &Call<'_, '_>, fields: &[(String, Value<'_>)]) -> Result<Encoded> {
    let mut encoder = url::form_urlencoded::Serializer::new(String::new());
    let mut sorted: Vec<&(String, Value<'_>)> = fields.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, value) in sorted {
        if let Some(values) = value.as_array() {
            for value in values.iter::<Value<'_>>() {
                encoder.append_pair(name, &field_text(&value?)?);
            }
            continue;
        }
        if value.is_object() {
            call.vu.worker.warn(&format!(
                "the form field {name:?} is an object, which forms cannot carry; send JSON.stringify(…) instead"
            ));
        }
        encoder.append_pair(name, &field_text(value)?);
    }
    Ok(Encoded {
        bytes: encoder.finish().into_bytes(),
        content_type: Some("application/x-www-form-urlencoded".to_owned()),
    })
}

/// As k6 writes it, which shows through in what servers get: null is `<nil>`, an object `map[a:1]`.
fn field_text(value: &Value<'_>) -> Result<String> {
    if value.is_null() || value.is_undefined() {
        return Ok("<nil>".to_owned());
    }
    if let Some(values) = value.as_array() {
        let texts: Result<Vec<String>> = values
            .iter::<Value<'_>>()
            .map(|value| field_text(&value?))
            .collect();
        return Ok(format!("[{}]", texts?.join(" ")));
    }
    if let Some(object) = value.as_object().filter(|_| !value.is_function()) {
        let mut members = Vec::new();
        for entry in object.props::<String, Value<'_>>() {
            let (name, value) = entry?;
            members.push(format!("{name}:{}", field_text(&value)?));
        }
        members.sort();
        return Ok(format!("map[{}]", members.join(" ")));
    }
    Ok(value.get::<Coerced<String>>()?.0)
}

fn multipart(call: &Call<'_, '_>, fields: &[(String, Value<'_>)]) -> Result<Encoded> {
    let (high, low) = {
        let mut rng = call.vu.rng.borrow_mut();
        (rng.next_u64(), rng.next_u64())
    };
    let boundary = format!("plimsoll{high:016x}{low:016x}");
    let mut bytes = Vec::new();
    for (name, value) in fields {
        let name = quoted(name);
        if let Ok(part) = Class::<FilePart>::from_value(value) {
            let part = part.borrow();
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{}\"\r\n\
                 Content-Type: {}\r\n\r\n",
                quoted(&part.name),
                part.content_type
            );
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(&part.bytes);
        } else {
            let head =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(field_text(value)?.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(Encoded {
        bytes,
        content_type: Some(format!("multipart/form-data; boundary={boundary}")),
    })
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Applies a content coding.
pub(crate) fn compress(coding: Coding, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let level = flate2::Compression::default();
    match coding {
        Coding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes)?;
            encoder.finish()
        }
        Coding::Deflate => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes)?;
            encoder.finish()
        }
        Coding::Brotli => {
            let mut packed = Vec::new();
            let mut encoder = brotli::CompressorWriter::new(&mut packed, 4_096, 5, 22);
            encoder.write_all(bytes)?;
            drop(encoder);
            Ok(packed)
        }
        Coding::Zstd => Ok(ruzstd::encoding::compress_to_vec(
            bytes,
            ruzstd::encoding::CompressionLevel::Fastest,
        )),
    }
}

/// A body may unpack to at most this much: a small answer must not fill the memory.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;

/// Undoes the content codings of an answer.
pub(crate) fn decode_body(result: &mut HttpResult) -> std::io::Result<()> {
    if result.body.is_empty() {
        return Ok(());
    }
    let codings: Vec<Coding> = {
        let named = result.headers.get("content-encoding").unwrap_or_default();
        named.split(',').filter_map(Coding::from_name).collect()
    };
    for coding in codings.into_iter().rev() {
        result.body = decompress(coding, &result.body)?;
    }
    Ok(())
}

/// Undoes a content coding.
fn decompress(coding: Coding, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let taken = match coding {
        Coding::Gzip => flate2::read::MultiGzDecoder::new(bytes)
            .take(UNPACKED_BYTES_MAX)
            .read_to_end(&mut unpacked)?,
        Coding::Deflate => return inflate(bytes),
        Coding::Brotli => brotli::Decompressor::new(bytes, 4_096)
            .take(UNPACKED_BYTES_MAX)
            .read_to_end(&mut unpacked)?,
        Coding::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(bytes);
            decoder
                .map_err(std::io::Error::other)?
                .take(UNPACKED_BYTES_MAX)
                .read_to_end(&mut unpacked)?
        }
    };
    debug_assert_eq!(taken, unpacked.len());
    Ok(unpacked)
}

/// `deflate` is zlib by the standard; many servers send the bare stream.
fn inflate(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let wrapped = flate2::read::ZlibDecoder::new(bytes)
        .take(UNPACKED_BYTES_MAX)
        .read_to_end(&mut unpacked);
    if wrapped.is_err() {
        unpacked.clear();
        flate2::read::DeflateDecoder::new(bytes)
            .take(UNPACKED_BYTES_MAX)
            .read_to_end(&mut unpacked)?;
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coding_gives_back_what_it_took() {
        let text = b"a text that repeats, a text that repeats".repeat(20);
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let packed = compress(coding, &text).unwrap();
            assert!(packed.len() < text.len(), "{}", coding.name());
            assert_eq!(
                decompress(coding, &packed).unwrap(),
                text,
                "{}",
                coding.name()
            );
            assert_eq!(Coding::from_name(coding.name()), Some(coding));
        }
    }

    #[test]
    fn broken_bodies_are_errors() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Zstd] {
            assert!(
                decompress(coding, b"not packed at all").is_err(),
                "{}",
                coding.name()
            );
        }
    }
}
