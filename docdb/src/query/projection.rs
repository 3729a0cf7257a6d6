//! Projections: which fields of a document go out, and in what form; of a find and of the stages of a pipeline.

mod apply;
mod parse;
#[cfg(test)]
mod tests;

use bson::raw::{RawDocument, RawDocumentBuf};

use super::condition::Condition;
use crate::error::Result;
use crate::expression::{Expression, Variables};
use crate::value::{Fields, Writer};

/// `projection` of a find or findAndModify, or a `$project`, `$addFields` or `$unset`, read once.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    mode: Mode,
    root: Fork,
    /// Whether `_id` goes out.
    keeps_id: bool,
    is_positional: bool,
    /// What the expressions of a find see.
    variables: Variables,
}

/// Whether the fields that are named go out, or all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Inclusion,
    Exclusion,
    /// All go out, and values of their own take the place of some.
    Addition,
}

/// The names at one level, in the order in which they were given.
type Fork = Vec<(Box<[u8]>, ProjectionNode)>;

#[derive(Debug, Clone)]
enum ProjectionNode {
    /// The field goes out, or stays behind, as the mode says.
    Field,
    /// The field goes out with one element of the first array on its path.
    Positional,
    Slice(Slice),
    /// The first element that matches.
    ElemMatch(Condition),
    /// A value of its own.
    Computed(Expression),
    Fork(Fork),
}

/// The elements of an array that `$slice` lets out.
#[derive(Debug, Clone, Copy)]
enum Slice {
    First(i64),
    Last(i64),
    /// A negative start counts from the end.
    Range {
        skip: i64,
        limit: i64,
    },
}

impl Projection {
    /// Reads the projection of a command. Its bytes must have passed [`crate::value::validate`].
    pub(crate) fn parse(projection: &RawDocument) -> Result<Self> {
        Self::parse_with(projection, &Variables::default())
    }

    /// As [`Self::parse`], with the variables (`let`, the time) that expressions see.
    pub(crate) fn parse_with(projection: &RawDocument, variables: &Variables) -> Result<Self> {
        parse::projection(Fields::new(projection), variables)
    }

    /// Reads a `$project`.
    pub(crate) fn project(stage: &RawDocument, variables: &Variables) -> Result<Self> {
        parse::stage(Fields::new(stage), parse::Syntax::Project, variables)
    }

    /// Reads an `$addFields`.
    pub(crate) fn add_fields(stage: &RawDocument, variables: &Variables) -> Result<Self> {
        parse::stage(Fields::new(stage), parse::Syntax::AddFields, variables)
    }

    /// Reads the paths of an `$unset`.
    pub(crate) fn unset(paths: &[&str]) -> Result<Self> {
        parse::unset(paths)
    }

    /// Whether [`Self::apply`] needs the place that `$` stands for ([`super::Filter::positional`]).
    pub(crate) const fn needs_positional(&self) -> bool {
        self.is_positional
    }

    /// What of `document` goes out.
    pub(crate) fn apply(
        &self,
        document: &RawDocument,
        positional: Option<usize>,
    ) -> Result<RawDocumentBuf> {
        self.walk(document, positional, &self.variables)
    }

    /// As [`Self::apply`], in a pipeline, whose variables may be others each time.
    pub(crate) fn apply_stage(
        &self,
        document: &RawDocument,
        variables: &Variables,
    ) -> Result<RawDocumentBuf> {
        self.walk(document, None, variables)
    }

    fn walk(
        &self,
        document: &RawDocument,
        positional: Option<usize>,
        variables: &Variables,
    ) -> Result<RawDocumentBuf> {
        let mut writer = Writer::with_capacity(document.as_bytes().len());
        apply::Walk {
            mode: self.mode,
            positional,
            document,
            variables,
        }
        .root(self, Fields::new(document), &mut writer)?;
        Ok(writer.finish())
    }
}
