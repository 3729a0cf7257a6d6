//! A worker thread's engine, and the virtual users that are made in it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::ScriptError;
use crate::host::Host;
use crate::loader::Catalogue;
use crate::program::Program;
use crate::settings::Settings;
use crate::tags::TagTable;
use crate::vu::{Engine, Vu};
use crate::vu_state::WorkerState;

/// What the virtual users of one worker thread share: create it on that thread.
pub struct Runtime {
    worker: Rc<WorkerState>,
    program: Arc<Program>,
    shared: Option<Rc<Engine>>,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Runtime").finish_non_exhaustive()
    }
}

impl Runtime {
    /// `stop` ends every running script at its next interrupt check; any thread may set it.
    pub fn new(
        program: &Arc<Program>,
        settings: Settings,
        host: Rc<dyn Host>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, ScriptError> {
        let catalogue = Catalogue::Ready(Arc::clone(&program.inventory));
        let worker = Rc::new(WorkerState::new(host, settings, catalogue, stop));
        let uses_promises = program.inventory.uses_promises;
        let shared = if uses_promises {
            None
        } else {
            let script = program.inventory.shareable.as_deref();
            Some(Rc::new(Engine::new(&worker, script)?))
        };
        Ok(Self {
            worker,
            program: Arc::clone(program),
            shared,
        })
    }

    /// The tag sets of this worker's samples.
    pub fn tags(&self) -> Rc<RefCell<TagTable>> {
        Rc::clone(&self.worker.tags)
    }

    /// Bytes that the engine holds for all virtual users.
    pub fn memory_bytes(&self) -> usize {
        self.worker.account.held_bytes()
    }

    /// A new virtual user: runs the init code. `vu_in_test` counts from 1; 0 is for setup and teardown.
    pub fn vu(&self, vu_in_test: u64) -> Result<Vu, ScriptError> {
        let engine = match &self.shared {
            Some(shared) => Rc::clone(shared),
            None => Rc::new(Engine::new(&self.worker, None)?),
        };
        let mut vu = Vu::new(engine, Rc::clone(&self.worker), vu_in_test)?;
        vu.initialise(&self.program.entry)?;
        Ok(vu)
    }
}
