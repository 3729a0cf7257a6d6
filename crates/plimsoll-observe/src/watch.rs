//! The grammar of `--watch`: which tier, and how to find it.

use std::path::PathBuf;
use std::str::FromStr;

use plimsoll_net::Target;
use thiserror::Error;

/// One more thing to sample: `[TIER=]pid:N|port:N|name:STR|nginx-log:FILE|metrics:URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// The name in front of `=`, if one was given.
    pub tier: Option<String>,
    pub subject: Subject,
}

/// What is sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A process and its descendants.
    Pid(u32),
    /// The processes that listen on a local TCP port, and their descendants.
    Port(u16),
    /// The processes of that command name (`comm`, at most 15 bytes), and their descendants.
    Name(String),
    /// An nginx access log with timing fields, see `LOG_FORMAT`.
    NginxLog(PathBuf),
    /// A Prometheus text endpoint.
    Metrics(Target),
}

/// Why a text is not a watch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WatchError {
    #[error(
        "`{0}` does not say what to watch; write pid:N, port:N, name:STR, nginx-log:FILE or metrics:URL, with TIER= in front to name the tier"
    )]
    NoKind(String),
    #[error("`{kind}` is not known in `{text}`; kinds are pid, port, name, nginx-log and metrics")]
    UnknownKind { kind: String, text: String },
    #[error("`{value}` is not a {what}; write {example}")]
    Value {
        what: &'static str,
        value: String,
        example: &'static str,
    },
    #[error(
        "`{0}` is not a tier name; use up to 40 letters, digits, dots, dashes and underscores, such as db=port:5432"
    )]
    Tier(String),
    #[error("`{0}` is not a plain http address; write metrics:http://127.0.0.1:9100/metrics")]
    Url(String),
}

impl Watch {
    /// Parses `db=port:5432`, `pid:4711`, `metrics:http://127.0.0.1:9100/metrics`.
    pub fn parse(text: &str) -> Result<Self, WatchError> {
        let text = text.trim();
        // A tier is named by an `=` before the first `:`; a file or URL may hold more of both.
        let head = text.split(':').next().unwrap_or(text);
        let (tier, rest) = match head.split_once('=') {
            Some((tier, _)) => (
                Some(tier_name(tier, text)?),
                text.split_once('=').map_or("", |(_, rest)| rest),
            ),
            None => (None, text),
        };
        let (kind, value) = rest
            .split_once(':')
            .ok_or_else(|| WatchError::NoKind(text.to_owned()))?;
        let subject = subject(kind.trim(), value.trim(), text)?;
        Ok(Self { tier, subject })
    }
}

impl FromStr for Watch {
    type Err = WatchError;
    fn from_str(text: &str) -> Result<Self, WatchError> {
        Self::parse(text)
    }
}

fn tier_name(name: &str, text: &str) -> Result<String, WatchError> {
    let name = name.trim();
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.is_empty() || name.len() > 40 || !name.chars().all(legal) {
        return Err(WatchError::Tier(text.to_owned()));
    }
    Ok(name.to_owned())
}

fn subject(kind: &str, value: &str, text: &str) -> Result<Subject, WatchError> {
    let bad = |what, example| WatchError::Value {
        what,
        value: value.to_owned(),
        example,
    };
    match kind {
        "pid" => match value.parse() {
            Ok(pid) if pid > 0 => Ok(Subject::Pid(pid)),
            _ => Err(bad("process number", "pid:4711")),
        },
        "port" => match value.parse() {
            Ok(port) if port > 0 => Ok(Subject::Port(port)),
            _ => Err(bad("port between 1 and 65535", "port:5432")),
        },
        "name" if value.is_empty() => Err(bad("process name", "name:postgres")),
        "name" => Ok(Subject::Name(value.to_owned())),
        "nginx-log" if value.is_empty() => {
            Err(bad("file name", "nginx-log:/var/log/nginx/access.log"))
        }
        "nginx-log" => Ok(Subject::NginxLog(PathBuf::from(value))),
        "metrics" => metrics_target(value).map(Subject::Metrics),
        _ => Err(WatchError::UnknownKind {
            kind: kind.to_owned(),
            text: text.to_owned(),
        }),
    }
}

/// A plain `http://` address; without a path it is `/metrics`.
fn metrics_target(text: &str) -> Result<Target, WatchError> {
    let bad = || WatchError::Url(text.to_owned());
    let authority = text.strip_prefix("http://").ok_or_else(bad)?;
    let path = if authority.contains('/') {
        ""
    } else {
        "/metrics"
    };
    Target::parse(&format!("{text}{path}")).map_err(|_| bad())
}

#[cfg(test)]
mod tests;
