//! Reads a filter document into a tree, with MongoDB's errors for what is no filter.

mod bits;
pub(super) mod list;
mod operator;

pub(super) use operator::{elem_match, is_of_values, is_true};

use super::computed::Computed;
use super::condition::{Clause, Condition, Field, Operator, Predicate};
use super::constant::Constant;
use super::lists::Lists;
use crate::elsewhere;
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
    /// Lists that were read before.
    lists: Option<&'v Lists>,
}

impl Context<'_> {
    /// On a value that is no whole document.
    pub(super) const fn for_value() -> Self {
        Self {
            levels_left: DEPTH_MAX,
            variables: None,
            lists: None,
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
pub(super) fn filter(
    fields: Fields<'_>,
    variables: &Variables,
    lists: &Lists,
) -> Result<Predicate> {
    let context = Context {
        levels_left: DEPTH_MAX,
        variables: Some(variables),
        lists: Some(lists),
    };
    document(fields, context)
}

fn document(fields: Fields<'_>, context: Context<'_>) -> Result<Predicate> {
    let context = context.deeper()?;
    let mut predicates = Vec::new();
    for element in fields.elements() {
        let name = text(element.name);
        match name.strip_prefix('$') {
            Some(operator) => predicates.extend(top_level(operator, &element, context)?),
            None => field(name, &element, context, &mut predicates)?,
        }
    }
    Ok(match predicates.pop() {
        Some(only) if predicates.is_empty() => only,
        Some(last) => {
            predicates.push(last);
            Predicate::And(predicates)
        }
        None => Predicate::And(predicates),
    })
}

fn top_level(
    operator: &str,
    element: &Element<'_>,
    context: Context<'_>,
) -> Result<Option<Predicate>> {
    Ok(Some(match operator {
        "and" => Predicate::And(list(operator, element, context)?),
        "or" => Predicate::Or(list(operator, element, context)?),
        "nor" => Predicate::Nor(list(operator, element, context)?),
        "comment" => return Ok(None),
        "alwaysTrue" => Predicate::Constant(true),
        "alwaysFalse" => Predicate::Constant(false),
        "where" => return Err(bad_value("no globalScriptEngine in $where parsing")),
        "text" => {
            return Err(Code::IndexNotFound.error("text index required for $text query"));
        }
        "expr" => Predicate::Expression(Box::new(expression(element, context)?)),
        _ => {
            let unsupported = elsewhere::FILTERS.refusal(&format!("${operator}"));
            return Err(unsupported.unwrap_or_else(|| bad_value(format!(
                "unknown top level operator: ${operator}. If you have a field name that starts with a '$' symbol, \
                 consider using $getField or $setField."
            ))));
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
fn list(operator: &str, element: &Element<'_>, context: Context<'_>) -> Result<Vec<Predicate>> {
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
    predicates: &mut Vec<Predicate>,
) -> Result<()> {
    let path = Path::parse(name)?;
    match element.value() {
        Value::Document(operators) if begins_with_operator(operators) => {
            for clause in clauses(name, operators, context)? {
                predicates.push(clause.at(&path));
            }
        }
        _ => predicates.push(Clause::Is(equality(element)?).at(&path)),
    }
    Ok(())
}

impl Clause {
    /// The clause on what `path` leads to.
    fn at(self, path: &Path) -> Predicate {
        match self {
            Self::Is(condition) => Predicate::Field(Field {
                path: path.clone(),
                condition,
            }),
            Self::Not(clauses) => {
                let mut predicates: Vec<Predicate> =
                    clauses.into_iter().map(|clause| clause.at(path)).collect();
                let inner = match (predicates.pop(), predicates.is_empty()) {
                    (Some(only), true) => only,
                    (last, _) => {
                        predicates.extend(last);
                        Predicate::And(predicates)
                    }
                };
                Predicate::Not(Box::new(inner))
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
    Ok(Condition::Compare(
        operator,
        Constant::from_element(element),
    ))
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
