//! Typed reading of one JSON object, with the place of every mistake.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::OptionError;
use super::{Stage, time};
use crate::units::Nanos;

/// More VUs than any machine holds; a larger number is a slip.
const VUS_MAX: u64 = 10_000_000;

/// An object and the path to it, such as `options.scenarios.login`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) place: &'a str,
    pub(super) map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// `null` counts as not set, as in JavaScript options objects.
    pub(super) fn value(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn place_of(&self, field: &str) -> String {
        format!("{}.{field}", self.place)
    }

    pub(super) fn missing(&self, field: &str, fix: &str) -> OptionError {
        OptionError::Missing {
            place: self.place.to_owned(),
            field: field.to_owned(),
            fix: fix.to_owned(),
        }
    }

    pub(super) fn duration(&self, field: &str) -> Result<Option<Nanos>, OptionError> {
        self.read(field, duration)
    }

    pub(super) fn count(&self, field: &str) -> Result<Option<u64>, OptionError> {
        self.read(field, count)
    }

    pub(super) fn vus(&self, field: &str) -> Result<Option<u32>, OptionError> {
        self.read(field, vus)
    }

    pub(super) fn text(&self, field: &str) -> Result<Option<String>, OptionError> {
        self.read(field, text)
    }

    pub(super) fn texts(&self, field: &str) -> Result<BTreeMap<String, String>, OptionError> {
        Ok(self.read(field, text_map)?.unwrap_or_default())
    }

    pub(super) fn stages(&self, field: &str) -> Result<Option<Vec<Stage>>, OptionError> {
        self.read(field, stages)
    }

    fn read<T>(
        &self,
        field: &str,
        read: impl FnOnce(&str, &Value) -> Result<T, OptionError>,
    ) -> Result<Option<T>, OptionError> {
        self.value(field)
            .map(|value| read(&self.place_of(field), value))
            .transpose()
    }
}

pub(super) fn not(place: &str, value: &Value, expected: &str) -> OptionError {
    let mut found = value.to_string();
    if let Some((end, _)) = found.char_indices().nth(60) {
        found.truncate(end);
        found.push('…');
    }
    OptionError::Value {
        place: place.to_owned(),
        found: format!("`{found}`"),
        expected: expected.to_owned(),
    }
}

pub(super) fn duration(place: &str, value: &Value) -> Result<Nanos, OptionError> {
    time::of_json(value).ok_or_else(|| {
        let expected = "a duration; write 30s, 1m30s, 500ms or a number of milliseconds";
        not(place, value, expected)
    })
}

/// A whole number; JavaScript may hand it over as `10.0`, and `__ENV.VUS` as `"10"`.
pub(super) fn count(place: &str, value: &Value) -> Result<u64, OptionError> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    let whole = number.filter(|n| n.fract() == 0.0 && (0.0..9e15).contains(n));
    let whole = whole.map(|n| n as u64);
    whole.ok_or_else(|| not(place, value, "a whole number, zero or more"))
}

pub(super) fn vus(place: &str, value: &Value) -> Result<u32, OptionError> {
    let vus = count(place, value)?;
    match u32::try_from(vus) {
        Ok(vus) if u64::from(vus) <= VUS_MAX => Ok(vus),
        _ => Err(not(place, value, "a number of VUs below ten million")),
    }
}

pub(super) fn text(place: &str, value: &Value) -> Result<String, OptionError> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| not(place, value, "text"))
}

/// A map of texts; numbers and booleans are taken as they would be printed.
pub(super) fn text_map(
    place: &str,
    value: &Value,
) -> Result<BTreeMap<String, String>, OptionError> {
    let map = value
        .as_object()
        .ok_or_else(|| not(place, value, "an object of names and texts"))?;
    let mut texts = BTreeMap::new();
    for (name, value) in map {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(not(&format!("{place}.{name}"), value, "text")),
        };
        texts.insert(name.clone(), text);
    }
    Ok(texts)
}

pub(super) fn stages(place: &str, value: &Value) -> Result<Vec<Stage>, OptionError> {
    let list = value
        .as_array()
        .ok_or_else(|| not(place, value, "a list of stages"))?;
    let stage = |(index, value)| {
        let place = format!("{place}[{index}]");
        stage(&place, value)
    };
    list.iter().enumerate().map(stage).collect()
}

fn stage(place: &str, value: &Value) -> Result<Stage, OptionError> {
    let example = "an object such as { duration: '30s', target: 10 }";
    let map = value
        .as_object()
        .ok_or_else(|| not(place, value, example))?;
    let fields = Fields { place, map };
    known(&fields, &["duration", "target"])?;
    let duration_ns = fields.duration("duration")?;
    let target = fields.count("target")?;
    Ok(Stage {
        duration_ns: duration_ns
            .ok_or_else(|| fields.missing("duration", "say how long, '30s'"))?,
        target: target.ok_or_else(|| fields.missing("target", "say where to, target: 10"))?,
    })
}

/// Refuses the first field that is not in the list, with the nearest that is.
pub(super) fn known(fields: &Fields<'_>, names: &[&str]) -> Result<(), OptionError> {
    let stranger = fields.map.keys().find(|key| !names.contains(&key.as_str()));
    match stranger {
        None => Ok(()),
        Some(field) => Err(OptionError::UnknownField {
            place: fields.place.to_owned(),
            field: field.clone(),
            hint: crate::nearest::hint(field, names.iter().copied()),
        }),
    }
}
