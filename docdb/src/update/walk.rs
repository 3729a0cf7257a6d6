//! Walks an update's tree over a document: what exists is modified, what does not is created in name order.

use std::collections::BTreeMap;

use bson::{Array, Bson, Document, RawDocumentBuf};

use super::limits;
use super::operator::Operator;
use super::path::{self, Name, Part};
use super::tree::{self, UpdateNode};
use crate::error::{Code, CommandError, Result};
use crate::query::Filter;
use crate::value::display;

/// MongoDB's limit on the nulls that one index adds; here of one update, because more would not fit a document.
const PADDING_MAX: usize = 1_500_000;

/// What became of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Unchanged,
    Changed,
    /// To be taken out of its document; in an array null takes its place.
    Removed,
}

impl Outcome {
    pub(super) fn from_changed(changed: bool) -> Self {
        if changed {
            Self::Changed
        } else {
            Self::Unchanged
        }
    }
}

/// One application of an update to one document.
pub(super) struct Walk<'a> {
    pub(super) now: bson::DateTime,
    pub(super) is_insert: bool,
    /// The index that `$` stands for.
    pub(super) positional: Option<usize>,
    pub(super) filters: &'a BTreeMap<String, Filter>,
    /// What each `$rename` took from its source.
    pub(super) renamed: Vec<Option<Bson>>,
    pub(super) id: Option<Bson>,
    path: String,
    padding_left: usize,
    bytes_left: usize,
}

/// The parts of one value with what happens to each; several nodes where `$` or filters overlap.
type Merged<'n> = BTreeMap<Part, Vec<&'n UpdateNode>>;

impl<'a> Walk<'a> {
    pub(super) fn new(
        filters: &'a BTreeMap<String, Filter>,
        positional: Option<usize>,
        is_insert: bool,
        now: bson::DateTime,
    ) -> Self {
        Self {
            now,
            is_insert,
            positional,
            filters,
            renamed: Vec::new(),
            id: None,
            path: String::new(),
            padding_left: PADDING_MAX,
            bytes_left: limits::DOCUMENT_BYTES_MAX,
        }
    }

