//! `$group`: documents gathered by a key.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use super::Foreign;
use super::accumulate::{Accumulator, AccumulatorKind};
use super::documents::encode;
use super::output::Output;
use crate::elsewhere;
use crate::error::{Code, CommandError, Result};
use crate::expression::{Expression, Variables, footprint};
use crate::memory::{Claim, Room};
use crate::spill::{Next, Sorted};
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
            let unsupported = elsewhere::ACCUMULATORS.refusal(other);
            return Err(unsupported.unwrap_or_else(|| {
                Code::Location(15952).error(format!("unknown group operator '{other}'"))
            }));
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

/// The groups so far, by the sort key of their `_id`. Once they take half their share of the memory no further one is begun:
/// documents of other groups wait, sorted by group. Beyond three quarters those there grow no more either. At the end groups and
/// documents that waited come in the order of their keys: what waited is later than what its group has gathered.
#[derive(Debug)]
pub(super) struct Grouping {
    group: Group,
    groups: BTreeMap<Vec<u8>, States>,
    bytes: usize,
    room: Room,
    waiting: Sorted,
    /// The groups are closed: everything waits.
    closed: bool,
    /// The group that is being gathered, and by how much it grew.
    current: Option<(Vec<u8>, States)>,
    grown: usize,
    /// The first that waited and was not looked at.
    ahead: Option<(Vec<u8>, RawDocumentBuf)>,
    claim: Claim,
}

/// A group's `_id` and what was gathered for it.
type States = (Bson, Vec<Accumulator>);

impl Grouping {
    pub(super) fn new(group: Group, room: &Room) -> Self {
        Self {
            group,
            groups: BTreeMap::new(),
            bytes: 0,
            claim: room.memory.claim_for_pieces(),
            room: room.clone(),
            waiting: Sorted::new(room.clone(), None),
            closed: false,
            current: None,
            grown: 0,
            ahead: None,
        }
    }

    pub(super) fn add(&mut self, document: &RawDocument, variables: &Variables) -> Result<()> {
        let id = self.group.id_of(document, variables)?;
        let mut place = Vec::new();
        key::encode_owned(&id, &mut place);
        let share = self.room.limit();
        let is_full = self.bytes > share / 2 || !self.waiting.is_empty();
        let waits = self.closed || (is_full && !self.groups.contains_key(&place));
        if waits && self.room.folder.is_some() {
            let bytes = || document.as_bytes().to_vec();
            return self.waiting.add(place, bytes, exceeded);
        }
        let begin = || self.group.begin(id);
        let states = match self.groups.entry(place) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let states = begin();
                self.bytes += entry.key().len() + size_of_states(&states);
                entry.insert(states)
            }
        };
        let grown = self.group.gather(states, document, variables)?;
        self.bytes = self.bytes.saturating_add_signed(grown);
        let fits = self.claim.hold(self.bytes);
        let is_short = !fits && self.bytes > GROUPS_BYTES_MIN;
        match self.room.folder {
            Some(_) => self.closed |= is_short || self.bytes > share / 4 * 3,
            None if self.bytes > share => return Err(exceeded(share)),
            None if is_short => return Err(self.room.memory.exceeded("$group")),
            None => {}
        }
        Ok(())
    }

    /// The next group once the input has `ended`; each is given out once.
    pub(super) fn next(
        &mut self,
        ended: bool,
        variables: &Variables,
        foreign: &mut dyn Foreign,
    ) -> Result<Output> {
        if self.waiting.has_work() && !self.waiting.work(&mut || foreign.take())? {
            return Ok(Output::Later);
        }
        if !ended {
            return Ok(Output::Nothing);
        }
        self.next_group(variables, foreign)
    }

    /// Of the groups and of what waited, whichever has the lesser key comes first.
    fn next_group(&mut self, variables: &Variables, foreign: &mut dyn Foreign) -> Result<Output> {
        loop {
            if self.ahead.is_none() {
                self.ahead = self.first_waiting()?;
            }
            let next = match (&self.current, &self.ahead) {
                (Some((current, _)), Some((place, _))) => *place == *current,
                _ => false,
            };
            if next {
                self.gather_ahead(variables)?;
                if !foreign.take() {
                    return Ok(Output::Later);
                }
                continue;
            }
            if let Some((_, states)) = self.current.take() {
                return self.group.finish(states).map(Output::Document);
            }
            self.grown = 0;
            let first = self.groups.first_key_value().map(|(place, _)| place);
            self.current = match (first, &self.ahead) {
                (None, None) => return Ok(Output::Nothing),
                (Some(first), ahead) if ahead.as_ref().is_none_or(|(place, _)| first <= place) => {
                    self.groups.pop_first()
                }
                (_, None) => None,
                (_, Some((place, document))) => {
                    let id = self.group.id_of(document, variables)?;
                    Some((place.clone(), self.group.begin(id)))
                }
            };
        }
    }

    fn first_waiting(&mut self) -> Result<Option<(Vec<u8>, RawDocumentBuf)>> {
        if self.waiting.is_empty() {
            return Ok(None);
        }
        Ok(match self.waiting.next()? {
            Next::Row(place, document) => Some((place, RawDocumentBuf::from_bytes(document)?)),
            Next::End => None,
        })
    }

    /// The document ahead belongs to the group that is being gathered.
    fn gather_ahead(&mut self, variables: &Variables) -> Result<()> {
        let (Some((_, states)), Some((_, document))) = (&mut self.current, self.ahead.take())
        else {
            return Ok(());
        };
        let grown = self.group.gather(states, &document, variables)?;
        self.grown = self.grown.saturating_add_signed(grown);
        // Groups that were given out are not counted down: what was held stays the upper bound.
        self.claim.hold(self.bytes + self.grown);
        let share = self.room.limit();
        if self.grown > share {
            return Err(exceeded(share));
        }
        Ok(())
    }
}

/// Groups of so few bytes are gathered however little memory others left.
const GROUPS_BYTES_MIN: usize = 1 << 20;

fn size_of_states((id, states): &States) -> usize {
    footprint(id) + states.len() * size_of::<Accumulator>()
}

fn exceeded(limit: usize) -> CommandError {
    Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
        "PlanExecutor error during aggregation :: caused by :: Exceeded memory limit for $group, but didn't allow external sort. Memory limit: {limit} bytes"
    ))
}

impl Group {
    fn id_of(&self, document: &RawDocument, variables: &Variables) -> Result<Bson> {
        let id = self.id.evaluate(document, variables)?;
        Ok(id.unwrap_or(Bson::Null))
    }

    fn begin(&self, id: Bson) -> States {
        let states = self.fields.iter().map(|field| Accumulator::new(field.kind));
        (id, states.collect())
    }

    /// Adds a document to its group; by how many bytes that grew it.
    fn gather(
        &self,
        (_, states): &mut States,
        document: &RawDocument,
        variables: &Variables,
    ) -> Result<isize> {
        let mut grown = 0;
        for (field, state) in self.fields.iter().zip(states) {
            grown += state.add(field.argument.evaluate(document, variables)?)?;
        }
        Ok(grown)
    }

    fn finish(&self, (id, states): States) -> Result<RawDocumentBuf> {
        let mut document = Document::new();
        document.insert("_id", id);
        for (field, state) in self.fields.iter().zip(states) {
            document.insert(field.name.clone(), state.finish());
        }
        encode(&document)
    }
}
