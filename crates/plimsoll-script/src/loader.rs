//! Finds, compiles and hands out the modules of a program.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_core::metrics::Metric;
use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{Ctx, Exception, Module, Result};

use crate::error::{Position, ScriptError};
use crate::imports;
use crate::raw::load_module;
use crate::realm::shareable::Shareable;
use crate::resolve::{Target, file_id, resolve};
use crate::source;
use crate::sources::Sources;
use crate::typescript::{self, SourceMap};

/// One module of the script, ready to be loaded into any context.
#[derive(Debug, Clone)]
pub(crate) enum Compiled {
    /// Bytecode without source text, with line numbers.
    Module(Arc<[u8]>),
    /// The text of a module that uses `require` and `module.exports`.
    Common(Arc<str>),
}

/// Everything that the first run of the init code found.
#[derive(Debug, Default, Clone)]
pub(crate) struct Inventory {
    pub(crate) modules: BTreeMap<String, Compiled>,
    pub(crate) files: BTreeMap<PathBuf, Arc<[u8]>>,
    pub(crate) metrics: Vec<Metric>,
    /// The elements of shared arrays by name, each as JSON.
    pub(crate) arrays: BTreeMap<String, Arc<[Box<str>]>>,
    pub(crate) uses_promises: bool,
    /// It may ask which members an object has.
    pub(crate) looks_at_members: bool,
    /// From generated code back to `.ts` files, by module.
    pub(crate) maps: BTreeMap<String, Arc<SourceMap>>,
    /// Its modules as functions, if its virtual users may share a context.
    pub(crate) shareable: Option<Arc<Shareable>>,
    /// The names that others import from modules of the `require` kind.
    pub(crate) asked: BTreeMap<String, BTreeSet<String>>,
    /// What `__ENV` holds.
    pub(crate) env: Vec<(String, String)>,
}

/// The first run of the init code: reads, compiles and remembers.
pub(crate) struct Loading {
    pub(crate) sources: Rc<dyn Sources>,
    pub(crate) inventory: RefCell<Inventory>,
    /// Texts by module, to find the line of an import.
    texts: RefCell<BTreeMap<String, String>>,
    /// The first built-in member that the init code changed.
    pub(crate) changed: RefCell<Option<String>>,
    /// The first thing that went wrong with a module, in its own words.
    pub(crate) problem: RefCell<Option<ScriptError>>,
}

impl Loading {
    pub(crate) fn new(sources: Rc<dyn Sources>) -> Self {
        Self {
            sources,
            inventory: RefCell::default(),
            texts: RefCell::default(),
            changed: RefCell::default(),
            problem: RefCell::default(),
        }
    }

    /// What the init code ran as functions, or why every virtual user needs a context of its own.
    pub(crate) fn shareable(&self, entry: &str) -> std::result::Result<Shareable, String> {
        if let Some(what) = &*self.changed.borrow() {
            return Err(format!("the init code changes {what}"));
        }
        let inventory = self.inventory.borrow();
        if inventory.uses_promises {
            return Err("it uses promises".to_owned());
        }
        let is_module = |id: &str| matches!(inventory.modules.get(id), Some(Compiled::Module(_)));
        let texts = self.texts.borrow();
        let texts = texts.iter().filter(|(id, _)| is_module(id));
        let texts = texts.map(|(id, text)| (id.clone(), text.clone())).collect();
        Shareable::new(entry, &texts, |base, specifier| {
            resolve(base, specifier).ok()
        })
    }

    /// Leaves the variables that some module names; all of them, where one reaches for names that are not written out.
    pub(crate) fn keep_named(&self, variables: &mut Vec<(String, String)>) {
        let texts = self.texts.borrow();
        let named: Option<Vec<Vec<&str>>> = texts
            .values()
            .map(|text| source::variables_named(text))
            .collect();
        if let Some(named) = named {
            variables.retain(|(name, _)| named.iter().flatten().any(|known| known == name));
        }
    }

