//! A filter: a tree of conditions on paths, read once and held against any number of documents.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use bson::Bson;
use bson::raw::{RawBsonRef, RawDocument};

use super::computed::{Computed, Root};
use super::condition::{Condition, Operator};
use super::{parse, positional};
use crate::aggregate::expression::Variables;
use crate::error::CommandError;
use crate::value::path::{Leaf, Path};
use crate::value::{Fields, Value, with_value};

/// Which documents a command is about.
#[derive(Debug, Clone)]
pub struct Filter {
    pub(super) root: Node,
    /// Whether an `$expr` is in it.
    computes: bool,
}

/// A filter or a part of one.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Constant(bool),
    And(Vec<Node>),
    Or(Vec<Node>),
    Nor(Vec<Node>),
    Not(Box<Node>),
    Field(Field),
    Expression(Box<Computed>),
}

/// A condition on what a path leads to: any one of those values suffices.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) path: Path,
    pub(super) condition: Condition,
}

impl Filter {
    /// Reads the filter of a command. Its bytes must have passed [`crate::value::validate`].
    pub fn parse(filter: &RawDocument) -> Result<Self, CommandError> {
        Self::parse_with(filter, &Variables::default())
    }

    /// As [`Self::parse`], with the variables (`let`, the time) that an `$expr` sees.
    pub fn parse_with(filter: &RawDocument, variables: &Variables) -> Result<Self, CommandError> {
        let root = parse::filter(Fields::of(filter), variables)?;
        let computes = root.computes();
        Ok(Self { root, computes })
    }

    /// Whether the document matches; not if an `$expr` fails on it ([`Self::try_matches`] says so).
    #[inline]
    pub fn matches(&self, document: &RawDocument) -> bool {
        if self.computes {
            return self.try_matches(document).unwrap_or(false);
        }
        self.root.matches(Fields::of(document), None)
    }

    /// As [`Self::matches`]; an error if an `$expr` fails on the document.
    pub fn try_matches(&self, document: &RawDocument) -> Result<bool, CommandError> {
        if !self.computes {
            return Ok(self.root.matches(Fields::of(document), None));
        }
        let root = Root::new(document);
        let matches = self.root.matches(Fields::of(document), Some(&root));
        root.finish(matches)
    }

    /// Whether an element of an array matches, as `$pull` and `$elemMatch` ask: only a document or array can.
    pub fn matches_value(&self, value: RawBsonRef<'_>) -> bool {
        with_value(value, |value| match value {
            Value::Document(fields) | Value::Array(fields) => self.root.matches(fields, None),
            _ => false,
        })
    }

    /// The place in an array that the positional operator `$` stands for, if the filter matches and goes through an array.
    pub fn positional(&self, document: &RawDocument) -> Option<usize> {
        let root = Root::new(document);
        positional::position(&self.root, Fields::of(document), &root)
    }

    /// The paths and values that an upsert copies: equalities that every match must meet.
    pub fn equalities(&self) -> Vec<(&str, Bson)> {
        let mut found = Vec::new();
        self.root.equalities(&mut found);
        found
    }

    /// Whether it matches everything.
    pub fn is_empty(&self) -> bool {
        match &self.root {
            Node::Constant(holds) => *holds,
            Node::And(nodes) => nodes.is_empty(),
            _ => false,
        }
    }
}

impl Node {
    #[inline]
    pub(super) fn matches(&self, document: Fields<'_>, root: Option<&Root<'_>>) -> bool {
        match self {
            Self::Field(field) => field.matches(document),
            Self::And(nodes) => nodes.iter().all(|node| node.matches(document, root)),
            Self::Or(nodes) => nodes.iter().any(|node| node.matches(document, root)),
            Self::Nor(nodes) => !nodes.iter().any(|node| node.matches(document, root)),
            Self::Not(node) => !node.matches(document, root),
            Self::Constant(holds) => *holds,
            Self::Expression(computed) => computed.holds(root),
        }
    }

    fn computes(&self) -> bool {
        match self {
            Self::Expression(_) => true,
            Self::And(nodes) | Self::Or(nodes) | Self::Nor(nodes) => {
                nodes.iter().any(Self::computes)
            }
            Self::Not(node) => node.computes(),
            Self::Field(_) | Self::Constant(_) => false,
        }
    }

    fn equalities<'a>(&'a self, found: &mut Vec<(&'a str, Bson)>) {
        match self {
            Self::And(nodes) => nodes.iter().for_each(|node| node.equalities(found)),
            Self::Or(nodes) => {
                if let [node] = &nodes[..] {
                    node.equalities(found);
                }
            }
            Self::Field(Field {
                path,
                condition: Condition::Compare(Operator::Equal, constant),
            }) => found.push((path.text(), constant.value().to_bson())),
            _ => {}
        }
    }
}

impl Field {
    pub(super) const fn leaf(&self) -> Leaf {
        if self.condition.is_of_whole_arrays() {
            Leaf::Whole
        } else {
            Leaf::Elements
        }
    }

    #[inline]
    fn matches(&self, document: Fields<'_>) -> bool {
        // The most frequent question of all, `{_id: x}` and its like, needs no value decoded.
        if let Condition::Compare(Operator::Equal, constant) = &self.condition
            && let [part] = self.path.parts()
            && let Some(element) = document.find(&part.name)
            && let Some(is_equal) = constant.equals_bytewise(&element)
        {
            return is_equal;
        }
        self.path.visit(document, self.leaf(), |found| {
            self.condition.holds(found.value.as_ref())
        })
    }
}
