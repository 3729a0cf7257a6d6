//! A context that serves all virtual users of a worker, if the script allows it.
//!
//! A context of its own costs a virtual user some 80 KiB before its first variable: the built-in objects, and the
//! code of the script once more. Instead one context holds both, every module is a function ([`factory`]) that is
//! called once per virtual user, and what the calls make belongs to that virtual user alone. Built-in objects are
//! sealed, so that no virtual user can leave anything in them for another. A script that changes them in its init
//! code, that could do so later, or that makes code out of text, gets a context per virtual user.

mod factory;
pub(crate) mod shareable;

use std::collections::BTreeMap;
use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::function::Args;
use rquickjs::{
    Array, Context, Ctx, Exception, Function, Module, Object, Persistent, Result, Value,
};

use crate::natives::globals;
use crate::raw::attach;
use crate::resolve::{LIBRARIES, NATIVE};
use crate::vu_state::{VuState, WorkerState};
use shareable::{Import, Linked, Shareable};

/// A shared context with the functions that make instances.
pub(crate) struct Realm {
    modules: Vec<Maker>,
    natives: Natives,
    /// Whose state native code finds while no virtual user runs.
    idle: Rc<VuState>,
    pub(crate) context: Context,
}

struct Maker {
    make: Persistent<Function<'static>>,
    imports: Vec<Import>,
}

impl std::fmt::Debug for Realm {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Realm").finish_non_exhaustive()
    }
}

impl Realm {
    pub(crate) fn new(
        runtime: &rquickjs::Runtime,
        worker: &Rc<WorkerState>,
        script: &Shareable,
    ) -> Result<Self> {
        let context = Context::full(runtime)?;
        let idle = Rc::new(VuState::new(Rc::clone(worker), 0, true));
        attach(&context, &idle);
        let (modules, natives) = context.with(|ctx| fill(&ctx, script))?;
        Ok(Self {
            modules,
            natives,
            idle,
            context,
        })
    }

    /// Runs the init code for the virtual user that runs: what the entry module exports.
    pub(crate) fn instantiate<'js>(&self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let mut made: Vec<Object<'js>> = Vec::with_capacity(self.modules.len());
        for module in &self.modules {
            let mut args = Args::new(ctx.clone(), module.imports.len());
            for import in &module.imports {
                args.push_arg(match import {
                    Import::Native(name) => self.natives[name].clone().restore(ctx)?,
                    Import::Module(index) => made[*index].clone(),
                })?;
            }
            let make = module.make.clone().restore(ctx)?;
            made.push(make.call_arg(args)?);
        }
        let entry = made.pop();
        entry.ok_or_else(|| Exception::throw_internal(ctx, "the script has no modules"))
    }

    /// No virtual user runs any more.
    pub(crate) fn rest(&self) {
        attach(&self.context, &self.idle);
    }
}

type Natives = BTreeMap<&'static str, Persistent<Object<'static>>>;

/// The script's modules as functions, and the native modules that they import.
fn fill(ctx: &Ctx<'_>, script: &Shareable) -> Result<(Vec<Maker>, Natives)> {
    globals::install(ctx)?;
    let built_in = BuiltIn::list(ctx)?;
    let mut natives = Natives::new();
    for name in script.natives() {
        natives.insert(name, Persistent::save(ctx, native(ctx, name)?));
    }
    let mut modules = Vec::with_capacity(script.modules.len());
    for module in &script.modules {
        modules.push(Maker {
            make: Persistent::save(ctx, compile(ctx, module)?),
            imports: module.imports.clone(),
        });
    }
    built_in.seal()?;
    Ok((modules, natives))
}

fn compile<'js>(ctx: &Ctx<'js>, module: &Linked) -> Result<Function<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some(module.id.clone());
    ctx.eval_with_options(&*module.factory.text, options)
}

/// What a native module exports.
fn native<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Object<'js>> {
    if LIBRARIES.contains(&name) {
        return Module::import(ctx, format!("https://jslib.k6.io/{name}/"))?.finish();
    }
    Module::import(ctx, name)?.finish()
}

/// The built-in objects of a context as they were when they were listed.
pub(crate) struct BuiltIn<'js> {
    functions: Object<'js>,
    listed: Array<'js>,
}

impl<'js> BuiltIn<'js> {
    /// Call after [`globals::install`] and before any code of the script.
    pub(crate) fn list(ctx: &Ctx<'js>) -> Result<Self> {
        globals::settle(ctx)?;
        let functions: Object<'js> = ctx.eval(include_str!("realm/built_in.js"))?;
        let roots = Object::new(ctx.clone())?;
        roots.set("globalThis", ctx.globals())?;
        for name in NATIVE.into_iter().chain(LIBRARIES) {
            let exports: Value<'js> = native(ctx, name)?.get("default")?;
            roots.set(name, exports)?;
        }
        let list: Function<'js> = functions.get("list")?;
        let listed = list.call((roots,))?;
        Ok(Self { functions, listed })
    }

    /// The first member that is no longer what it was.
    pub(crate) fn changed(&self) -> Option<String> {
        let changed = self.functions.get::<_, Function<'js>>("changed");
        let changed = changed.and_then(|changed| changed.call((self.listed.clone(),)));
        let what = changed.unwrap_or_else(|_| {
            // It calls built-in functions itself.
            drop(self.functions.ctx().catch());
            "what comparing needs".to_owned()
        });
        Some(what).filter(|what| !what.is_empty())
    }

    fn seal(&self) -> Result<()> {
        let seal: Function<'js> = self.functions.get("seal")?;
        seal.call((self.listed.clone(),))
    }
}
