//! Walks a document and a projection side by side and writes what goes out.

use bson::raw::RawDocument;

use super::{Fork, Mode, Projection, ProjectionNode, Slice};
use crate::error::{Code, Result};
use crate::expression::{Expression, Variables};
use crate::value::{Element, Fields, Value, Writer, kind};

#[derive(Debug)]
pub(super) struct Walk<'d> {
    pub(super) mode: Mode,
    pub(super) positional: Option<usize>,
    /// What expressions are about.
    pub(super) document: &'d RawDocument,
    pub(super) variables: &'d Variables,
}

impl Walk<'_> {
    pub(super) fn root(
        &self,
        projection: &Projection,
        document: Fields<'_>,
        out: &mut Writer,
    ) -> Result<()> {
        for element in document.elements() {
            let node = find(&projection.root, element.name);
            if element.name == b"_id" && node.is_none() {
                if projection.keeps_id {
                    out.element(&element);
                }
                continue;
            }
            self.element(&element, node, false, out)?;
        }
        self.computed(&projection.root, document, out)
    }

    /// A document on the path. `is_cut` once an array on a positional path was reduced.
    fn fields(
        &self,
        fork: &Fork,
        document: Fields<'_>,
        is_cut: bool,
        out: &mut Writer,
    ) -> Result<()> {
        for element in document.elements() {
            self.element(&element, find(fork, element.name), is_cut, out)?;
        }
        self.computed(fork, document, out)
    }

    fn element(
        &self,
        element: &Element<'_>,
        node: Option<&ProjectionNode>,
        is_cut: bool,
        out: &mut Writer,
    ) -> Result<()> {
        match node {
            None => {
                if self.mode != Mode::Inclusion {
                    out.element(element);
                }
            }
            Some(ProjectionNode::Field) => {
                if self.mode == Mode::Inclusion {
                    out.element(element);
                }
            }
            Some(ProjectionNode::Positional) => match element.value() {
                Value::Array(array) if !is_cut => {
                    let positioned = self.positioned(array)?;
                    out.begin(kind::ARRAY, element.name);
                    out.element(&positioned);
                    out.end();
                }
                _ => out.element(element),
            },
            Some(ProjectionNode::Slice(slice)) => match element.value() {
                Value::Array(array) => {
                    out.begin(kind::ARRAY, element.name);
                    sliced(*slice, array, out);
                    out.end();
                }
                _ => out.element(element),
            },
            Some(ProjectionNode::ElemMatch(condition)) => {
                if let Value::Array(array) = element.value() {
                    let place = condition.matching_element(&element.value());
                    if let Some(error) = condition.take_failure() {
                        return Err(error);
                    }
                    if let Some(found) = place.and_then(|place| array.elements().nth(place)) {
                        out.begin(kind::ARRAY, element.name);
                        out.element(&Element {
                            name: b"0",
                            ..found
                        });
                        out.end();
                    }
                }
            }
            Some(ProjectionNode::Computed(expression)) => {
                if self.mode == Mode::Addition {
                    self.value(expression, element.name, out)?;
                }
            }
            Some(ProjectionNode::Fork(fork)) => self.fork(element, fork, is_cut, out)?,
        }
        Ok(())
    }

    /// A field that the projection goes into.
    fn fork(
        &self,
        element: &Element<'_>,
        fork: &Fork,
        is_cut: bool,
        out: &mut Writer,
    ) -> Result<()> {
        match element.value() {
            Value::Document(inner) => {
                out.begin(kind::DOCUMENT, element.name);
                self.fields(fork, inner, is_cut, out)?;
                out.end();
            }
            Value::Array(array) if !is_cut && has_positional(fork) => {
                let one = self.positioned(array)?;
                out.begin(kind::ARRAY, element.name);
                self.array_element(&one, 0, fork, true, out)?;
                out.end();
            }
            Value::Array(array) => {
                out.begin(kind::ARRAY, element.name);
                self.array(fork, array, is_cut, out)?;
                out.end();
            }
            _ if has_computed(fork) => {
                self.made(fork, element.name, out)?;
            }
            _ if self.mode == Mode::Exclusion => out.element(element),
            _ => {}
        }
        Ok(())
    }

    fn value(&self, expression: &Expression, name: &[u8], out: &mut Writer) -> Result<()> {
        if let Some(value) = expression.evaluate(self.document, self.variables)? {
            out.bson(name, &value);
        }
        Ok(())
    }

    fn array(&self, fork: &Fork, array: Fields<'_>, is_cut: bool, out: &mut Writer) -> Result<()> {
        let mut index = 0;
        for element in array.elements() {
            if self.array_element(&element, index, fork, is_cut, out)? {
                index += 1;
            }
        }
        Ok(())
    }

    /// One element under the number `index`; whether it went out. An inclusion leaves out what holds no fields, unless values
    /// of their own make some.
    fn array_element(
        &self,
        element: &Element<'_>,
        index: usize,
        fork: &Fork,
        is_cut: bool,
        out: &mut Writer,
    ) -> Result<bool> {
        let name = index.to_string();
        match element.value() {
            Value::Document(inner) => {
                out.begin(kind::DOCUMENT, name.as_bytes());
                self.fields(fork, inner, is_cut, out)?;
                out.end();
            }
            Value::Array(inner) => {
                out.begin(kind::ARRAY, name.as_bytes());
                self.array(fork, inner, is_cut, out)?;
                out.end();
            }
            _ if has_computed(fork) => self.made(fork, name.as_bytes(), out)?,
            _ => {
                let stays = self.mode == Mode::Exclusion;
                if stays {
                    out.element(&Element {
                        name: name.as_bytes(),
                        ..*element
                    });
                }
                return Ok(stays);
            }
        }
        Ok(true)
    }

    /// Writes the values that replace a field or that the document lacks, in the projection's order.
    fn computed(&self, fork: &Fork, document: Fields<'_>, out: &mut Writer) -> Result<()> {
        for (name, node) in fork {
            match node {
                ProjectionNode::Computed(expression)
                    if self.mode != Mode::Addition || document.find(name).is_none() =>
                {
                    self.value(expression, name, out)?;
                }
                ProjectionNode::Fork(inner)
                    if has_computed(inner) && document.find(name).is_none() =>
                {
                    self.made(inner, name, out)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A document of nothing but values of their own.
    fn made(&self, fork: &Fork, name: &[u8], out: &mut Writer) -> Result<()> {
        out.begin(kind::DOCUMENT, name);
        self.computed(fork, Fields::EMPTY, out)?;
        out.end();
        Ok(())
    }

    /// The element that `$` stands for, under the name 0.
    fn positioned<'a>(&self, array: Fields<'a>) -> Result<Element<'a>> {
        let found = self
            .positional
            .and_then(|place| array.elements().nth(place));
        let Some(found) = found else {
            return Err(Code::Location(51246).error(
                "Executor error during find command :: caused by :: \
                 positional operator '.$' couldn't find a matching element in the array",
            ));
        };
        Ok(Element {
            name: b"0",
            ..found
        })
    }
}

fn find<'a>(fork: &'a Fork, name: &[u8]) -> Option<&'a ProjectionNode> {
    let found = fork.iter().find(|(given, _)| **given == *name);
    found.map(|(_, node)| node)
}