    fn refuse(&self, base: &str, specifier: &str, message: String) -> String {
        let texts = self.texts.borrow();
        let mut place = texts.get(base).map_or_else(Position::default, |text| {
            source::import_position(text, specifier)
        });
        place.file = base.strip_prefix("file://").unwrap_or(base).into();
        let problem = ScriptError::Import {
            place,
            message: message.clone().into(),
        };
        self.problem.borrow_mut().get_or_insert(problem);
        message
    }
}

/// Where a context gets its modules from.
pub(crate) enum Catalogue {
    Loading(Box<Loading>),
    Ready(Arc<Inventory>),
}

impl Catalogue {
    /// What has been found, while loading or after.
    pub(crate) fn look<T>(&self, read: impl FnOnce(&Inventory) -> T) -> T {
        match self {
            Self::Loading(loading) => read(&loading.inventory.borrow()),
            Self::Ready(inventory) => read(inventory),
        }
    }

    /// The loading side, during the first run of the init code only.
    pub(crate) fn loading(&self) -> Option<&Loading> {
        match self {
            Self::Loading(loading) => Some(loading),
            Self::Ready(_) => None,
        }
    }

    /// Resolves an import and, while loading, checks that the file exists.
    pub(crate) fn resolve(
        &self,
        base: &str,
        specifier: &str,
    ) -> std::result::Result<Target, String> {
        let target = resolve(base, specifier);
        let Some(loading) = self.loading() else {
            return target;
        };
        let target = target.map_err(|message| loading.refuse(base, specifier, message))?;
        if let Target::File(path) = &target {
            self.compiled(&target.id())
                .map_or_else(|| loading.read_text(path).map(|_| ()), |_| Ok(()))
                .map_err(|why| {
                    let message = missing_file(specifier, path, &why, &*loading.sources);
                    loading.refuse(base, specifier, message)
                })?;
        }
        Ok(target)
    }

    fn compiled(&self, id: &str) -> Option<Compiled> {
        self.look(|inventory| inventory.modules.get(id).cloned())
    }

    /// The text of a `require` module; none if it is an ES module.
    pub(crate) fn common_text(&self, path: &Path) -> std::result::Result<Option<Arc<str>>, String> {
        let id = file_id(path);
        match (self.compiled(&id), self.loading()) {
            (Some(Compiled::Common(text)), _) => Ok(Some(text)),
            (Some(Compiled::Module(_)), _) => Ok(None),
            (None, None) => Err(format!(
                "{id} was not loaded by the first run of the init code"
            )),
            (None, Some(loading)) => {
                let text = loading.read_text(path)?;
                if !source::is_common(&text) {
                    return Ok(None);
                }
                Ok(Some(loading.common_module(&id, text)))
            }
        }
    }

    pub(crate) fn declare<'js>(&self, ctx: &Ctx<'js>, id: &str) -> Result<Module<'js, Declared>> {
        match self.compiled(id) {
            Some(Compiled::Module(bytecode)) => return load_module(ctx, &bytecode),
            Some(Compiled::Common(text)) => {
                let asked = self.look(|inventory| inventory.asked.get(id).cloned());
                let bridge = source::bridge_to_common(id, &text, &asked.unwrap_or_default());
                return Module::declare(ctx.clone(), id, bridge);
            }
            None => {}
        }
        if let Some(Target::Library(name)) = Target::from_id(id) {
            return Module::declare(ctx.clone(), id, library(name));
        }
        let Some(loading) = self.loading() else {
            let message = format!("{id} was not imported by the first run of the init code");
            return Err(Exception::throw_reference(ctx, &message));
        };
        let text = match Target::from_id(id) {
            Some(Target::File(path)) => {
                let text = loading.read_text(&path);
                text.map_err(|why| Exception::throw_reference(ctx, &why))?
            }
            _ => return Err(Exception::throw_reference(ctx, &format!("no module {id}"))),
        };
        if source::is_common(&text) {
            let asked = loading.asked_of(id);
            let bridge = source::bridge_to_common(id, &text, &asked);
            loading.common_module(id, text);
            let mut inventory = loading.inventory.borrow_mut();
            inventory.asked.insert(id.to_owned(), asked);
            drop(inventory);
            return Module::declare(ctx.clone(), id, bridge);
        }
        loading.compile(ctx, id, text)
    }
}

