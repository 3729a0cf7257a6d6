//! The globals `TextEncoder` and `TextDecoder`.

use rquickjs::{Class, Exception, JsLifetime, Result, TypedArray, Value};

use super::{is_truthy, set_functions};
use crate::raw::{Call, Native, bytes_of};

pub(crate) static CONSTRUCTORS: &[Native] = &[
    Native::constructor("TextEncoder", 0, |call| {
        let object = Class::instance(call.ctx.clone(), Encoder {})?.into_inner();
        object.set("encoding", "utf-8")?;
        Ok(object.into_value())
    }),
    Native::constructor("TextDecoder", 2, new_decoder),
];

pub(crate) static ENCODER_METHODS: &[Native] = &[Native::new("encode", 1, encode)];
pub(crate) static DECODER_METHODS: &[Native] = &[Native::new("decode", 1, decode)];

#[derive(JsLifetime)]
struct Encoder {}

class!(Encoder, "TextEncoder", |prototype| set_functions(
    prototype,
    ENCODER_METHODS
));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charset {
    Utf8,
    Utf16Le,
    Utf16Be,
}

#[derive(JsLifetime)]
struct Decoder {
    charset: Charset,
    is_fatal: bool,
    keeps_mark: bool,
}

class!(Decoder, "TextDecoder", |prototype| set_functions(
    prototype,
    DECODER_METHODS
));

fn encode<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let text = call.text_if_given(0)?.unwrap_or_default();
    Ok(TypedArray::new(call.ctx.clone(), text.into_bytes())?.into_value())
}

fn new_decoder<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let label = call.text_if_given(0)?.map(|label| label.to_lowercase());
    let charset = match label.as_deref().unwrap_or("utf-8").trim() {
        "utf-8" | "utf8" | "unicode-1-1-utf-8" => Charset::Utf8,
        "utf-16" | "utf-16le" => Charset::Utf16Le,
        "utf-16be" => Charset::Utf16Be,
        other => {
            let message = format!(
                "TextDecoder: the encoding {other:?} is not supported; write utf-8, utf-16le or utf-16be"
            );
            return Err(Exception::throw_range(&call.ctx, &message));
        }
    };
    let options = call.arg(1);
    let flag = |name: &str| -> Result<bool> {
        match options.as_object() {
            Some(options) => Ok(is_truthy(&options.get(name)?)),
            None => Ok(false),
        }
    };
    let decoder = Decoder {
        charset,
        is_fatal: flag("fatal")?,
        keeps_mark: flag("ignoreBOM")?,
    };
    let (is_fatal, keeps_mark) = (decoder.is_fatal, decoder.keeps_mark);
    let object = Class::instance(call.ctx.clone(), decoder)?.into_inner();
    let name = match charset {
        Charset::Utf8 => "utf-8",
        Charset::Utf16Le => "utf-16le",
        Charset::Utf16Be => "utf-16be",
    };
    object.set("encoding", name)?;
    object.set("fatal", is_fatal)?;
    object.set("ignoreBOM", keeps_mark)?;
    Ok(object.into_value())
}

fn decode<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let decoder = Class::<Decoder>::from_value(&call.this)?;
    let decoder = decoder.borrow();
    let input = call.arg(0);
    let bytes = match bytes_of(&input).filter(|_| !input.is_string()) {
        Some(bytes) => bytes,
        None if input.is_undefined() => Vec::new(),
        None => return call.fail_type("decode() needs an ArrayBuffer or a typed array"),
    };
    let text = to_text(decoder.charset, &bytes);
    if text.is_err() && decoder.is_fatal {
        return call.fail_type("decode(): the bytes are not valid text");
    }
    let text = text.unwrap_or_else(|lossy| lossy);
    let shown = match text.strip_prefix('\u{feff}') {
        Some(rest) if !decoder.keeps_mark => rest,
        _ => &text,
    };
    call.string(shown)
}

/// The text, or what can be made of broken bytes.
fn to_text(charset: Charset, bytes: &[u8]) -> std::result::Result<String, String> {
    if charset == Charset::Utf8 {
        let lossy = |_| String::from_utf8_lossy(bytes).into_owned();
        return String::from_utf8(bytes.to_vec()).map_err(lossy);
    }
    let pair = |two: &[u8]| match (charset, two) {
        (Charset::Utf16Be, [high, low]) | (Charset::Utf16Le, [low, high]) => {
            u16::from(*high) << 8 | u16::from(*low)
        }
        _ => 0xfffd,
    };
    let units: Vec<u16> = bytes.chunks(2).map(pair).collect();
    String::from_utf16(&units).map_err(|_| String::from_utf16_lossy(&units))
}
