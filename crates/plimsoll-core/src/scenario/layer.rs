//! One tier of option values: what a file, a script, the environment or the command line said.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::error::{OptionError, Warning};
use super::executor::every_field;
use super::fields;
use super::option::{Kind, OPTIONS, OptionSpec, named};

/// Who said a value; later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Default,
    ConfigFile,
    Script,
    /// A `K6_` variable.
    Environment,
    /// A `PLIMSOLL_` variable.
    OwnEnvironment,
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Origin {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::ConfigFile => "file",
            Self::Script => "script",
            Self::Environment | Self::OwnEnvironment => "environment",
            Self::CommandLine => "flag",
        }
    }

    /// How a mistake in this option's value is located: `K6_VUS`, `--vus`, `options.vus`.
    pub(super) fn place(self, spec: &OptionSpec) -> String {
        match self {
            Self::Environment => format!("K6_{}", spec.env.unwrap_or(spec.name)),
            Self::OwnEnvironment => format!("PLIMSOLL_{}", spec.env.unwrap_or(spec.name)),
            Self::CommandLine => format!("--{}", spec.flag.unwrap_or(spec.name)),
            _ => format!("{}.{}", self.root(), spec.name),
        }
    }

    const fn root(self) -> &'static str {
        match self {
            Self::ConfigFile => "config file",
            _ => "options",
        }
    }
}

/// What happens to options that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// As k6: unknown options and misplaced scenario fields are only warned about.
    #[default]
    Normal,
    /// Both are refused.
    Strict,
}

/// Values of one tier, checked one by one; what they mean together is decided over all tiers.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub(super) origin: Origin,
    pub(super) values: BTreeMap<&'static str, Value>,
    pub(super) warnings: Vec<Warning>,
}

impl Layer {
    /// The `options` object of a script, or a configuration file.
    pub fn from_object(
        origin: Origin,
        object: &Value,
        strictness: Strictness,
    ) -> Result<Self, OptionError> {
        let mut layer = Self::empty(origin);
        let nothing = Map::new();
        let map = match object {
            Value::Null => &nothing,
            Value::Object(map) => map,
            other => return Err(fields::not(origin.root(), other, "an object of options")),
        };
        for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            match named(name) {
                Some(spec) => layer.add(spec, value.clone())?,
                None => layer.stranger(name, strictness)?,
            }
        }
        Ok(layer)
    }

    /// The variables of one tier, `K6_*` or `PLIMSOLL_*`; others, also those with the prefix that no
    /// option has, are left alone: outputs read them.
    pub fn from_environment<'a>(
        origin: Origin,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, OptionError> {
        let prefix = match origin {
            Origin::OwnEnvironment => "PLIMSOLL_",
            _ => "K6_",
        };
        let mut layer = Self::empty(origin);
        for (name, text) in variables {
            let spec = name
                .strip_prefix(prefix)
                .and_then(|name| OPTIONS.iter().find(|spec| spec.env == Some(name)));
            if let Some(spec) = spec.filter(|_| !text.is_empty()) {
                layer.add_text(spec, text)?;
            }
        }
        Ok(layer)
    }

    /// Flags by their long name, in order; repeated ones add up where the option is a list.
    pub fn from_flags<'a>(
        flags: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, OptionError> {
        let mut layer = Self::empty(Origin::CommandLine);
        for (flag, text) in flags {
            let spec = OPTIONS.iter().find(|spec| spec.flag == Some(flag));
            let spec = spec.ok_or_else(|| {
                let known = OPTIONS.iter().filter_map(|spec| spec.flag);
                OptionError::UnknownOption {
                    place: "command line".to_owned(),
                    option: format!("--{flag}"),
                    hint: crate::nearest::hint(flag, known),
                }
            })?;
            layer.add_text(spec, text)?;
        }
        Ok(layer)
    }

    const fn empty(origin: Origin) -> Self {
        Self {
            origin,
            values: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    fn add(&mut self, spec: &'static OptionSpec, value: Value) -> Result<(), OptionError> {
        let place = self.origin.place(spec);
        check(&place, spec.kind, &value)?;
        // There is none anyway: who asks for no report has what was asked for.
        let is_so_anyway = spec.name == "noUsageReport"
            && value != Value::Bool(false)
            && value.as_str() != Some("false");
        if let Kind::NoEffect(why) = spec.kind
            && !is_so_anyway
        {
            let option = spec.name.to_owned();
            self.warnings.push(Warning::NoEffect { place, option, why });
        }
        self.values.insert(spec.name, value);
        Ok(())
    }

    fn add_text(&mut self, spec: &'static OptionSpec, text: &str) -> Result<(), OptionError> {
        let place = self.origin.place(spec);
        let mut value = of_text(&place, spec.kind, text)?;
        if let Some(before) = self.values.remove(spec.name) {
            value = joined(before, value);
        }
        self.add(spec, value)
    }

    fn stranger(&mut self, name: &str, strictness: Strictness) -> Result<(), OptionError> {
        let place = self.origin.root().to_owned();
        if every_field().any(|field| field == name) {
            let field = name.to_owned();
            if strictness == Strictness::Strict {
                return Err(OptionError::ScenarioField { place, field });
            }
            self.warnings.push(Warning::ScenarioField { place, field });
            return Ok(());
        }
        let option = name.to_owned();
        let hint = crate::nearest::hint(name, OPTIONS.iter().map(|spec| spec.name));
        if strictness == Strictness::Strict {
            return Err(OptionError::UnknownOption {
                place,
                option,
                hint,
            });
        }
        self.warnings.push(Warning::UnknownOption {
            place,
            option,
            hint,
        });
        Ok(())
    }
}

/// Repeated flags: lists and maps grow, everything else is replaced.
fn joined(before: Value, after: Value) -> Value {
    match (before, after) {
        (Value::Array(mut before), Value::Array(after)) => {
            before.extend(after);
            Value::Array(before)
        }
        (Value::Object(mut before), Value::Object(after)) => {
            before.extend(after);
            Value::Object(before)
        }
        (_, after) => after,
    }
}

/// The value of an option as text, turned into what a script would have written.
fn of_text(place: &str, kind: Kind, text: &str) -> Result<Value, OptionError> {
    let text = text.trim();
    Ok(match kind {
        Kind::Vus | Kind::Count | Kind::Number => number(text),
        Kind::Flag(_) => match text {
            "true" | "1" | "t" | "T" | "TRUE" | "True" | "" => json!(true),
            "false" | "0" | "f" | "F" | "FALSE" | "False" => json!(false),
            other => json!(other),
        },
        Kind::Texts => json!(
            text.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
        ),
        Kind::TextMap => pairs(place, text)?,
        Kind::Stages => stages(place, text)?,
        Kind::Duration
        | Kind::Text
        | Kind::Dns
        | Kind::Json
        | Kind::Scenarios
        | Kind::Thresholds
        | Kind::NoEffect(_) => json!(text),
    })
}

/// What is not a number stays text, and the check names it.
fn number(text: &str) -> Value {
    let whole = text.parse::<u64>().map(|number| json!(number));
    let any = whole.or_else(|_| text.parse::<f64>().map(|number| json!(number)));
    any.unwrap_or_else(|_| json!(text))
}

fn pairs(place: &str, text: &str) -> Result<Value, OptionError> {
    let mut map = Map::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let expected = "written name=value";
        let (name, value) = pair
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| fields::not(place, &json!(pair), expected))?;
        map.insert(name.trim().to_owned(), json!(value));
    }
    Ok(Value::Object(map))
}

