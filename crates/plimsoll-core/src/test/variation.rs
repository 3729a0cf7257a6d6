//! How the requests of a URL differ from each other, and where they went.

use serde::{Deserialize, Serialize};

use super::{Request, RequestMix};

/// What is not the same for all requests of a URL, and where they went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Variation {
    /// Beside the first, if it is not the only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
    /// Which of them is sent, where they do not take turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<RequestMix>,
    /// The file whose rows fill the templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// What stands for the body of each request, which is not kept: its length and digest in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<String>,
    /// `{{…}}` is sent as it stands.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
    /// How many redirects of one attempt are followed.
    #[serde(skip_serializing_if = "is_none_followed")]
    pub redirects_max: u32,
    /// The addresses that connections led to, as shown: of the name, of a proxy, a Unix socket.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_none_followed(count: &u32) -> bool {
    *count == 0
}

impl Variation {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
