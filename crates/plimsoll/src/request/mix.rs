//! Requests by name from a TOML file, and how often each is sent.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use plimsoll_core::test::{Request, RequestMix};
use plimsoll_net::h1::parse_header;
use plimsoll_workload::{MixRequest, PlanError, WorkloadFile};

use super::{of_flags, set_unless_given, usual_type};
use crate::args::RequestArgs;

/// The file, read.
pub(crate) fn file(path: &Path) -> Result<WorkloadFile> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
    Ok(WorkloadFile::read(&shown, &text)?)
}

/// Its requests, how often each is sent unless there is only one, and where its rows are.
pub(super) fn read(
    args: &RequestArgs,
    path: &Path,
) -> Result<(Vec<Request>, Option<RequestMix>, Option<PathBuf>)> {
    let file = file(path)?;
    let Some(http) = &file.http else {
        bail!("{} loads a store, and no URL", path.display());
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut requests = Vec::new();
    for (number, spec) in (1..).zip(&http.requests) {
        let request = request_of(spec, folder, !args.no_templates).map_err(|(key, error)| {
            let key = format!("request.{number}.{key}");
            let problem = format!("{error:#}");
            anyhow::anyhow!(file.locate(&PlanError { key, problem }))
        })?;
        requests.push(request);
    }
    of_flags(args, &mut requests)?;
    let rows = http.rows.as_ref().map(|rows| folder.join(rows));
    Ok((requests, Some(http.mix.clone()), rows))
}

/// What is wrong comes with its key.
fn request_of(
    spec: &MixRequest,
    folder: &Path,
    has_templates: bool,
) -> Result<Request, (&'static str, anyhow::Error)> {
    let body = match &spec.body_file {
        None => spec.body.clone().into_bytes(),
        Some(name) => {
            let path = folder.join(name);
            let body = std::fs::read(&path).with_context(|| format!("read {}", path.display()));
            body.map_err(|error| ("body_file", error))?
        }
    };
    let mut headers = Vec::new();
    for (name, value) in &spec.headers {
        let header = parse_header(&format!("{name}: {value}"));
        headers.push(header.map_err(|error| ("headers", error.into()))?);
    }
    if !body.is_empty() {
        set_unless_given(&mut headers, "Content-Type", || {
            usual_type(&body, has_templates).to_owned()
        });
    }
    let usual = if body.is_empty() { "GET" } else { "POST" };
    Ok(Request {
        method: spec.method.clone().unwrap_or_else(|| usual.to_owned()),
        url: spec.url.clone(),
        headers,
        body,
    })
}
