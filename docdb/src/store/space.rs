//! The parts of a key space, and what a key may be.

/// Longest key that can be stored, in bytes; from the table format.
pub(crate) const MAX_KEY: usize = u16::MAX as usize;

/// The parts of the key space. Each has tables of its own, because their sizes and their access differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Databases, collections and indexes: few and small.
    Catalog,
    Documents,
    /// Index entries; nearly all of an entry is its key.
    Indexes,
}

impl Space {
    pub const ALL: [Self; 3] = [Self::Catalog, Self::Documents, Self::Indexes];

    /// The name of its directory.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Catalog => "catalog",
            Self::Documents => "documents",
            Self::Indexes => "indexes",
        }
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) fn from_index(index: u8) -> Option<Self> {
        Self::ALL.get(usize::from(index)).copied()
    }
}