fn has_computed(fork: &Fork) -> bool {
    fork.iter().any(|(_, node)| match node {
        ProjectionNode::Computed(_) => true,
        ProjectionNode::Fork(inner) => has_computed(inner),
        _ => false,
    })
}

fn has_positional(fork: &Fork) -> bool {
    fork.iter().any(|(_, node)| match node {
        ProjectionNode::Positional => true,
        ProjectionNode::Fork(inner) => has_positional(inner),
        _ => false,
    })
}

fn sliced(slice: Slice, array: Fields<'_>, out: &mut Writer) {
    let count = i64::try_from(array.elements().count()).unwrap_or(i64::MAX);
    let (start, limit) = match slice {
        Slice::First(limit) => (0, limit),
        Slice::Last(limit) => (count.saturating_sub(limit).max(0), limit),
        Slice::Range { skip, limit } if skip < 0 => (count.saturating_add(skip).max(0), limit),
        Slice::Range { skip, limit } => (skip, limit),
    };
    let start = usize::try_from(start).unwrap_or(0);
    let limit = usize::try_from(limit).unwrap_or(0);
    for (index, element) in array.elements().skip(start).take(limit).enumerate() {
        let name = index.to_string();
        out.element(&Element {
            name: name.as_bytes(),
            ..element
        });
    }
}