    /// Applies the children of the root; says whether the document changed.
    pub(super) fn root(
        &mut self,
        children: &tree::Children,
        document: &mut Document,
    ) -> Result<bool> {
        let merged = children
            .iter()
            .map(|(part, node)| (part.clone(), vec![node]))
            .collect();
        self.document(&merged, document)
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The last component of the path, as messages name the element.
    pub(super) fn field(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// `{_id: 1}`, as messages name the document.
    pub(super) fn document_text(&self) -> String {
        match &self.id {
            Some(id) => format!("{{{}}}", display::element("_id", id)),
            None => "{no id}".to_owned(),
        }
    }

    /// Counts bytes that will stay in the document, so that `$[]` cannot multiply an argument without bound.
    pub(super) fn charge(&mut self, value: &Bson) -> Result<()> {
        let size = limits::size(value);
        self.bytes_left = self
            .bytes_left
            .checked_sub(size)
            .ok_or_else(limits::too_large)?;
        Ok(())
    }

    fn apply(&mut self, nodes: &[&UpdateNode], value: &mut Bson) -> Result<Outcome> {
        if let [UpdateNode::Leaf(operator)] = nodes {
            return self.modify(operator, value);
        }
        let merged = self.merge(nodes)?;
        if has_filters(&merged) {
            return self.elements(&merged, value);
        }
        let changed = match value {
            Bson::Document(document) => self.document(&merged, document)?,
            Bson::Array(array) => self.array(&merged, array)?,
            scalar => {
                for (part, nodes) in &merged {
                    self.dead_end(part, nodes, scalar)?;
                }
                false
            }
        };
        Ok(Outcome::from_changed(changed))
    }

    /// Brings overlapping nodes together and `$` to the index it stands for.
    fn merge<'n>(&self, nodes: &[&'n UpdateNode]) -> Result<Merged<'n>> {
        let mut merged = Merged::new();
        for node in nodes {
            let UpdateNode::Inner(children) = node else {
                return Err(tree::conflict_at(&self.path, &self.path));
            };
            for (part, child) in children {
                let part = match part {
                    Part::Matched => Part::Name(Name(self.matched_index()?.to_string())),
                    other => other.clone(),
                };
                merged.entry(part).or_default().push(child);
            }
        }
        let mixed = merged.keys().any(Part::is_filtered) && !merged.keys().all(Part::is_filtered);
        if mixed {
            return Err(tree::conflict_at(&self.path, &self.path));
        }
        Ok(merged)
    }

    fn matched_index(&self) -> Result<usize> {
        self.positional.ok_or_else(|| {
            Code::BadValue
                .error("The positional operator did not find the match needed from the query.")
        })
    }

    fn document(&mut self, merged: &Merged<'_>, document: &mut Document) -> Result<bool> {
        let mut changed = false;
        for (part, nodes) in merged {
            let Part::Name(Name(name)) = part else {
                continue;
            };
            let mark = self.enter(name);
            match document.get_mut(name) {
                Some(value) => match self.apply(nodes, value)? {
                    Outcome::Unchanged => {}
                    Outcome::Changed => changed = true,
                    Outcome::Removed => {
                        document.remove(name);
                        changed = true;
                    }
                },
                None => {
                    if let Some(value) = self.create(nodes)? {
                        document.insert(name.clone(), value);
                        changed = true;
                    }
                }
            }
            self.path.truncate(mark);
        }
        Ok(changed)
    }

    fn array(&mut self, merged: &Merged<'_>, array: &mut Array) -> Result<bool> {
        let mut changed = false;
        for (part, nodes) in merged {
            let Part::Name(Name(name)) = part else {
                continue;
            };
            let Some(index) = path::index(name) else {
                let whole = Bson::Array(array.clone());
                self.dead_end(part, nodes, &whole)?;
                continue;
            };
            let mark = self.enter(name);
            match array.get_mut(index) {
                Some(value) => match self.apply(nodes, value)? {
                    Outcome::Unchanged => {}
                    Outcome::Changed => changed = true,
                    Outcome::Removed => {
                        changed |= *value != Bson::Null;
                        *value = Bson::Null;
                    }
                },
                None => {
                    if let Some(value) = self.create(nodes)? {
                        self.pad(array, index)?;
                        array.push(value);
                        changed = true;
                    }
                }
            }
            self.path.truncate(mark);
        }
        Ok(changed)
    }

    /// Fills up with nulls to `length` elements.
    fn pad(&mut self, array: &mut Array, length: usize) -> Result<()> {
        let missing = length.saturating_sub(array.len());
        let Some(left) = self.padding_left.checked_sub(missing) else {
            return Err(Code::CannotBackfillArray
                .error(format!("can't backfill more than {PADDING_MAX} elements")));
        };
        self.padding_left = left;
        array.resize(length, Bson::Null);
        Ok(())
    }

    fn elements(&mut self, merged: &Merged<'_>, value: &mut Bson) -> Result<Outcome> {
        let Bson::Array(array) = value else {
            return Err(Code::BadValue.error(format!(
                "Cannot apply array updates to non-array element {}",
                display::element(self.field(), value)
            )));
        };
        let mut changed = false;
        for (index, element) in array.iter_mut().enumerate() {
            let nodes = self.accepting(merged, element)?;
            if nodes.is_empty() {
                continue;
            }
            let mark = self.enter(&index.to_string());
            match self.apply(&nodes, element)? {
                Outcome::Unchanged => {}
                Outcome::Changed => changed = true,
                Outcome::Removed => {
                    changed |= *element != Bson::Null;
                    *element = Bson::Null;
                }
            }
            self.path.truncate(mark);
        }
        Ok(Outcome::from_changed(changed))
    }

    /// The nodes whose array filter accepts `element`.
    fn accepting<'n>(&self, merged: &Merged<'n>, element: &Bson) -> Result<Vec<&'n UpdateNode>> {
        let mut accepting = Vec::new();
        for (part, nodes) in merged {
            let Part::Filtered(identifier) = part else {
                continue;
            };
            let accepts = match self.filters.get(identifier) {
                None => identifier.is_empty(),
                Some(filter) => {
                    let wrapped = bson::doc! { identifier: element.clone() };
                    let raw = RawDocumentBuf::try_from(wrapped)?;
                    filter.try_matches(&raw)?
                }
            };
            if accepts {
                accepting.extend(nodes.iter().copied());
            }
        }
        Ok(accepting)
    }

    /// What stands at a path that does not exist yet; `None` if nothing is to be created.
    fn create(&mut self, nodes: &[&UpdateNode]) -> Result<Option<Bson>> {
        if let [UpdateNode::Leaf(operator)] = nodes {
            return self.create_leaf(operator);
        }
        let merged = self.merge(nodes)?;
        if has_filters(&merged) {
            return Err(self.needs_array());
        }
        let mut document = Document::new();
        for (part, nodes) in &merged {
            let Part::Name(Name(name)) = part else {
                continue;
            };
            let mark = self.enter(name);
            if let Some(value) = self.create(nodes)? {
                document.insert(name.clone(), value);
            }
            self.path.truncate(mark);
        }
        Ok((!document.is_empty()).then_some(Bson::Document(document)))
    }

    fn needs_array(&self) -> CommandError {
        Code::BadValue.error(format!(
            "The path '{}' must exist in the document in order to apply array updates.",
            self.path
        ))
    }

    /// `part` cannot exist in `value`; an error unless all that would happen there is taking away.
    fn dead_end(&self, part: &Part, nodes: &[&UpdateNode], value: &Bson) -> Result<()> {
        let Part::Name(Name(name)) = part else {
            return Err(self.needs_array());
        };
        if nodes.iter().all(|node| self.accepts_dead_path(node)) {
            return Ok(());
        }
        Err(Code::PathNotViable.error(format!(
            "Cannot create field '{name}' in element {{{}}}",
            display::element(self.field(), value)
        )))
    }

    fn accepts_dead_path(&self, node: &UpdateNode) -> bool {
        match node {
            UpdateNode::Leaf(Operator::RenameTo(number)) => {
                !matches!(self.renamed.get(*number), Some(Some(_)))
            }
            UpdateNode::Leaf(operator) => operator.accepts_dead_path(self.is_insert),
            UpdateNode::Inner(children) => children
                .iter()
                .all(|(part, child)| !part.is_filtered() && self.accepts_dead_path(child)),
        }
    }

    /// Steps down; the caller truncates the path to what this returns.
    fn enter(&mut self, name: &str) -> usize {
        let mark = self.path.len();
        if mark > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        mark
    }
}

fn has_filters(merged: &Merged<'_>) -> bool {
    merged.keys().next().is_some_and(Part::is_filtered)
}
