//! Reads the stages of a pipeline.

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::Pipeline;
use super::bucket;
use super::conditions::without_conditions;
use super::group::Group;
use super::lookup::Lookup;
use super::options::{StageOptions, count_argument, documents};
use super::sort::Sort;
use super::transform::Transform;
use super::unwind::Unwind;
use crate::elsewhere;
use crate::error::{Code, CommandError, Result};
use crate::expression::{Expression, Variables};
use crate::query::Filter;
use crate::value::display;

/// One stage, ready to run.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    Match(Box<Filter>),
    /// `$expr` of a `$match`, which may use variables.
    Condition(Expression),
    Transform(Transform),
    Group(Group),
    Sort(Sort),
    Limit(u64),
    Skip(u64),
    /// The name of the field that holds the count.
    Count(String),
    Unwind(Unwind),
    Lookup(Box<Lookup>),
    Sample(usize),
    Facet(Vec<(String, Pipeline)>),
    /// Another collection and what is done to its documents.
    UnionWith(String, Pipeline),
}

/// Every stage that a pipeline may have, for the list of what is supported.
pub(crate) const STAGES: &[&str] = &[
    "$addFields",
    "$bucket",
    "$count",
    "$facet",
    "$group",
    "$limit",
    "$lookup",
    "$match",
    "$project",
    "$replaceRoot",
    "$replaceWith",
    "$sample",
    "$set",
    "$skip",
    "$sort",
    "$sortByCount",
    "$unionWith",
    "$unset",
    "$unwind",
];

/// Pipelines within pipelines; each level of a run holds its own state.
const DEPTH_MAX: usize = 20;

impl Stage {
    /// Reads one stage; some stand for two.
    pub(super) fn parse(
        stage: &Document,
        variables: &Variables,
        depth: usize,
        out: &mut Vec<Self>,
    ) -> Result<()> {
        if stage.len() != 1 {
            return Err(Code::Location(40323)
                .error("A pipeline stage specification object must contain exactly one field."));
        }
        let Some((name, argument)) = stage.iter().next() else {
            return Ok(());
        };
        if depth > DEPTH_MAX {
            return Err(Code::MaxSubPipelineDepthExceeded.error(format!(
                "Maximum number of nested sub-pipelines exceeded. Limit is {DEPTH_MAX}"
            )));
        }
        if let Some(transform) = Transform::parse(name, argument, variables)? {
            out.push(Self::Transform(transform));
            return Ok(());
        }
        match name.as_str() {
            "$match" => match_stages(argument, variables, out)?,
            "$bucket" => {
                out.push(Self::Group(bucket::parse(argument, variables)?));
                out.push(Self::Sort(Sort::from_document(&doc! {"_id": 1})?));
            }
            "$sortByCount" => {
                out.push(Self::Group(sort_by_count(argument, variables)?));
                out.push(Self::Sort(Sort::from_document(&doc! {"count": -1})?));
            }
            _ => out.push(Self::single(name, argument, variables, depth)?),
        }
        Ok(())
    }

    fn single(name: &str, argument: &Bson, variables: &Variables, depth: usize) -> Result<Self> {
        Ok(match name {
            "$group" => Self::Group(Group::parse(argument, variables)?),
            "$sort" => Self::Sort(Sort::parse(argument)?),
            "$limit" => Self::Limit(limit(argument)?),
            "$skip" => Self::Skip(count_argument(name, argument, Code::Location(5_107_200))?),
            "$count" => Self::Count(count_field(argument)?),
            "$unwind" => Self::Unwind(Unwind::parse(argument)?),
            "$lookup" => Self::Lookup(Box::new(Lookup::parse(argument, variables, depth)?)),
            "$sample" => Self::Sample(sample(argument)?),
            "$facet" => facet(argument, variables, depth)?,
            "$unionWith" => union_with(argument, variables, depth)?,
            "$out" | "$merge" => {
                return Err(Code::CommandNotSupported
                    .error(format!("{name} is not supported: pipelines do not write")));
            }
            other => return Err(unknown(other)),
        })
    }

