//! Reads a filter document into a tree, with MongoDB's errors for what is no filter.

mod bits;
mod operator;

pub(super) use operator::{elem_match, is_true};

use super::computed::Computed;
use super::condition::{Clause, Condition, Field, Node, Operator};
use super::constant::Constant;
use crate::error::{Code, CommandError, Result};
use crate::expression::Variables;
use crate::value::path::Path;
use crate::value::pattern::Pattern;
use crate::value::{Element, Fields, Value, kind};

/// Levels of operators; documents nest no deeper than [`crate::value::MAX_DEPTH`] where they come in.
const DEPTH_MAX: usize = crate::value::MAX_DEPTH + 20;

/// Where a part of a filter stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'v> {
    levels_left: usize,
    /// What an `$expr` sees; `None` where it is about no whole document and so may not be.
    variables: Option<&'v Variables>,
}

impl Context<'_> {
    /// On a value that is no whole document.
    pub(super) const fn of_value() -> Self {
        Self {
            levels_left: DEPTH_MAX,
            variables: None,
        }
    }

    fn deeper(self) -> Result<Self> {
        match self.levels_left.checked_sub(1) {
            Some(levels_left) => Ok(Self {
                levels_left,
                ..self
            }),
            None => Err(bad_value("the filter is nested too deeply")),
        }
    }
}

/// A whole filter.
pub(super) fn filter(fields: Fields<'_>, variables: &Variables) -> Result<Node> {
    let context = Context {
        levels_left: DEPTH_MAX,
        variables: Some(variables),
    };
    document(fields, context)
}

fn document(fields: Fields<'_>, context: Context<'_>) -> Result<Node> {
    let context = context.deeper()?;
    let mut nodes = Vec::new();
    for element in fields.elements() {
        let name = text(element.name);
        match name.strip_prefix('$') {
            Some(operator) => nodes.extend(top_level(operator, &element, context)?),
            None => field(name, &element, context, &mut nodes)?,
        }
    }
    Ok(match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        Some(last) => {
            nodes.push(last);
            Node::And(nodes)
        }
        None => Node::And(nodes),
    })
}

fn top_level(operator: &str, element: &Element<'_>, context: Context<'_>) -> Result<Option<Node>> {
    Ok(Some(match operator {
        "and" => Node::And(list(operator, element, context)?),
        "or" => Node::Or(list(operator, element, context)?),
        "nor" => Node::Nor(list(operator, element, context)?),
        "comment" => return Ok(None),
        "alwaysTrue" => Node::Constant(true),
        "alwaysFalse" => Node::Constant(false),
        "where" => return Err(bad_value("no globalScriptEngine in $where parsing")),
        "text" => {
            return Err(Code::IndexNotFound.error("text index required for $text query"));
        }
        "expr" => Node::Expression(Box::new(expression(element, context)?)),
        "jsonSchema" | "sampleRate" => {
            let text = format!("${operator} is not supported");
            return Err(Code::QueryFeatureNotAllowed.error(text));
        }
        _ => {
            return Err(bad_value(format!(
                "unknown top level operator: ${operator}. If you have a field name that starts with a '$' symbol, \
                 consider using $getField or $setField."
            )));
        }
    }))
}

fn expression(element: &Element<'_>, context: Context<'_>) -> Result<Computed> {
    let Some(variables) = context.variables else {
        return Err(bad_value(
            "$expr can only be applied to the top-level document",
        ));
    };
    Computed::parse(&element.value(), variables)
}

/// The clauses of `$and`, `$or` or `$nor`.
fn list(operator: &str, element: &Element<'_>, context: Context<'_>) -> Result<Vec<Node>> {
    let Value::Array(array) = element.value() else {
        return Err(bad_value(format!("${operator} must be an array")));
    };
    if array.is_empty() {
        return Err(bad_value("$and/$or/$nor must be a nonempty array"));
    }
    let clauses = array.values().map(|clause| match clause {
        Value::Document(fields) => document(fields, context),
        _ => Err(bad_value("$or/$and/$nor entries need to be full objects")),
    });
    clauses.collect()
}

/// `name: value` or `name: {$operator: …}`.
fn field(
    name: &str,
    element: &Element<'_>,
    context: Context<'_>,
    nodes: &mut Vec<Node>,
) -> Result<()> {
    let path = Path::parse(name)?;
    match element.value() {
        Value::Document(operators) if begins_with_operator(operators) => {
            for clause in clauses(name, operators, context)? {
                nodes.push(clause.at(&path));
            }
        }
        _ => nodes.push(Clause::Is(equality(element)?).at(&path)),
    }
    Ok(())
}

impl Clause {
    /// The clause on what `path` leads to.
    fn at(self, path: &Path) -> Node {
        match self {
            Self::Is(condition) => Node::Field(Field {
                path: path.clone(),
                condition,
            }),
            Self::Not(clauses) => {
                let mut nodes: Vec<Node> =
                    clauses.into_iter().map(|clause| clause.at(path)).collect();
                let inner = match (nodes.pop(), nodes.is_empty()) {
                    (Some(only), true) => only,
                    (last, _) => {
                        nodes.extend(last);
                        Node::And(nodes)
                    }
                };
                Node::Not(Box::new(inner))
            }
        }
    }
}

/// `{$gt: 1}` is operators, `{a: 1}` a document to be equal to, and so is a `DBRef`.
pub(super) fn begins_with_operator(fields: Fields<'_>) -> bool {
    fields.elements().next().is_some_and(|first| {
        first.name.starts_with(b"$") && !matches!(first.name, b"$ref" | b"$id" | b"$db")
    })
}

/// A value to be equal to, or a regular expression to match.
fn equality(element: &Element<'_>) -> Result<Condition> {
    match element.value() {
        Value::Regex { pattern, options } => Ok(Condition::Matches(Pattern::new(
            text(pattern),
            text(options),
        )?)),
        _ => compare(Operator::Equal, element),
    }
}

fn compare(operator: Operator, element: &Element<'_>) -> Result<Condition> {
    if element.kind == kind::UNDEFINED {
        return Err(bad_value("cannot compare to undefined"));
    }
    Ok(Condition::Compare(operator, Constant::of(element)))
}

/// The operators of `{$gt: 1, $lt: 5}`. `name` is for error texts.
fn clauses(name: &str, operators: Fields<'_>, context: Context<'_>) -> Result<Vec<Clause>> {
    let context = context.deeper()?;
    let mut found = Vec::new();
    for element in operators.elements() {
        operator::parse(name, &element, operators, context, &mut found)?;
    }
    Ok(found)
}

/// Names and texts are UTF-8: they passed [`crate::value::validate`].
pub(super) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

pub(super) fn bad_value(text: impl Into<String>) -> CommandError {
    Code::BadValue.error(text)
}
