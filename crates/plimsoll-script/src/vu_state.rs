//! What the native functions of one virtual user share, and what all of a worker's share.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::MetricId;
use rquickjs::{Ctx, Object, Persistent, Result, Value};

use crate::host::{ConsoleLine, Host, LogLevel};
use crate::http::address::Addresses;
use crate::http::session::HttpSession;
use crate::loader::Catalogue;
use crate::raw::{Account, Slot};
use crate::rejections::Rejections;
use crate::settings::Settings;
use crate::tags::{TagSetId, TagTable};
use crate::timers::Timers;
use crate::turn::{End, Iteration, Scenario};

/// What all virtual users of a worker share.
pub(crate) struct WorkerState {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) settings: Settings,
    pub(crate) catalogue: Catalogue,
    pub(crate) tags: Rc<RefCell<TagTable>>,
    pub(crate) account: Rc<Account>,
    pub(crate) addresses: Addresses,
    /// Ends every script that is running, on any thread.
    pub(crate) stop: Arc<AtomicBool>,
    /// Interrupt checks since the last resume.
    ticks: Cell<u64>,
    was_interrupted: Cell<bool>,
    warned_of_tags: Cell<bool>,
}

impl WorkerState {
    pub(crate) fn new(
        host: Rc<dyn Host>,
        settings: Settings,
        catalogue: Catalogue,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            host,
            settings,
            catalogue,
            tags: Rc::default(),
            account: Rc::default(),
            addresses: Addresses::default(),
            stop,
            ticks: Cell::new(0),
            was_interrupted: Cell::new(false),
            warned_of_tags: Cell::new(false),
        }
    }

    /// A new slice of running begins.
    pub(crate) fn refill(&self) {
        self.ticks.set(0);
        self.was_interrupted.set(false);
        self.account.allow(self.settings.limits.memory_bytes);
    }

    /// The engine's question while a script runs: stop it?
    pub(crate) fn should_stop(&self) -> bool {
        let ticks = self.ticks.get() + 1;
        self.ticks.set(ticks);
        let stops = ticks > self.settings.limits.ticks || self.stop.load(Ordering::Relaxed);
        if stops {
            self.was_interrupted.set(true);
        }
        stops
    }

    /// Whether the script that just ended was stopped, and why.
    pub(crate) fn interruption(&self) -> Option<&'static str> {
        if !self.was_interrupted.get() {
            return None;
        }
        if self.ticks.get() > self.settings.limits.ticks {
            return Some("the script ran without a pause for longer than its budget");
        }
        Some("the test was stopped")
    }

    pub(crate) fn warn(&self, message: &str) {
        self.host.console(&ConsoleLine {
            level: LogLevel::Warning,
            message,
            source: None,
        });
    }

    /// A native function panicked: a fault of ours, which must be seen.
    pub(crate) fn note_fault(&self, function: &str) {
        let message = format!("internal fault in {function}; the iteration ends, please report it");
        self.host.console(&ConsoleLine {
            level: LogLevel::Error,
            message: &message,
            source: None,
        });
    }

    /// The set with one tag added.
    pub(crate) fn tag(&self, base: TagSetId, name: &str, value: &str) -> TagSetId {
        let mut table = self.tags.borrow_mut();
        let id = table.with(base, name, value);
        if table.is_full() && !self.warned_of_tags.replace(true) {
            drop(table);
            self.warn(
                "more than 50,000 tag sets: new names, URLs and values of your own tags become \"(too many \
                 values)\"; give requests with varying URLs a fixed `tags: { name: … }` or use http.url",
            );
        }
        id
    }
}

