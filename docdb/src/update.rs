//! Changes one document as an update says: operators, replacement, pipeline.

mod array;
mod bits;
mod fast;
mod filters;
mod fuzz;
mod limits;
mod modify;
mod operator;
mod path;
mod pipeline;
mod rename;
mod replace;
mod tree;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use crate::error::{Code, Result};
use crate::query::Filter;
use crate::value::{decode, display};
pub use fuzz::fuzz_update;

use crate::expression::Variables;
use fast::{Applied, Plan};
use operator::Operator;
use path::Part;
use pipeline::Pipeline;
use rename::Rename;
use tree::Children;
use walk::Walk;

/// An update as a command brings it, read once and applied to any number of documents.
#[derive(Debug)]
pub(crate) struct Update {
    modification: Modification,
}

#[derive(Debug)]
enum Modification {
    Operators(Operators),
    Replacement(Document),
    Pipeline(Pipeline),
}

#[derive(Debug)]
struct Operators {
    root: Children,
    renames: Vec<Rename>,
    filters: BTreeMap<String, Filter>,
    /// Whether any path has a `$`.
    needs_match: bool,
    /// The path of an operator on `_id` or a part of it.
    id_path: Option<String>,
    fast: Option<Plan>,
}

impl Update {
    /// Reads `u` of an update statement: a document of operators, a replacement or a pipeline.
    pub(crate) fn parse(update: RawBsonRef<'_>, array_filters: &[&RawDocument]) -> Result<Self> {
        Self::parse_with(update, array_filters, &Variables::default())
    }

    /// As [`Self::parse`], with the command's `let` and the statement's `c`, which pipelines may use.
    pub(crate) fn parse_with(
        update: RawBsonRef<'_>,
        array_filters: &[&RawDocument],
        variables: &Variables,
    ) -> Result<Self> {
        let modification = match update {
            RawBsonRef::Array(stages) => {
                if !array_filters.is_empty() {
                    return Err(Code::FailedToParse
                        .error("arrayFilters may not be specified for pipeline-style updates"));
                }
                Modification::Pipeline(Pipeline::parse(stages, variables)?)
            }
            RawBsonRef::Document(document) => {
                let document = decode(document)?;
                if document
                    .keys()
                    .next()
                    .is_some_and(|key| key.starts_with('$'))
                {
                    Modification::Operators(Operators::parse(document, array_filters)?)
                } else {
                    if !array_filters.is_empty() {
                        return Err(Code::FailedToParse.error(
                            "arrayFilters may not be specified for replacement-style updates",
                        ));
                    }
                    replace::check(&document)?;
                    Modification::Replacement(document)
                }
            }
            _ => {
                return Err(Code::FailedToParse
                    .error("Update argument must be either an object or an array"));
            }
        };
        Ok(Self { modification })
    }

    /// Whether it replaces the whole document: refused together with `multi`.
    pub(crate) fn is_replacement(&self) -> bool {
        matches!(self.modification, Modification::Replacement(_))
    }

    /// Whether `$` stands in a path, so that the filter has to say which element it matched.
    pub(crate) fn needs_positional(&self) -> bool {
        matches!(&self.modification, Modification::Operators(operators) if operators.needs_match)
    }

    /// The changed document, `_id` as it was; `None` if nothing changes.
    ///
    /// `positional` is the array index that `$` stands for; `is_insert` lets `$setOnInsert` act.
    pub(crate) fn apply(
        &self,
        document: &RawDocument,
        positional: Option<usize>,
        is_insert: bool,
        now: bson::DateTime,
    ) -> Result<Option<RawDocumentBuf>> {
        match &self.modification {
            Modification::Operators(operators) => {
                if let Some(plan) = &operators.fast {
                    match plan.apply(document.as_bytes()) {
                        Applied::Unchanged => return Ok(None),
                        Applied::Changed(changed) => return Ok(Some(changed)),
                        Applied::Declined => {}
                    }
                }
                let mut owned = decode(document)?;
                let changed = operators.apply(&mut owned, positional, is_insert, now)?;
                changed.then(|| limits::encode(&owned)).transpose()
            }
            Modification::Replacement(replacement) => {
                let id = id_of(document)?;
                let new = limits::encode(&replace::with_id(replacement, id.as_ref())?)?;
                Ok((new.as_bytes() != document.as_bytes()).then_some(new))
            }
            Modification::Pipeline(pipeline) => pipeline.change(document, now),
        }
    }

    /// The document to insert where no document matched `filter`, `_id` first.
    pub(crate) fn upsert(&self, filter: &Filter, now: bson::DateTime) -> Result<RawDocumentBuf> {
        let base = upsert_base(filter)?;
        let document = match &self.modification {
            Modification::Operators(operators) => {
                let mut document = base;
                operators.apply(&mut document, None, true, now)?;
                document
            }
            Modification::Replacement(replacement) => {
                replace::with_id(replacement, base.get("_id"))?
            }
            Modification::Pipeline(pipeline) => pipeline.apply(&limits::encode(&base)?, now)?,
        };
        finish_upsert(document)
    }
}

