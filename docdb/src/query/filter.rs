//! A filter: a tree of conditions on paths, read once and held against any number of documents.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use bson::Bson;
use bson::raw::RawDocument;

use super::computed::Root;
use super::condition::Predicate;
use super::lists::Lists;
use super::{parse, positional};
use crate::error::Result;
use crate::expression::Variables;
use crate::value::Fields;

/// Which documents a command is about.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(super) root: Predicate,
    /// Whether an `$expr` is in it.
    computes: bool,
    /// Whether a pattern is in it whose match may take too many steps.
    bounded: bool,
}

impl Filter {
    /// Reads the filter of a command. Its bytes must have passed [`crate::value::validate`].
    pub(crate) fn parse(filter: &RawDocument) -> Result<Self> {
        Self::parse_with(filter, &Variables::default())
    }

    /// As [`Self::parse`], with the variables (`let`, the time) that an `$expr` sees.
    pub(crate) fn parse_with(filter: &RawDocument, variables: &Variables) -> Result<Self> {
        Self::parse_listed(filter, variables, &Lists::default())
    }

    /// As [`Self::parse_with`], for a part of a command whose long lists were read before.
    pub(crate) fn parse_listed(
        filter: &RawDocument,
        variables: &Variables,
        lists: &Lists,
    ) -> Result<Self> {
        let root = parse::filter(Fields::new(filter), variables, lists)?;
        let computes = root.computes();
        let bounded = root.patterns().iter().any(|pattern| pattern.is_bounded());
        Ok(Self {
            root,
            computes,
            bounded,
        })
    }

    /// Lets every `$expr` see these variables: those of a `$lookup` are others for each document.
    pub(crate) fn bind(&mut self, variables: &Variables) {
        if self.computes {
            self.root.bind(variables);
        }
    }

    /// Whether the document matches, where that is known.
    #[cfg(test)]
    pub(crate) fn matches(&self, document: &RawDocument) -> bool {
        self.try_matches(document).unwrap_or(false)
    }

    /// Whether the document matches; an error if an `$expr` fails on it, or a pattern takes too many steps.
    pub(crate) fn try_matches(&self, document: &RawDocument) -> Result<bool> {
        let patterns = if self.bounded {
            self.root.patterns()
        } else {
            Vec::new()
        };
        // What else went through them before, as a search for a position, is over.
        for pattern in &patterns {
            pattern.begin();
        }
        let matches = if self.computes {
            let root = Root::new(document);
            let matches = self.root.matches(Fields::new(document), Some(&root));
            root.finish(matches)?
        } else {
            self.root.matches(Fields::new(document), None)
        };
        match patterns.iter().find_map(|pattern| pattern.take_failure()) {
            Some(error) => Err(error),
            None => Ok(matches),
        }
    }

    /// The place in an array that the positional operator `$` stands for, if the filter matches and goes through an array.
    pub(crate) fn positional(&self, document: &RawDocument) -> Option<usize> {
        let root = Root::new(document);
        positional::position(&self.root, Fields::new(document), &root)
    }

    /// The paths and values that an upsert copies: equalities that every match must meet.
    pub(crate) fn equalities(&self) -> Vec<(&str, Bson)> {
        let mut found = Vec::new();
        self.root.equalities(&mut found);
        found
    }

    /// Whether it matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.root {
            Predicate::Constant(holds) => *holds,
            Predicate::And(predicates) => predicates.is_empty(),
            _ => false,
        }
    }
}
