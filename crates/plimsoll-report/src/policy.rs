//! What a page of ours may do, for a browser to hold it to: a text that slipped through unescaped must not run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The content security policy of a page whose one script is `script`, to the letter. Styles of elements come from us
/// alone and run nothing. `rest` begins with `;`.
pub(crate) fn of_page(script: &str, rest: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(script));
    format!(
        "default-src 'none';style-src 'unsafe-inline';script-src 'sha256-{hash}';base-uri 'none';form-action 'none'{rest}"
    )
}
