//! The module `k6/metrics`.

use rquickjs::{Class, Coerced, JsLifetime, Result, Value};

use plimsoll_core::metrics::{Contains, Kind, Metric, MetricId, check_name};

use super::k6::with_tags;
use super::{is_truthy, set_functions};
use crate::raw::{Call, Native};

pub(crate) static CONSTRUCTORS: &[Native] = &[
    Native::constructor("Counter", 2, |call| create(call, Kind::Counter)),
    Native::constructor("Gauge", 2, |call| create(call, Kind::Gauge)),
    Native::constructor("Rate", 2, |call| create(call, Kind::Rate)),
    Native::constructor("Trend", 2, |call| create(call, Kind::Trend)),
];

pub(crate) static METHODS: &[Native] = &[Native::new("add", 2, add)];

/// A metric that the script declared.
#[derive(JsLifetime)]
struct Declared {
    id: MetricId,
    is_rate: bool,
}

class!(Declared, "Metric", |prototype| set_functions(
    prototype, METHODS
));

fn create<'js>(call: &Call<'_, 'js>, kind: Kind) -> Result<Value<'js>> {
    if !call.vu.is_init() {
        return call
            .fail("metrics must be declared in the init code: move this outside of functions");
    }
    let name = call.text(0)?;
    let contains = if is_truthy(&call.arg(1)) {
        Contains::Time
    } else {
        Contains::Default
    };
    let metric = Metric {
        name,
        kind,
        contains,
    };
    let id = match declare(call, metric) {
        Ok(id) => id,
        Err(message) => return call.fail(&message),
    };
    let declared = Declared {
        id,
        is_rate: kind == Kind::Rate,
    };
    let object = Class::instance(call.ctx.clone(), declared)?.into_inner();
    object.set("name", call.arg(0))?;
    Ok(object.into_value())
}

/// The id of a metric: a new one while the program is loaded, the same one in every virtual user.
fn declare(call: &Call<'_, '_>, metric: Metric) -> std::result::Result<MetricId, String> {
    check_name(&metric.name).map_err(|error| error.to_string())?;
    let catalogue = &call.vu.worker.catalogue;
    let known = catalogue.look(|inventory| {
        let at = inventory
            .metrics
            .iter()
            .position(|known| known.name == metric.name);
        at.map(|at| (at, inventory.metrics[at].clone()))
    });
    if let Some((at, known)) = known {
        if (known.kind, known.contains) != (metric.kind, metric.contains) {
            return Err(format!(
                "metric {:?} is declared twice, as {} and as {}",
                metric.name,
                known.kind.name(),
                metric.kind.name()
            ));
        }
        return Ok(MetricId::declared(at));
    }
    let Some(loading) = catalogue.loading() else {
        return Err(format!(
            "metric {:?} was not declared by the first run of the init code: declare it whatever __VU is",
            metric.name
        ));
    };
    let declared = &mut loading.inventory.borrow_mut().metrics;
    declared.push(metric);
    Ok(MetricId::declared(declared.len() - 1))
}

fn add<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let Ok(metric) = Class::<Declared>::from_value(&call.this) else {
        return call.fail_type("add() must be called on a metric");
    };
    if call.vu.is_init() {
        return call.fail("metrics take no values in the init code: call add() inside a function");
    }
    let value = call.arg(0);
    let number = number_of(&value, metric.borrow().is_rate);
    let Some(number) = number else {
        call.vu
            .worker
            .warn("a metric got a value that is not a number; it was left out");
        return Ok(call.boolean(false));
    };
    let tags = with_tags(call, call.vu.tags.get(), &call.arg(1))?;
    call.vu.sample(metric.borrow().id, number, tags);
    Ok(call.boolean(true))
}

fn number_of(value: &Value<'_>, is_rate: bool) -> Option<f64> {
    if is_rate {
        return Some(f64::from(u8::from(is_truthy(value))));
    }
    let number = match value.as_bool() {
        Some(truth) => f64::from(u8::from(truth)),
        None => value.get::<Coerced<f64>>().ok()?.0,
    };
    (!number.is_nan() && !value.is_null()).then_some(number)
}
