//! What is sent to a URL, and the way it takes there: from what was typed to requests, addresses and certificates.

mod mix;
mod multipart;
mod targets;

use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use plimsoll_core::test::{Http, Request, RequestMix, Url, Variation};
use plimsoll_engine::{Places, Rows};
use plimsoll_net::proxy::{Proxies, basic};
use plimsoll_net::resolve::{Family, Ways};
use plimsoll_net::tls::{self, Identity, TlsChoice, TlsError};

use crate::args::RequestArgs;
use crate::{form, output};

pub(crate) use mix::file;

/// The requests of a test, and where they lead.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) variation: Variation,
    pub(crate) places: Places,
}

/// `text` is a URL, a file of requests by name, or `@FILE` with the targets in it; `@-` reads them from standard input.
pub(crate) fn asked(args: &RequestArgs, text: &str) -> Result<Asked> {
    let text = text.trim();
    let Listed {
        mut requests,
        mix,
        rows,
    } = match text.strip_prefix('@') {
        None if form::is_file(OsStr::new(text)) => mix::read(args, Path::new(text))?,
        None => Listed::alike(args, vec![request(args, text)?])?,
        Some(file) => Listed::alike(args, targets(args, Path::new(file))?)?,
    };
    let first = requests.remove(0);
    let mut variation = Variation {
        requests,
        mix,
        rows: rows.as_ref().map(|(name, _)| name.clone()),
        literal: args.no_templates,
        redirects_max: args.redirects,
        ..Variation::default()
    };
    let mut url = Url::new(first, Http::One);
    url.variation = variation.clone();
    let mut places = Places::resolve(&url, &ways(args)?)?;
    places.tls = tls(args)?;
    places.rows = rows.map(|(_, rows)| rows);
    for endpoint in &places.endpoints {
        let shown = endpoint.to_string();
        if !variation.addresses.contains(&shown) {
            variation.addresses.push(shown);
        }
    }
    Ok(Asked {
        request: url.request,
        variation,
        places,
    })
}

/// What is sent, and the rows that fill it, with the name of their file.
struct Listed {
    requests: Vec<Request>,
    /// How often each is sent, unless all are alike in that.
    mix: Option<RequestMix>,
    rows: Option<(String, Arc<Rows>)>,
}

impl Listed {
    fn alike(args: &RequestArgs, requests: Vec<Request>) -> Result<Self> {
        Ok(Self {
            requests,
            mix: None,
            rows: args.rows.as_deref().map(rows).transpose()?,
        })
    }
}

/// The request of the flags.
fn request(args: &RequestArgs, url: &str) -> Result<Request> {
    let mut headers = args.headers.clone();
    let mut body = args.body.clone();
    let mut content_type = None;
    if !args.form.is_empty() {
        let form = multipart::Form::read(&args.form)?;
        content_type = Some(form.content_type());
        body = form.body();
    } else if !body.is_empty() {
        content_type = Some(usual_type(&body, !args.no_templates).to_owned());
    }
    if let Some(user) = &args.user {
        set_unless_given(&mut headers, "Authorization", || basic(user.as_bytes()));
    }
    if let Some(value) = content_type {
        set_unless_given(&mut headers, "Content-Type", || value);
    }
    let usual = if body.is_empty() { "GET" } else { "POST" };
    Ok(Request {
        method: args.method.clone().unwrap_or_else(|| usual.to_owned()),
        url: url.to_owned(),
        headers,
        body,
    })
}

fn set_unless_given(
    headers: &mut Vec<(String, String)>,
    name: &str,
    value: impl FnOnce() -> String,
) {
    let is_given = headers
        .iter()
        .any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !is_given {
        headers.push((name.to_owned(), value()));
    }
}

/// Of a body without a type: JSON is JSON, also where a template stands for a value; anything else what curl sends.
fn usual_type(body: &[u8], has_templates: bool) -> &'static str {
    let is_json = |body: &[u8]| {
        matches!(body.trim_ascii().first(), Some(b'{' | b'['))
            && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
    };
    if is_json(body) || has_templates && is_json(&without_templates(body)) {
        "application/json"
    } else {
        "application/x-www-form-urlencoded"
    }
}

/// A digit in the place of each template, which may stand between quotes and outside of them.
fn without_templates(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let mut pieces = text.split("{{");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push('0');
        out.push_str(piece.split_once("}}").map_or(piece, |(_, after)| after));
    }
    out.into_bytes()
}

/// Targets of a file; headers of the flags go with each that has not one of that name.
fn targets(args: &RequestArgs, file: &Path) -> Result<Vec<Request>> {
    let mut requests = targets::read(file)?;
    of_flags(args, &mut requests)?;
    Ok(requests)
}

/// What flags say of each request of a file that does not say it itself.
fn of_flags(args: &RequestArgs, requests: &mut [Request]) -> Result<()> {
    for (flag, is_given) in [
        ("-m", args.method.is_some()),
        ("-d", !args.body.is_empty()),
        ("-F", !args.form.is_empty()),
    ] {
        if is_given {
            bail!(
                "{flag} does not go with requests from a file: each says its own method and body"
            );
        }
    }
    for request in requests {
        if let Some(user) = &args.user {
            set_unless_given(&mut request.headers, "Authorization", || {
                basic(user.as_bytes())
            });
        }
        for (name, value) in &args.headers {
            set_unless_given(&mut request.headers, name, || value.clone());
        }
    }
    Ok(())
}

