//! The module `k6/crypto`, and the random parts of the global `crypto`.

use std::cell::RefCell;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use digest::{Digest, DynDigest};
use hmac::{Mac, SimpleHmac};
use rquickjs::{ArrayBuffer, Class, Coerced, Exception, JsLifetime, Result, Value};

use super::set_functions;
use crate::hex::encode as hex;
use crate::raw::{Call, Native, bytes_of, fill_view};

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("md4", 2, |call| one_shot(call, "md4")),
    Native::new("md5", 2, |call| one_shot(call, "md5")),
    Native::new("sha1", 2, |call| one_shot(call, "sha1")),
    Native::new("sha256", 2, |call| one_shot(call, "sha256")),
    Native::new("sha384", 2, |call| one_shot(call, "sha384")),
    Native::new("sha512", 2, |call| one_shot(call, "sha512")),
    Native::new("sha512_224", 2, |call| one_shot(call, "sha512_224")),
    Native::new("sha512_256", 2, |call| one_shot(call, "sha512_256")),
    Native::new("ripemd160", 2, |call| one_shot(call, "ripemd160")),
    Native::new("hmac", 4, hmac_one_shot),
    Native::new("createHash", 1, create_hash),
    Native::new("createHMAC", 2, create_hmac),
    Native::new("randomBytes", 1, random_bytes),
    Native::new("hexEncode", 1, hex_encode),
];

pub(crate) static HASHER_METHODS: &[Native] = &[
    Native::new("update", 1, update),
    Native::new("digest", 1, finish),
];

/// Members of the global `crypto`.
pub(crate) static GLOBAL: &[Native] = &[
    Native::new("getRandomValues", 1, random_values),
    Native::new("randomUUID", 0, random_uuid),
];

/// A keyed or plain hash on its way.
enum Hash {
    Plain(Box<dyn DynDigest>),
    Keyed(Box<dyn Keyed>),
}

/// `hmac` has no object-safe trait of its own.
trait Keyed {
    fn add(&mut self, bytes: &[u8]);
    fn end(&self) -> Vec<u8>;
}

impl<M: Mac + Clone> Keyed for M {
    fn add(&mut self, bytes: &[u8]) {
        Mac::update(self, bytes);
    }

    fn end(&self) -> Vec<u8> {
        self.clone().finalize().into_bytes().to_vec()
    }
}

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Plain(hash) => hash.update(bytes),
            Self::Keyed(hash) => hash.add(bytes),
        }
    }

    /// What has come so far, hashed; more may follow.
    fn end(&self) -> Vec<u8> {
        match self {
            Self::Plain(hash) => hash.box_clone().finalize().to_vec(),
            Self::Keyed(hash) => hash.end(),
        }
    }
}

fn plain(name: &str) -> Option<Hash> {
    let hash: Box<dyn DynDigest> = match name {
        "md4" => Box::new(md4::Md4::new()),
        "md5" => Box::new(md5::Md5::new()),
        "sha1" => Box::new(sha1::Sha1::new()),
        "sha256" => Box::new(sha2::Sha256::new()),
        "sha384" => Box::new(sha2::Sha384::new()),
        "sha512" => Box::new(sha2::Sha512::new()),
        "sha512_224" => Box::new(sha2::Sha512_224::new()),
        "sha512_256" => Box::new(sha2::Sha512_256::new()),
        "ripemd160" => Box::new(ripemd::Ripemd160::new()),
        _ => return None,
    };
    Some(Hash::Plain(hash))
}

fn keyed(name: &str, key: &[u8]) -> Option<Hash> {
    macro_rules! boxed {
        ($hash:ty) => {
            Box::new(<SimpleHmac<$hash> as Mac>::new_from_slice(key).ok()?)
        };
    }
    let hash: Box<dyn Keyed> = match name {
        "md4" => boxed!(md4::Md4),
        "md5" => boxed!(md5::Md5),
        "sha1" => boxed!(sha1::Sha1),
        "sha256" => boxed!(sha2::Sha256),
        "sha384" => boxed!(sha2::Sha384),
        "sha512" => boxed!(sha2::Sha512),
        "sha512_224" => boxed!(sha2::Sha512_224),
        "sha512_256" => boxed!(sha2::Sha512_256),
        "ripemd160" => boxed!(ripemd::Ripemd160),
        _ => return None,
    };
    Some(Hash::Keyed(hash))
}

fn unknown<T>(call: &Call<'_, '_>, name: &str) -> Result<T> {
    call.fail(&format!(
        "hash {name:?} is unknown; supported are md4, md5, sha1, sha256, sha384, sha512, sha512_224, sha512_256 \
         and ripemd160"
    ))
}

