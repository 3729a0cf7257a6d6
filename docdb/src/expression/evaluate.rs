//! Evaluates the nodes of an expression: paths, variables, and the forms that choose what they evaluate.

use bson::{Bson, Document};

use super::function::{Call, NULL, is_nullish};
use super::paths::{at_path, field};
use super::scope::Scope;
use super::{Evaluated, Node, convert, is_true};
use crate::error::{Code, CommandError, Result};
use crate::value::Number;
use crate::value::display;

/// What evaluating a node counts as beside what it copies, so that loops within loops over nothing end too: about the time
/// that copying so many bytes takes.
const NODE_BYTES: usize = 256;

impl Node {
    pub(super) fn evaluate(&self, scope: &Scope<'_>) -> Result<Evaluated> {
        scope.charge_bytes(NODE_BYTES)?;
        match self {
            Self::Constant(value) => {
                if let Some(value) = value {
                    scope.charge(value)?;
                }
                Ok(value.clone())
            }
            Self::Field(path) => {
                let value = field(scope.root, path);
                if let Some(value) = &value {
                    scope.charge(value)?;
                }
                Ok(value)
            }
            Self::Variable(name, path) => variable(name, path, scope),
            Self::Document(fields) => document(fields, scope),
            Self::Array(elements) => array(elements, scope),
            Self::Call(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                let mut held = scope.held();
                for argument in arguments {
                    let value = argument.evaluate(scope)?;
                    held.add(value.as_ref())?;
                    values.push(value);
                }
                (function.body)(&mut Call {
                    name: function.name,
                    scope,
                    values,
                })
            }
            Self::And(_) | Self::Or(_) => self.boolean(scope),
            Self::Cond(branches) => {
                let [condition, then, otherwise] = branches.as_ref();
                if is_true(condition.evaluate(scope)?.as_ref()) {
                    then.evaluate(scope)
                } else {
                    otherwise.evaluate(scope)
                }
            }
            Self::IfNull(choices) => if_null(choices, scope),
            Self::Switch { branches, default } => switch(branches, default.as_deref(), scope),
            Self::Let(variables, body) => bind(variables, body, scope),
            Self::Map { input, name, body } => map(input, name, body, scope),
            Self::Filter {
                input,
                name,
                condition,
                limit,
            } => filter(input, name, condition, limit.as_deref(), scope),
            Self::Reduce(parts) => reduce(parts, scope),
            Self::Convert {
                input,
                to,
                on_error,
                on_null,
            } => convert_with(input, to, [on_error.as_deref(), on_null.as_deref()], scope),
        }
    }

    fn boolean(&self, scope: &Scope<'_>) -> Result<Evaluated> {
        let (operands, stops_at) = match self {
            Self::And(operands) => (operands, false),
            Self::Or(operands) => (operands, true),
            _ => return Ok(None),
        };
        for operand in operands {
            if is_true(operand.evaluate(scope)?.as_ref()) == stops_at {
                return Ok(Some(Bson::Boolean(stops_at)));
            }
        }
        Ok(Some(Bson::Boolean(!stops_at)))
    }
}

fn variable(name: &str, path: &[String], scope: &Scope<'_>) -> Result<Evaluated> {
    let value = match scope.local(name) {
        Some((_, value)) => value,
        None => match name {
            "ROOT" | "CURRENT" => return root(path, scope),
            "NOW" => return Ok(at_path(&Bson::DateTime(scope.variables.now), path)),
            "REMOVE" => return Ok(None),
            _ => match scope.variables.get(name) {
                Some(value) => Some(value),
                None => return Err(undefined(name)),
            },
        },
    };
    let Some(value) = value else {
        return Ok(None);
    };
    let found = at_path(value, path);
    if let Some(found) = &found {
        scope.charge(found)?;
    }
    Ok(found)
}

fn root(path: &[String], scope: &Scope<'_>) -> Result<Evaluated> {
    if !path.is_empty() {
        return Ok(field(scope.root, path));
    }
    scope.charge_bytes(scope.root.as_bytes().len())?;
    let document = Document::try_from(scope.root)?;
    Ok(Some(Bson::Document(document)))
}

pub(super) fn undefined(name: &str) -> CommandError {
    Code::Location(17276).error(format!("Use of undefined variable: {name}"))
}

fn document(fields: &[(String, Node)], scope: &Scope<'_>) -> Result<Evaluated> {
    let mut document = Document::new();
    let mut held = scope.held();
    for (name, node) in fields {
        if let Some(value) = node.evaluate(scope)? {
            held.add(Some(&value))?;
            document.insert(name.clone(), value);
        }
    }
    Ok(Some(Bson::Document(document)))
}

fn array(elements: &[Node], scope: &Scope<'_>) -> Result<Evaluated> {
    let mut array = Vec::with_capacity(elements.len());
    let mut held = scope.held();
    for element in elements {
        let value = element.evaluate(scope)?;
        held.add(value.as_ref())?;
        array.push(value.unwrap_or(Bson::Null));
    }
    Ok(Some(Bson::Array(array)))
}

fn if_null(choices: &[Node], scope: &Scope<'_>) -> Result<Evaluated> {
    let mut last = None;
    for choice in choices {
        last = choice.evaluate(scope)?;
        if !is_nullish(last.as_ref()) {
            break;
        }
    }
    Ok(last)
}