fn ways(args: &RequestArgs) -> Result<Ways> {
    let proxies = Proxies::from_environment(|name| std::env::var(name).ok());
    if let Some(path) = &args.unix {
        socket_at(path).with_context(|| format!("--unix-socket {}", path.display()))?;
    }
    Ok(Ways {
        connect_to: args.connect_to.clone(),
        family: match (args.only_v4, args.only_v6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        },
        unix: args.unix.as_deref().map(Into::into),
        proxies,
    })
}

/// Bytes of `sun_path`, with the zero behind it (`man 7 unix`).
const SOCKET_PATH_MAX: usize = 108;

/// Refuses what no connection can lead to, whoever listens.
fn socket_at(path: &Path) -> Result<()> {
    let length = path.as_os_str().len();
    if length >= SOCKET_PATH_MAX {
        bail!(
            "{length} bytes, and the path of a socket has at most {}",
            SOCKET_PATH_MAX - 1
        );
    }
    if !path.metadata()?.file_type().is_socket() {
        bail!("it is no socket");
    }
    Ok(())
}

fn tls(args: &RequestArgs) -> Result<TlsChoice> {
    let identity = match (&args.cert, &args.key) {
        (None, None) => None,
        (None, Some(_)) => bail!("--key needs the certificate too: --cert FILE"),
        (Some(cert), key) => Some(Identity {
            chain: pem("--cert", cert)?,
            key: pem("--key", key.as_ref().unwrap_or(cert))?,
        }),
    };
    let authorities = args.cacert.as_deref();
    let choice = TlsChoice {
        identity,
        authorities: authorities
            .map(|path| pem("--cacert", path))
            .transpose()?
            .unwrap_or_default(),
        resumes: args.tls_resumption,
        ..TlsChoice::default()
    };
    // Tried now, where it is known which file it came from. The authorities of this host are another matter.
    let tried = TlsChoice {
        insecure: args.cacert.is_none(),
        ..choice.clone()
    };
    tls::client_config_of(&tried).map_err(|error| at_its_file(error, args))?;
    Ok(choice)
}

/// The text of a file in PEM. An empty one names nobody, which is not the same as a file that was not named.
fn pem(flag: &str, path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{flag}: read {}", path.display()))?;
    if text.trim().is_empty() {
        bail!("{flag}: {} is empty", path.display());
    }
    Ok(text)
}

fn at_its_file(error: TlsError, args: &RequestArgs) -> anyhow::Error {
    let (flag, path) = match &error {
        TlsError::Authorities(_) => ("--cacert", &args.cacert),
        TlsError::Key(_) if args.key.is_some() => ("--key", &args.key),
        TlsError::Identity(_) | TlsError::Key(_) => ("--cert", &args.cert),
        _ => return error.into(),
    };
    let shown = path.as_deref().unwrap_or(Path::new("")).display();
    anyhow::Error::new(error).context(format!("{flag} {shown}"))
}

/// The rows of a CSV file, whose first line names the columns.
fn rows(path: &Path) -> Result<(String, Arc<Rows>)> {
    let read = || format!("read rows from {}", path.display());
    let mut reader = csv::ReaderBuilder::new()
        .from_path(path)
        .with_context(read)?;
    let columns = reader.headers().with_context(read)?;
    let columns = columns.iter().map(|name| name.trim().to_owned()).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.with_context(read)?;
        rows.push(record.iter().map(str::to_owned).collect());
    }
    if rows.is_empty() {
        bail!(
            "{} has no rows below the line of column names",
            path.display()
        );
    }
    let shown = path.display().to_string();
    Ok((shown, Arc::new(Rows { columns, rows })))
}

/// Says once which way requests take, where that is not the obvious one.
pub(crate) fn announce(places: &Places) {
    let mut said = Vec::new();
    for endpoint in &places.endpoints {
        let is_plain = endpoint.addresses.len() == 1 && endpoint.proxy.is_none();
        let (host, way) = (endpoint.target.host_header(), endpoint.to_string());
        if !is_plain && !said.contains(&host) {
            output::progress(&format!("plimsoll: connections for {host} lead to {way}"));
            said.push(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_the_type_that_it_is_of() {
        assert_eq!(usual_type(b" {\"a\": [1]} ", false), "application/json");
        let filled = br#"{"name": "{{row.name}}", "age": {{row.age}}}"#;
        assert_eq!(usual_type(filled, true), "application/json");
        let form = "application/x-www-form-urlencoded";
        assert_eq!(
            usual_type(filled, false),
            form,
            "sent as it stands, it is no JSON"
        );
        for other in [
            &b"a=1&b=2"[..],
            b"{a: 1}",
            b"[1, 2",
            b"\xff",
            b"{{row.a}}",
            b"{ {{uuid",
        ] {
            assert_eq!(usual_type(other, true), form);
        }
    }

    #[test]
    fn the_method_is_the_one_that_was_said() {
        let mut args = RequestArgs {
            body: b"x".to_vec(),
            ..RequestArgs::default()
        };
        assert_eq!(request(&args, "http://a/").unwrap().method, "POST");
        args.method = Some("GET".to_owned());
        let sent = request(&args, "http://a/").unwrap();
        assert_eq!((&*sent.method, &*sent.body), ("GET", &b"x"[..]));
    }

    #[test]
    fn a_header_that_was_given_stays() {
        let args = RequestArgs {
            body: b"{}".to_vec(),
            headers: vec![("content-type".to_owned(), "text/x".to_owned())],
            user: Some("u:p".to_owned()),
            ..RequestArgs::default()
        };
        let headers = request(&args, "http://a/").unwrap().headers;
        assert_eq!(headers.len(), 2);
        assert_eq!(headers[1].1, "Basic dTpw");
    }
}