    pub(super) fn foreign_collections<'a>(&'a self, names: &mut Vec<&'a str>) {
        let inner = match self {
            Self::Lookup(lookup) => {
                names.push(lookup.collection());
                lookup.pipeline()
            }
            Self::UnionWith(collection, pipeline) => {
                names.push(collection);
                Some(pipeline)
            }
            Self::Facet(facets) => {
                for (_, pipeline) in facets {
                    names.extend(pipeline.foreign_collections());
                }
                None
            }
            _ => None,
        };
        names.extend(inner.into_iter().flat_map(Pipeline::foreign_collections));
    }
}

/// The error for a stage that is not here.
pub(crate) fn unknown(name: &str) -> CommandError {
    elsewhere::STAGES.refusal(name).unwrap_or_else(|| {
        Code::Location(40324).error(format!("Unrecognized pipeline stage name: '{name}'"))
    })
}

/// The filter, and its `$expr` as conditions of their own, which an index may serve. Below an `$or` or `$nor` an `$expr` stays
/// with the filter.
fn match_stages(argument: &Bson, variables: &Variables, out: &mut Vec<Stage>) -> Result<()> {
    let Bson::Document(filter) = argument else {
        return Err(
            Code::Location(15959).error("the match filter must be an expression in an object")
        );
    };
    let mut conditions = Vec::new();
    let plain = without_conditions(filter, &mut conditions);
    if !plain.is_empty() || conditions.is_empty() {
        let raw = RawDocumentBuf::try_from(&plain)?;
        out.push(Stage::Match(Box::new(Filter::parse_with(&raw, variables)?)));
    }
    for condition in conditions {
        out.push(Stage::Condition(Expression::parse_bson(
            &condition, variables,
        )?));
    }
    Ok(())
}

fn limit(argument: &Bson) -> Result<u64> {
    match count_argument("$limit", argument, Code::Location(5_107_201))? {
        0 => Err(Code::Location(15958).error("the limit must be positive")),
        limit => Ok(limit),
    }
}

fn count_field(argument: &Bson) -> Result<String> {
    let Bson::String(name) = argument else {
        return Err(Code::Location(40156).error("the count field must be a non-empty string"));
    };
    let refusal = match name.as_str() {
        "" => Code::Location(40157).error("the count field must be a non-empty string"),
        name if name.starts_with('$') => {
            Code::Location(40158).error("the count field cannot be a $-prefixed path")
        }
        name if name.contains('\0') => {
            Code::Location(40159).error("the count field cannot contain a null byte")
        }
        name if name.contains('.') => {
            Code::Location(40160).error("the count field cannot contain '.'")
        }
        name => return Ok(name.to_owned()),
    };
    Err(refusal)
}

fn sample(argument: &Bson) -> Result<usize> {
    let Bson::Document(document) = argument else {
        return Err(
            Code::Location(28745).error("the $sample stage specification must be an object")
        );
    };
    if let Some(other) = document.keys().find(|key| *key != "size") {
        return Err(Code::Location(28748).error(format!("unrecognized option to $sample: {other}")));
    }
    let Some(size) = document.get("size") else {
        return Err(Code::Location(28749).error("$sample stage must specify a size"));
    };
    let Some(number) = crate::value::Number::from_bson(size) else {
        return Err(Code::Location(28746).error("size argument to $sample must be a number"));
    };
    let size = number.to_i64().and_then(|size| usize::try_from(size).ok());
    match size {
        Some(size) if size > 0 => Ok(size),
        _ => {
            Err(Code::Location(28747).error("size argument to $sample must be a positive integer"))
        }
    }
}

