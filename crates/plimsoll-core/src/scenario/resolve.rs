//! All tiers together: every option has one value and one origin.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::Scenarios;
use super::error::{OptionError, Warning};
use super::fields;
use super::layer::{Layer, Origin};
use super::option::{Kind, OPTIONS, OptionSpec, named};
use super::settings::{self, Dns, Settings};
use super::shortcut::Load;
use crate::units::Nanos;

/// The options of a test, complete and valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub scenarios: Scenarios,
    pub settings: Settings,
    /// As the script wrote them; `threshold::Thresholds` reads them.
    pub thresholds: Value,
    /// Where the thresholds stand, for messages.
    pub thresholds_place: String,
    pub warnings: Vec<Warning>,
    /// Values by option with their tier; what nobody said is absent.
    values: BTreeMap<&'static str, (Value, Origin)>,
}

impl Options {
    /// Joins the tiers, lowest first; defaults lie below all of them.
    pub fn from_layers(layers: &[Layer]) -> Result<Self, OptionError> {
        let mut warnings = Vec::new();
        let mut load = Load::default();
        let mut values = defaults();
        for layer in layers {
            warnings.extend(layer.warnings.iter().cloned());
            load.overlay(layer, &mut warnings);
            for (name, value) in &layer.values {
                if named(name).is_some_and(|spec| !spec.is_load()) {
                    values.insert(name, (value.clone(), layer.origin));
                }
            }
        }
        let scenarios = load.scenarios(&mut warnings)?;
        let settings = Resolved(&values).settings()?;
        let (thresholds, place) = match values.get("thresholds") {
            Some((value, origin)) => (value.clone(), place_of("thresholds", *origin)),
            None => (json!({}), place_of("thresholds", Origin::Script)),
        };
        values.extend(load.values);
        Ok(Self {
            scenarios,
            settings,
            thresholds,
            thresholds_place: place,
            warnings,
            values,
        })
    }

    /// What somebody said of an option, in whatever place.
    pub fn said(&self, name: &str) -> Option<&Value> {
        let (value, origin) = self.values.get(name)?;
        (*origin != Origin::Default).then_some(value)
    }

    /// Each option with its value as JSON and its origin, in the order of the table; what was not
    /// said and has no default is left out.
    pub fn explained(&self) -> impl Iterator<Item = (&'static OptionSpec, String, Origin)> {
        OPTIONS.iter().filter_map(|spec| {
            let (value, origin) = self.values.get(spec.name)?;
            let shown = match (spec.kind, value) {
                (Kind::Duration, value) => {
                    settings::show_duration(value).unwrap_or_else(|| value.to_string())
                }
                (_, Value::String(text)) => text.clone(),
                (_, value) => value.to_string(),
            };
            Some((spec, shown, *origin))
        })
    }

    /// What a script sees as `exec.test.options`: every option, `null` where nothing was said.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        for spec in &OPTIONS {
            if matches!(spec.kind, Kind::NoEffect(_)) {
                continue;
            }
            let said = self.said(spec.name).cloned();
            map.insert(spec.name.to_owned(), said.unwrap_or_default());
        }
        map.insert("scenarios".to_owned(), self.scenarios.to_json());
        for shortcut in ["duration", "iterations", "stages", "vus"] {
            map.insert(shortcut.to_owned(), Value::Null);
        }
        Value::Object(map)
    }
}

fn place_of(name: &str, origin: Origin) -> String {
    named(name).map_or_else(|| name.to_owned(), |spec| origin.place(spec))
}

/// The defaults of the table. The load has none: without any it is one VU with one iteration.
fn defaults() -> BTreeMap<&'static str, (Value, Origin)> {
    let with_default = OPTIONS
        .iter()
        .filter(|spec| !spec.default.is_empty() && !spec.is_load());
    let value = |spec: &OptionSpec| match spec.kind {
        Kind::Flag(_) => json!(spec.default == "true"),
        Kind::Texts => json!(spec.default.split(',').collect::<Vec<_>>()),
        Kind::Count | Kind::Number | Kind::Vus => json!(spec.default.parse::<u64>().unwrap_or(0)),
        _ => json!(spec.default),
    };
    with_default
        .map(|spec| (spec.name, (value(spec), Origin::Default)))
        .collect()
}

