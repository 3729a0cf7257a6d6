//! Aggregation expressions: parsed once, evaluated on any number of documents.

mod arithmetic;
mod arrays;
mod calendar;
mod convert;
mod dates;
mod evaluate;
mod folds;
mod forms;
mod logic;
mod objects;
mod parse;
mod patterns;
mod reals;
mod scope;
mod sets;
mod strings;
mod table;
mod text;
mod units;

#[cfg(test)]
mod tests;

use bson::Bson;
use bson::raw::{RawBsonRef, RawDocument};

pub(super) use evaluate::at_path;
pub(super) use parse::field_path;
pub(super) use reals::random;
pub use scope::Variables;
pub(super) use scope::footprint;
pub use table::operators;

use crate::error::CommandError;
use parse::Parser;
use scope::{Scope, Work};
use table::Function;

/// An expression such as `"$price"` or `{$add: ["$a", 1]}`.
#[derive(Debug, Clone)]
pub struct Expression {
    node: Node,
}

/// What a value is, or `None` where a field is missing.
pub type Evaluated = Option<Bson>;

impl Expression {
    /// Reads an expression that uses no variables but the built-in ones.
    pub fn parse(value: RawBsonRef<'_>) -> Result<Self, CommandError> {
        Self::parse_with(value, &Variables::default())
    }

    /// Reads an expression that may also use `variables`, as a command's `let` defines them.
    pub fn parse_with(value: RawBsonRef<'_>, variables: &Variables) -> Result<Self, CommandError> {
        let value = crate::aggregate::owned(value)?;
        Self::of_bson(&value, variables)
    }

    /// As [`Self::parse_with`], from an owned value.
    pub fn of_bson(value: &Bson, variables: &Variables) -> Result<Self, CommandError> {
        let node = Parser::new(variables).parse(value)?;
        Ok(Self { node })
    }

    /// An expression that is always `value`.
    pub fn constant(value: Bson) -> Self {
        Self {
            node: Node::Constant(Some(value)),
        }
    }

    /// The value for the document `root`; `None` if it is missing.
    pub fn evaluate(
        &self,
        root: &RawDocument,
        variables: &Variables,
    ) -> Result<Evaluated, CommandError> {
        if let Node::Field(path) = &self.node {
            return Ok(evaluate::field(root, path));
        }
        let work = Work::default();
        self.node.evaluate(&Scope::new(root, variables, &work))
    }

    /// The value if it depends on no document.
    pub fn as_constant(&self) -> Option<&Evaluated> {
        match &self.node {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The path of a plain field expression such as `"$a.b"`.
    pub fn as_field(&self) -> Option<&[String]> {
        match &self.node {
            Node::Field(path) => Some(path),
            _ => None,
        }
    }
}

/// Whether MongoDB takes `value` for true: all but false, null, missing, undefined and zero.
pub fn is_true(value: Option<&Bson>) -> bool {
    match value {
        None | Some(Bson::Null | Bson::Undefined) => false,
        Some(Bson::Boolean(truth)) => *truth,
        Some(other) => crate::value::Number::of_bson(other).is_none_or(|number| !number.is_zero()),
    }
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
