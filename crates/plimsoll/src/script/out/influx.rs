//! `--out influxdb`: every sample as a line to `InfluxDB`, once a second. Version 2 is meant where an organisation, a bucket
//! or a token is named.

use std::borrow::Cow;

use anyhow::{Result, anyhow};
use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};
use plimsoll_core::units::parse_duration;
use plimsoll_report::k6::InfluxLines;

use super::sender::{Destination, Sender, basic, is_true, said};
use crate::script::console;

const SERVER: &str = "http://localhost:8086";
/// k6's defaults.
const DATABASE: &str = "k6";
const PUSH_EVERY: Nanos = Nanos::from_secs(1);
const TAGS_AS_FIELDS: &str = "vu:int,iter:int,url";
/// A body is sent before its time when it is so long: `InfluxDB` refuses much longer ones.
const BODY_BYTES_MAX: usize = 4 << 20;

pub(super) struct Influx {
    lines: InfluxLines,
    body: String,
    clock: Clock,
    every: Nanos,
    next: Nanos,
    sender: Sender,
}

impl Influx {
    pub(super) fn start(url: Option<String>, is_v2: bool, start: Nanos) -> Result<Self> {
        let said = said("K6_INFLUXDB_");
        let every = match said("PUSH_INTERVAL") {
            Some(text) => parse_duration(&text)
                .map_err(|error| anyhow!("K6_INFLUXDB_PUSH_INTERVAL: {error}"))?,
            None => PUSH_EVERY,
        };
        let fields = said("TAGS_AS_FIELDS").unwrap_or_else(|| TAGS_AS_FIELDS.to_owned());
        let lines = InfluxLines::new(start, &fields)
            .map_err(|error| anyhow!("K6_INFLUXDB_TAGS_AS_FIELDS: {error}"))?;
        for name in ["PROXY", "HTTP_PROXY", "CONCURRENT_WRITES", "PAYLOAD_SIZE"] {
            if said(name).is_some() {
                console::warn(&format!(
                    "K6_INFLUXDB_{name} is not followed: one connection sends, without a proxy"
                ));
            }
        }
        let (destination, first) = destination(url, is_v2, &said)?;
        Ok(Self {
            lines,
            body: String::new(),
            clock: Clock::start(),
            every,
            next: every,
            sender: Sender::start(destination, first)?,
        })
    }

    pub(super) const fn count_from(&mut self, zero_unix: Nanos) {
        self.lines.count_from(zero_unix);
    }

    pub(super) fn absorb(&mut self, store: &Store, samples: &[Sample]) {
        for sample in samples {
            self.lines.add(&mut self.body, store, sample);
            if self.body.len() >= BODY_BYTES_MAX {
                self.push();
            }
        }
        let now = self.clock.now();
        if now >= self.next {
            self.next = now + self.every;
            self.push();
        }
    }

    fn push(&mut self) {
        if !self.body.is_empty() {
            let body = std::mem::take(&mut self.body);
            self.sender.push(body.into_bytes());
        }
    }

    pub(super) fn close(self) {
        let last = Some(self.body.into_bytes()).filter(|body| !body.is_empty());
        self.sender.close(last);
    }
}

/// Where lines go, and what makes the database of version 1, as k6 does.
type Place = (Destination, Option<(String, Vec<u8>)>);

