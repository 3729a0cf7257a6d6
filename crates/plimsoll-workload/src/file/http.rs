//! A file that loads a URL: requests by name, and how often each is sent.

use std::collections::BTreeMap;

use plimsoll_core::keys::{Misplaced, Place};
use plimsoll_core::nearest::hint;
use plimsoll_core::section;
use plimsoll_core::test::RequestMix;

use super::{File, Shares, mix, phases};
use crate::asked::check_lengths;
use crate::values::ValueError;

/// What only stores have, at the top of a file.
const OF_STORES: [&str; 12] = [
    "databases",
    "workers",
    "documents",
    "document_size",
    "keys",
    "batch",
    "verify",
    "keep",
    "consistency",
    "replicas",
    "client",
    "database",
];
/// And what only URLs have.
const OF_URLS: [&str; 3] = ["headers", "rows", "request"];

section! {
    #[serde(default)]
    RequestSpec = "[[request]]" {
        /// what it is called in mixes and results; its method and path unless given
        name: Option<String> = "\"buy\"",
        /// GET, or POST with a body, unless given
        method: Option<String> = "\"PUT\"",
        /// behind the path of `url`, or a whole URL of its own; templates stand in it, in headers and in the body:
        /// `{{counter}}`, `{{uuid}}`, `{{random:1..6}}`, `{{row.COLUMN}}`
        path: Option<String> = "\"/items/{{random:1..1000}}\"",
        /// headers beside those of the file
        headers: BTreeMap<String, String> = "{ X-Api-Key = \"k1\" }",
        /// what is sent; its type is that of JSON where it is JSON, as with -d of plimsoll run
        body: Option<String> = "'{ \"id\": \"{{uuid}}\" }'",
        /// the file, beside this one, that is sent
        body_file: Option<String> = "\"order.json\"",
    }
}

/// What is sent to a URL.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpMix {
    /// At least one.
    pub requests: Vec<MixRequest>,
    pub mix: RequestMix,
    /// The file whose rows fill templates, as it was written.
    pub rows: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixRequest {
    pub method: Option<String>,
    pub url: String,
    /// Its own first; none twice.
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Instead of a body, as it was written.
    pub body_file: Option<String>,
}

/// None: the file loads a store.
pub(super) fn mix_of(place: &Place<'_>, file: &mut File) -> Result<Option<HttpMix>, Misplaced> {
    let Some(url) = &file.url else {
        return match OF_URLS.into_iter().find(|key| place.says(key)) {
            Some(key) if file.store.is_none() => {
                let problem = format!("`{key}` needs `url`, such as \"http://127.0.0.1:3000\"");
                Err(place.at(&[key], problem))
            }
            Some(key) => Err(place.at(
                &[key],
                format!("`{key}` is of a URL, and this file has a `store`"),
            )),
            None => Ok(None),
        };
    };
    if file.store.is_some() {
        return Err(place.at(&["url"], "`url` and `store` together: give one of them"));
    }
    if let Some(key) = OF_STORES.into_iter().find(|key| place.says(key)) {
        let problem = format!("`{key}` is of a store, and this file has a `url`");
        return Err(place.at(&[key], problem));
    }
    let url = url.trim_end_matches('/').to_owned();
    if !is_web(&url) {
        let problem = format!("`url`: `{url}` does not begin with http:// or https://");
        return Err(place.at(&["url"], problem));
    }
    if file.request.is_empty() {
        file.request.push(RequestSpec::default());
    }
    let names = names(place, file)?;
    let shares = |shares: &Shares| shares_of(shares, &names);
    let phases = phases(place, &file.phase, shares)?;
    let lengths = phases.iter().map(|phase| phase.length_ns);
    let duration = file.duration.as_ref().map(|time| time.0);
    check_lengths(lengths, duration).map_err(|error| place.at(&[&error.key], error.problem))?;
    let even = vec![100.0 / names.len() as f64; names.len()];
    let usual = mix(place, "mix", file.mix.as_ref(), shares)?.unwrap_or(even);
    let requests = (1..)
        .zip(&file.request)
        .map(|(number, request)| request_of(place, number, request, (&url, &file.headers)));
    Ok(Some(HttpMix {
        requests: requests.collect::<Result<_, _>>()?,
        mix: RequestMix {
            names,
            shares: usual,
            phases,
        },
        rows: file.rows.clone(),
    }))
}

