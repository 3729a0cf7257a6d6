//! `$lookup`: what another collection has for each document, by equal fields or by a pipeline.

use bson::{Bson, Document};

use super::Pipeline;
use super::conditions::without_conditions;
use super::options::{StageOptions, documents};
use crate::error::{Code, Result};
use crate::expression::{Expression, Variables, field_path};
use crate::value::display;

#[derive(Debug, Clone)]
pub(super) struct Lookup {
    pub(super) from: String,
    pub(super) into: Vec<String>,
    /// The local path and the foreign one.
    pub(super) equal: Option<(Vec<String>, String)>,
    /// Variables of the pipeline, and the pipeline.
    pub(super) pipeline: Option<(Vec<(String, Expression)>, Pipeline)>,
    /// What the pipeline's leading `$match` asks for.
    pub(super) narrow: Narrow,
}

/// Conditions of a leading `$match` that an index may serve.
#[derive(Debug, Clone, Default)]
pub(super) struct Narrow {
    /// Without the `$expr` at its top: those are `equal`, as far as an index may serve them.
    pub(super) filter: Option<Document>,
    /// `{$expr: {$eq: ["$field", "$$variable"]}}`: a path, and what it must equal.
    pub(super) equal: Vec<(String, Expression)>,
}

impl Narrow {
    fn parse(stages: &[Document], variables: &Variables) -> Result<Self> {
        let Some(Bson::Document(filter)) = stages.first().and_then(|stage| stage.get("$match"))
        else {
            return Ok(Self::default());
        };
        let mut conditions = Vec::new();
        let plain = without_conditions(filter, &mut conditions);
        let mut found = Self {
            filter: Some(plain).filter(|plain| !plain.is_empty()),
            equal: Vec::new(),
        };
        for condition in &conditions {
            found.add(condition, variables)?;
        }
        Ok(found)
    }

    fn add(&mut self, condition: &Bson, variables: &Variables) -> Result<()> {
        let Bson::Document(condition) = condition else {
            return Ok(());
        };
        for (operator, argument) in condition {
            match (operator.as_str(), argument) {
                ("$and", Bson::Array(all)) => {
                    for one in all {
                        self.add(one, variables)?;
                    }
                }
                ("$eq", Bson::Array(sides)) => {
                    if let [left, right] = sides.as_slice() {
                        self.equal(left, right, variables)?;
                        self.equal(right, left, variables)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn equal(&mut self, path: &Bson, value: &Bson, variables: &Variables) -> Result<()> {
        let (Bson::String(path), Bson::String(value)) = (path, value) else {
            return Ok(());
        };
        let field = path.strip_prefix('$').filter(|path| !path.starts_with('$'));
        let bound = value
            .strip_prefix("$$")
            .and_then(|name| name.split('.').next());
        if let (Some(field), Some(name)) = (field, bound)
            && variables.get(name).is_some()
        {
            let value = Expression::parse_bson(&Bson::from(value.as_str()), variables)?;
            self.equal.push((field.to_owned(), value));
        }
        Ok(())
    }
}

impl Lookup {
    pub(super) fn parse(argument: &Bson, variables: &Variables, depth: usize) -> Result<Self> {
        let names = [
            "from",
            "as",
            "localField",
            "foreignField",
            "let",
            "pipeline",
        ];
        let options = StageOptions::parse("$lookup", argument, &names)?;
        let required = |name: &str| {
            options.text(name)?.ok_or_else(|| {
                Code::FailedToParse.error(format!("must specify '{name}' field for a $lookup"))
            })
        };
        let (from, into) = (required("from")?, required("as")?);
        let equal = match (options.text("localField")?, options.text("foreignField")?) {
            (Some(local), Some(foreign)) => {
                field_path(&foreign)?;
                Some((field_path(&local)?, foreign))
            }
            (None, None) => None,
            _ => {
                return Err(Code::FailedToParse.error(
                    "$lookup requires both or neither of 'localField' and 'foreignField' to be specified",
                ));
            }
        };
        let mut narrow = Narrow::default();
        let pipeline = match options.get("pipeline") {
            None => None,
            Some(Bson::Array(stages)) => {
                let bound = bindings(options.get("let"), variables)?;
                let mut inner = variables.clone();
                for (name, _) in &bound {
                    inner.set(name.clone(), Bson::Null);
                }
                let stages = documents(stages)?;
                narrow = Narrow::parse(&stages, &inner)?;
                Some((
                    bound,
                    Pipeline::parse_documents(&stages, &inner, depth + 1)?,
                ))
            }
            Some(_) => {
                return Err(
                    Code::TypeMismatch.error("'pipeline' option must be specified as an array")
                );
            }
        };
        if equal.is_none() && pipeline.is_none() {
            return Err(Code::FailedToParse.error(
                "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified",
            ));
        }
        Ok(Self {
            from,
            into: field_path(&into)?,
            equal,
            pipeline,
            narrow,
        })
    }

    pub(super) fn collection(&self) -> &str {
        &self.from
    }

    pub(super) fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref().map(|(_, pipeline)| pipeline)
    }
}

fn bindings(argument: Option<&Bson>, variables: &Variables) -> Result<Vec<(String, Expression)>> {
    let document = match argument {
        None => return Ok(Vec::new()),
        Some(Bson::Document(document)) => document,
        Some(other) => {
            return Err(Code::FailedToParse.error(format!(
                "$lookup argument 'let: {}' must be an object, is type {}",
                display::value(other),
                display::type_name(other)
            )));
        }
    };
    document
        .iter()
        .map(|(name, value)| Ok((name.clone(), Expression::parse_bson(value, variables)?)))
        .collect()
}
