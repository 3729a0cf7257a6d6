//! The numbers of one instance: drawn from the seed, changed by the healthy twin, then by `--set`.

use std::fmt;
use std::time::Duration;

use plimsoll_base::random::Rng;

use super::{Parameter, Service, Twin, nearest};
use crate::LabError;

/// One value per parameter, in the order of the table.
#[derive(Debug, Clone)]
pub struct Values {
    parameters: &'static [Parameter],
    values: Vec<f64>,
}

impl Values {
    /// The instance of `service` that `seed` stands for.
    pub fn draw(service: &Service, seed: u64, healthy: bool) -> Self {
        let parameters = service.parameters;
        let drawn = parameters.iter().zip(0_u64..).map(|(parameter, index)| {
            let value = drawn(parameter, &mut Rng::new(seed, index));
            if healthy {
                twin(parameter, value)
            } else {
                value
            }
        });
        Self {
            parameters,
            values: drawn.collect(),
        }
    }

    /// Replaces one value.
    pub fn set(&mut self, service: &Service, name: &str, value: f64) -> Result<(), LabError> {
        let found = self.parameters.iter().position(|known| known.name == name);
        let Some(index) = found else {
            let names = || self.parameters.iter().map(|parameter| parameter.name);
            let known = names().collect::<Vec<_>>().join(", ");
            return Err(LabError::UnknownParameter {
                service: service.name,
                name: name.to_owned(),
                nearest: nearest(name, names()),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known
                },
            });
        };
        let Parameter { name, unit, .. } = self.parameters[index];
        let (low, high) = unit.range();
        if !(low..=high).contains(&value) {
            return Err(LabError::ParameterRange {
                name,
                value,
                low,
                high,
                unit: unit.symbol(),
            });
        }
        if unit.is_whole() && value.fract() != 0.0 {
            return Err(LabError::ParameterWhole { name, value });
        }
        self.values[index] = value;
        Ok(())
    }

    /// A value by its name. The table and its readers are one program, so a name that is missing
    /// is a bug.
    pub fn of(&self, name: &str) -> f64 {
        let index = self.parameters.iter().position(|known| known.name == name);
        self.values[index.expect("invariant: a service asks for its own parameters")]
    }

    /// A count by its name.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.of(name) as usize
    }

    /// Whether a switch is on, by its name.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.of(name) > 0.0
    }

    /// A time by its name, from milliseconds.
    pub(crate) fn millis(&self, name: &str) -> Duration {
        Duration::from_secs_f64(self.of(name) / 1e3)
    }

    /// `--set` arguments that give another process these values under other names.
    pub(crate) fn pass(&self, names: &[(&str, &str)]) -> Vec<String> {
        let pass = |(mine, theirs): &(&str, &str)| {
            ["--set".to_owned(), format!("{theirs}={}", self.of(mine))]
        };
        names.iter().flat_map(pass).collect()
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (parameter, value)) in self.parameters.iter().zip(&self.values).enumerate() {
            let gap = if index == 0 { "" } else { ", " };
            let symbol = parameter.unit.symbol();
            let space = if symbol.is_empty() { "" } else { " " };
            write!(f, "{gap}{} {value}{space}{symbol}", parameter.name)?;
        }
        Ok(())
    }
}

fn drawn(parameter: &Parameter, rng: &mut Rng) -> f64 {
    let steps = ((parameter.high - parameter.low) / parameter.step).round() as u64;
    let index = rng.below(steps + 1) as f64;
    tidy(parameter.low + index * parameter.step)
}

fn twin(parameter: &Parameter, value: f64) -> f64 {
    match parameter.twin {
        Twin::Same => value,
        Twin::Set(value) => value,
        Twin::Times(factor) if parameter.unit.is_whole() => (value * factor).round().max(1.0),
        Twin::Times(factor) => tidy(value * factor),
    }
}

/// Rounds to six decimals, so that `0.1 + 0.2` prints as a person would write it.
fn tidy(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
