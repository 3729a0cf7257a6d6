//! Where in a command filters are that are read where they lie, and what in a filter can have a list that is looked up. What is
//! read in another way, as the pipeline of a `$lookup`, or is but a value, is no such part.

use crate::memory::READ_BYTES;
use crate::query::parse::{begins_with_operator, is_of_values};
use crate::value::{Element, Fields, kind};

/// What a document or an array of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A document with its filter in the field of this name.
    Holder(&'static str),
    /// A command with its statements in the array of this name.
    Batch(&'static str),
    /// Documents with their filters in `q`.
    Statements,
    /// A command with a pipeline.
    Aggregate,
    Stages,
    Stage,
    Filter,
    /// The clauses of `$and` and its like.
    Filters,
    /// `{$in: […], $not: {…}}`
    Operators,
    /// The values of an `$all`.
    All,
}

impl Part {
    /// What an element of this part is, which has `whole` bytes; `None` if no list can be in it.
    pub(super) fn inner(self, element: &Element<'_>, whole: usize) -> Option<Self> {
        let is_array = element.kind == kind::ARRAY;
        let fields = Fields::from_bytes(element.bytes);
        let named = |name: &str| element.name == name.as_bytes();
        let document = |part| (!is_array).then_some(part);
        let array = |part| is_array.then_some(part);
        match self {
            Self::Holder(field) if named(field) => document(Self::Filter),
            Self::Batch(field) if named(field) => array(Self::Statements),
            Self::Aggregate if named("pipeline") => array(Self::Stages),
            Self::Statements => document(Self::Holder("q")),
            Self::Stages => document(Self::Stage),
            Self::Stage if named("$match") && is_read_in_place(element, whole) => {
                document(Self::Filter)
            }
            Self::Filters => document(Self::Filter),
            Self::Filter => match element.name {
                b"$and" | b"$or" | b"$nor" => array(Self::Filters),
                [b'$', ..] => None,
                _ if begins_with_operator(fields) => document(Self::Operators),
                _ => None,
            },
            Self::Operators => match element.name {
                b"$not" => document(Self::Operators),
                b"$elemMatch" if is_of_values(fields) => document(Self::Operators),
                b"$elemMatch" => document(Self::Filter),
                b"$all" => array(Self::All),
                _ => None,
            },
            Self::All => {
                let first = fields.elements().next();
                let is_elem_match = first.is_some_and(|first| first.name == b"$elemMatch");
                document(Self::Operators).filter(|_| is_elem_match)
            }
            Self::Holder(_) | Self::Batch(_) | Self::Aggregate | Self::Stage => None,
        }
    }
}

/// As a pipeline has it of its stages: only a long filter is not decoded.
fn is_read_in_place(filter: &Element<'_>, stage: usize) -> bool {
    // A document is its length, its fields and an end mark.
    filter.bytes.len() > READ_BYTES && filter.size() + 5 == stage
}
