//! Reads one operator on a field: `$gt: 1`, `$in: […]`, `$elemMatch: {…}`.

use std::sync::Arc;

use super::{
    Context, bad_value, begins_with_operator, bits, clauses, compare, document, equality, list,
    text,
};
use crate::elsewhere;
use crate::error::{Code, Result};
use crate::query::condition::{Clause, Condition, NUMBERS, Operator, Predicate, Set, Values};
use crate::query::constant::Constant;
use crate::query::list::is_long;
use crate::value::pattern::Pattern;
use crate::value::{Element, Fields, Number, Value, compare_values, kind};

/// Appends what `element` asks. `siblings` are all operators beside it: `$regex` and `$options` belong together.
pub(super) fn parse(
    name: &str,
    element: &Element<'_>,
    siblings: Fields<'_>,
    context: Context<'_>,
    found: &mut Vec<Clause>,
) -> Result<()> {
    let operator = text(element.name);
    let condition = match operator {
        "$eq" => compare(Operator::Equal, element)?,
        "$ne" => {
            if element.kind == kind::REGEX {
                return Err(bad_value("Can't have regex as arg to $ne."));
            }
            found.push(negated(compare(Operator::Equal, element)?));
            return Ok(());
        }
        "$gt" => range(name, Operator::Greater, element)?,
        "$gte" => range(name, Operator::GreaterOrEqual, element)?,
        "$lt" => range(name, Operator::Less, element)?,
        "$lte" => range(name, Operator::LessOrEqual, element)?,
        "$in" => Condition::In(set(operator, element, context)?),
        "$nin" => {
            found.push(negated(Condition::In(set(operator, element, context)?)));
            return Ok(());
        }
        "$not" => {
            found.push(Clause::Not(not(name, element, context)?));
            return Ok(());
        }
        "$exists" => {
            found.push(if is_true(&element.value()) {
                Clause::Is(Condition::Exists)
            } else {
                negated(Condition::Exists)
            });
            return Ok(());
        }
        "$all" => return all(name, element, context, found),
        "$comment" => return Ok(()),
        "$options" if siblings.find(b"$regex").is_some() => return Ok(()),
        _ => rare(operator, element, siblings, context)?,
    };
    found.push(Clause::Is(condition));
    Ok(())
}

fn rare(
    operator: &str,
    element: &Element<'_>,
    siblings: Fields<'_>,
    context: Context<'_>,
) -> Result<Condition> {
    match operator {
        "$regex" => regex(element, siblings),
        "$options" => Err(bad_value("$options needs a $regex")),
        "$type" => types(&element.value()),
        "$mod" => remainder(&element.value()),
        "$size" => size(element),
        "$elemMatch" => elem_match(&element.value(), context),
        "$bitsAllSet" | "$bitsAllClear" | "$bitsAnySet" | "$bitsAnyClear" => {
            Ok(Condition::Bits(bits::parse(operator, element)?))
        }
        "$geoIntersects" | "$geoWithin" | "$within" | "$near" | "$nearSphere" | "$geoNear" => {
            Err(Code::QueryFeatureNotAllowed.error(format!("{operator} is not supported")))
        }
        "$expr" => Err(bad_value(
            "$expr can only be applied to the top-level document",
        )),
        _ => Err(elsewhere::FILTERS
            .refusal(operator)
            .unwrap_or_else(|| bad_value(format!("unknown operator: {operator}")))),
    }
}

fn negated(condition: Condition) -> Clause {
    Clause::Not(vec![Clause::Is(condition)])
}

fn range(name: &str, operator: Operator, element: &Element<'_>) -> Result<Condition> {
    if element.kind == kind::REGEX {
        let text = format!("Can't have RegEx as arg to predicate over field '{name}'.");
        return Err(bad_value(text));
    }
    compare(operator, element)
}