/// What the filter's equalities make of an empty document.
fn upsert_base(filter: &Filter) -> Result<Document> {
    let mut root = Children::new();
    for (path, value) in filter.equalities() {
        let parts = path::parse(path)?;
        tree::insert(&mut root, path, &parts, Operator::Set(value)).map_err(|_| {
            Code::NotSingleValueField.error(format!(
                "cannot infer query fields to set, path '{path}' is matched twice"
            ))
        })?;
    }
    let filters = BTreeMap::new();
    let mut document = Document::new();
    let mut walk = Walk::new(&filters, None, true, bson::DateTime::from_millis(0));
    walk.root(&root, &mut document)?;
    Ok(document)
}

fn finish_upsert(mut document: Document) -> Result<RawDocumentBuf> {
    match document.get("_id") {
        Some(id) => replace::check_id(id)?,
        None => {
            document.insert("_id", bson::oid::ObjectId::new());
        }
    }
    limits::encode(&replace::id_first(document))
}

impl Operators {
    fn parse(document: Document, array_filters: &[&RawDocument]) -> Result<Self> {
        let unread = Bson::Document(document.clone());
        let mut operators = Self {
            root: Children::new(),
            renames: Vec::new(),
            filters: filters::parse(array_filters)?,
            needs_match: false,
            id_path: None,
            fast: None,
        };
        let mut used = BTreeSet::new();
        for (modifier, fields) in document {
            operators.modifier(&modifier, fields, &mut used)?;
        }
        if let Some(unused) = operators.filters.keys().find(|key| !used.contains(*key)) {
            return Err(Code::FailedToParse.error(format!(
                "The array filter for identifier '{unused}' was not used in the update {}",
                display::value(&unread)
            )));
        }
        operators.fast = Plan::from_tree(&operators.root);
        Ok(operators)
    }

    fn modifier(
        &mut self,
        modifier: &str,
        fields: Bson,
        used: &mut BTreeSet<String>,
    ) -> Result<()> {
        if !MODIFIERS.contains(&modifier) {
            return Err(Code::FailedToParse.error(format!(
                "Unknown modifier: {modifier}. Expected a valid update modifier or pipeline-style update specified as an array"
            )));
        }
        let Bson::Document(fields) = fields else {
            return Err(Code::FailedToParse.error(format!(
                "Modifiers operate on fields but we found type {} instead. For example: {{$mod: {{<field>: ...}}}} not {{{}}}",
                display::type_name(&fields),
                display::element(modifier, &fields)
            )));
        };
        for (path, argument) in fields {
            if modifier == "$rename" {
                let (rename, to) = Rename::parse(&path, &argument)?;
                let number = self.renames.len();
                self.renames.push(rename);
                self.field(&path, Operator::RenameFrom, used)?;
                self.field(&to, Operator::RenameTo(number), used)?;
            } else if let Some(operator) = Operator::parse(modifier, &path, argument)? {
                self.field(&path, operator, used)?;
            }
        }
        Ok(())
    }

    fn field(&mut self, path: &str, operator: Operator, used: &mut BTreeSet<String>) -> Result<()> {
        let parts = path::parse(path)?;
        for part in &parts {
            match part {
                Part::Filtered(identifier) if !identifier.is_empty() => {
                    if !self.filters.contains_key(identifier) {
                        return Err(Code::BadValue.error(format!(
                            "No array filter found for identifier '{identifier}' in path '{path}'"
                        )));
                    }
                    used.insert(identifier.clone());
                }
                Part::Matched => self.needs_match = true,
                _ => {}
            }
        }
        if matches!(parts.first(), Some(Part::Name(name)) if name.0 == "_id") {
            self.id_path = Some(path.to_owned());
        }
        tree::insert(&mut self.root, path, &parts, operator)
    }

    /// Says whether `document` changed; after an error it may be half changed.
    fn apply(
        &self,
        document: &mut Document,
        positional: Option<usize>,
        is_insert: bool,
        now: bson::DateTime,
    ) -> Result<bool> {
        if self.needs_match && positional.is_none() {
            return Err(Code::BadValue
                .error("The positional operator did not find the match needed from the query."));
        }
        let mut walk = Walk::new(&self.filters, positional, is_insert, now);
        walk.id = document.get("_id").cloned();
        for rename in &self.renames {
            walk.renamed.push(rename.take(document)?);
        }
        let renamed = walk.renamed.iter().any(Option::is_some);
        let changed = walk.root(&self.root, document)? || renamed;
        if let (Some(path), Some(id)) = (&self.id_path, &walk.id)
            && !document
                .get("_id")
                .is_some_and(|new| limits::identical(id, new))
        {
            return Err(Code::ImmutableField.error(format!(
                "Performing an update on the path '{path}' would modify the immutable field '_id'"
            )));
        }
        Ok(changed)
    }
}

/// Every operator that an update document may have, for the parser and for the list of what is supported.
pub(crate) const MODIFIERS: &[&str] = &[
    "$addToSet",
    "$bit",
    "$currentDate",
    "$inc",
    "$max",
    "$min",
    "$mul",
    "$pop",
    "$pull",
    "$pullAll",
    "$push",
    "$rename",
    "$set",
    "$setOnInsert",
    "$unset",
];

fn id_of(document: &RawDocument) -> Result<Option<Bson>> {
    let id = document.get("_id")?;
    Ok(id.map(Bson::try_from).transpose()?)
}
