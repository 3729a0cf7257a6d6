//! Answers the engine's questions for modules: those of the script from its catalogue, the native ones from their table.

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module, Result};

use crate::natives;
use crate::natives::stop::no_module;
use crate::raw::state_of;
use crate::resolve::Target;

pub(crate) struct Modules;

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let vu = state_of(ctx);
        let target = vu.worker.catalogue.resolve(base, name);
        target
            .map(|target| target.id())
            .map_err(|message| no_module(ctx, &vu, name, &message))
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if let Some(Target::Native(native)) = Target::from_id(name) {
            return natives::declare(ctx, native);
        }
        state_of(ctx).worker.catalogue.declare(ctx, name)
    }
}
