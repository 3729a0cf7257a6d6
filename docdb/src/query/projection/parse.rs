//! Reads a projection, with MongoDB's errors for mixed modes, colliding paths and wrong operators.

use super::{Fork, Mode, Projection, ProjectionNode, Slice};
use crate::error::{Code, Result};
use crate::expression::{Expression, Variables, operators};
use crate::query::field_path;
use crate::query::parse::{Context, elem_match, is_true, text};
use crate::value::{Element, Fields, MAX_DEPTH, Number, Value};

/// Whose projection it is: they differ in what numbers, empty documents and operators mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Find,
    Project,
    AddFields,
}

/// What was read so far.
#[derive(Debug)]
struct Reading<'v> {
    syntax: Syntax,
    variables: &'v Variables,
    root: Fork,
    mode: Option<Mode>,
    /// What was said of `_id` itself.
    id: Option<Mode>,
    has_elem_match: bool,
    is_positional: bool,
}

pub(super) fn projection(fields: Fields<'_>, variables: &Variables) -> Result<Projection> {
    stage(fields, Syntax::Find, variables)
}

pub(super) fn stage(
    fields: Fields<'_>,
    syntax: Syntax,
    variables: &Variables,
) -> Result<Projection> {
    let mut reading = Reading::new(syntax, variables);
    for element in fields.elements() {
        reading.field(text(element.name), &element, MAX_DEPTH)?;
    }
    Ok(reading.finish())
}

pub(super) fn unset(paths: &[&str]) -> Result<Projection> {
    let variables = Variables::default();
    let mut reading = Reading::new(Syntax::Project, &variables);
    reading.mode = Some(Mode::Exclusion);
    for path in paths {
        reading.insert(path, ProjectionNode::Field)?;
    }
    Ok(reading.finish())
}

impl<'v> Reading<'v> {
    fn new(syntax: Syntax, variables: &'v Variables) -> Self {
        Self {
            syntax,
            variables,
            root: Vec::new(),
            mode: (syntax == Syntax::AddFields).then_some(Mode::Addition),
            id: None,
            has_elem_match: false,
            is_positional: false,
        }
    }

    fn finish(self) -> Projection {
        let open = match self.id {
            _ if self.has_elem_match => Mode::Inclusion,
            Some(mode) => mode,
            None => Mode::Exclusion,
        };
        Projection {
            mode: self.mode.unwrap_or(open),
            root: self.root,
            keeps_id: self.id != Some(Mode::Exclusion),
            is_positional: self.is_positional,
            variables: self.variables.clone(),
        }
    }
}