impl Loading {
    /// The names under which other modules import from this one, of all that can be reached from what is known.
    fn asked_of(&self, id: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut left: Vec<String> = self.texts.borrow().keys().cloned().collect();
        let mut seen: BTreeSet<String> = left.iter().cloned().collect();
        while let Some(from) = left.pop() {
            let text = self.texts.borrow().get(&from).cloned();
            let Some(text) = text.filter(|text| text.contains("import") || text.contains("export"))
            else {
                continue;
            };
            for asked in imports::names_asked(&text) {
                let Ok(target @ Target::File(_)) = resolve(&from, &asked.specifier) else {
                    continue;
                };
                let to = target.id();
                if to == id {
                    names.extend(asked.names);
                }
                if let Target::File(path) = &target
                    && seen.insert(to.clone())
                    && self.read_text(path).is_ok()
                {
                    left.push(to);
                }
            }
        }
        names
    }

    /// The text of a script file as JavaScript.
    fn read_text(&self, path: &Path) -> std::result::Result<String, String> {
        let id = file_id(path);
        if let Some(text) = self.texts.borrow().get(&id) {
            return Ok(text.clone());
        }
        let bytes = self.sources.read(path).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let text = self.to_javascript(path, text).map_err(|error| {
            let message = error.to_string();
            self.problem.borrow_mut().get_or_insert(error);
            message
        })?;
        self.texts.borrow_mut().insert(id, text.clone());
        Ok(text)
    }

    /// Takes the types out of `.ts` files.
    fn to_javascript(&self, path: &Path, text: String) -> std::result::Result<String, ScriptError> {
        let is_typescript = path.extension().is_some_and(|extension| extension == "ts");
        if !is_typescript {
            return Ok(text);
        }
        let (code, map) = typescript::strip(path, &text)?;
        let maps = &mut self.inventory.borrow_mut().maps;
        maps.insert(file_id(path), Arc::new(map));
        Ok(code)
    }

    fn common_module(&self, id: &str, text: String) -> Arc<str> {
        let mut inventory = self.inventory.borrow_mut();
        inventory.uses_promises |= source::uses_promises(&text);
        inventory.looks_at_members |= source::looks_at_members(&text);
        let text: Arc<str> = text.into();
        let compiled = Compiled::Common(Arc::clone(&text));
        inventory.modules.insert(id.to_owned(), compiled);
        text
    }

    fn compile<'js>(
        &self,
        ctx: &Ctx<'js>,
        id: &str,
        text: String,
    ) -> Result<Module<'js, Declared>> {
        let uses_promises = source::uses_promises(&text);
        let looks_at_members = source::looks_at_members(&text);
        let module = Module::declare(ctx.clone(), id, text)?;
        let bytecode = module.write(WriteOptions {
            strip_source: true,
            ..WriteOptions::default()
        })?;
        let mut inventory = self.inventory.borrow_mut();
        inventory.uses_promises |= uses_promises;
        inventory.looks_at_members |= looks_at_members;
        let compiled = Compiled::Module(bytecode.into());
        inventory.modules.insert(id.to_owned(), compiled);
        Ok(module)
    }
}

/// The part of a helper library of ours that is JavaScript.
fn library(name: &str) -> &'static str {
    match name {
        "k6-summary" => include_str!("libraries/k6-summary.js"),
        _ => include_str!("libraries/k6-utils.js"),
    }
}

fn missing_file(specifier: &str, path: &Path, why: &str, sources: &dyn Sources) -> String {
    let has_extension = path.extension().is_some();
    for extension in ["js", "ts", "mjs"] {
        let mut full = path.as_os_str().to_owned();
        full.push(".");
        full.push(extension);
        if !has_extension && sources.read(Path::new(&full)).is_ok() {
            return format!(
                "cannot import {specifier:?}: imports need the full file name; write \"{specifier}.{extension}\""
            );
        }
    }
    format!(
        "cannot import {specifier:?}: {}: {why}; paths start from the importing file",
        path.display()
    )
}
