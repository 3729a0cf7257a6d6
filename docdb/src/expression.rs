//! Aggregation expressions: parsed once, evaluated on any number of documents.

mod arithmetic;
mod arrays;
mod calendar;
mod convert;
mod dates;
mod evaluate;
mod folds;
mod forms;
mod function;
mod logic;
mod moment;
mod objects;
mod parse;
mod paths;
mod patterns;
mod reals;
mod scope;
mod sets;
mod strings;
pub(crate) mod sum;
mod table;
mod units;

#[cfg(test)]
mod tests;

use bson::Bson;
use bson::raw::{RawBsonRef, RawDocument};

pub(crate) use function::Evaluated;
pub(crate) use function::is_true;
pub(crate) use paths::{at_path, field_path};
pub(crate) use reals::random;
pub(crate) use scope::Variables;
pub(crate) use scope::footprint;

use crate::error::Result;
use function::Function;
use parse::Parser;
use scope::{Scope, Work};

/// An expression such as `"$price"` or `{$add: ["$a", 1]}`.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    node: Node,
}

impl Expression {
    /// Reads an expression that may also use `variables`, as a command's `let` defines them.
    pub(crate) fn parse_with(value: RawBsonRef<'_>, variables: &Variables) -> Result<Self> {
        let value = Bson::try_from(value)?;
        Self::parse_bson(&value, variables)
    }

    /// As [`Self::parse_with`], from an owned value.
    pub(crate) fn parse_bson(value: &Bson, variables: &Variables) -> Result<Self> {
        let node = Parser::new(variables).parse(value)?;
        Ok(Self { node })
    }

    /// An expression that is always `value`.
    pub(crate) fn constant(value: Bson) -> Self {
        Self {
            node: Node::Constant(Some(value)),
        }
    }

    /// The value for the document `root`; `None` if it is missing.
    pub(crate) fn evaluate(&self, root: &RawDocument, variables: &Variables) -> Result<Evaluated> {
        if let Node::Field(path) = &self.node {
            return Ok(paths::field(root, path));
        }
        let work = Work::default();
        self.node.evaluate(&Scope::new(root, variables, &work))
    }

    /// The value if it depends on no document.
    pub(crate) fn as_constant(&self) -> Option<&Evaluated> {
        match &self.node {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }
}

/// The names of all operators, sorted, for the list of what is supported.
pub(crate) fn operators() -> Vec<&'static str> {
    let mut names: Vec<_> = table::names().collect();
    names.extend_from_slice(forms::FORMS);
    names.sort_unstable();
    names
}

/// One step of an expression.
#[derive(Debug, Clone)]
enum Node {
    Constant(Evaluated),
    /// A path from the document: `"$a.b"`.
    Field(Vec<String>),
    /// `"$$name.a.b"`.
    Variable(String, Vec<String>),
    Document(Vec<(String, Node)>),
    Array(Vec<Node>),
    /// A function of its arguments' values.
    Call(&'static Function, Vec<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Cond(Box<[Node; 3]>),
    IfNull(Vec<Node>),
    Switch {
        branches: Vec<(Node, Node)>,
        default: Option<Box<Node>>,
    },
    Let(Vec<(String, Node)>, Box<Node>),
    Map {
        input: Box<Node>,
        name: String,
        body: Box<Node>,
    },
    Filter {
        input: Box<Node>,
        name: String,
        condition: Box<Node>,
        limit: Option<Box<Node>>,
    },
    /// Input, initial value, body.
    Reduce(Box<[Node; 3]>),
    /// Falls back where the conversion fails or the input is null.
    Convert {
        input: Box<Node>,
        to: Box<Node>,
        on_error: Option<Box<Node>>,
        on_null: Option<Box<Node>>,
    },
}
