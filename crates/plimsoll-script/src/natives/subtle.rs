//! The global `crypto.subtle`: hashes. Whatever else it has in k6 names itself and ends the test.

use rquickjs::{ArrayBuffer, Coerced, Object, Promise, Result, Value};

use super::crypto::{hashed, input};
use super::stop::not_there;
use crate::raw::{Call, Native};

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("digest", 2, digest),
    Native::new("encrypt", 3, |call| missing(call, "encrypt")),
    Native::new("decrypt", 3, |call| missing(call, "decrypt")),
    Native::new("sign", 3, |call| missing(call, "sign")),
    Native::new("verify", 4, |call| missing(call, "verify")),
    Native::new("generateKey", 3, |call| missing(call, "generateKey")),
    Native::new("importKey", 5, |call| missing(call, "importKey")),
    Native::new("exportKey", 2, |call| missing(call, "exportKey")),
    Native::new("deriveBits", 3, |call| missing(call, "deriveBits")),
    Native::new("deriveKey", 5, |call| missing(call, "deriveKey")),
    Native::new("wrapKey", 4, |call| missing(call, "wrapKey")),
    Native::new("unwrapKey", 7, |call| missing(call, "unwrapKey")),
];

fn missing<'js>(call: &Call<'_, 'js>, name: &str) -> Result<Value<'js>> {
    let instead = "k6/crypto has hashes and hmac";
    not_there(call, &format!("crypto.subtle.{name}()"), instead)
}

/// `digest(algorithm, data)`: a promise of the hash; the algorithm is a name, or an object with one.
fn digest<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let given = call.arg(0);
    let named: Option<Object<'js>> = given.clone().into_object().filter(|_| !given.is_string());
    let name: Coerced<String> = match named {
        Some(object) => object.get("name")?,
        None => given.get()?,
    };
    let known = match name.0.to_uppercase().as_str() {
        "SHA-1" => "sha1",
        "SHA-256" => "sha256",
        "SHA-384" => "sha384",
        "SHA-512" => "sha512",
        other => {
            return call.fail(&format!(
                "crypto.subtle.digest(): {other} is not supported; write SHA-1, SHA-256, SHA-384 or SHA-512"
            ));
        }
    };
    if call.arg(1).is_string() {
        return call
            .fail_type("crypto.subtle.digest() takes bytes: new TextEncoder().encode(text)");
    }
    let hash = hashed(call, known, &input(call, 1)?)?;
    let (promise, resolve, _reject) = Promise::new(&call.ctx)?;
    resolve.call::<_, ()>((ArrayBuffer::new(call.ctx.clone(), hash)?,))?;
    Ok(promise.into_value())
}
