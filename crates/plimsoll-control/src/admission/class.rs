//! How important a request is, and what even the least important class is owed.

/// From the most important.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Class {
    Critical,
    #[default]
    Default,
    Sheddable,
    Background,
}

impl Class {
    pub const ALL: [Self; 4] = [
        Self::Critical,
        Self::Default,
        Self::Sheddable,
        Self::Background,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Default => "default",
            Self::Sheddable => "sheddable",
            Self::Background => "background",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Share of the permits that it is owed while it has requests; the most important needs none.
    pub(super) const fn floor_ratio(self) -> f64 {
        match self {
            Self::Critical => 0.0,
            Self::Default => 0.25,
            Self::Sheddable => 0.10,
            Self::Background => 0.05,
        }
    }
}
