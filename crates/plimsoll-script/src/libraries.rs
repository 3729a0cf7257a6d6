//! Our own counterparts of the helper libraries that scripts import by their well-known addresses.

/// The JavaScript of a library.
pub(crate) fn text(name: &str) -> &'static str {
    match name {
        "url" => include_str!("libraries/url.js"),
        "k6-summary" => include_str!("libraries/k6-summary.js"),
        _ => include_str!("libraries/k6-utils.js"),
    }
}
