//! Expressions within filters and projections, with the variables that they see.

use std::cell::RefCell;

use bson::raw::RawDocument;

use crate::error::{CommandError, Result};
use crate::expression::{Evaluated, Expression, Variables, is_true};
use crate::value::Value;

/// An expression and a command's variables.
#[derive(Debug, Clone)]
pub(super) struct Computed {
    expression: Expression,
    variables: Variables,
}

/// The document that a filter is held against, for the expressions in it, and what went wrong with them.
#[derive(Debug)]
pub(super) struct Root<'a> {
    document: &'a RawDocument,
    error: RefCell<Option<CommandError>>,
}

impl Computed {
    pub(super) fn parse(value: &Value<'_>, variables: &Variables) -> Result<Self> {
        Ok(Self {
            expression: Expression::parse_bson(&value.to_bson(), variables)?,
            variables: variables.clone(),
        })
    }

    /// Gives it other variables than those that it was read with.
    pub(super) fn bind(&mut self, variables: &Variables) {
        self.variables = variables.clone();
    }

    pub(super) fn evaluate(&self, document: &RawDocument) -> Result<Evaluated> {
        self.expression.evaluate(document, &self.variables)
    }

    /// Whether the value is true; not if there is none because of an error, which `root` then keeps.
    pub(super) fn holds(&self, root: Option<&Root<'_>>) -> bool {
        let Some(root) = root else {
            return false;
        };
        match self.evaluate(root.document) {
            Ok(value) => is_true(value.as_ref()),
            Err(error) => {
                root.error.borrow_mut().get_or_insert(error);
                false
            }
        }
    }
}

impl<'a> Root<'a> {
    pub(super) const fn new(document: &'a RawDocument) -> Self {
        Self {
            document,
            error: RefCell::new(None),
        }
    }

    /// `answer`, unless an expression failed on the way to it.
    pub(super) fn finish<T>(self, answer: T) -> Result<T> {
        match self.error.into_inner() {
            None => Ok(answer),
            Some(error) => Err(error),
        }
    }
}
