//! What the record says of the script that made the requests: which one it was, its load, what it was given.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Kept in the header, so that records of different scripts can be told apart before their figures are compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptSetup {
    /// Of the script with every file that it imports or opens, in hexadecimal. The script's own file may have any
    /// name: the same content has the same digest.
    pub sha256: String,
    /// How many files those are.
    pub files_count: u32,
    /// The load, one entry in words for each scenario; absent where the plan's load says it all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<String>,
    /// Options that were said outside of the script, by flag, variable or file, other than the load; of free text a digest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What `-e` gave it: addresses and numbers as they are; of anything else, which may be a secret, the first digits
    /// of its SHA-256.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}
