//! What the shares of a comparison are of.

use serde::Serialize;

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counted {
    pub failed_count: u64,
    pub attempts_count: u64,
}

/// Of a share: what it is of in all runs that were used. A few hundred attempts without a failure do not show that none fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub baseline: Counted,
    pub variant: Counted,
    /// The runs agree to within the margin, and only these are too few: so many attempts of each variant would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_count: Option<u64>,
}
