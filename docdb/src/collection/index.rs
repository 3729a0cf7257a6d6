//! One index as its collection keeps it: pattern, options, and where its entries lie.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};

use crate::elsewhere;
use crate::error::{Code, CommandError, Result};
use crate::query::{Direction, Filter, SortField};
use crate::value::Writer;
use crate::value::display;
use crate::value::path::Path;

/// The name of the index that every collection has.
pub(crate) const ID_INDEX: &str = "_id_";
/// Longest time to live in seconds (MongoDB's limit).
const LONGEST_TIME_TO_LIVE: f64 = i32::MAX as f64;

/// What a client asked for, validated.
#[derive(Debug, Clone)]
pub(crate) struct IndexSpec {
    pub name: String,
    /// The key pattern as given, as `{a: 1, "b.c": -1}`.
    pub key: RawDocumentBuf,
    pub fields: Vec<SortField>,
    pub unique: bool,
    pub(crate) sparse: bool,
    /// Seconds after the field's date when TTL deletes the document.
    pub(crate) expire_after: Option<i64>,
    pub(crate) partial: Option<Partial>,
}

/// A filter that a document must match to be in the index.
#[derive(Debug, Clone)]
pub(crate) struct Partial {
    pub(crate) raw: RawDocumentBuf,
    pub filter: Filter,
}

/// An index that exists.
#[derive(Debug)]
pub(crate) struct Index {
    /// Prefix of its entries' keys; never reused.
    pub id: u32,
    pub spec: IndexSpec,
    /// Some document has an array on an indexed path, so that it may have several entries.
    pub(crate) multikey: bool,
    /// Some key was too long and is cut: its place in the order is not that of its values.
    pub(crate) cut: bool,
    /// Not all existing documents are in it yet: writes keep it up to date, no query may use it.
    pub(crate) building: bool,
    /// How many entries it has.
    pub entries: u64,
    /// Bytes of its keys.
    pub bytes: u64,
}

impl IndexSpec {
    /// Reads one element of `indexes` of `createIndexes`, or a stored one.
    pub(crate) fn parse(raw: &RawDocument) -> Result<Self> {
        let mut spec = Self {
            name: String::new(),
            key: RawDocumentBuf::new(),
            fields: Vec::new(),
            unique: false,
            sparse: false,
            expire_after: None,
            partial: None,
        };
        let (mut named, mut keyed) = (false, false);
        for element in raw.iter_elements() {
            let element = element?;
            let value = element.value()?;
            match element.key().as_str() {
                "key" => {
                    keyed = true;
                    spec.key = object("key", value)?.to_owned();
                }
                "name" => {
                    named = true;
                    string("name", value)?.clone_into(&mut spec.name);
                }
                option => spec.option(option, value, raw)?,
            }
        }
        if !keyed {
            return Err(Code::FailedToParse
                .error("The 'key' field is a required property of an index specification"));
        }
        if !named {
            return Err(Code::FailedToParse
                .error("The 'name' field is a required property of an index specification"));
        }
        spec.fields = parse_key(&spec.key)?;
        spec.check(raw)?;
        Ok(spec)
    }

    fn option(&mut self, option: &str, value: RawBsonRef<'_>, raw: &RawDocument) -> Result<()> {
        match option {
            "unique" => self.unique = truth(option, value)?,
            "sparse" => self.sparse = truth(option, value)?,
            "expireAfterSeconds" => self.expire_after = Some(seconds(value)?),
            "partialFilterExpression" => {
                let raw = object(option, value)?.to_owned();
                let filter = Filter::parse(&raw)?;
                self.partial = Some(Partial { raw, filter });
            }
            "v" => match number(value) {
                Some(version) if version.fract() == 0.0 && (1.0..=2.0).contains(&version) => {}
                _ => {
                    return Err(Code::CannotCreateIndex.error(format!(
                        "Invalid index specification {}; cannot create an index with v={}",
                        display::document(raw),
                        display::raw(value)
                    )));
                }
            },
            // Without meaning since MongoDB 4.2, still sent by old programs.
            "background" | "ns" | "dropDups" => {}
            "hidden" | "prepareUnique" if !truth(option, value)? => {}
            "collation" if is_simple_collation(value) => {}
            _ => {
                let unsupported = elsewhere::INDEX_OPTIONS.refusal(option);
                return Err(unsupported.unwrap_or_else(|| {
                    Code::InvalidIndexSpecificationOption.error(format!(
                        "The field '{option}' is not valid for an index specification. Specification: {}",
                        display::document(raw)
                    ))
                }));
            }
        }
        Ok(())
    }

