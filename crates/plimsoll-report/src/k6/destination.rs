//! Where results go: what `--out` names, and what `handleSummary` returned.

use plimsoll_core::secrets::masked_url;
use serde_json::Value;
use thiserror::Error;

/// A result that goes nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DestinationError {
    #[error("--out {found}: {reason}")]
    Output { found: String, reason: String },
    #[error(
        "handleSummary returned {0}; return an object of names and texts, such as \
         {{ stdout: text, 'summary.json': json }}"
    )]
    Summary(String),
    #[error("handleSummary: `{name}` is {found}; a text is needed, so use JSON.stringify(…)")]
    Content { name: String, found: &'static str },
}

/// One `--out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// JSON lines; on stdout where no file is named.
    Json(Option<File>),
    /// CSV rows; on stdout where no file is named.
    Csv(Option<File>),
    /// Prometheus' remote write; the URL is `K6_PROMETHEUS_RW_SERVER_URL` where none is given.
    RemoteWrite(Option<String>),
    /// `InfluxDB`, of either kind; the URL is `K6_INFLUXDB_ADDR` where none is given.
    Influx { url: Option<String>, is_v2: bool },
    /// OpenTelemetry over HTTP.
    Otlp(Option<String>),
    /// The live page, with what stands behind `=`.
    Dashboard(Vec<(String, String)>),
}

/// A file, compressed if its name ends in `.gz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub is_gzip: bool,
}

const KNOWN: [&str; 6] = [
    "json",
    "csv",
    "experimental-prometheus-rw",
    "influxdb",
    "opentelemetry",
    "web-dashboard",
];

impl Output {
    /// As the banner of a run names it: `json (points.json)`.
    pub fn shown(&self) -> String {
        let of = |name: &str, file: &Option<File>| match file {
            Some(file) => format!("{name} ({})", file.path),
            None => name.to_owned(),
        };
        // A URL may hold a password, and its query a token.
        let shown = |url: &str| masked_url(&without_user(url));
        let to = |name: &str, url: &Option<String>| match url.as_deref().map(shown) {
            Some(url) => format!("{name} ({url})"),
            None => name.to_owned(),
        };
        match self {
            Self::Json(file) => of("json", file),
            Self::Csv(file) => of("csv", file),
            Self::RemoteWrite(url) => to("experimental-prometheus-rw", url),
            Self::Influx { url, .. } => to("influxdb", url),
            Self::Otlp(url) => to("opentelemetry", url),
            Self::Dashboard(_) => "web-dashboard".to_owned(),
        }
    }

    /// Whether every sample goes there.
    pub const fn takes_samples(&self) -> bool {
        !matches!(self, Self::Dashboard(_))
    }

    /// Reads `json`, `json=points.json.gz`, `csv=rows.csv`, `experimental-prometheus-rw`.
    pub fn parse(text: &str) -> Result<Self, DestinationError> {
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) => (name, Some(rest).filter(|rest| !rest.is_empty())),
            None => (text, None),
        };
        let file = || {
            rest.map(|path| File {
                path: path.to_owned(),
                is_gzip: std::path::Path::new(path)
                    .extension()
                    .is_some_and(|extension| extension.eq_ignore_ascii_case("gz")),
            })
        };
        match name.trim() {
            "json" => Ok(Self::Json(file())),
            "csv" => Ok(Self::Csv(file())),
            "experimental-prometheus-rw" => Ok(Self::RemoteWrite(rest.map(str::to_owned))),
            "influxdb" | "xk6-influxdb" => Ok(Self::Influx {
                url: rest.map(str::to_owned),
                is_v2: name.trim() == "xk6-influxdb",
            }),
            "opentelemetry" | "experimental-opentelemetry" => {
                Ok(Self::Otlp(rest.map(str::to_owned)))
            }
            "web-dashboard" => settings(rest.unwrap_or_default())
                .map(Self::Dashboard)
                .map_err(|reason| DestinationError::Output {
                    found: text.to_owned(),
                    reason,
                }),
            other => Err(DestinationError::Output {
                found: text.to_owned(),
                reason: reason(other),
            }),
        }
    }
}

