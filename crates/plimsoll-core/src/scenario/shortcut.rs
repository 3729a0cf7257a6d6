//! Which tier decides the load, and which scenario a shortcut such as `vus` and `duration` stands for.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::error::{OptionError, Warning};
use super::executor;
use super::fields::not;
use super::layer::{Layer, Origin};
use super::option::{OptionSpec, named};
use super::{Scenario, Scenarios};

/// The values that decide the load, each with its tier.
#[derive(Debug, Default)]
pub(super) struct Load {
    pub(super) values: BTreeMap<&'static str, (Value, Origin)>,
}

/// What starts iterations by itself; `vus` only says by how many.
const STARTERS: [&str; 4] = ["duration", "iterations", "stages", "scenarios"];

impl Load {
    /// Puts a higher tier on top. If it says what starts iterations, everything below is forgotten.
    pub(super) fn overlay(&mut self, layer: &Layer, warnings: &mut Vec<Warning>) {
        let says = |name: &&&str| layer.values.contains_key(**name);
        let starter = STARTERS.iter().find(says).copied();
        let only_vus = starter.is_none() && layer.values.contains_key("vus");
        if let Some(starter) = starter {
            self.forget(&STARTERS, layer.origin, starter, warnings);
        } else if only_vus {
            self.forget(&["scenarios"], layer.origin, "vus", warnings);
        }
        for (name, value) in &layer.values {
            if named(name).is_some_and(OptionSpec::is_load) {
                self.values.insert(name, (value.clone(), layer.origin));
            }
        }
    }

    fn forget(
        &mut self,
        names: &[&'static str],
        origin: Origin,
        by: &'static str,
        warnings: &mut Vec<Warning>,
    ) {
        for name in names {
            if let Some((_, below)) = self.values.remove(name) {
                let by = named(by).map_or_else(|| by.to_owned(), |spec| origin.place(spec));
                let (what, origin) = (format!("`{name}`"), below.name());
                warnings.push(Warning::Replaced { by, what, origin });
            }
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).map(|(value, _)| value)
    }

    fn place(&self, name: &'static str) -> String {
        match (self.values.get(name), named(name)) {
            (Some((_, origin)), Some(spec)) => origin.place(spec),
            _ => "options".to_owned(),
        }
    }

    /// The scenarios that were asked for, or the one that the shortcuts stand for.
    pub(super) fn scenarios(
        &mut self,
        warnings: &mut Vec<Warning>,
    ) -> Result<Scenarios, OptionError> {
        self.drop_empty(warnings);
        self.check_combination()?;
        self.let_vus_win(warnings);
        match self.value("scenarios") {
            Some(value) => scenarios(&self.place("scenarios"), value),
            None => self.shortcut(),
        }
    }

    /// Empty stages or scenarios ask for nothing: one VU makes one iteration.
    fn drop_empty(&mut self, warnings: &mut Vec<Warning>) {
        for name in ["stages", "scenarios"] {
            let is_empty = |value: &Value| {
                value.as_array().is_some_and(Vec::is_empty)
                    || value.as_object().is_some_and(Map::is_empty)
            };
            if self.value(name).is_some_and(is_empty) {
                let place = self.place(name);
                warnings.push(Warning::Empty { place });
                self.values.remove(name);
            }
        }
    }

    /// Observed in k6 2.2: `vus` of the same tier as scenarios replaces them, too.
    fn let_vus_win(&mut self, warnings: &mut Vec<Warning>) {
        let origin = |name| self.values.get(name).map(|(_, origin)| *origin);
        let (vus, scenarios) = (origin("vus"), origin("scenarios"));
        if let Some((vus, _)) = vus.zip(scenarios).filter(|(vus, below)| vus >= below) {
            self.forget(&["scenarios"], vus, "vus", warnings);
        }
    }

    fn check_combination(&self) -> Result<(), OptionError> {
        let said: Vec<&'static str> = STARTERS
            .into_iter()
            .filter(|name| self.value(name).is_some())
            .collect();
        match said[..] {
            [] | [_] | ["duration", "iterations"] => Ok(()),
            _ => Err(OptionError::Rule {
                place: self.place(said[0]),
                problem: format!("{} each say what the load is", said.join(" and ")),
                fix: "keep one of them, or write scenarios".to_owned(),
            }),
        }
    }

    /// Written as the scenario that it stands for, so that it is read and checked by one reader.
    fn shortcut(&self) -> Result<Scenarios, OptionError> {
        let vus = self.value("vus").cloned();
        let mut map = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            map.extend(value.map(|value| (name.to_owned(), value)));
        };
        let place = if let Some(stages) = self.value("stages") {
            set("executor", Some(json!("ramping-vus")));
            set("startVUs", vus);
            set("stages", Some(stages.clone()));
            self.place("stages")
        } else if let Some(iterations) = self.value("iterations") {
            set("executor", Some(json!("shared-iterations")));
            set("vus", vus);
            set("iterations", Some(iterations.clone()));
            set("maxDuration", self.value("duration").cloned());
            self.place("iterations")
        } else if let Some(duration) = self.value("duration") {
            set("executor", Some(json!("constant-vus")));
            set("vus", vus);
            set("duration", Some(duration.clone()));
            self.place("duration")
        } else {
            let name = match vus {
                Some(_) => "shared-iterations",
                None => "per-vu-iterations",
            };
            set("executor", Some(json!(name)));
            set("vus", vus.clone());
            set("iterations", vus);
            self.place("vus")
        };
        let scenario = executor::scenario(&place, "default", &Value::Object(map))?;
        Ok(of_list([scenario]))
    }
}

fn scenarios(place: &str, value: &Value) -> Result<Scenarios, OptionError> {
    let map = value
        .as_object()
        .ok_or_else(|| not(place, value, "an object of named scenarios"))?;
    let read = |(name, value): (&String, &Value)| {
        executor::scenario(&format!("{place}.{name}"), name, value)
    };
    let list: Result<Vec<Scenario>, _> = map.iter().map(read).collect();
    list.map(of_list)
}

fn of_list(list: impl IntoIterator<Item = Scenario>) -> Scenarios {
    let named = list
        .into_iter()
        .map(|scenario| (scenario.name.clone(), scenario));
    Scenarios(named.collect())
}