    fn check(&mut self, raw: &RawDocument) -> Result<()> {
        if self.is_id() {
            self.check_id(raw)?;
        } else if self.name == ID_INDEX {
            return Err(Code::BadValue.error(format!(
                "The index name '_id_' is reserved for the _id index, which must have key pattern {{_id: 1}}, found key: {}",
                display::document(&self.key)
            )));
        }
        if self.name.is_empty() {
            return Err(Code::CannotCreateIndex.error("index name cannot be empty"));
        }
        if self.name == "*" || self.name.contains('\0') {
            return Err(Code::BadValue.error("The index name '*' is not valid."));
        }
        if self.sparse && self.partial.is_some() {
            return Err(Code::CannotCreateIndex
                .error("cannot mix \"partialFilterExpression\" and \"sparse\" options"));
        }
        if self.expire_after.is_some() && self.fields.len() > 1 {
            return Err(Code::CannotCreateIndex.error(format!(
                "TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: {}",
                display::document(raw)
            )));
        }
        Ok(())
    }

    fn check_id(&mut self, raw: &RawDocument) -> Result<()> {
        let option = if self.sparse {
            "sparse"
        } else if self.expire_after.is_some() {
            "expireAfterSeconds"
        } else if self.partial.is_some() {
            "partialFilterExpression"
        } else {
            ID_INDEX.clone_into(&mut self.name);
            return Ok(());
        };
        Err(Code::InvalidIndexSpecificationOption.error(format!(
            "The field '{option}' is not valid for an _id index specification. Specification: {}",
            display::document(raw)
        )))
    }

    /// Whether this asks for the index that every collection has.
    pub(crate) fn is_id(&self) -> bool {
        is_id_key(&self.fields)
    }

    /// What makes two indexes different: pattern, uniqueness, sparseness, partial filter (MongoDB's "signature").
    pub(crate) fn same_signature(&self, other: &Self) -> bool {
        self.fields == other.fields
            && self.unique == other.unique
            && self.sparse == other.sparse
            && self.partial.as_ref().map(|one| &one.raw)
                == other.partial.as_ref().map(|one| &one.raw)
    }

    /// The row of `listIndexes`.
    pub(crate) fn describe(&self) -> RawDocumentBuf {
        let mut writer = Writer::with_capacity(128);
        writer.int("v", 2);
        writer.document("key", &self.key);
        writer.string("name", &self.name);
        if self.unique {
            writer.boolean("unique", true);
        }
        if self.sparse {
            writer.boolean("sparse", true);
        }
        if let Some(seconds) = self.expire_after {
            writer.count("expireAfterSeconds", u64::try_from(seconds).unwrap_or(0));
        }
        if let Some(partial) = &self.partial {
            writer.document("partialFilterExpression", &partial.raw);
        }
        writer.finish()
    }
}

/// Splits a key pattern into fields; refuses what is no ascending or descending index.
pub(crate) fn parse_key(key: &RawDocument) -> Result<Vec<SortField>> {
    let mut fields: Vec<SortField> = Vec::new();
    for element in key.iter_elements() {
        let element = element?;
        let path = element.key().as_str();
        check_path(path)?;
        if fields.iter().any(|field| field.path.text() == path) {
            return Err(Code::CannotCreateIndex.error(format!(
                "Field '{path}' appears twice in the index key pattern {}",
                display::document(key)
            )));
        }
        fields.push(SortField {
            path: Path::parse(path)?,
            direction: direction(element.value()?)?,
        });
    }
    if fields.is_empty() {
        return Err(Code::CannotCreateIndex.error("Index keys cannot be empty."));
    }
    Ok(fields)
}