fn is_web(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

/// What each is called, which none else is.
fn names(place: &Place<'_>, file: &File) -> Result<Vec<String>, Misplaced> {
    let most = RequestMix::REQUESTS_MAX;
    if file.request.len() > most {
        let problem = format!("{} requests are more than {most}", file.request.len());
        return Err(place.at(&["request"], problem));
    }
    let mut names: Vec<String> = Vec::new();
    for (number, request) in (1..).zip(&file.request) {
        let name = request.name.clone().unwrap_or_else(|| {
            let path = request.path.as_deref().unwrap_or("/");
            format!("{} {path}", method_of(request))
        });
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let problem = "`name`: a request needs a name that can be read";
            return Err(place.at(&[&format!("request.{number}.name")], problem));
        }
        if names.contains(&name) {
            let problem =
                format!("two requests are called `{name}`: give each a `name` of its own");
            let keys = ["name", "path"].map(|key| format!("request.{number}.{key}"));
            return Err(place.at(&[&keys[0], &keys[1]], problem));
        }
        names.push(name);
    }
    Ok(names)
}

fn method_of(request: &RequestSpec) -> &str {
    let has_body = request.body.is_some() || request.body_file.is_some();
    let usual = if has_body { "POST" } else { "GET" };
    request.method.as_deref().unwrap_or(usual)
}

/// Percent of each, in the order of the requests.
fn shares_of(said: &Shares, names: &[String]) -> Result<Vec<f64>, ValueError> {
    /// What thirds come to in two digits behind the point.
    const ROUNDED: f64 = 0.02;
    if let Some(name) = said.keys().find(|name| !names.contains(name)) {
        return Err(ValueError::Request {
            hint: hint(name, names.iter().map(String::as_str)),
            name: name.clone(),
        });
    }
    if let Some(share) = said.values().find(|share| !(0.0..=100.0).contains(*share)) {
        return Err(ValueError::Share(share.to_string()));
    }
    let sum: f64 = said.values().sum();
    if (sum - 100.0).abs() > ROUNDED {
        let parts: Vec<String> = said.values().map(f64::to_string).collect();
        return Err(ValueError::Sum(format!("{} = {sum}", parts.join(" + "))));
    }
    let share = |name| said.get(name).copied().unwrap_or_default();
    Ok(names.iter().map(share).collect())
}

fn request_of(
    place: &Place<'_>,
    number: usize,
    spec: &RequestSpec,
    (url, usual): (&str, &BTreeMap<String, String>),
) -> Result<MixRequest, Misplaced> {
    let key = |name: &str| format!("request.{number}.{name}");
    let path = spec.path.as_deref().unwrap_or_default();
    let url = match path {
        whole if is_web(whole) => whole.to_owned(),
        path if path.is_empty() || path.starts_with(['/', '?']) => format!("{url}{path}"),
        path => {
            let problem = format!("`path`: `{path}` begins neither with / nor with http://");
            return Err(place.at(&[&key("path")], problem));
        }
    };
    if let Some(method) = &spec.method
        && (method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()))
    {
        let problem = format!("`method`: `{method}` is no method: write GET, POST or the like");
        return Err(place.at(&[&key("method")], problem));
    }
    if spec.body.is_some() && spec.body_file.is_some() {
        let problem = "`body` and `body_file` together: give one of them";
        return Err(place.at(&[&key("body_file")], problem));
    }
    let is_own = |name: &String| {
        spec.headers
            .keys()
            .any(|own| own.eq_ignore_ascii_case(name))
    };
    let usual = usual.iter().filter(|(name, _)| !is_own(name));
    let headers = spec.headers.iter().chain(usual);
    Ok(MixRequest {
        method: spec.method.clone(),
        url,
        headers: headers.map(|(n, v)| (n.clone(), v.clone())).collect(),
        body: spec.body.clone().unwrap_or_default(),
        body_file: spec.body_file.clone(),
    })
}
