//! Requests by name from a TOML file, and how often each is sent.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use plimsoll_core::test::Request;
use plimsoll_engine::check_templates;
use plimsoll_net::h1::parse_header;
use plimsoll_workload::{MixRequest, PlanError, WorkloadFile};

use super::{Listed, of_flags, set_unless_given, usual_type};
use crate::args::RequestArgs;

/// The file, read.
pub(crate) fn file(path: &Path) -> Result<WorkloadFile> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
    Ok(WorkloadFile::read(&shown, &text)?)
}

/// Its requests, how often each is sent, and the rows that fill their templates.
pub(super) fn read(args: &RequestArgs, path: &Path) -> Result<Listed> {
    let file = file(path)?;
    let Some(http) = &file.http else {
        bail!("{} loads a store, and no URL", path.display());
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let rows_file = http.rows.as_ref().map(|rows| folder.join(rows));
    let rows_file = args.rows.clone().or(rows_file);
    let rows = rows_file.as_deref().map(super::rows).transpose()?;
    let mut requests = Vec::new();
    for (number, spec) in (1..).zip(&http.requests) {
        let located = |(key, error): (&str, anyhow::Error)| {
            let key = format!("request.{number}.{key}");
            let problem = format!("{error:#}");
            anyhow::anyhow!(file.locate(&PlanError { key, problem }))
        };
        let request = request_of(spec, folder, !args.no_templates).map_err(located)?;
        if !args.no_templates {
            check_templates(&request, rows.as_ref().map(|(_, rows)| rows)).map_err(|wrong| {
                let key = match wrong.part {
                    "url" => "path",
                    "body" if spec.body_file.is_some() => "body_file",
                    part => part,
                };
                located((key, wrong.error.into()))
            })?;
        }
        requests.push(request);
    }
    of_flags(args, &mut requests)?;
    Ok(Listed {
        requests,
        mix: Some(http.mix.clone()),
        rows,
    })
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
