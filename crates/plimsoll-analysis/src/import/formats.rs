//! The one table of what can be read: by tool, which of its files, how each is known, and who reads it.

use serde_json::Value;

use super::figures::{Figures, Tool};
use super::{
    ImportError, ab, autocannon, docdb, gatling, hyperfoil, json, jtl, k6, k6_dashboard, k6_points,
    locust, nosqlbench, plain, ycsb,
};

/// Knows a file by what is in it, and reads it.
#[derive(Debug)]
enum Reader {
    Json(
        fn(&Value) -> bool,
        fn(&Value) -> Result<Figures, ImportError>,
    ),
    Text(fn(&str) -> bool, fn(&str) -> Result<Figures, ImportError>),
    /// It has not what is needed, and this says which file has.
    No(fn(&str) -> bool, fn() -> ImportError),
}

#[derive(Debug)]
struct Format {
    tool: Tool,
    name: &'static str,
    /// In the words of help, documentation and errors.
    files: &'static str,
    readers: &'static [Reader],
}

/// The first that knows a file reads it, so what is particular stands before what is general.
const FORMATS: [Format; 17] = [
    Format {
        tool: Tool::K6,
        name: "k6",
        files: "summary export, handleSummary data, --out json, web dashboard HTML",
        readers: &[
            Reader::Json(k6::is, k6::summary),
            Reader::Text(k6_points::is, k6_points::read),
            Reader::Text(k6_dashboard::is, k6_dashboard::read),
        ],
    },
    Format {
        tool: Tool::Oha,
        name: "oha",
        files: "text, JSON",
        readers: &[
            Reader::Json(json::is_oha, json::oha),
            Reader::Text(plain::is_oha, plain::oha),
        ],
    },
    Format {
        tool: Tool::Vegeta,
        name: "vegeta",
        files: "report as JSON",
        readers: &[Reader::Json(json::is_vegeta, json::vegeta)],
    },
    Format {
        tool: Tool::Hey,
        name: "hey",
        files: "text",
        readers: &[Reader::Text(plain::is_hey, plain::hey)],
    },
    Format {
        tool: Tool::Wrk2,
        name: "wrk2",
        files: "text",
        readers: &[Reader::Text(plain::is_wrk2, plain::wrk2)],
    },
    Format {
        tool: Tool::Wrk,
        name: "wrk",
        files: "text",
        readers: &[Reader::Text(plain::is_wrk, plain::wrk)],
    },
    Format {
        tool: Tool::Ab,
        name: "ab",
        files: "text",
        readers: &[Reader::Text(ab::is, ab::read)],
    },
    Format {
        tool: Tool::Autocannon,
        name: "autocannon",
        files: "text, JSON",
        readers: &[
            Reader::Json(autocannon::is_json, autocannon::json),
            Reader::Text(autocannon::is_text, autocannon::text),
        ],
    },
    Format {
        tool: Tool::JMeter,
        name: "JMeter",
        files: "JTL as CSV or XML",
        readers: &[
            Reader::Text(jtl::is_csv, jtl::csv),
            Reader::Text(jtl::is_xml, jtl::xml),
            Reader::Text(jtl::is_bare_csv, jtl::bare_csv),
        ],
    },
    Format {
        tool: Tool::Locust,
        name: "Locust",
        files: "_stats.csv, _stats_history.csv, --json",
        readers: &[
            Reader::Json(locust::is_json, locust::json),
            Reader::Text(locust::is_history, locust::history),
            Reader::Text(locust::is_stats, locust::stats),
            Reader::No(locust::is_list_of_failures, locust::no_statistics),
        ],
    },
    Format {
        tool: Tool::Gatling,
        name: "Gatling",
        files: "simulation.log as text, stats.json, global_stats.json, stats.js",
        readers: &[
            Reader::Json(gatling::is_stats, gatling::stats),
            Reader::Text(gatling::is_script, gatling::script),
            Reader::Text(gatling::is_log, gatling::log),
        ],
    },
    Format {
        tool: Tool::Ycsb,
        name: "YCSB",
        files: "text, also of go-ycsb",
        readers: &[
            Reader::Text(ycsb::is_java, ycsb::java),
            Reader::Text(ycsb::is_go, ycsb::go),
        ],
    },
    Format {
        tool: Tool::NoSqlBench,
        name: "NoSQLBench",
        files: "summary, CSV of a timer",
        readers: &[
            Reader::Text(nosqlbench::is_summary, nosqlbench::summary),
            Reader::Text(nosqlbench::is_csv, nosqlbench::csv),
        ],
    },
    Format {
        tool: Tool::Hyperfoil,
        name: "Hyperfoil",
        files: "all.json, stats of a run",
        readers: &[Reader::Json(hyperfoil::is, hyperfoil::read)],
    },
    Format {
        tool: Tool::Fortio,
        name: "Fortio",
        files: "JSON",
        readers: &[Reader::Json(json::is_fortio, json::fortio)],
    },
    Format {
        tool: Tool::Latte,
        name: "latte",
        files: "JSON",
        readers: &[Reader::Json(json::is_latte, json::latte)],
    },
    Format {
        tool: Tool::DocDb,
        name: "DocDB load tool",
        files: "JSON of one or several databases",
        readers: &[Reader::Json(docdb::is, docdb::read)],
    },
];

impl Tool {
    fn format(self) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.tool == self)
    }

    pub fn name(self) -> &'static str {
        self.format().map_or("", |format| format.name)
    }

    /// Its requests are HTTP, so what answers at all answers with a status.
    pub(super) const fn is_http(self) -> bool {
        !matches!(
            self,
            Self::Ycsb | Self::NoSqlBench | Self::Latte | Self::DocDb
        )
    }
}

/// Each tool with its files: `oha (text, JSON), hey (text)`.
pub fn known() -> String {
    listed(|format| format!("{} ({})", format.name, format.files))
}

/// The tools alone: `oha, hey or wrk`.
pub(super) fn names() -> String {
    listed(|format| format.name.to_owned())
}

fn listed(of: impl Fn(&Format) -> String) -> String {
    let mut each: Vec<String> = FORMATS.iter().map(of).collect();
    let last = each.pop().unwrap_or_default();
    format!("{} or {last}", each.join(", "))
}

/// Every tool's name and its files.
#[cfg(test)]
pub(super) fn tools() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMATS.iter().map(|format| (format.name, format.files))
}

pub(super) fn read(text: &str) -> Result<Figures, ImportError> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    for reader in FORMATS.iter().flat_map(|format| format.readers) {
        match (reader, &value) {
            (Reader::Json(is, read), Some(value)) if is(value) => return read(value),
            (Reader::Text(is, read), _) if is(text) => return read(text),
            (Reader::No(is, error), _) if is(text) => return Err(error()),
            _ => {}
        }
    }
    Err(ImportError::Unknown)
}