fn stages(place: &str, text: &str) -> Result<Value, OptionError> {
    let stage = |leg: &str| {
        let bad = || fields::not(place, &json!(leg), "a stage; write 30s:10");
        let (duration, target) = leg.split_once(':').ok_or_else(bad)?;
        let target: u64 = target.trim().parse().map_err(|_| bad())?;
        Ok(json!({ "duration": duration.trim(), "target": target }))
    };
    let legs = text.split(',').filter(|leg| !leg.trim().is_empty());
    legs.map(stage)
        .collect::<Result<Vec<_>, _>>()
        .map(Value::Array)
}

/// Whether a value fits its option; what it means together with others comes later.
fn check(place: &str, kind: Kind, value: &Value) -> Result<(), OptionError> {
    match kind {
        Kind::Vus => fields::vus(place, value).map(drop),
        Kind::Count => fields::count(place, value).map(drop),
        Kind::Number => match value.as_f64() {
            Some(number) if number >= 0.0 => Ok(()),
            _ => Err(fields::not(place, value, "a number, zero or more")),
        },
        Kind::Duration => fields::duration(place, value).map(drop),
        Kind::Flag(_) if value.is_boolean() => Ok(()),
        Kind::Flag(_) => Err(fields::not(place, value, "true or false")),
        Kind::Text => fields::text(place, value).map(drop),
        Kind::Texts => match value.as_array() {
            Some(list) if list.iter().all(Value::is_string) => Ok(()),
            _ => Err(fields::not(place, value, "a list of texts")),
        },
        Kind::TextMap => fields::text_map(place, value).map(drop),
        Kind::Stages => fields::stages(place, value).map(drop),
        Kind::Scenarios | Kind::Thresholds => match value {
            Value::Object(_) => Ok(()),
            _ => Err(fields::not(place, value, "an object")),
        },
        Kind::Dns => super::settings::Dns::read(place, value).map(drop),
        Kind::Json | Kind::NoEffect(_) => Ok(()),
    }
}