pub(crate) fn input(call: &Call<'_, '_>, index: usize) -> Result<Vec<u8>> {
    match bytes_of(&call.arg(index)) {
        Some(bytes) => Ok(bytes),
        None => call.fail_type("hashes take strings and ArrayBuffers"),
    }
}

/// The bytes as the hash of that name has them.
pub(crate) fn hashed(call: &Call<'_, '_>, name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let Some(mut hash) = plain(name) else {
        return unknown(call, name);
    };
    hash.add(bytes);
    Ok(hash.end())
}

fn one_shot<'js>(call: &Call<'_, 'js>, name: &str) -> Result<Value<'js>> {
    let hash = hashed(call, name, &input(call, 0)?)?;
    encoded(call, &hash, &call.arg(1))
}

/// `hmac(algorithm, secret, data, outputEncoding)`.
fn hmac_one_shot<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(0)?;
    let Some(mut hash) = keyed(&name, &input(call, 1)?) else {
        return unknown(call, &name);
    };
    hash.add(&input(call, 2)?);
    encoded(call, &hash.end(), &call.arg(3))
}

#[derive(JsLifetime)]
struct Hasher {
    hash: RefCell<Hash>,
}

class!(Hasher, "Hasher", |prototype| set_functions(
    prototype,
    HASHER_METHODS
));

fn hasher<'js>(call: &Call<'_, 'js>, hash: Hash) -> Result<Value<'js>> {
    let hash = RefCell::new(hash);
    Ok(Class::instance(call.ctx.clone(), Hasher { hash })?.into_value())
}

fn create_hash<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(0)?;
    match plain(&name) {
        Some(hash) => hasher(call, hash),
        None => unknown(call, &name),
    }
}

fn create_hmac<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(0)?;
    match keyed(&name, &input(call, 1)?) {
        Some(hash) => hasher(call, hash),
        None => unknown(call, &name),
    }
}

fn update<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let hasher = Class::<Hasher>::from_value(&call.this)?;
    hasher.borrow().hash.borrow_mut().add(&input(call, 0)?);
    Ok(call.this.clone())
}

fn finish<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let hasher = Class::<Hasher>::from_value(&call.this)?;
    let bytes = hasher.borrow().hash.borrow().end();
    encoded(call, &bytes, &call.arg(0))
}

/// Bytes as the script asks for them.
fn encoded<'js>(call: &Call<'_, 'js>, bytes: &[u8], encoding: &Value<'js>) -> Result<Value<'js>> {
    let name = match encoding.as_string() {
        Some(name) => name.to_string()?,
        None => return call.fail_type("an output encoding is missing: \"hex\", \"base64\", \"base64url\", \"base64rawurl\" or \"binary\""),
    };
    let text = match name.as_str() {
        "hex" => hex(bytes),
        "base64" => STANDARD.encode(bytes),
        "base64url" => URL_SAFE.encode(bytes),
        "base64rawurl" => URL_SAFE_NO_PAD.encode(bytes),
        "binary" => return Ok(ArrayBuffer::new_copy(call.ctx.clone(), bytes)?.into_value()),
        other => {
            return call.fail(&format!(
                "output encoding {other:?} is unknown; write \"hex\", \"base64\", \"base64url\", \"base64rawurl\" or \
                 \"binary\""
            ));
        }
    };
    call.string(&text)
}

fn hex_encode<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let text = hex(&input(call, 0)?);
    call.string(&text)
}

/// Random bytes of the run's seed: they repeat with it, so they are no secret.
fn random(call: &Call<'_, '_>, count: usize) -> Vec<u8> {
    let mut rng = call.vu.rng.borrow_mut();
    (0..count).map(|_| (rng.next_u64() >> 32) as u8).collect()
}

/// As in browsers.
const RANDOM_BYTES_MAX: usize = 65_536;

fn random_bytes<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let count: Coerced<f64> = call.arg(0).get()?;
    if !(count.0 >= 1.0 && count.0 <= 64e6) {
        return call.fail("randomBytes() needs a number of bytes from 1 to 64,000,000");
    }
    let bytes = random(call, count.0 as usize);
    Ok(ArrayBuffer::new(call.ctx.clone(), bytes)?.into_value())
}

fn random_values<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let view = call.arg(0);
    let count = bytes_of(&view)
        .filter(|_| !view.is_string())
        .map(|bytes| bytes.len());
    match count {
        Some(count) if count <= RANDOM_BYTES_MAX => {
            fill_view(&view, &random(call, count));
            Ok(view)
        }
        Some(_) => Err(Exception::throw_range(
            &call.ctx,
            "getRandomValues() fills at most 65,536 bytes",
        )),
        None => call.fail_type("getRandomValues() needs a typed array of integers"),
    }
}

/// Version 4, variant 1 (RFC 9562).
pub(crate) fn random_uuid<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let mut bytes = random(call, 16);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex(&bytes);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let text = [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-");
    call.string(&text)
}