fn facet(argument: &Bson, variables: &Variables, depth: usize) -> Result<Stage> {
    let facets = match argument {
        Bson::Document(facets) if !facets.is_empty() => facets,
        _ => {
            return Err(Code::Location(40169).error(format!(
                "the $facet specification must be a non-empty object, but found: {}",
                display::element("$facet", argument)
            )));
        }
    };
    let mut parsed = Vec::with_capacity(facets.len());
    for (name, pipeline) in facets {
        if name.starts_with('$') || name.contains('.') || name.is_empty() {
            return Err(Code::FailedToParse.error(format!("invalid $facet field name '{name}'")));
        }
        let Bson::Array(stages) = pipeline else {
            return Err(Code::Location(40170).error(format!(
                "arguments to $facet must be arrays, {name} is type {}",
                display::type_name(pipeline)
            )));
        };
        let stages = documents(stages)?;
        if let Some(nested) = stages.iter().find(|stage| stage.contains_key("$facet")) {
            return Err(Code::Location(40600).error(format!(
                "$facet is not allowed to be used within a $facet stage: {nested}"
            )));
        }
        parsed.push((
            name.clone(),
            Pipeline::parse_documents(&stages, variables, depth + 1)?,
        ));
    }
    Ok(Stage::Facet(parsed))
}

fn sort_by_count(argument: &Bson, variables: &Variables) -> Result<Group> {
    let is_expression = match argument {
        Bson::String(text) if text.starts_with('$') => true,
        Bson::String(_) => {
            return Err(Code::Location(40148).error(
                "the sortByCount field must be defined as a $-prefixed path or an expression inside an object",
            ));
        }
        Bson::Document(document) => {
            let first = document.keys().next();
            if !first.is_some_and(|name| name.starts_with('$')) {
                return Err(Code::Location(40147).error(
                    "the sortByCount field must be defined as a $-prefixed path or an expression inside an object",
                ));
            }
            true
        }
        _ => false,
    };
    if !is_expression {
        return Err(Code::Location(40149)
            .error("the sortByCount field must be specified as a string or as an object"));
    }
    let by_value = doc! {"_id": argument.clone(), "count": {"$sum": 1}};
    Group::parse(&Bson::Document(by_value), variables)
}

fn union_with(argument: &Bson, variables: &Variables, depth: usize) -> Result<Stage> {
    if let Bson::String(collection) = argument {
        let pipeline = Pipeline { stages: Vec::new() };
        return Ok(Stage::UnionWith(collection.clone(), pipeline));
    }
    let options = StageOptions::parse("$unionWith", argument, &["coll", "pipeline"])?;
    let Some(collection) = options.text("coll")? else {
        return Err(Code::Location(40414)
            .error("BSON field '$unionWith.coll' is missing but a required field"));
    };
    let pipeline = match options.get("pipeline") {
        None => Vec::new(),
        Some(Bson::Array(stages)) => documents(stages)?,
        Some(other) => {
            return Err(Code::TypeMismatch.error(format!(
                "BSON field '$unionWith.pipeline' is the wrong type '{}', expected type 'array'",
                display::type_name(other)
            )));
        }
    };
    Ok(Stage::UnionWith(
        collection,
        Pipeline::parse_documents(&pipeline, variables, depth + 1)?,
    ))
}

/// Tells each `$sort` of the limit that follows it, over skips between the two.
pub(super) fn hand_limits_to_sorts(stages: &mut [Stage]) {
    for place in 0..stages.len() {
        let mut skipped: u64 = 0;
        let mut limit = None;
        for stage in stages.get(place + 1..).unwrap_or_default() {
            match stage {
                Stage::Skip(count) => skipped = skipped.saturating_add(*count),
                Stage::Limit(count) => {
                    limit = Some(skipped.saturating_add(*count));
                    break;
                }
                _ => break,
            }
        }
        if let Some(Stage::Sort(sort)) = stages.get_mut(place) {
            sort.stop_after(limit);
        }
    }
}
