//! The parts of our helper libraries that are JavaScript.

/// The JavaScript of a library.
pub(crate) fn text(name: &str) -> &'static str {
    if name == "k6-summary" {
        return include_str!("libraries/k6-summary.js");
    }
    include_str!("libraries/k6-utils.js")
}