/// Typed reading of values that were checked when their tier was read.
struct Resolved<'a>(&'a BTreeMap<&'static str, (Value, Origin)>);

impl Resolved<'_> {
    fn settings(&self) -> Result<Settings, OptionError> {
        let texts = self.texts("summaryTrendStats")?;
        Ok(Settings {
            flags: self.flags(),
            setup_timeout_ns: self.duration("setupTimeout")?,
            teardown_timeout_ns: self.duration("teardownTimeout")?,
            handle_summary_timeout_ns: self.duration("handleSummaryTimeout")?,
            min_iteration_ns: self.duration("minIterationDuration")?,
            max_redirects: self.count("maxRedirects")?,
            batch: self.count("batch")?,
            batch_per_host: self.count("batchPerHost")?,
            requests_per_s_max: self.count("rps")?,
            user_agent: self.text("userAgent")?,
            http_debug: self.text("httpDebug")?,
            tls_auth: self.value("tlsAuth").map(|(_, value)| value.clone()),
            tls_version: self.value("tlsVersion").map(|(_, value)| value.clone()),
            tls_cipher_suites: self.texts("tlsCipherSuites")?,
            blacklist_ips: self.texts("blacklistIPs")?,
            block_hostnames: self.texts("blockHostnames")?,
            hosts: self.read("hosts", fields::text_map)?.unwrap_or_default(),
            dns: self.dns()?,
            local_ips: self.texts("localIPs")?,
            summary_trend_stats: settings::trend_stats(&self.place("summaryTrendStats"), &texts)?,
            summary_unit: self.one("summaryTimeUnit", settings::summary_unit)?,
            summary_mode: self
                .one("summaryMode", settings::summary_mode)?
                .unwrap_or_default(),
            summary_export: self.text("summaryExport")?,
            system_tags: self.texts("systemTags")?.into_iter().collect(),
            tags: self.read("tags", fields::text_map)?.unwrap_or_default(),
            console_output: self.text("consoleOutput")?,
            part: self
                .one("executionSegment", settings::part)?
                .unwrap_or((0, 1)),
        })
    }

    fn value(&self, name: &str) -> Option<(String, &Value)> {
        let (value, origin) = self.0.get(name)?;
        Some((place_of(name, *origin), value))
    }

    fn place(&self, name: &str) -> String {
        self.value(name)
            .map_or_else(|| name.to_owned(), |(place, _)| place)
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &Value) -> Result<T, OptionError>,
    ) -> Result<Option<T>, OptionError> {
        self.value(name)
            .map(|(place, value)| read(&place, value))
            .transpose()
    }

    fn duration(&self, name: &str) -> Result<Nanos, OptionError> {
        Ok(self.read(name, fields::duration)?.unwrap_or_default())
    }

    fn count(&self, name: &str) -> Result<u64, OptionError> {
        Ok(self.read(name, fields::count)?.unwrap_or_default())
    }

    fn text(&self, name: &str) -> Result<Option<String>, OptionError> {
        Ok(self
            .read(name, fields::text)?
            .filter(|text| !text.is_empty()))
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, OptionError> {
        let list = self.read(name, |_, value| Ok(value.as_array().cloned()))?;
        let list = list.flatten().unwrap_or_default();
        let text = |value: Value| value.as_str().map(str::to_owned);
        Ok(list.into_iter().filter_map(text).collect())
    }

    /// A text with a meaning of its own.
    fn one<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &str) -> Result<T, OptionError>,
    ) -> Result<Option<T>, OptionError> {
        let text = self.text(name)?;
        text.map(|text| read(&self.place(name), &text)).transpose()
    }

    fn dns(&self) -> Result<Dns, OptionError> {
        let dns = self.read("dns", Dns::read)?;
        dns.map_or_else(|| Dns::read("dns", &json!({})), Ok)
    }

    fn flags(&self) -> BTreeSet<super::Flag> {
        let set = OPTIONS.iter().filter_map(|spec| match spec.kind {
            Kind::Flag(flag) => Some((flag, self.0.get(spec.name)?.0.as_bool()?)),
            _ => None,
        });
        set.filter(|(_, on)| *on).map(|(flag, _)| flag).collect()
    }
}
