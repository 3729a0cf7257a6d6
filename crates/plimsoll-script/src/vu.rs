//! One engine per worker thread, and the virtual users that live in it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use rquickjs::{Context, Ctx};

use crate::error::ScriptError;
use crate::init;
use crate::iteration;
use crate::modules::Modules;
use crate::raw::{Account, Anchor, CountingAllocator, Fiber, StackPool, attach, track_rejections};
use crate::realm::Realm;
use crate::realm::shareable::Shareable;
use crate::tags::TagSetId;
use crate::turn::{End, Resumption, Suspension};
use crate::vu_state::{VuState, WorkerState};

/// An engine with its memory: one per worker, or one per virtual user if the script uses promises.
pub(crate) struct Engine {
    anchor: RefCell<Anchor>,
    /// The context of all its virtual users, if they share one.
    realm: Option<Rc<Realm>>,
    runtime: rquickjs::Runtime,
    stacks: StackPool,
}

impl Engine {
    pub(crate) fn new(
        worker: &Rc<WorkerState>,
        script: Option<&Shareable>,
    ) -> Result<Self, ScriptError> {
        let account: Rc<Account> = Rc::clone(&worker.account);
        worker.refill();
        let runtime = rquickjs::Runtime::new_with_alloc(CountingAllocator(account));
        let runtime = runtime.map_err(|error| engine_error(&error))?;
        runtime.set_loader(Modules, Modules);
        let state = Rc::downgrade(worker);
        runtime.set_interrupt_handler(Some(Box::new(move || {
            state.upgrade().is_none_or(|worker| worker.should_stop())
        })));
        track_rejections(&runtime);
        let anchor = Anchor::new(&runtime).map_err(|error| engine_error(&error))?;
        let realm = script.map(|script| Realm::new(&runtime, worker, script));
        let realm = realm.transpose().map_err(|error| engine_error(&error))?;
        Ok(Self {
            anchor: RefCell::new(anchor),
            realm: realm.map(Rc::new),
            runtime,
            stacks: StackPool::default(),
        })
    }
}

pub(crate) fn engine_error(error: &impl fmt::Display) -> ScriptError {
    ScriptError::Engine(error.to_string().into())
}

/// One virtual user: variables of its own, and at most one function under way.
pub struct Vu {
    fiber: Option<Fiber>,
    context: Context,
    pub(crate) state: Rc<VuState>,
    engine: Rc<Engine>,
}

impl fmt::Debug for Vu {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Vu").finish_non_exhaustive()
    }
}

impl Vu {
    pub(crate) fn new(
        engine: Rc<Engine>,
        worker: Rc<WorkerState>,
        vu_in_test: u64,
    ) -> Result<Self, ScriptError> {
        worker.refill();
        let context = match &engine.realm {
            Some(realm) => realm.context.clone(),
            None => Context::full(&engine.runtime).map_err(|error| engine_error(&error))?,
        };
        let shares_context = engine.realm.is_some();
        let state = Rc::new(VuState::new(worker, vu_in_test, shares_context));
        attach(&context, &state);
        Ok(Self {
            fiber: None,
            context,
            state,
            engine,
        })
    }

    /// Runs the init code of the module `entry`.
    pub(crate) fn initialise(&mut self, entry: &str) -> Result<(), ScriptError> {
        entry.clone_into(&mut self.state.entry.borrow_mut());
        let realm = self.engine.realm.clone();
        self.start(move |ctx, vu, _got| init::run(ctx, vu, realm.as_deref()))?;
        match self.turn(Resumption::Slept) {
            Suspension::Done(End::Ok { .. }) => Ok(()),
            Suspension::Done(end) => Err(init::error_of(&self.state, &end)),
            // Init code cannot wait: the native functions refuse.
            Suspension::Http(_) | Suspension::Sleep(_) => {
                Err(ScriptError::Engine("init code waited".into()))
            }
        }
    }

    /// Goes on until the next suspension. [`Resumption::Start`] only after [`Suspension::Done`] or on a new virtual user;
    /// anything else only after a suspension that it answers.
    pub fn resume(&mut self, resumption: Resumption) -> Suspension {
        if matches!(resumption, Resumption::Start(_))
            && let Err(error) = self.start(iteration::run)
        {
            return Suspension::Done(iteration::not_started(&self.state, &error));
        }
        self.turn(resumption)
    }

    /// Whether a function is under way.
    pub fn is_running(&self) -> bool {
        self.fiber.is_some()
    }

    /// The tags that it has now, as they are outside of any group: what its iteration as a whole is counted with.
    pub fn tags(&self) -> TagSetId {
        self.state.root_tags()
    }

    /// Runs something inside the context that neither waits nor runs script code for long.
    pub(crate) fn peek<T>(&self, read: impl FnOnce(&Ctx<'_>) -> T) -> T {
        attach(&self.context, &self.state);
        self.context.with(|ctx| read(&ctx))
    }

    fn start(
        &mut self,
        body: impl FnOnce(&Ctx<'_>, &Rc<VuState>, Resumption) -> End + 'static,
    ) -> Result<(), ScriptError> {
        self.end_running();
        let fiber = Fiber::new(&self.engine.stacks, &self.context, &self.state, body);
        let fiber = fiber.map_err(|error| {
            ScriptError::Engine(format!("no memory for another stack: {error}").into())
        })?;
        self.fiber = Some(fiber);
        Ok(())
    }

    fn turn(&mut self, resumption: Resumption) -> Suspension {
        let Some(fiber) = &mut self.fiber else {
            return Suspension::Done(End::Interrupted);
        };
        self.state.worker.refill();
        attach(&self.context, &self.state);
        let suspension = fiber.resume(&self.engine.stacks, resumption);
        self.engine.anchor.borrow_mut().reset();
        if matches!(suspension, Suspension::Done(_)) {
            self.fiber = None;
        }
        suspension
    }

    /// Ends a function under way. It may only wait a few times more: what it calls throws what it cannot catch.
    fn end_running(&mut self) {
        for _ in 0..8 {
            if self.fiber.is_none() {
                return;
            }
            self.turn(Resumption::Stop);
        }
        if let Some(mut fiber) = self.fiber.take() {
            fiber.leak();
        }
    }
}

impl Drop for Vu {
    fn drop(&mut self) {
        self.end_running();
        self.state.release();
        if let Some(realm) = &self.engine.realm {
            realm.rest();
        }
    }
}
