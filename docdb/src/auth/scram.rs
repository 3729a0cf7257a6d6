//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677): neither the password nor anything that logs in is kept.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::error::{Code, CommandError, Result};

/// MongoDB's default; RFC 7677 asks for at least 4,096.
const ITERATIONS: u32 = 15_000;
const SALT_BYTES: usize = 28;

/// What is stored of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub iterations: u32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored_key: [u8; 32],
    pub(crate) server_key: [u8; 32],
}

impl Credentials {
    /// Salts and hashes a password; takes some milliseconds on purpose.
    pub(crate) fn from_password(password: &str) -> Result<Self> {
        let prepared = stringprep::saslprep(password).map_err(|error| {
            Code::BadValue.error(format!("the password is not allowed: {error}"))
        })?;
        let salt = random::<SALT_BYTES>()?.to_vec();
        let mut salted = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(prepared.as_bytes(), &salt, ITERATIONS, &mut salted);
        let stored_key = Sha256::digest(keyed(&salted, b"Client Key")).into();
        let server_key = keyed(&salted, b"Server Key");
        Ok(Self {
            iterations: ITERATIONS,
            salt,
            stored_key,
            server_key,
        })
    }

    /// For a user that does not exist: the same questions, so that names cannot be guessed, and no right answer.
    /// The salt is the same each time for a name, as it would be for a user.
    pub(crate) fn decoy(name: &str, secret: &[u8; 32]) -> Self {
        let salt = keyed(secret, name.as_bytes())[..SALT_BYTES].to_vec();
        Self {
            iterations: ITERATIONS,
            salt,
            stored_key: [0; 32],
            server_key: [0; 32],
        }
    }
}

/// One login under way: made from the client's first message, ended by its second.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub user: String,
    pub database: String,
    credentials: Credentials,
    /// `client-first-message-bare "," server-first-message`: the begin of what both sides sign.
    signed: String,
    nonce: String,
}

impl Conversation {
    /// The name and the client's nonce in `n,,n=user,r=nonce`.
    pub(crate) fn parse_first(payload: &[u8]) -> Result<(String, String)> {
        let bare = std::str::from_utf8(payload)
            .ok()
            .and_then(|text| text.strip_prefix("n,,"));
        let bare = bare.ok_or_else(malformed)?;
        let mut parts = bare.split(',');
        let name = parts
            .next()
            .and_then(|part| part.strip_prefix("n="))
            .ok_or_else(malformed)?;
        let nonce = parts
            .next()
            .and_then(|part| part.strip_prefix("r="))
            .ok_or_else(malformed)?;
        if nonce.is_empty() {
            return Err(malformed());
        }
        Ok((
            name.replace("=2C", ",").replace("=3D", "="),
            bare.to_owned(),
        ))
    }

    /// Answers the first message; `bare` is what [`Self::parse_first`] returned beside the name.
    pub(crate) fn begin(
        user: &str,
        database: &str,
        bare: &str,
        credentials: Credentials,
    ) -> Result<(Self, String)> {
        let client_nonce = bare.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
        let nonce = format!("{client_nonce}{}", STANDARD.encode(random::<24>()?));
        let salt = STANDARD.encode(&credentials.salt);
        let first = format!("r={nonce},s={salt},i={}", credentials.iterations);
        let signed = format!("{bare},{first}");
        let (user, database) = (user.to_owned(), database.to_owned());
        Ok((
            Self {
                user,
                database,
                credentials,
                signed,
                nonce,
            },
            first,
        ))
    }

    /// Checks the proof in `c=biws,r=nonce,p=proof`; the answer proves that the server knows the user, too.
    pub(crate) fn finish(&self, payload: &[u8]) -> Result<String> {
        let text = std::str::from_utf8(payload).map_err(|_| malformed())?;
        let (unproved, proof) = text.rsplit_once(",p=").ok_or_else(malformed)?;
        if unproved != format!("c=biws,r={}", self.nonce) {
            return Err(failed());
        }
        let proof = STANDARD
            .decode(proof)
            .ok()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let mut key = proof.ok_or_else(malformed)?;
        let message = format!("{},{unproved}", self.signed);
        let signature = keyed(&self.credentials.stored_key, message.as_bytes());
        for (byte, mask) in key.iter_mut().zip(signature) {
            *byte ^= mask;
        }
        let found: [u8; 32] = Sha256::digest(key).into();
        // Every byte is looked at, so that the time tells nothing.
        let differing = found
            .iter()
            .zip(self.credentials.stored_key)
            .fold(0, |all, (a, b)| all | (a ^ b));
        if differing != 0 {
            return Err(failed());
        }
        let signature = keyed(&self.credentials.server_key, message.as_bytes());
        Ok(format!("v={}", STANDARD.encode(signature)))
    }
}

fn keyed(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if read == Ok(N) {
        Ok(bytes)
    } else {
        Err(Code::InternalError.error("the kernel gives no random bytes"))
    }
}

fn malformed() -> CommandError {
    Code::BadValue.error("malformed SCRAM message")
}

/// One text for a wrong password and an unknown user.
fn failed() -> CommandError {
    Code::AuthenticationFailed.error("Authentication failed.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange printed in RFC 7677, section 3: user "user", password "pencil".
    #[test]
    fn the_example_of_the_rfc_is_accepted() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let mut salted = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(b"pencil", &salt, 4096, &mut salted);
        let conversation = Conversation {
            user: "user".to_owned(),
            database: "admin".to_owned(),
            credentials: Credentials {
                iterations: 4096,
                salt,
                stored_key: Sha256::digest(keyed(&salted, b"Client Key")).into(),
                server_key: keyed(&salted, b"Server Key"),
            },
            signed: "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".to_owned(),
            nonce: "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".to_owned(),
        };
        let last = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let answer = conversation.finish(last).unwrap();
        assert_eq!(answer, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        let mut wrong = last.to_vec();
        let at = wrong.len() - 3;
        wrong[at] ^= 1;
        assert_eq!(
            conversation.finish(&wrong).unwrap_err().code,
            Code::AuthenticationFailed
        );
    }

    #[test]
    fn a_name_with_comma_and_equals_is_unescaped_and_rubbish_is_refused() {
        let (name, _) = Conversation::parse_first(b"n,,n=a=2Cb=3Dc,r=abc").unwrap();
        assert_eq!(name, "a,b=c");
        for bad in ["", "n,,", "n,,n=a", "n,,n=a,r=", "y,,n=a,r=b", "n,,r=b,n=a"] {
            assert!(Conversation::parse_first(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
