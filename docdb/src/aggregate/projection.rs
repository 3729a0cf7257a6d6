//! `$project`, `$addFields` and `$unset`: one tree of what becomes of each field.

use bson::raw::RawDocument;
use bson::{Bson, Document};

use crate::error::{Code, CommandError, Result};
use crate::expression::{Expression, Variables, field_path};
use crate::value::Number;
use crate::value::display;

/// What becomes of the fields that the tree does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Kept,
    Dropped,
}

#[derive(Debug, Clone)]
pub(crate) struct Projection {
    rest: Rest,
    fields: Fields,
}

/// Fields in the order of the specification.
type Fields = Vec<(String, Rule)>;

#[derive(Debug, Clone)]
enum Rule {
    Include,
    Exclude,
    Compute(Expression),
    Inside(Fields),
}

impl Projection {
    pub(super) fn project(argument: &Bson, variables: &Variables) -> Result<Self> {
        let Bson::Document(document) = argument else {
            return Err(Code::Location(15969).error("$project specification must be an object"));
        };
        if document.is_empty() {
            return Err(Code::Location(51272)
                .error("Invalid $project :: caused by :: projection specification must have at least one field"));
        }
        let mut parser = Parser {
            variables,
            rest: None,
            numbers_compute: false,
        };
        let mut fields = Fields::new();
        for (path, value) in document {
            parser
                .field(path, path, value, &mut fields)
                .map_err(|error| within("$project", error))?;
        }
        let id = fields
            .iter()
            .find(|(name, _)| name == "_id")
            .map(|(_, rule)| rule);
        let only_id_excluded = fields.len() == 1 && matches!(id, Some(Rule::Exclude));
        let rest = parser.rest.unwrap_or(if only_id_excluded {
            Rest::Kept
        } else {
            Rest::Dropped
        });
        if rest == Rest::Dropped && id.is_none() {
            fields.insert(0, ("_id".to_owned(), Rule::Include));
        }
        Ok(Self { rest, fields })
    }

    pub(super) fn add_fields(stage: &str, argument: &Bson, variables: &Variables) -> Result<Self> {
        let Bson::Document(document) = argument else {
            return Err(Code::Location(40272).error(format!(
                "{stage} specification stage must be an object, got {}",
                display::type_name(argument)
            )));
        };
        let mut parser = Parser {
            variables,
            rest: Some(Rest::Kept),
            numbers_compute: true,
        };
        let mut fields = Fields::new();
        for (path, value) in document {
            parser
                .field(path, path, value, &mut fields)
                .map_err(|error| within(stage, error))?;
        }
        Ok(Self {
            rest: Rest::Kept,
            fields,
        })
    }

    /// A path or several.
    pub(super) fn unset(argument: &Bson) -> Result<Self> {
        let paths = match argument {
            Bson::String(path) => vec![path.as_str()],
            Bson::Array(paths) if !paths.is_empty() => {
                let texts: Option<Vec<&str>> = paths.iter().map(Bson::as_str).collect();
                texts.ok_or_else(|| {
                    Code::Location(31120)
                        .error("$unset specification must be a string or an array containing only string values")
                })?
            }
            Bson::Array(_) => {
                return Err(Code::Location(31119).error(
                    "$unset specification must be a string or an array with at least one field",
                ));
            }
            _ => {
                return Err(Code::Location(31002)
                    .error("$unset specification must be a string or an array"));
            }
        };
        let mut fields = Fields::new();
        for path in paths {
            insert(&mut fields, path, &field_path(path)?, Rule::Exclude)?;
        }
        Ok(Self {
            rest: Rest::Kept,
            fields,
        })
    }

    pub(super) fn apply(
        &self,
        document: Document,
        root: &RawDocument,
        variables: &Variables,
    ) -> Result<Document> {
        let applied = Applied {
            rest: self.rest,
            root,
            variables,
        };
        applied.document(&self.fields, document)
    }
}

fn within(stage: &str, mut error: CommandError) -> CommandError {
    error.message = format!("Invalid {stage} :: caused by :: {}", error.message);
    error
}

struct Parser<'a> {
    variables: &'a Variables,
    /// What the first inclusion or exclusion decided.
    rest: Option<Rest>,
    /// In `$addFields`, `1` is a value and not an inclusion.
    numbers_compute: bool,
}