/// Whether this is the pattern of the index that every collection has.
pub(crate) fn is_id_key(fields: &[SortField]) -> bool {
    matches!(fields, [field] if field.path.text() == "_id" && field.direction == Direction::Ascending)
}

fn check_path(path: &str) -> Result<()> {
    let problem = if path.split('.').any(str::is_empty) {
        "Index keys cannot contain an empty field."
    } else if path.split('.').any(|part| part == "$**") {
        "Wildcard indexes are not supported."
    } else if path.split('.').any(|part| part.starts_with('$')) {
        "Index key contains an illegal field name: field name starts with '$'."
    } else {
        return Ok(());
    };
    Err(Code::CannotCreateIndex.error(problem))
}

fn direction(direction: RawBsonRef<'_>) -> Result<Direction> {
    if let RawBsonRef::String(plugin) = direction {
        let known = ["text", "2d", "2dsphere", "hashed", "geoHaystack"].contains(&plugin);
        return Err(Code::CannotCreateIndex.error(if known {
            format!("Indexes of type '{plugin}' are not supported")
        } else {
            format!("Unknown index plugin '{plugin}'")
        }));
    }
    match number(direction) {
        Some(number) if number > 0.0 => Ok(Direction::Ascending),
        Some(number) if number < 0.0 => Ok(Direction::Descending),
        Some(_) => {
            Err(Code::CannotCreateIndex.error("Values in the index key pattern cannot be 0."))
        }
        None => Err(Code::CannotCreateIndex.error(format!(
            "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers < 0, and strings are allowed.",
            display::raw_type_name(direction)
        ))),
    }
}

fn seconds(value: RawBsonRef<'_>) -> Result<i64> {
    let Some(seconds) = number(value) else {
        return Err(wrong_type("expireAfterSeconds", "number", value));
    };
    if (0.0..=LONGEST_TIME_TO_LIVE).contains(&seconds) {
        return Ok(seconds as i64);
    }
    Err(Code::CannotCreateIndex.error(format!(
        "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different number than {}",
        display::raw(value)
    )))
}

/// `{locale: "simple"}`: comparison by bytes, the only collation there is.
pub(crate) fn is_simple_collation(value: RawBsonRef<'_>) -> bool {
    value.as_document().is_some_and(|collation| {
        collation
            .get_str("locale")
            .is_ok_and(|locale| locale == "simple")
    })
}

fn number(value: RawBsonRef<'_>) -> Option<f64> {
    match value {
        RawBsonRef::Int32(number) => Some(f64::from(number)),
        RawBsonRef::Int64(number) => Some(number as f64),
        RawBsonRef::Double(number) => Some(number),
        _ => None,
    }
}

fn truth(field: &str, value: RawBsonRef<'_>) -> Result<bool> {
    match value {
        RawBsonRef::Boolean(truth) => Ok(truth),
        _ => match number(value) {
            Some(number) => Ok(number != 0.0),
            None => Err(wrong_type(field, "bool", value)),
        },
    }
}

fn object<'a>(field: &str, value: RawBsonRef<'a>) -> Result<&'a RawDocument> {
    value
        .as_document()
        .ok_or_else(|| wrong_type(field, "object", value))
}

fn string<'a>(field: &str, value: RawBsonRef<'a>) -> Result<&'a str> {
    value
        .as_str()
        .ok_or_else(|| wrong_type(field, "string", value))
}

fn wrong_type(field: &str, expected: &str, value: RawBsonRef<'_>) -> CommandError {
    Code::TypeMismatch.error(format!(
        "The field '{field}' must be of type '{expected}', but got {}",
        display::raw_type_name(value)
    ))
}
