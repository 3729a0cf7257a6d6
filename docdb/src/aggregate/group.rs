//! `$group`: documents gathered by a key.

use std::collections::BTreeMap;

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use super::MEMORY_BYTES_MAX;
use super::accumulate::{Accumulator, AccumulatorKind};
use super::documents::encode;
use crate::error::{Code, Result};
use crate::expression::{Expression, Variables, footprint};
use crate::value::display;
use crate::value::{Number, key};

/// The key and what is gathered per key.
#[derive(Debug, Clone)]
pub(super) struct Group {
    id: Expression,
    fields: Vec<Field>,
}

#[derive(Debug, Clone)]
struct Field {
    name: String,
    kind: AccumulatorKind,
    argument: Expression,
}

impl Group {
    pub(super) fn parse(argument: &Bson, variables: &Variables) -> Result<Self> {
        let Bson::Document(document) = argument else {
            return Err(
                Code::Location(15947).error("a group's fields must be specified in an object")
            );
        };
        let Some(id) = document.get("_id") else {
            return Err(Code::Location(15955).error("a group specification must include an _id"));
        };
        let id = Expression::parse_bson(id, variables)?;
        let accumulated = document.iter().filter(|(name, _)| *name != "_id");
        let fields = accumulated.map(|(name, value)| field(name, value, variables));
        Ok(Self {
            id,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }

    /// A group by `id` with the accumulators of `output`, as `$bucket` makes one.
    pub(super) fn new(id: Expression, output: &Document, variables: &Variables) -> Result<Self> {
        let fields = output
            .iter()
            .map(|(name, value)| field(name, value, variables));
        Ok(Self {
            id,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }
}

fn field(name: &str, value: &Bson, variables: &Variables) -> Result<Field> {
    if name.contains('.') {
        return Err(
            Code::Location(40235).error(format!("The field name '{name}' cannot contain '.'"))
        );
    }
    if name.starts_with('$') {
        return Err(Code::Location(40236).error(format!(
            "The field name '{name}' cannot be an operator name"
        )));
    }
    let Bson::Document(accumulator) = value else {
        return Err(Code::Location(40234)
            .error(format!("The field '{name}' must be an accumulator object")));
    };
    let mut parts = accumulator.iter();
    let (Some((operator, argument)), None) = (parts.next(), parts.next()) else {
        return Err(
            Code::Location(40238).error(format!("The field '{name}' must specify one accumulator"))
        );
    };
    let (kind, argument) = accumulator_of(operator, argument, variables)?;
    Ok(Field {
        name: name.to_owned(),
        kind,
        argument,
    })
}

fn accumulator_of(
    operator: &str,
    argument: &Bson,
    variables: &Variables,
) -> Result<(AccumulatorKind, Expression)> {
    let kind = match operator {
        "$sum" => AccumulatorKind::Sum,
        "$avg" => AccumulatorKind::Average,
        "$min" => AccumulatorKind::Minimum,
        "$max" => AccumulatorKind::Maximum,
        "$first" => AccumulatorKind::First,
        "$last" => AccumulatorKind::Last,
        "$push" => AccumulatorKind::Push,
        "$addToSet" => AccumulatorKind::AddToSet,
        "$mergeObjects" => AccumulatorKind::MergeObjects,
        "$stdDevPop" => AccumulatorKind::DeviationOfAll,
        "$stdDevSamp" => AccumulatorKind::DeviationOfSample,
        "$count" => {
            if *argument != Bson::Document(Document::new()) {
                return Err(Code::TypeMismatch.error("$count takes no arguments, i.e. $count:{}"));
            }
            return Ok((AccumulatorKind::Count, Expression::constant(Bson::Null)));
        }
        "$firstN" | "$lastN" | "$minN" | "$maxN" => {
            return several(operator, argument, variables);
        }
        other => {
            return Err(Code::Location(15952).error(format!("unknown group operator '{other}'")));
        }
    };
    if let Bson::Array(array) = argument
        && array.len() != 1
    {
        return Err(
            Code::Location(40237).error(format!("The {operator} accumulator is a unary operator"))
        );
    }
    let argument = match argument {
        Bson::Array(array) => array.first().unwrap_or(&Bson::Null),
        single => single,
    };
    Ok((kind, Expression::parse_bson(argument, variables)?))
}

/// `{n: 3, input: "$x"}`; `n` may not depend on documents.
fn several(
    operator: &str,
    argument: &Bson,
    variables: &Variables,
) -> Result<(AccumulatorKind, Expression)> {
    let Bson::Document(options) = argument else {
        return Err(Code::Location(5_787_801).error(format!(
            "specification must be an object; found {}",
            display::element(operator, argument)
        )));
    };
    if let Some(other) = options
        .keys()
        .find(|key| !matches!(key.as_str(), "n" | "input"))
    {
        return Err(
            Code::Location(5_787_901).error(format!("Unknown argument for 'n' operator: {other}"))
        );
    }
    let n = options
        .get("n")
        .ok_or_else(|| Code::Location(5_787_906).error("Missing value for 'n'"))?;
    let input = options
        .get("input")
        .ok_or_else(|| Code::Location(5_787_907).error("Missing value for 'input'"))?;
    let nothing = RawDocumentBuf::new();
    let count = Expression::parse_bson(n, variables)?
        .evaluate(&nothing, variables)?
        .as_ref()
        .and_then(Number::from_bson)
        .and_then(Number::to_i64_exact);
    let Some(count) = count else {
        return Err(Code::Location(5_787_902).error(format!(
            "Value for 'n' must be of integral type, but found {}",
            display::value(n)
        )));
    };
    let n = match usize::try_from(count) {
        Ok(n) if n > 0 => n,
        _ => {
            return Err(Code::Location(5_787_908)
                .error(format!("'n' must be greater than 0, found {count}")));
        }
    };
    let kind = match operator {
        "$firstN" => AccumulatorKind::FirstN(n),
        "$lastN" => AccumulatorKind::LastN(n),
        "$minN" => AccumulatorKind::MinimumN(n),
        _ => AccumulatorKind::MaximumN(n),
    };
    Ok((kind, Expression::parse_bson(input, variables)?))
}

/// The groups so far, by the sort key of their `_id`.
#[derive(Debug)]
pub(super) struct Grouping {
    group: Group,
    groups: BTreeMap<Vec<u8>, (Bson, Vec<Accumulator>)>,
    bytes: usize,
}

impl Grouping {
    pub(super) fn new(group: Group) -> Self {
        Self {
            group,
            groups: BTreeMap::new(),
            bytes: 0,
        }
    }

    pub(super) fn add(&mut self, document: &RawDocument, variables: &Variables) -> Result<()> {
        let id = self
            .group
            .id
            .evaluate(document, variables)?
            .unwrap_or(Bson::Null);
        let mut place = Vec::new();
        key::encode_owned(&id, &mut place);
        let fields = &self.group.fields;
        let (_, states) = match self.groups.entry(place) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let states: Vec<Accumulator> = fields
                    .iter()
                    .map(|field| Accumulator::new(field.kind))
                    .collect();
                self.bytes +=
                    entry.key().len() + footprint(&id) + states.len() * size_of::<Accumulator>();
                entry.insert((id, states))
            }
        };
        for (field, state) in fields.iter().zip(states) {
            let grown = state.add(field.argument.evaluate(document, variables)?)?;
            self.bytes = self.bytes.saturating_add_signed(grown);
        }
        if self.bytes > MEMORY_BYTES_MAX {
            return Err(Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "PlanExecutor error during aggregation :: caused by :: Exceeded memory limit for $group, but didn't allow external sort. Memory limit: {MEMORY_BYTES_MAX} bytes"
            )));
        }
        Ok(())
    }

    /// The next group; each is given out once.
    pub(super) fn next(&mut self) -> Result<Option<RawDocumentBuf>> {
        let Some((_, (id, states))) = self.groups.pop_first() else {
            return Ok(None);
        };
        let mut document = Document::new();
        document.insert("_id", id);
        for (field, state) in self.group.fields.iter().zip(states) {
            document.insert(field.name.clone(), state.finish());
        }
        encode(&document).map(Some)
    }
}