impl Reading<'_> {
    fn field(&mut self, path: &str, element: &Element<'_>, depth: usize) -> Result<()> {
        let value = element.value();
        if let Some(depth) = depth.checked_sub(1)
            && let Value::Document(inner) = value
        {
            match inner.elements().next() {
                None if self.syntax == Syntax::AddFields => {}
                None => {
                    return Err(Code::Location(51270).error(format!(
                        "An empty sub-projection is not a valid value. Found empty object at path {path}"
                    )));
                }
                Some(first) if first.name.starts_with(b"$") => {
                    if self.syntax == Syntax::Find {
                        return self.operator(path, &first, inner);
                    }
                }
                Some(_) => {
                    return inner.elements().try_for_each(|element| {
                        let path = format!("{path}.{}", text(element.name));
                        self.field(&path, &element, depth)
                    });
                }
            }
        }
        let is_flag = matches!(value, Value::Boolean(_)) || Number::from_value(&value).is_some();
        if !is_flag || self.syntax == Syntax::AddFields {
            return self.computed(path, &value);
        }
        let mode = if is_true(&value) {
            Mode::Inclusion
        } else {
            Mode::Exclusion
        };
        if path == "_id" {
            self.id = Some(mode);
            return Ok(());
        }
        let array = path
            .strip_suffix(".$")
            .filter(|_| self.syntax == Syntax::Find);
        let (path, node) = match array {
            Some(array) => (array, self.positional(mode)?),
            None => (path, ProjectionNode::Field),
        };
        self.turn(mode, path)?;
        self.insert(path, node)
    }

    fn positional(&mut self, mode: Mode) -> Result<ProjectionNode> {
        if mode == Mode::Exclusion {
            let text = "positional projection cannot be used with exclusion";
            return Err(Code::Location(31395).error(text));
        }
        if self.is_positional {
            let text = "Cannot specify more than one positional projection per query.";
            return Err(Code::Location(31276).error(text));
        }
        if self.has_elem_match {
            let text = "Cannot specify positional operator and $elemMatch.";
            return Err(Code::Location(31256).error(text));
        }
        self.is_positional = true;
        Ok(ProjectionNode::Positional)
    }

    /// The first field that is included or excluded decides for all.
    fn turn(&mut self, mode: Mode, path: &str) -> Result<()> {
        match (self.mode, mode) {
            (Some(Mode::Exclusion), Mode::Inclusion) => Err(Code::Location(31253).error(format!(
                "Cannot do inclusion on field {path} in exclusion projection"
            ))),
            (Some(Mode::Inclusion), Mode::Exclusion) => Err(Code::Location(31254).error(format!(
                "Cannot do exclusion on field {path} in inclusion projection"
            ))),
            _ => {
                self.mode = Some(mode);
                Ok(())
            }
        }
    }

    fn computed(&mut self, path: &str, value: &Value<'_>) -> Result<()> {
        match self.syntax {
            Syntax::Find if self.mode == Some(Mode::Exclusion) => {
                let text = format!("Cannot use an expression in an exclusion projection '{path}'");
                return Err(Code::Location(31252).error(text));
            }
            Syntax::Find | Syntax::Project => self.turn(Mode::Inclusion, path)?,
            Syntax::AddFields => {}
        }
        let expression = Expression::parse_bson(&value.to_bson(), self.variables)?;
        self.insert(path, ProjectionNode::Computed(expression))
    }

    fn operator(&mut self, path: &str, operator: &Element<'_>, all: Fields<'_>) -> Result<()> {
        if all.elements().nth(1).is_some() {
            return Err(Code::BadValue.error(format!(
                "an object with an operator has one field, found more at path {path}"
            )));
        }
        match operator.name {
            b"$slice" => {
                let slice = slice(&operator.value())?;
                self.insert(path, ProjectionNode::Slice(slice))
            }
            b"$elemMatch" => self.elem_match(path, operator),
            b"$meta" => Err(Code::Location(40218)
                .error("query requires text score metadata, but it is not available")),
            name if !operators().iter().any(|known| known.as_bytes() == name) => {
                let text = format!("Unknown expression {}", text(name));
                Err(Code::Location(31325).error(text))
            }
            _ => self.computed(path, &Value::Document(all)),
        }
    }

    fn elem_match(&mut self, path: &str, operator: &Element<'_>) -> Result<()> {
        let value = operator.value();
        if !matches!(value, Value::Document(_)) {
            return Err(Code::Location(31274).error(format!(
                "elemMatch: Invalid argument, object required, but got {}",
                crate::value::kind::name(operator.kind)
            )));
        }
        if path.contains('.') {
            let text = "Cannot use $elemMatch projection on a nested field.";
            return Err(Code::Location(31275).error(text));
        }
        if self.is_positional {
            let text = "Cannot specify positional operator and $elemMatch.";
            return Err(Code::Location(31256).error(text));
        }
        self.has_elem_match = true;
        let condition = elem_match(&value, Context::for_value())?;
        self.insert(path, ProjectionNode::ElemMatch(condition))
    }

    fn insert(&mut self, path: &str, node: ProjectionNode) -> Result<()> {
        if self.syntax == Syntax::Find && path.split('.').any(|part| part == "$") {
            return Err(Code::Location(31394).error(
                "As of 4.4, it's illegal to specify positional operator in the middle of a path. \
                 Positional projection may only be used at the end, for example: a.b.$. If the query previously used \
                 a form like a.b.$.d, remove the parts following the '$' and the results will be equivalent.",
            ));
        }
        field_path::check(path)?;
        insert(&mut self.root, path, path, node)
    }
}

/// Puts `node` at what is left of `path`; levels are as many as documents may have.
fn insert(fork: &mut Fork, path: &str, left: &str, node: ProjectionNode) -> Result<()> {
    let mut fork = fork;
    let mut left = left;
    for _ in 0..MAX_DEPTH {
        let (name, rest) = match left.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (left, None),
        };
        let at = fork
            .iter()
            .position(|(given, _)| **given == *name.as_bytes());
        let Some(rest) = rest else {
            if at.is_some() {
                return Err(Code::Location(31250).error(format!("Path collision at {path}")));
            }
            fork.push((name.as_bytes().into(), node));
            return Ok(());
        };
        let at = at.unwrap_or_else(|| {
            fork.push((name.as_bytes().into(), ProjectionNode::Fork(Vec::new())));
            fork.len() - 1
        });
        match fork.get_mut(at) {
            Some((_, ProjectionNode::Fork(inner))) => fork = inner,
            _ => {
                return Err(Code::Location(31249)
                    .error(format!("Path collision at {path} remaining portion {rest}")));
            }
        }
        left = rest;
    }
    Err(Code::Overflow.error("FieldPath is too long"))
}

fn slice(value: &Value<'_>) -> Result<Slice> {
    let wrong = |why: &str| {
        Code::Location(28667).error(format!(
            "Invalid $slice syntax. The given syntax did not match the find() syntax because :: {why}"
        ))
    };
    let whole = |value: &Value<'_>| {
        let number = Number::from_value(value);
        number.map(|number| number.to_i64().unwrap_or(i64::MAX))
    };
    if let Some(count) = whole(value) {
        let last = count.saturating_neg();
        return Ok(if count < 0 {
            Slice::Last(last)
        } else {
            Slice::First(count)
        });
    }
    let Value::Array(array) = value else {
        return Err(wrong(
            "$slice only supports numbers and [skip, limit] arrays",
        ));
    };
    let parts: Vec<Value<'_>> = array.values().collect();
    let [skip, limit] = &parts[..] else {
        return Err(wrong("$slice array must have 2 elements"));
    };
    match (whole(skip), whole(limit)) {
        (Some(skip), Some(limit)) if limit > 0 => Ok(Slice::Range { skip, limit }),
        (Some(_), Some(_)) => Err(wrong("$slice limit must be positive")),
        _ => Err(wrong(
            "$slice only supports numbers and [skip, limit] arrays",
        )),
    }
}
