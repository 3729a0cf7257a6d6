//! Every function, class and module that scripts can reach natively, in one table.

/// Makes a Rust type a class of the engine, whose prototype the function fills. It holds nothing that the engine's
/// collector would have to visit, and scripts make its objects with functions of ours only.
macro_rules! class {
    ($type:ident, $name:literal, $fill:expr) => {
        impl<'js> rquickjs::class::Trace<'js> for $type {
            fn trace<'a>(&self, _tracer: rquickjs::class::Tracer<'a, 'js>) {}
        }

        impl<'js> rquickjs::class::JsClass<'js> for $type {
            const NAME: &'static str = $name;
            type Mutable = rquickjs::class::Readable;

            fn prototype(ctx: &rquickjs::Ctx<'js>) -> Result<Option<rquickjs::Object<'js>>> {
                let prototype = rquickjs::Object::new(ctx.clone())?;
                let fill: fn(&rquickjs::Object<'js>) -> Result<()> = $fill;
                fill(&prototype)?;
                Ok(Some(prototype))
            }

            fn constructor(
                _ctx: &rquickjs::Ctx<'js>,
            ) -> Result<Option<rquickjs::function::Constructor<'js>>> {
                Ok(None)
            }
        }
    };
}

pub(crate) mod console;
pub(crate) mod crypto;
pub(crate) mod data;
pub(crate) mod encoding;
pub(crate) mod execution;
pub(crate) mod globals;
pub(crate) mod http;
pub(crate) mod k6;
pub(crate) mod metrics;
pub(crate) mod stop;
pub(crate) mod subtle;
pub(crate) mod text;
pub(crate) mod timers;
pub(crate) mod utils;
pub(crate) mod web_url;

use std::marker::PhantomData;

use rquickjs::module::{Declarations, Declared, Exports, ModuleDef};
use rquickjs::{Coerced, Ctx, Exception, Module, Object, Result, Value};

use crate::raw::{Native, NativeTable, define_getter, function};
use crate::vu_state::VuState;

impl NativeTable for VuState {
    #[inline]
    fn natives() -> &'static [&'static [Native]] {
        TABLE
    }
}

static TABLE: &[&[Native]] = &[
    globals::FUNCTIONS,
    globals::GETTERS,
    globals::LAZY,
    globals::MATH,
    console::FUNCTIONS,
    k6::FUNCTIONS,
    metrics::CONSTRUCTORS,
    metrics::METHODS,
    data::CONSTRUCTORS,
    data::TRAPS,
    timers::FUNCTIONS,
    http::FUNCTIONS,
    http::waiting::FUNCTIONS,
    http::response::GETTERS,
    http::response::METHODS,
    http::jar_object::CONSTRUCTORS,
    http::jar_object::METHODS,
    execution::INSTANCE,
    execution::SCENARIO,
    execution::TEST,
    execution::TEST_FUNCTIONS,
    execution::VU,
    execution::VU_METRICS,
    execution::TAG_TRAPS,
    encoding::FUNCTIONS,
    crypto::FUNCTIONS,
    crypto::HASHER_METHODS,
    crypto::GLOBAL,
    subtle::FUNCTIONS,
    text::CONSTRUCTORS,
    text::ENCODER_METHODS,
    text::DECODER_METHODS,
    utils::FUNCTIONS,
    utils::SUMMARY,
    web_url::CONSTRUCTORS,
    web_url::URL_GETTERS,
    web_url::URL_SETTERS,
    web_url::URL_METHODS,
    web_url::PARAMS_METHODS,
];

/// Values with the names under which a module exports them.
pub(crate) type Named<'js> = Vec<(&'static str, Value<'js>)>;

/// Index of a group in [`TABLE`]: no two groups have the same names.
fn group_of(group: &'static [Native]) -> usize {
    let names = |group: &'static [Native]| group.iter().map(|native| (native.name, native.length));
    TABLE
        .iter()
        .position(|known| names(known).eq(names(group)))
        .expect("invariant: every group is in the table")
}

/// Every function of a group by name.
pub(crate) fn functions<'js>(ctx: &Ctx<'js>, functions: &'static [Native]) -> Result<Named<'js>> {
    let group = group_of(functions);
    let mut named = Vec::with_capacity(functions.len());
    for (index, native) in functions.iter().enumerate() {
        named.push((native.name, function(ctx, group, index)?.into_value()));
    }
    Ok(named)
}