fn without_user(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

/// What `--out web-dashboard=port=0&export=page.html` can set.
const OF_DASHBOARD: [&str; 8] = [
    "host", "port", "period", "open", "export", "record", "tag", "tags",
];

/// `name=value&name`, as in a query; a name alone is true.
fn settings(text: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let read = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        if OF_DASHBOARD.contains(&name) {
            return Ok((name.to_owned(), value.to_owned()));
        }
        Err(format!(
            "web-dashboard has no setting `{name}`; write {}, joined by &{}",
            OF_DASHBOARD[..5].join(", "),
            plimsoll_core::nearest::hint(name, OF_DASHBOARD)
        ))
    };
    pairs.map(read).collect()
}

fn reason(name: &str) -> String {
    let known = KNOWN.join(", ");
    match name {
        "cloud" => "results go to no cloud; keep them in a file, json=points.json".to_owned(),
        "kafka" | "statsd" | "datadog" | "timescaledb" | "dynatrace" | "new-relic" => {
            format!("not written here; there are {known}")
        }
        other => format!(
            "no output is called that; there are {known}{}",
            plimsoll_core::nearest::hint(other, KNOWN)
        ),
    }
}

/// Where one text of a summary goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Stdout,
    Stderr,
    /// A path, as the script wrote it.
    File(String),
}

/// A text and where it goes, or why it goes nowhere.
pub type Written = Result<(Target, String), DestinationError>;

/// What `handleSummary` returned, as targets and texts; `null` or nothing returned is nothing to
/// write. One bad text does not keep the others from being written.
pub fn summary_targets(returned: &Value) -> Result<Vec<Written>, DestinationError> {
    let map = match returned {
        Value::Null => return Ok(Vec::new()),
        Value::Object(map) => map,
        other => return Err(DestinationError::Summary(kind(other).to_owned())),
    };
    let target = |(name, content): (&String, &Value)| {
        let target = match name.as_str() {
            "stdout" => Target::Stdout,
            "stderr" => Target::Stderr,
            path => Target::File(path.to_owned()),
        };
        match content {
            Value::String(text) => Ok((target, text.clone())),
            other => Err(DestinationError::Content {
                name: name.clone(),
                found: kind(other),
            }),
        }
    };
    Ok(map.iter().map(target).collect())
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_banner_holds_no_secret_of_a_url() {
        let output = Output::parse("influxdb=http://me:hidden-1@h:8086/k6?token=hidden-2").unwrap();
        assert_eq!(
            output.shown(),
            "influxdb (http://h:8086/k6?token=masked:8:d177fc71)"
        );
    }

    #[test]
    fn outputs_as_they_are_named() {
        let file = |path: &str, is_gzip| {
            let path = path.to_owned();
            Some(File { path, is_gzip })
        };
        for (text, output) in [
            ("json", Output::Json(None)),
            ("json=a.json", Output::Json(file("a.json", false))),
            ("json=a=b.json.gz", Output::Json(file("a=b.json.gz", true))),
            ("csv=", Output::Csv(None)),
            ("csv=rows.csv", Output::Csv(file("rows.csv", false))),
            ("experimental-prometheus-rw", Output::RemoteWrite(None)),
            ("web-dashboard", Output::Dashboard(Vec::new())),
            (
                "web-dashboard=port=0&open",
                Output::Dashboard(vec![
                    ("port".to_owned(), "0".to_owned()),
                    ("open".to_owned(), "true".to_owned()),
                ]),
            ),
        ] {
            assert_eq!(Output::parse(text), Ok(output), "{text}");
        }
        for (text, part) in [
            ("jsn=a", "did you mean `json`?"),
            ("cloud", "json=points.json"),
            ("statsd", "not written here"),
            ("", "no output is called that"),
            ("web-dashboard=prot=0", "did you mean `port`?"),
        ] {
            let error = Output::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_summary_goes_where_the_script_says() {
        let returned = json!({ "stdout": "a", "out/b.json": "{}", "c": { "d": 1 } });
        let targets = summary_targets(&returned).unwrap();
        assert_eq!(targets.len(), 3);
        assert!(targets.contains(&Ok((Target::Stdout, "a".to_owned()))));
        let file = Target::File("out/b.json".to_owned());
        assert!(targets.contains(&Ok((file, "{}".to_owned()))));
        let bad = targets.into_iter().find_map(Result::err).unwrap();
        assert!(bad.to_string().contains("`c` is an object"), "{bad}");
        assert_eq!(summary_targets(&Value::Null), Ok(Vec::new()));
        let error = summary_targets(&json!("text")).unwrap_err().to_string();
        assert!(error.contains("returned a text"), "{error}");
    }
}
