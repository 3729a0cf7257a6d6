//! What scripts write: thresholds and options. What is accepted keeps its rules.

use plimsoll_core::metrics::Store;
use plimsoll_core::scenario::{Layer, Options, Origin, Strictness};
use plimsoll_core::threshold::{Expression, Thresholds};
use serde_json::Value;

use super::{Outcome, variant};

pub(super) const THRESHOLD_WORDS: &[&str] = &[
    "p(95)<500",
    "p(99.9)",
    "avg",
    "med",
    "count",
    "rate",
    "value",
    "<=",
    "===",
    "!=",
    ">",
    "1e308",
    "-0",
    "inf",
    " ",
];

/// An expression that is read prints as text that reads the same.
pub(super) fn read_threshold(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let expression = match Expression::parse(&text) {
        Ok(expression) => expression,
        Err(error) => return variant(&error),
    };
    let printed = expression.to_string();
    let again = Expression::parse(&printed);
    assert_eq!(again, Ok(expression), "{text:?} prints as {printed:?}");
    variant(&expression.operator)
}

pub(super) const OPTIONS_WORDS: &[&str] = &[
    "{\"scenarios\":{\"a\":{",
    "\"executor\":\"constant-vus\"",
    "\"executor\":\"ramping-arrival-rate\"",
    "\"executor\":\"shared-iterations\"",
    "\"preAllocatedVUs\":1",
    "\"maxVUs\":4294967296",
    "\"stages\":[{\"duration\":\"1s\",\"target\":5}]",
    "\"duration\":\"1d1h\"",
    "\"timeUnit\":1",
    "\"thresholds\":{\"checks{a:b}\":[\"rate>0\"]}",
    "\"iterations\":9e15",
    "\"vus\":1e7",
    "\"executionSegment\":\"1/3:2/3\"",
    "\"dns\":{\"ttl\":\"inf\"}",
    "null",
    "}}",
];

/// Options that are accepted describe themselves, and say the same when they are read again.
pub(super) fn read_options(data: &[u8]) -> Outcome {
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return "no JSON".to_owned();
    };
    let layer = Layer::from_object(Origin::Script, &value, Strictness::Normal);
    let options = match layer.and_then(|layer| Options::from_layers(&[layer])) {
        Ok(options) => options,
        Err(error) => return variant(&error),
    };
    for scenario in options.scenarios.iter() {
        assert!(
            scenario.executor.vus_max() > 0,
            "no VU in {}",
            scenario.describe()
        );
        assert!(scenario.last_end_ns() >= scenario.regular_end_ns());
    }
    let written = options.to_json();
    let only_load = serde_json::json!({ "scenarios": written["scenarios"] });
    let again = Layer::from_object(Origin::Script, &only_load, Strictness::Strict);
    let again = again.and_then(|layer| Options::from_layers(&[layer]));
    let again = again.unwrap_or_else(|error| panic!("{only_load} is refused: {error}"));
    assert_eq!(again.scenarios.len(), options.scenarios.len());
    match Thresholds::from_json("options.thresholds", &options.thresholds) {
        Ok(thresholds) => match thresholds.bind(&mut Store::default()) {
            Ok(()) => format!("{} scenarios", options.scenarios.len().min(3)),
            Err(error) => variant(&error),
        },
        Err(error) => variant(&error),
    }
}