/// Gives an object the functions of a group.
pub(crate) fn set_functions(object: &Object<'_>, group: &'static [Native]) -> Result<()> {
    for (name, value) in functions(object.ctx(), group)? {
        object.set(name, value)?;
    }
    Ok(())
}

/// Gives an object the functions of a group as computed properties.
pub(crate) fn set_getters(object: &Object<'_>, group: &'static [Native]) -> Result<()> {
    let number = group_of(group);
    for (index, native) in group.iter().enumerate() {
        let getter = function(object.ctx(), number, index)?;
        define_getter(object, native.name, &getter, None)?;
    }
    Ok(())
}

/// Truth as scripts see it.
pub(crate) fn is_truthy(value: &Value<'_>) -> bool {
    value.get::<Coerced<bool>>().is_ok_and(|truth| truth.0)
}

/// A module with native content: names first, because an ES module declares before it runs.
trait NativeModule {
    fn names() -> Vec<&'static str>;
    fn values<'js>(ctx: &Ctx<'js>) -> Result<Named<'js>>;
}

/// Named exports, and the same as members of the default export.
struct Def<M>(PhantomData<M>);

impl<M: NativeModule> ModuleDef for Def<M> {
    fn declare(declared: &Declarations<'_>) -> Result<()> {
        for name in M::names() {
            declared.declare(name)?;
        }
        declared.declare("default")?;
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        let all = Object::new(ctx.clone())?;
        for (name, value) in M::values(ctx)? {
            exports.export(name, value.clone())?;
            all.set(name, value)?;
        }
        exports.export("default", all)?;
        Ok(())
    }
}

pub(crate) fn names_of(functions: &'static [Native]) -> Vec<&'static str> {
    functions.iter().map(|native| native.name).collect()
}

macro_rules! modules {
    ($($specifier:literal $module:ident = $names:expr, $values:expr;)*) => {
        $(
            struct $module;
            impl NativeModule for $module {
                fn names() -> Vec<&'static str> {
                    $names
                }
                fn values<'js>(ctx: &Ctx<'js>) -> Result<Named<'js>> {
                    let values: fn(&Ctx<'js>) -> Result<Named<'js>> = $values;
                    values(ctx)
                }
            }
        )*

        /// Declares the native module of that name.
        pub(crate) fn declare<'js>(ctx: &Ctx<'js>, specifier: &str) -> Result<Module<'js, Declared>> {
            match specifier {
                $($specifier => Module::declare_def::<Def<$module>, _>(ctx.clone(), specifier),)*
                _ => Err(Exception::throw_reference(ctx, &format!("no module {specifier}"))),
            }
        }
    };
}

modules! {
    "k6" K6 = names_of(k6::FUNCTIONS), |ctx| functions(ctx, k6::FUNCTIONS);
    "k6/http" Http = http::names(), http::values;
    "k6/metrics" Metrics = names_of(metrics::CONSTRUCTORS), |ctx| functions(ctx, metrics::CONSTRUCTORS);
    "k6/data" Data = names_of(data::CONSTRUCTORS), |ctx| functions(ctx, data::CONSTRUCTORS);
    "k6/timers" Timers = names_of(timers::FUNCTIONS), |ctx| functions(ctx, timers::FUNCTIONS);
    "k6/execution" Execution = execution::NAMES.to_vec(), execution::values;
    "k6/encoding" Encoding = names_of(encoding::FUNCTIONS), |ctx| functions(ctx, encoding::FUNCTIONS);
    "k6/crypto" Crypto = names_of(crypto::FUNCTIONS), |ctx| functions(ctx, crypto::FUNCTIONS);
    "k6-utils" Utils = names_of(utils::FUNCTIONS), |ctx| functions(ctx, utils::FUNCTIONS);
    "k6-summary" Summary = names_of(utils::SUMMARY), |ctx| functions(ctx, utils::SUMMARY);
    "url" WebUrl = names_of(web_url::CONSTRUCTORS), |ctx| functions(ctx, web_url::CONSTRUCTORS);
    "k6/options" Options = Vec::new(), |_| Ok(Vec::new());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_found_at_its_own_place() {
        for (index, group) in TABLE.iter().enumerate() {
            assert_eq!(group_of(group), index);
        }
    }
}