/// What the native functions of one virtual user share.
pub(crate) struct VuState {
    pub(crate) worker: Rc<WorkerState>,
    pub(crate) slot: Slot,
    /// Name of the entry module.
    pub(crate) entry: RefCell<String>,
    /// What the entry module exports; none until its init code is over.
    pub(crate) exports: RefCell<Option<Persistent<Object<'static>>>>,
    pub(crate) iteration: RefCell<Iteration>,
    /// Its context is that of other virtual users too.
    pub(crate) shares_context: bool,
    /// Objects that native code makes once for each virtual user.
    pub(crate) cached:
        RefCell<std::collections::BTreeMap<&'static str, Persistent<Object<'static>>>>,
    /// The scenario whose variables `__ENV` holds.
    pub(crate) env_of: RefCell<Option<Rc<Scenario>>>,
    /// Tags of every sample from here on: run, scenario, group and `exec.vu.metrics.tags`.
    pub(crate) tags: Cell<TagSetId>,
    /// `::outer::inner`, empty at the root.
    pub(crate) group: RefCell<String>,
    /// Set when a native function ended the iteration, so that the exception that follows is not one.
    pub(crate) ending: RefCell<Option<End>>,
    pub(crate) rng: RefCell<Rng>,
    pub(crate) http: HttpSession,
    pub(crate) timers: Timers,
    pub(crate) rejections: Rejections,
    /// Requests whose promises are not settled; only `natives::http::waiting`, which stands above, knows what they are.
    pub(crate) waiting: RefCell<Vec<Box<dyn Any>>>,
    /// The parsed argument of the functions, with the text that it was parsed from.
    pub(crate) data: RefCell<Option<(Rc<str>, Persistent<Value<'static>>)>>,
    /// Modules of the `require` kind, by name.
    pub(crate) required: RefCell<std::collections::BTreeMap<String, Persistent<Value<'static>>>>,
}

impl VuState {
    pub(crate) fn new(worker: Rc<WorkerState>, vu_in_test: u64, shares_context: bool) -> Self {
        let seed = worker.settings.seed;
        let iteration = Iteration {
            vu_in_test,
            ..Iteration::default()
        };
        Self {
            worker,
            slot: Slot::default(),
            entry: RefCell::default(),
            exports: RefCell::default(),
            iteration: RefCell::new(iteration),
            shares_context,
            cached: RefCell::default(),
            env_of: RefCell::default(),
            tags: Cell::default(),
            group: RefCell::default(),
            ending: RefCell::default(),
            rng: RefCell::new(Rng::new(seed, vu_in_test)),
            http: HttpSession::default(),
            timers: Timers::default(),
            rejections: Rejections::default(),
            waiting: RefCell::default(),
            data: RefCell::default(),
            required: RefCell::default(),
        }
    }

    pub(crate) fn is_init(&self) -> bool {
        self.exports.borrow().is_none()
    }

    /// Lets go of everything inside the engine; call before the context goes.
    pub(crate) fn release(&self) {
        self.slot.release();
        self.exports.borrow_mut().take();
        self.cached.borrow_mut().clear();
        self.data.borrow_mut().take();
        self.required.borrow_mut().clear();
        self.timers.clear();
        self.rejections.clear();
        self.waiting.borrow_mut().clear();
        self.http.release();
    }

    /// The object of that name, made at the first call.
    pub(crate) fn cached<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &'static str,
        make: impl FnOnce(&Ctx<'js>) -> Result<Object<'js>>,
    ) -> Result<Object<'js>> {
        let known = self.cached.borrow().get(name).cloned();
        if let Some(known) = known {
            return known.restore(ctx);
        }
        let made = make(ctx)?;
        self.cache(ctx, name, made.clone());
        Ok(made)
    }

    pub(crate) fn cache<'js>(&self, ctx: &Ctx<'js>, name: &'static str, object: Object<'js>) {
        let object = Persistent::save(ctx, object);
        self.cached.borrow_mut().insert(name, object);
    }

    pub(crate) fn now(&self) -> Nanos {
        self.worker.host.now()
    }

    /// The tags of now as they are outside of any group.
    pub(crate) fn root_tags(&self) -> TagSetId {
        let tags = self.tags.get();
        if self.worker.settings.system_tags.group && !self.group.borrow().is_empty() {
            return self.worker.tag(tags, "group", "");
        }
        tags
    }

    pub(crate) fn sample(&self, metric: MetricId, value: f64, tags: TagSetId) {
        self.worker.host.sample(metric, value, tags);
    }
}
