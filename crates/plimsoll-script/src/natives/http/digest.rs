//! `Authorization` headers: basic, and the answer to a digest challenge (RFC 7616).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use digest::Digest;

use crate::hex;

pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// What a request is that a challenge was given to.
pub(crate) struct Challenged<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    /// Fresh random text of the client.
    pub(crate) client_nonce: &'a str,
}

/// The header that answers a `WWW-Authenticate: Digest …`; none if the challenge asks for what is unknown here.
pub(crate) fn answer(challenge: &str, request: &Challenged<'_>) -> Option<String> {
    let fields = fields(challenge.trim().strip_prefix("Digest ")?);
    let field = |name: &str| {
        let found = fields
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let (realm, nonce) = (field("realm")?, field("nonce")?);
    let algorithm = field("algorithm").unwrap_or("MD5");
    let hash: fn(&str) -> String = match algorithm.to_ascii_uppercase().as_str() {
        "MD5" | "MD5-SESS" => hex_digest::<md5::Md5>,
        "SHA-256" | "SHA-256-SESS" => hex_digest::<sha2::Sha256>,
        _ => return None,
    };
    let client_nonce = request.client_nonce;
    let mut secret = hash(&format!("{}:{realm}:{}", request.user, request.password));
    if algorithm.to_ascii_uppercase().ends_with("-SESS") {
        secret = hash(&format!("{secret}:{nonce}:{client_nonce}"));
    }
    let request_hash = hash(&format!("{}:{}", request.method, request.target));
    let offers_auth =
        field("qop").is_some_and(|qop| qop.split(',').any(|one| one.trim() == "auth"));
    let response = if offers_auth {
        hash(&format!(
            "{secret}:{nonce}:00000001:{client_nonce}:auth:{request_hash}"
        ))
    } else {
        hash(&format!("{secret}:{nonce}:{request_hash}"))
    };
    let mut line = format!(
        "Digest username=\"{}\", realm=\"{realm}\", nonce=\"{nonce}\", uri=\"{}\", response=\"{response}\", \
         algorithm={algorithm}",
        request.user, request.target
    );
    if let Some(opaque) = field("opaque") {
        line = format!("{line}, opaque=\"{opaque}\"");
    }
    if offers_auth {
        line = format!("{line}, qop=auth, nc=00000001, cnonce=\"{client_nonce}\"");
    }
    Some(line)
}

fn hex_digest<D: Digest>(text: &str) -> String {
    hex::encode(&D::digest(text.as_bytes()))
}

/// `name=value` and `name="value, with commas"`.
fn fields(list: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = list;
    while let Some((name, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        let name = name.trim_matches([',', ' ']);
        fields.push((name.to_owned(), value.trim().to_owned()));
        rest = next;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of RFC 7616, section 3.9.1.
    #[test]
    fn the_example_of_the_rfc_comes_out() {
        let request = Challenged {
            user: "Mufasa",
            password: "Circle of Life",
            method: "GET",
            target: "/dir/index.html",
            client_nonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
        };
        let challenge = "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=MD5, \
             nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
             opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
        let line = answer(challenge, &request).unwrap();
        assert!(
            line.contains("response=\"8ca523f5e9506fed4657c9700eebdbec\""),
            "{line}"
        );
        let sha = answer(&challenge.replace("MD5", "SHA-256"), &request).unwrap();
        let expected = "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1";
        assert!(sha.contains(expected), "{sha}");
        assert_eq!(answer("Basic realm=\"x\"", &request), None);
    }
}
