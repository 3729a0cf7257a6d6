//! A script, loaded: its modules compiled, its init code run once.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_core::metrics::Metric;
use rquickjs::object::Filter;
use rquickjs::{Object, Persistent, Value};

use crate::error::ScriptError;
use crate::host::Host;
use crate::loader::{Catalogue, Inventory, Loading};
use crate::resolve::{file_id, normalise};
use crate::settings::Settings;
use crate::sources::Sources;
use crate::vu::{Engine, Vu, engine_error};
use crate::vu_state::WorkerState;

/// What [`Program::load`] needs.
pub struct Load {
    pub sources: Rc<dyn Sources>,
    /// Absolute path of the script; for standard input, a file name in the working directory.
    pub entry: PathBuf,
    /// What scripts see as `__ENV`.
    pub env: Vec<(String, String)>,
    /// Variables of the process, below those: of these a virtual user has the ones that the script names.
    pub surroundings: Vec<(String, String)>,
    /// Takes the log lines of the init code.
    pub host: Rc<dyn Host>,
    pub settings: Settings,
    /// Virtual users share a context if the script allows it; false gives each its own in any case.
    pub shares_context: bool,
    /// Ends a script that does not end by itself.
    pub stop: Arc<AtomicBool>,
}

impl std::fmt::Debug for Load {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Load")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// A loaded script; shared by all worker threads.
#[derive(Debug)]
pub struct Program {
    pub(crate) entry: String,
    pub(crate) inventory: Arc<Inventory>,
    options: serde_json::Value,
    functions: Vec<Box<str>>,
    own_context_because: Option<String>,
    surroundings: Vec<(String, String)>,
}

impl Program {
    /// Reads the script and what it imports, compiles it and runs its init code once, with `__VU` 0.
    pub fn load(load: Load) -> Result<Self, ScriptError> {
        let entry = normalise(&load.entry);
        check_readable(&*load.sources, &entry)?;
        let loading = Loading::new(load.sources);
        let is_given = |name: &str| load.env.iter().any(|(given, _)| given == name);
        let mut around = load.surroundings;
        around.retain(|(name, _)| !is_given(name));
        loading.inventory.borrow_mut().env = [&around[..], &load.env[..]].concat();
        let catalogue = Catalogue::Loading(Box::new(loading));
        let worker = Rc::new(WorkerState::new(
            load.host,
            load.settings,
            catalogue,
            load.stop,
        ));
        let engine = Rc::new(Engine::new(&worker, None)?);
        let mut vu = Vu::new(engine, Rc::clone(&worker), 0)?;
        let entry = file_id(&entry);
        vu.initialise(&entry)?;
        let (options, functions) = exports_of(&vu)?;
        drop(vu);
        let mut inventory = worker.catalogue.look(Clone::clone);
        if let Some(loading) = worker.catalogue.loading() {
            loading.keep_named(&mut around);
            inventory.env = [&around[..], &load.env[..]].concat();
        }
        let shareable = match worker.catalogue.loading().filter(|_| load.shares_context) {
            Some(loading) => loading.shareable(&entry),
            None => Err("it was not asked for".to_owned()),
        };
        let own_context_because = shareable.as_ref().err().cloned();
        inventory.shareable = shareable.ok().map(Arc::new);
        Ok(Self {
            entry,
            options,
            functions,
            own_context_because,
            surroundings: around,
            inventory: Arc::new(inventory),
        })
    }

    /// What the script exports as `options`; null if it does not.
    pub fn options(&self) -> &serde_json::Value {
        &self.options
    }

    /// Every function that the script exports: `default`, `setup`, `teardown`, `handleSummary` and those that
    /// scenarios may name.
    pub fn functions(&self) -> &[Box<str>] {
        &self.functions
    }

    /// The metrics that the script declares, in its order: a store registers them in it.
    pub fn declared(&self) -> &[Metric] {
        &self.inventory.metrics
    }

    /// Variables of the process that the script may read: those that it names, or all.
    pub fn surroundings(&self) -> &[(String, String)] {
        &self.surroundings
    }

    /// Whether the script uses promises, and so takes an engine runtime for each virtual user.
    pub fn uses_promises(&self) -> bool {
        self.inventory.uses_promises
    }

    /// Why every virtual user takes an engine context of its own, with the code of the script once more; none if
    /// they share one.
    pub fn own_context_because(&self) -> Option<&str> {
        self.own_context_because.as_deref()
    }

    /// Refuses a function that the script does not export, as k6 does before the load starts.
    pub fn require_function(&self, name: &str) -> Result<(), ScriptError> {
        if self.functions.iter().any(|known| &**known == name) {
            return Ok(());
        }
        let fix = match name {
            "default" => "default function () { … }".to_owned(),
            name => format!("function {name}() {{ … }}"),
        };
        Err(ScriptError::MissingFunction {
            file: self.entry.trim_start_matches("file://").into(),
            name: name.into(),
            known: if self.functions.is_empty() {
                "none".into()
            } else {
                self.functions.join(", ").into()
            },
            fix: fix.into(),
        })
    }
}

fn check_readable(sources: &dyn Sources, entry: &Path) -> Result<(), ScriptError> {
    let read = sources.read(entry);
    read.map(|_| ()).map_err(|error| ScriptError::NotFound {
        path: entry.display().to_string().into(),
        why: error.to_string().into(),
    })
}

fn exports_of(vu: &Vu) -> Result<(serde_json::Value, Vec<Box<str>>), ScriptError> {
    let exports = vu.state.exports.borrow().clone();
    let Some(exports) = exports else {
        return Err(ScriptError::Engine("the init code left no exports".into()));
    };
    vu.peek(|ctx| read_exports(ctx, exports))
        .map_err(|error| engine_error(&error))
}

fn read_exports(
    ctx: &rquickjs::Ctx<'_>,
    exports: Persistent<Object<'static>>,
) -> rquickjs::Result<(serde_json::Value, Vec<Box<str>>)> {
    let exports = exports.restore(ctx)?;
    let mut functions = Vec::new();
    for name in exports.own_keys::<String>(Filter::new().string().enum_only()) {
        let name = name?;
        if exports.get::<_, Value<'_>>(&*name)?.is_function() {
            functions.push(name.into());
        }
    }
    let options = ctx.json_stringify(exports.get::<_, Value<'_>>("options")?)?;
    let options = match options {
        Some(json) => serde_json::from_str(&json.to_string()?).unwrap_or_default(),
        None => serde_json::Value::Null,
    };
    Ok((options, functions))
}
