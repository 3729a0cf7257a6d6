//! A certificate that the user names is the server's only within its time and for its name.

use std::time::Duration;

use super::*;

/// Of 2026, in seconds since 1970.
const BEGIN: u64 = 1_767_225_600;
const END: u64 = 1_798_761_600;

/// For `localhost`, in 2026, by itself, an authority by its own words: `openssl ca -selfsign`.
const OWN: &str = "
-----BEGIN CERTIFICATE-----
MIIBYDCCAQWgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwHhcNMjYwMTAxMDAwMDAwWhcNMjcwMTAxMDAwMDAwWjAUMRIwEAYDVQQDDAls
b2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASVUI6zhZ5jeiPy+WoU
NLAL0YxmxFq0dGq2vPmqg+JtIXs6jX03eIyssCwlU6TKFLUCws8r2qQA2oJW77xj
RnQ0o0gwRjAPBgNVHRMBAf8EBTADAQH/MBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAd
BgNVHQ4EFgQU2193gzWJDpqx+jJCdINkSxdVHy4wCgYIKoZIzj0EAwIDSQAwRgIh
ALEugH1zbVgRuvxQn86A+TG1Yd8g7+tgLHfzW/dqYh06AiEAzyKUe2sB+TK23aOI
eFqddlu5oVQkkYAzdoRVE+W9uS0=
-----END CERTIFICATE-----
";

/// The same, signed by an authority that is not named.
const LEAF: &str = "
-----BEGIN CERTIFICATE-----
MIIBejCCASCgAwIBAgIBAzAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlhdXRob3Jp
dHkwHhcNMjYwMTAxMDAwMDAwWhcNMjcwMTAxMDAwMDAwWjAUMRIwEAYDVQQDDAls
b2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR8ogRTTfVq3tJEJFa+
/E2B2o5chAdZhZnrKGsxm9AlB0Wfxuev42SQPOHzO0723RdJQTKOHy+QtzF39ZQ4
WCm9o2MwYTAJBgNVHRMEAjAAMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAdBgNVHQ4E
FgQUJmvW7/8LFE7fQCzyL8/5uoyKNicwHwYDVR0jBBgwFoAUbU6ddD8vcAf2pZic
9PGHYHWGLTowCgYIKoZIzj0EAwIDSAAwRQIgRyTRGF1VG842eL+djGBbYeky4wME
WuAuUq4gX90xMksCIQDM8zWzfHoL85dfhrTPtlZnIrCFNsA0uX9889ES2XRSsA==
-----END CERTIFICATE-----
";

/// What the server of this certificate is told, which the user named.
fn verified(pem: &str, name: &str, seconds: u64) -> Result<(), Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = verifier(pem, &provider).unwrap();
    let shown = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let name = ServerName::try_from(name).unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let verified = verifier.verify_server_cert(&shown, &[], &name, &[], now);
    verified.map(|_| ())
}

#[test]
fn a_named_certificate_is_refused_once_it_has_expired() {
    for pem in [OWN, LEAF] {
        assert_eq!(verified(pem, "localhost", BEGIN + 1), Ok(()));
        assert_eq!(verified(pem, "localhost", END - 1), Ok(()));
        let expired = verified(pem, "localhost", END + 1).unwrap_err();
        assert!(expired.to_string().contains("expired"), "{expired}");
        let early = verified(pem, "localhost", BEGIN - 1).unwrap_err();
        assert!(early.to_string().contains("not valid yet"), "{early}");
    }
}

#[test]
fn a_named_certificate_is_good_for_its_own_name_only() {
    for pem in [OWN, LEAF] {
        let error = verified(pem, "other.test", BEGIN + 1).unwrap_err();
        assert!(error.to_string().contains("other.test"), "{error}");
    }
}

#[test]
fn another_certificate_than_the_named_one_is_refused() {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = verifier(OWN, &provider).unwrap();
    let shown = CertificateDer::from_pem_slice(LEAF.as_bytes()).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(BEGIN + 1));
    let error = verifier.verify_server_cert(&shown, &[], &name, &[], now);
    let reason = CertificateError::UnknownIssuer;
    assert_eq!(error.err(), Some(Error::InvalidCertificate(reason)));
}