impl Parser<'_> {
    /// Reads what `value` makes of `path`; `whole` is the path from the top, for messages.
    fn field(&mut self, whole: &str, path: &str, value: &Bson, fields: &mut Fields) -> Result<()> {
        let names = field_path(path)?;
        if let Bson::Document(inner) = value
            && inner.keys().next().is_none_or(|key| !key.starts_with('$'))
        {
            return self.inside(whole, path, &names, inner, fields);
        }
        let rule = if self.numbers_compute {
            Rule::Compute(Expression::of_bson(value, self.variables)?)
        } else {
            self.rule(whole, value)?
        };
        insert(fields, whole, &names, rule)
    }

    fn inside(
        &mut self,
        whole: &str,
        path: &str,
        names: &[String],
        inner: &Document,
        fields: &mut Fields,
    ) -> Result<()> {
        if inner.is_empty() {
            if self.numbers_compute {
                let empty = Expression::constant(Bson::Document(Document::new()));
                return insert(fields, whole, names, Rule::Compute(empty));
            }
            return Err(Code::Location(51270).error(format!(
                "An empty sub-projection is not a valid value. Found empty object at path {whole}"
            )));
        }
        for (name, value) in inner {
            self.field(
                &format!("{whole}.{name}"),
                &format!("{path}.{name}"),
                value,
                fields,
            )?;
        }
        Ok(())
    }

    fn rule(&mut self, whole: &str, value: &Bson) -> Result<Rule> {
        let includes = match value {
            Bson::Boolean(truth) => *truth,
            other => {
                let Some(number) = Number::of_bson(other) else {
                    self.decide(whole, Rest::Dropped)?;
                    return Ok(Rule::Compute(Expression::of_bson(value, self.variables)?));
                };
                !number.is_zero()
            }
        };
        let rest = if includes { Rest::Dropped } else { Rest::Kept };
        // `_id` may be excluded from an inclusion, and included in an exclusion.
        if whole != "_id" {
            self.decide(whole, rest)?;
        }
        Ok(if includes {
            Rule::Include
        } else {
            Rule::Exclude
        })
    }

    fn decide(&mut self, whole: &str, rest: Rest) -> Result<()> {
        match (self.rest, rest) {
            (Some(Rest::Kept), Rest::Dropped) => Err(Code::Location(31253).error(format!(
                "Cannot do inclusion on field {whole} in exclusion projection"
            ))),
            (Some(Rest::Dropped), Rest::Kept) => Err(Code::Location(31254).error(format!(
                "Cannot do exclusion on field {whole} in inclusion projection"
            ))),
            _ => {
                self.rest = Some(rest);
                Ok(())
            }
        }
    }
}

fn insert(fields: &mut Fields, whole: &str, names: &[String], rule: Rule) -> Result<()> {
    let Some((first, rest)) = names.split_first() else {
        return Ok(());
    };
    let place = fields.iter().position(|(name, _)| name == first);
    if rest.is_empty() {
        if place.is_some() {
            return Err(Code::Location(31250).error(format!("Path collision at {whole}")));
        }
        fields.push((first.clone(), rule));
        return Ok(());
    }
    let place = place.unwrap_or_else(|| {
        fields.push((first.clone(), Rule::Inside(Fields::new())));
        fields.len() - 1
    });
    match fields.get_mut(place) {
        Some((_, Rule::Inside(inner))) => insert(inner, whole, rest, rule),
        _ => Err(Code::Location(31249).error(format!(
            "Path collision at {whole} remaining portion {}",
            rest.join(".")
        ))),
    }
}

/// One application of a projection.
struct Applied<'a> {
    rest: Rest,
    root: &'a RawDocument,
    variables: &'a Variables,
}

impl Applied<'_> {
    fn document(&self, fields: &Fields, document: Document) -> Result<Document> {
        let mut out = Document::new();
        for (name, value) in document {
            let rule = fields.iter().find(|(field, _)| *field == name);
            let kept = match rule.map(|(_, rule)| rule) {
                None => (self.rest == Rest::Kept).then_some(value),
                Some(Rule::Include) => Some(value),
                Some(Rule::Exclude) => None,
                Some(Rule::Inside(inner)) => self.inside(inner, value)?,
                // A new field of an inclusion comes after those that were there.
                Some(Rule::Compute(_)) if self.rest == Rest::Dropped => None,
                Some(Rule::Compute(expression)) => {
                    expression.evaluate(self.root, self.variables)?
                }
            };
            if let Some(value) = kept {
                out.insert(name, value);
            }
        }
        self.add_missing(fields, &mut out)?;
        Ok(out)
    }

    /// What is computed where nothing was.
    fn add_missing(&self, fields: &Fields, out: &mut Document) -> Result<()> {
        for (name, rule) in fields {
            if out.contains_key(name) {
                continue;
            }
            let value = match rule {
                Rule::Compute(expression) => expression.evaluate(self.root, self.variables)?,
                Rule::Inside(inner) if computes(inner) => {
                    Some(Bson::Document(self.document(inner, Document::new())?))
                }
                _ => None,
            };
            if let Some(value) = value {
                out.insert(name.clone(), value);
            }
        }
        Ok(())
    }

    /// Goes into documents, and into those of arrays; what else is there stays only if the rest is kept.
    fn inside(&self, fields: &Fields, value: Bson) -> Result<Option<Bson>> {
        match value {
            Bson::Document(document) => Ok(Some(Bson::Document(self.document(fields, document)?))),
            Bson::Array(array) => {
                let mut inner = Vec::with_capacity(array.len());
                for element in array {
                    inner.extend(self.inside(fields, element)?);
                }
                Ok(Some(Bson::Array(inner)))
            }
            _ if computes(fields) => Ok(Some(Bson::Document(
                self.document(fields, Document::new())?,
            ))),
            other => Ok((self.rest == Rest::Kept).then_some(other)),
        }
    }
}

fn computes(fields: &Fields) -> bool {
    fields.iter().any(|(_, rule)| match rule {
        Rule::Compute(_) => true,
        Rule::Inside(inner) => computes(inner),
        Rule::Include | Rule::Exclude => false,
    })
}
