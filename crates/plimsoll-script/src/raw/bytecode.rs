//! Loads modules that this process compiled itself.

use rquickjs::module::Declared;
use rquickjs::{Ctx, Module, Result};

/// A module from the bytecode that `Module::write` made. Bytecode never comes from outside: only
/// [`crate::Program`] makes it, in this process, with this engine.
pub(crate) fn load_module<'js>(ctx: &Ctx<'js>, bytecode: &[u8]) -> Result<Module<'js, Declared>> {
    // SAFETY: see above; the engine trusts the bytes.
    unsafe { Module::load(ctx.clone(), bytecode) }
}