fn destination(
    url: Option<String>,
    is_v2: bool,
    said: &impl Fn(&str) -> Option<String>,
) -> Result<Place> {
    let given = url
        .or_else(|| said("ADDR"))
        .unwrap_or_else(|| SERVER.to_owned());
    let parts = Parts::of(&given)?;
    let user = parts.user.clone().or_else(|| said("USERNAME"));
    let insecure = is_true(said("INSECURE"));
    let mut headers = vec![(
        "Content-Type".to_owned(),
        "text/plain; charset=utf-8".to_owned(),
    )];
    let named = ["ORGANIZATION", "BUCKET", "TOKEN"].map(said);
    if is_v2 || named.iter().any(Option::is_some) {
        let [organisation, bucket, token] = named;
        let bucket = bucket.or(parts.path).ok_or_else(|| {
            anyhow!("--out influxdb: version 2 needs a bucket: set K6_INFLUXDB_BUCKET")
        })?;
        if let Some(token) = token {
            headers.push(("Authorization".to_owned(), format!("Token {token}")));
        }
        let organisation = organisation.unwrap_or_default();
        let url = format!(
            "{}/api/v2/write?org={}&bucket={}&precision=ns",
            parts.base,
            encoded(&organisation),
            encoded(&bucket)
        );
        let destination = Destination {
            name: "influxdb",
            url,
            headers,
            insecure,
        };
        return Ok((destination, None));
    }
    if let Some(user) = user {
        let password = parts.password.or_else(|| said("PASSWORD"));
        headers.push(basic(&user, &password.unwrap_or_default()));
    }
    let database = said("DB").or(parts.path);
    let database = database.unwrap_or_else(|| DATABASE.to_owned());
    let mut url = format!(
        "{}/write?db={}&precision=ns",
        parts.base,
        encoded(&database)
    );
    for (variable, name) in [("RETENTION", "rp"), ("CONSISTENCY", "consistency")] {
        if let Some(value) = said(variable) {
            url = format!("{url}&{name}={}", encoded(&value));
        }
    }
    let create = format!("CREATE DATABASE \"{}\"", database.replace('"', "\\\""));
    let create = format!("{}/query?q={}", parts.base, encoded(&create));
    let destination = Destination {
        name: "influxdb",
        url,
        headers,
        insecure,
    };
    Ok((destination, Some((create, Vec::new()))))
}

/// `http://user:password@host:8086/database`
struct Parts {
    base: String,
    user: Option<String>,
    password: Option<String>,
    path: Option<String>,
}

impl Parts {
    fn of(text: &str) -> Result<Self> {
        let wrong = || {
            anyhow!("--out influxdb: `{text}` is no address; write http://127.0.0.1:8086/database")
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match place.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, place),
        };
        if host.is_empty() || !["http", "https"].contains(&scheme) {
            return Err(wrong());
        }
        let (user, password) = match user.map(|user| user.split_once(':').unwrap_or((user, ""))) {
            Some((user, password)) => (Some(user.to_owned()), Some(password.to_owned())),
            None => (None, None),
        };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if !query.is_empty() {
            console::warn(&format!(
                "--out influxdb: `?{query}` is not followed; set K6_INFLUXDB_RETENTION and its like"
            ));
        }
        Ok(Self {
            base: format!("{scheme}://{host}"),
            user,
            password,
            path: Some(path.trim_matches('/').to_owned()).filter(|path| !path.is_empty()),
        })
    }
}

/// As a value of a query has it.
fn encoded(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            let code = format!("%{byte:02X}");
            out.push_str(&code);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str, variables: &[(&str, &str)]) -> Result<Place> {
        let said = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        };
        destination(Some(url.to_owned()), false, &said)
    }

    #[test]
    fn both_versions_are_found_where_k6_finds_them() {
        let (one, first) = place("http://me:word@h:8086/my db", &[("RETENTION", "week")]).unwrap();
        assert_eq!(
            one.url,
            "http://h:8086/write?db=my%20db&precision=ns&rp=week"
        );
        assert!(one.headers.contains(&basic("me", "word")));
        assert!(first.unwrap().0.contains("/query?q=CREATE%20DATABASE"));
        let (one, _) = place("http://h:8086", &[]).unwrap();
        assert_eq!(one.url, "http://h:8086/write?db=k6&precision=ns");
        let said = [("ORGANIZATION", "o"), ("BUCKET", "b"), ("TOKEN", "t")];
        let (two, first) = place("http://h:8086", &said).unwrap();
        assert_eq!(
            two.url,
            "http://h:8086/api/v2/write?org=o&bucket=b&precision=ns"
        );
        let token = ("Authorization".to_owned(), "Token t".to_owned());
        assert!(two.headers.contains(&token) && first.is_none());
        for wrong in ["h:8086", "ftp://h/x", "http:///x"] {
            let error = place(wrong, &[]).map(drop).unwrap_err().to_string();
            assert!(error.contains("is no address"), "{error}");
        }
    }
}
