//! The module `k6/encoding`.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rquickjs::{ArrayBuffer, Result, Value};

use crate::raw::{Call, Native, bytes_of};

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("b64encode", 2, encode),
    Native::new("b64decode", 3, decode),
];

/// Alphabet and padding by k6's names.
fn engine(call: &Call<'_, '_>, name: &Value<'_>) -> Result<GeneralPurpose> {
    let name = match name.as_string() {
        Some(name) => name.to_string()?,
        None => "std".to_owned(),
    };
    let padded = GeneralPurposeConfig::new();
    let raw = padded
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone);
    match name.as_str() {
        "std" => Ok(GeneralPurpose::new(&STANDARD, padded)),
        "rawstd" => Ok(GeneralPurpose::new(&STANDARD, raw)),
        "url" => Ok(GeneralPurpose::new(&URL_SAFE, padded)),
        "rawurl" => Ok(GeneralPurpose::new(&URL_SAFE, raw)),
        other => call.fail(&format!(
            "base64 variant {other:?} is unknown; write \"std\", \"rawstd\", \"url\" or \"rawurl\""
        )),
    }
}

fn encode<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let Some(bytes) = bytes_of(&call.arg(0)) else {
        return call.fail_type("b64encode() needs a string or an ArrayBuffer");
    };
    let text = engine(call, &call.arg(1))?.encode(bytes);
    call.string(&text)
}

/// Bytes as an `ArrayBuffer`, or text with the format `"s"`.
fn decode<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let text = call.text(0)?;
    // Line ends are allowed inside, as in Go.
    let text = text.replace(['\r', '\n'], "");
    let bytes = match engine(call, &call.arg(1))?.decode(text) {
        Ok(bytes) => bytes,
        Err(error) => {
            return call.fail(&format!("b64decode(): not base64 of this variant: {error}"));
        }
    };
    let format: Option<String> = call.arg(2).get()?;
    if format.as_deref() == Some("s") {
        let text = String::from_utf8_lossy(&bytes);
        return call.string(&text);
    }
    Ok(ArrayBuffer::new_copy(call.ctx.clone(), bytes)?.into_value())
}