fn switch(
    branches: &[(Node, Node)],
    default: Option<&Node>,
    scope: &Scope<'_>,
) -> Result<Evaluated> {
    for (case, then) in branches {
        if is_true(case.evaluate(scope)?.as_ref()) {
            return then.evaluate(scope);
        }
    }
    match default {
        Some(default) => default.evaluate(scope),
        None => Err(Code::Location(40066).error(
            "$switch could not find a matching branch for an input, and no default was specified.",
        )),
    }
}

/// All variables of one `$let` are evaluated outside it.
fn bind(variables: &[(String, Node)], body: &Node, scope: &Scope<'_>) -> Result<Evaluated> {
    let mut values = Vec::with_capacity(variables.len());
    let mut held = scope.held();
    for (name, node) in variables {
        let value = node.evaluate(scope)?;
        held.add(value.as_ref())?;
        values.push((name.as_str(), value));
    }
    let bindings: Vec<_> = values
        .iter()
        .map(|(name, value)| (*name, value.as_ref()))
        .collect();
    body.evaluate(&scope.with(&bindings))
}

/// The elements of `input`; `None` where it is null.
fn elements(
    input: &Node,
    scope: &Scope<'_>,
    code: Code,
    refusal: &str,
) -> Result<Option<Vec<Bson>>> {
    match input.evaluate(scope)? {
        Some(Bson::Array(array)) => Ok(Some(array)),
        None | Some(Bson::Null | Bson::Undefined) => Ok(None),
        Some(other) => Err(code.error(format!("{refusal}{}", display::type_name(&other)))),
    }
}

fn map(input: &Node, name: &str, body: &Node, scope: &Scope<'_>) -> Result<Evaluated> {
    let refusal = "input to $map must be an array not ";
    let Some(input) = elements(input, scope, Code::Location(16883), refusal)? else {
        return NULL;
    };
    let mut mapped = Vec::with_capacity(input.len());
    let mut held = scope.held();
    for element in &input {
        let value = body.evaluate(&scope.with(&[(name, Some(element))]))?;
        held.add(value.as_ref())?;
        mapped.push(value.unwrap_or(Bson::Null));
    }
    scope.charge_bytes(mapped.len() * size_of::<Bson>())?;
    Ok(Some(Bson::Array(mapped)))
}

fn filter(
    input: &Node,
    name: &str,
    condition: &Node,
    limit: Option<&Node>,
    scope: &Scope<'_>,
) -> Result<Evaluated> {
    let refusal = "input to $filter must be an array not ";
    let Some(input) = elements(input, scope, Code::Location(28651), refusal)? else {
        return NULL;
    };
    let limit = match limit {
        None => usize::MAX,
        Some(limit) => filter_limit(limit.evaluate(scope)?.as_ref())?,
    };
    let mut kept = Vec::new();
    for element in input {
        if kept.len() >= limit {
            break;
        }
        let keep = condition.evaluate(&scope.with(&[(name, Some(&element))]))?;
        if is_true(keep.as_ref()) {
            kept.push(element);
        }
    }
    Ok(Some(Bson::Array(kept)))
}

fn filter_limit(limit: Option<&Bson>) -> Result<usize> {
    if is_nullish(limit) {
        return Ok(usize::MAX);
    }
    let number = limit
        .and_then(Number::from_bson)
        .and_then(Number::to_i64_exact)
        .and_then(|number| i32::try_from(number).ok());
    match number {
        None => Err(Code::Location(327_391)
            .error("$filter: limit must be represented as a 32-bit integral value")),
        Some(number) if number < 1 => Err(Code::Location(327_392)
            .error(format!("$filter: limit must be greater than 0: {number}"))),
        Some(number) => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
    }
}

fn reduce(parts: &[Node; 3], scope: &Scope<'_>) -> Result<Evaluated> {
    let [input, initial, body] = parts;
    let refusal = "$reduce requires that 'input' be an array, found: ";
    let Some(input) = elements(input, scope, Code::Location(40080), refusal)? else {
        return NULL;
    };
    let mut value = initial.evaluate(scope)?;
    for element in &input {
        let bindings = [("this", Some(element)), ("value", value.as_ref())];
        let next = body.evaluate(&scope.with(&bindings))?;
        // A value that doubles with each step is stopped here.
        scope.held().add(next.as_ref())?;
        value = next;
    }
    Ok(value)
}

fn convert_with(
    input: &Node,
    to: &Node,
    [on_error, on_null]: [Option<&Node>; 2],
    scope: &Scope<'_>,
) -> Result<Evaluated> {
    let input = input.evaluate(scope)?;
    let to = to.evaluate(scope)?;
    let Some(input) = input.filter(|input| !is_nullish(Some(input))) else {
        return on_null.map_or(NULL, |node| node.evaluate(scope));
    };
    let Some(to) = to.filter(|to| !is_nullish(Some(to))) else {
        return NULL;
    };
    let target = convert::target(&to)?;
    match (convert::convert(&input, target), on_error) {
        (Ok(value), _) => Ok(Some(value)),
        (Err(error), Some(fallback)) if error.code == Code::ConversionFailure => {
            fallback.evaluate(scope)
        }
        (Err(error), _) => Err(error),
    }
}
