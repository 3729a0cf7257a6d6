//! A script whose virtual users may share a context: its modules as functions, in the order in which they run. Pure.

use std::collections::BTreeMap;

use super::factory::{Factory, from_module};
use crate::resolve::Target;

/// Where a module's imports come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Import {
    Native(&'static str),
    /// One of the modules before it.
    Module(usize),
}

/// A script whose virtual users may share a context: its modules as functions, each after those that it imports.
#[derive(Debug, Clone)]
pub(crate) struct Shareable {
    pub(super) modules: Vec<Linked>,
}

#[derive(Debug, Clone)]
pub(super) struct Linked {
    pub(super) id: String,
    pub(super) factory: Factory,
    pub(super) imports: Vec<Import>,
}

impl Shareable {
    /// Columns by which the first line of a module has moved.
    pub(crate) fn shift_of(&self, id: &str) -> u32 {
        let module = self.modules.iter().find(|module| module.id == id);
        module.map_or(0, |module| module.factory.shift)
    }

    pub(super) fn natives(&self) -> impl Iterator<Item = &'static str> {
        let imports = self.modules.iter().flat_map(|module| &module.imports);
        imports.filter_map(|import| match import {
            Import::Native(name) => Some(*name),
            Import::Module(_) => None,
        })
    }

    /// From the modules that the init code ran, by id, or why not.
    pub(crate) fn new(
        entry: &str,
        texts: &BTreeMap<String, String>,
        resolve: impl Fn(&str, &str) -> Option<Target>,
    ) -> Result<Self, String> {
        let mut order = Order {
            texts,
            resolve: &resolve,
            under_way: Vec::new(),
            modules: Vec::new(),
        };
        order.visit(entry)?;
        Ok(Self {
            modules: order.modules,
        })
    }
}

/// Walks the imports, the imported before the importing.
struct Order<'a, F> {
    texts: &'a BTreeMap<String, String>,
    resolve: &'a F,
    under_way: Vec<String>,
    modules: Vec<Linked>,
}

impl<F: Fn(&str, &str) -> Option<Target>> Order<'_, F> {
    fn visit(&mut self, id: &str) -> Result<usize, String> {
        if let Some(known) = self.modules.iter().position(|module| module.id == id) {
            return Ok(known);
        }
        let name = id.trim_start_matches("file://");
        if self.under_way.iter().any(|module| module == id) {
            return Err(format!("{name}: its imports lead back to it"));
        }
        let text = self.texts.get(id);
        let text = text.ok_or_else(|| format!("{name}: it is not an ES module"))?;
        let factory = from_module(text).map_err(|why| format!("{name}: {why}"))?;
        self.under_way.push(id.to_owned());
        let mut imports = Vec::with_capacity(factory.imports.len());
        for specifier in &factory.imports {
            imports.push(match (self.resolve)(id, specifier) {
                Some(Target::Native(native)) => Import::Native(native),
                Some(target @ Target::File(_)) => Import::Module(self.visit(&target.id())?),
                _ => return Err(format!("{name}: {specifier:?} cannot be shared")),
            });
        }
        self.under_way.pop();
        self.modules.push(Linked {
            id: id.to_owned(),
            factory,
            imports,
        });
        Ok(self.modules.len() - 1)
    }
}