fn set(operator: &str, element: &Element<'_>, context: Context<'_>) -> Result<Set> {
    if let Some(read) = context.lists.and_then(|lists| lists.find(element.bytes)) {
        return read;
    }
    let Value::Array(array) = element.value() else {
        return Err(bad_value(format!("{operator} needs an array")));
    };
    if is_long(array) {
        return list::whole(operator, array);
    }
    let (mut constants, mut patterns, mut has_null) = (Vec::new(), Vec::new(), false);
    for element in array.elements() {
        match element.value() {
            Value::Document(fields) if begins_with_operator(fields) => {
                return Err(bad_value(format!("cannot nest $ under {operator}")));
            }
            Value::Regex { pattern, options } => {
                patterns.push(Pattern::new(text(pattern), text(options))?);
            }
            Value::Undefined => return Err(bad_value("cannot compare to undefined")),
            value => {
                has_null |= matches!(value, Value::Null);
                constants.push(Constant::from_element(&element));
            }
        }
    }
    let order = |left: &Constant, right: &Constant| compare_values(&left.value(), &right.value());
    constants.sort_by(order);
    constants.dedup_by(|left, right| order(left, right).is_eq());
    Ok(Set {
        values: Values::Few(constants),
        patterns: Arc::new(patterns),
        has_null,
    })
}

fn not(name: &str, element: &Element<'_>, context: Context<'_>) -> Result<Vec<Clause>> {
    match element.value() {
        Value::Regex { .. } => Ok(vec![Clause::Is(equality(element)?)]),
        Value::Document(operators) if operators.is_empty() => {
            Err(bad_value("$not cannot be empty"))
        }
        Value::Document(operators) => match operators.elements().next() {
            Some(first) if !first.name.starts_with(b"$") => {
                Err(bad_value(format!("unknown operator: {}", text(first.name))))
            }
            _ => clauses(name, operators, context),
        },
        _ => Err(bad_value("$not needs a regex or a document")),
    }
}

/// Each element on its own: `$all` is many equalities, or many `$elemMatch`.
fn all(
    name: &str,
    element: &Element<'_>,
    context: Context<'_>,
    found: &mut Vec<Clause>,
) -> Result<()> {
    let Value::Array(array) = element.value() else {
        return Err(bad_value("$all needs an array"));
    };
    let mut is_empty = true;
    let mut is_elem_match = false;
    for element in array.elements() {
        let first = match element.value() {
            Value::Document(fields) if begins_with_operator(fields) => fields.elements().next(),
            _ => None,
        };
        let this = first
            .as_ref()
            .is_some_and(|first| first.name == b"$elemMatch");
        if first.is_some() && (!this || !(is_empty || is_elem_match)) {
            return Err(bad_value("no $ expressions in $all"));
        }
        if is_elem_match && !this {
            return Err(bad_value(format!(
                "$all/$elemMatch has to be consistent in field '{name}'"
            )));
        }
        is_elem_match = this;
        is_empty = false;
        found.push(Clause::Is(match first {
            Some(first) => elem_match(&first.value(), context)?,
            None => equality(&element)?,
        }));
    }
    if is_empty {
        // `$all: []` matches nothing.
        found.push(Clause::Not(Vec::new()));
    }
    Ok(())
}

pub(in crate::query) fn elem_match(value: &Value<'_>, context: Context<'_>) -> Result<Condition> {
    let Value::Document(fields) = value else {
        return Err(bad_value("$elemMatch needs an Object"));
    };
    if is_of_values(*fields) {
        return Ok(Condition::HasElement(clauses("", *fields, context)?));
    }
    let context = Context {
        variables: None,
        ..context
    };
    let predicate: Predicate = document(*fields, context)?;
    Ok(Condition::HasDocument(Box::new(predicate)))
}

/// Whether an `$elemMatch` has operators on an element, not a filter for it.
pub(in crate::query) fn is_of_values(fields: Fields<'_>) -> bool {
    const LOGICAL: [&[u8]; 4] = [b"$and", b"$or", b"$nor", b"$where"];
    let first = fields.elements().next();
    begins_with_operator(fields) && first.is_some_and(|first| !LOGICAL.contains(&first.name))
}

