//! The module `k6/data`: arrays whose text is kept once per process.

use std::sync::Arc;

use rquickjs::function::Constructor;
use rquickjs::{Array, Class, Ctx, JsLifetime, Object, Result, Value};

use super::set_functions;
use crate::raw::{Call, Native};

pub(crate) static CONSTRUCTORS: &[Native] = &[Native::constructor("SharedArray", 2, create)];

/// The proxy's traps; `this` is the handler, which holds the data.
pub(crate) static TRAPS: &[Native] = &[
    Native::new("get", 3, trap_get),
    Native::new("has", 2, trap_has),
    Native::new("ownKeys", 1, trap_keys),
    Native::new("getOwnPropertyDescriptor", 2, trap_descriptor),
    Native::new("set", 4, read_only),
    Native::new("deleteProperty", 2, read_only),
    Native::new("defineProperty", 3, read_only),
];

/// The elements of a shared array, each as JSON.
#[derive(JsLifetime)]
struct View {
    elements: Arc<[Box<str>]>,
}

class!(View, "SharedArrayHandler", |prototype| set_functions(
    prototype, TRAPS
));

fn create<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    if !call.vu.is_init() {
        return call
            .fail("a SharedArray must be made in the init code: move this outside of functions");
    }
    let name = call.text(0)?;
    if name.is_empty() {
        return call.fail("a SharedArray needs a name: new SharedArray(\"users\", () => […])");
    }
    let catalogue = &call.vu.worker.catalogue;
    let known = catalogue.look(|inventory| inventory.arrays.get(&name).cloned());
    let elements = match (known, catalogue.loading()) {
        (Some(known), _) => known,
        (None, Some(loading)) => {
            let built: Arc<[Box<str>]> = build(call)?.into();
            let arrays = &mut loading.inventory.borrow_mut().arrays;
            arrays.insert(name, Arc::clone(&built));
            built
        }
        (None, None) => {
            return call.fail(&format!(
                "SharedArray {name:?} was not made by the first run of the init code: make it whatever __VU is"
            ));
        }
    };
    view(&call.ctx, elements)
}

fn build(call: &Call<'_, '_>) -> Result<Vec<Box<str>>> {
    let Some(function) = call.arg(1).into_function() else {
        return call.fail_type("a SharedArray needs a function that returns an array");
    };
    let made: Value<'_> = function.call(())?;
    let Some(array) = made.as_array() else {
        return call.fail_type("the function of a SharedArray must return an array");
    };
    let mut elements = Vec::with_capacity(array.len());
    for element in array.iter::<Value<'_>>() {
        let json = call.ctx.json_stringify(element?)?;
        let json = json.map_or_else(|| Ok("null".to_owned()), |json| json.to_string())?;
        elements.push(json.into_boxed_str());
    }
    Ok(elements)
}

fn view<'js>(ctx: &Ctx<'js>, elements: Arc<[Box<str>]>) -> Result<Value<'js>> {
    let handler = Class::instance(ctx.clone(), View { elements })?;
    let target = Array::new(ctx.clone())?;
    let proxy: Constructor<'js> = ctx.globals().get("Proxy")?;
    proxy.construct((target, handler))
}

/// `get(target, key)`: an element, the length, or a method of arrays.
fn trap_get<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let handler = Class::<View>::from_value(&call.this)?;
    let elements = &handler.borrow().elements;
    let key = call.arg(1);
    if let Some(index) = index_of(&key) {
        return match elements.get(index) {
            Some(json) => call.ctx.json_parse(json.as_bytes()),
            None => Ok(call.undefined()),
        };
    }
    if is_length(&key) {
        return Ok(call.number(elements.len() as f64));
    }
    let target: Object<'js> = call.arg(0).get()?;
    target.get(key)
}

fn trap_has<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let handler = Class::<View>::from_value(&call.this)?;
    let key = call.arg(1);
    let has = match index_of(&key) {
        Some(index) => index < handler.borrow().elements.len(),
        None => call.arg(0).get::<Object<'js>>()?.contains_key(key)?,
    };
    Ok(call.boolean(has))
}

/// `ownKeys(target)`: what `for … in` and `Object.keys` go through.
fn trap_keys<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let handler = Class::<View>::from_value(&call.this)?;
    let len = handler.borrow().elements.len();
    let keys = Array::new(call.ctx.clone())?;
    for index in 0..len {
        keys.set(index, index.to_string())?;
    }
    keys.set(len, "length")?;
    Ok(keys.into_value())
}

/// `getOwnPropertyDescriptor(target, key)`. Elements look as if they could be changed, as in k6, or the engine would refuse
/// what the empty target does not have.
fn trap_descriptor<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let handler = Class::<View>::from_value(&call.this)?;
    let elements = &handler.borrow().elements;
    let key = call.arg(1);
    let (value, is_element) = match index_of(&key) {
        Some(index) => match elements.get(index) {
            Some(json) => (call.ctx.json_parse(json.as_bytes())?, true),
            None => return Ok(call.undefined()),
        },
        None if is_length(&key) => (call.number(elements.len() as f64), false),
        None => return Ok(call.undefined()),
    };
    let descriptor = Object::new(call.ctx.clone())?;
    descriptor.set("value", value)?;
    descriptor.set("writable", true)?;
    descriptor.set("enumerable", is_element)?;
    descriptor.set("configurable", is_element)?;
    Ok(descriptor.into_value())
}

fn read_only<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    call.fail_type("a SharedArray cannot be changed: copy what you need first")
}

fn index_of(key: &Value<'_>) -> Option<usize> {
    let text = key.as_string()?.to_string().ok()?;
    text.parse().ok()
}

fn is_length(key: &Value<'_>) -> bool {
    let text = key.as_string().and_then(|key| key.to_string().ok());
    text.is_some_and(|text| text == "length")
}