fn regex(element: &Element<'_>, siblings: Fields<'_>) -> Result<Condition> {
    let beside = match siblings.find(b"$options").map(|options| options.value()) {
        None => None,
        Some(Value::String(options)) => Some(text(options)),
        Some(_) => return Err(bad_value("$options has to be a string")),
    };
    let (pattern, own) = match element.value() {
        Value::String(pattern) => (text(pattern), ""),
        Value::Regex { pattern, options } => (text(pattern), text(options)),
        _ => return Err(bad_value("$regex has to be a string")),
    };
    if beside.is_some() && !own.is_empty() {
        return Err(Code::Location(51075).error("options set in both $regex and $options"));
    }
    Ok(Condition::Matches(Pattern::new(
        pattern,
        beside.unwrap_or(own),
    )?))
}

fn types(value: &Value<'_>) -> Result<Condition> {
    let mut kinds = Vec::new();
    match value {
        Value::Array(array) => {
            for value in array.values() {
                add_type(&value, &mut kinds)?;
            }
            if kinds.is_empty() {
                return Err(Code::FailedToParse.error("$type must match at least one type"));
            }
        }
        value => add_type(value, &mut kinds)?,
    }
    Ok(Condition::HasType(kinds))
}

fn add_type(value: &Value<'_>, kinds: &mut Vec<u8>) -> Result<()> {
    if let Value::String(alias) = value {
        match text(alias) {
            "number" => kinds.extend(NUMBERS),
            // Never stored, so never matched.
            "missing" => return Err(bad_value("Unknown type name alias: missing")),
            alias => kinds.push(kind::from_name(alias)?),
        }
        return Ok(());
    }
    let Some(number) = Number::from_value(value) else {
        let text = "type must be represented as a number or a string";
        return Err(Code::TypeMismatch.error(text));
    };
    let known = match number.to_i64_exact() {
        Some(-1) => Some(kind::MIN_KEY),
        Some(code) => u8::try_from(code)
            .ok()
            .filter(|code| kind::is_known(*code) && *code != kind::MIN_KEY),
        None => None,
    };
    match known {
        Some(known) => kinds.push(known),
        None if number.is_zero() => {
            return Err(bad_value("$type: 0 is not supported; use {$exists: false}"));
        }
        None => {
            let text = format!("Invalid numerical type code: {}", value.to_bson());
            return Err(bad_value(text));
        }
    }
    Ok(())
}

fn remainder(value: &Value<'_>) -> Result<Condition> {
    let Value::Array(array) = value else {
        return Err(bad_value("malformed mod, needs to be an array"));
    };
    let mut values = array.values();
    let (Some(divisor), Some(remainder)) = (values.next(), values.next()) else {
        return Err(bad_value("malformed mod, not enough elements"));
    };
    if values.next().is_some() {
        return Err(bad_value("malformed mod, too many elements"));
    }
    let whole = |value: &Value<'_>, what: &str| {
        let number = Number::from_value(value)
            .ok_or_else(|| bad_value(format!("malformed mod, {what} not a number")))?;
        number.to_i64().ok_or_else(|| {
            bad_value(format!("malformed mod, {what} value is invalid :: caused by :: Unable to coerce NaN/Inf to integral type"))
        })
    };
    let divisor = whole(&divisor, "divisor")?;
    let remainder = whole(&remainder, "remainder")?;
    if divisor == 0 {
        return Err(bad_value("divisor cannot be 0"));
    }
    Ok(Condition::Remainder { divisor, remainder })
}

fn size(element: &Element<'_>) -> Result<Condition> {
    let value = element.value();
    let failed = |what: &str| {
        let shown = value.to_bson();
        bad_value(format!(
            "Failed to parse $size. Expected {what} in: $size: {shown}"
        ))
    };
    let Some(number) = Number::from_value(&value) else {
        return Err(failed("a number"));
    };
    match number.to_i64_exact() {
        Some(size) if size >= 0 => Ok(Condition::Size(size)),
        Some(_) => Err(failed("a non-negative number")),
        None => Err(failed("an integer")),
    }
}

/// As MongoDB takes any value for a truth: only false, zero, null and undefined are not.
pub(in crate::query) fn is_true(value: &Value<'_>) -> bool {
    match value {
        Value::Boolean(truth) => *truth,
        Value::Null | Value::Undefined => false,
        value => Number::from_value(value).is_none_or(|number| !number.is_zero()),
    }
}
