//! Stages of an experiment as the script that a person would write for them: it lies beside the record, which says that
//! it ran, and can be run by itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use plimsoll_core::Nanos;
use plimsoll_core::test::Request;
use plimsoll_lab::experiment::{Stage, Variant};

/// The variable that such a script has its address in: ports are chosen anew, and the script stays the same.
pub(super) const URL: &str = "URL";

/// Writes it into the folder; gives its whole path.
pub(super) fn write(
    folder: &Path,
    variant: &Variant,
    request: &Request,
    stages: &[Stage],
    think: Nanos,
) -> Result<PathBuf> {
    let text = script_of(variant, request, stages, think);
    let path = folder.join("test.js");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, text))
        .with_context(|| format!("write {}", path.display()))?;
    std::path::absolute(&path).context("find the working folder")
}

/// The script that a person would write for these stages.
fn script_of(variant: &Variant, request: &Request, stages: &[Stage], think: Nanos) -> String {
    let mut params = serde_json::Map::new();
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.clone().into()));
    params.insert(
        "headers".to_owned(),
        serde_json::Value::Object(headers.collect()),
    );
    if let Some(timeout) = variant.test.timeout {
        params.insert("timeout".to_owned(), span(timeout).into());
    }
    let body = match request.body.as_slice() {
        [] => serde_json::Value::Null,
        body => String::from_utf8_lossy(body).into(),
    };
    let mut script = String::from("// Made by plimsoll lab from the stages of its experiment.\n");
    script.push_str("import http from 'k6/http';\nimport { check, sleep } from 'k6';\n\n");
    script.push_str("export const options = {\n  stages: [\n");
    for stage in stages {
        let _infallible = writeln!(
            script,
            "    {{ duration: '{}', target: {} }},",
            span(stage.duration),
            stage.target
        );
    }
    let _infallible = write!(
        script,
        "  ],\n  insecureSkipTLSVerify: {},\n}};\n\nexport default function () {{\n  \
         const answer = http.request({}, __ENV.{URL}, {}, {});\n",
        variant.test.insecure,
        serde_json::json!(request.method),
        body,
        serde_json::Value::Object(params),
    );
    if variant.test.h2 == Some(true) {
        script.push_str(
            "  check(answer, { 'spoke HTTP/2': (it) => it.status === 0 || it.proto === 'HTTP/2.0' });\n",
        );
    }
    if think > Nanos::ZERO {
        let _infallible = writeln!(script, "  sleep({});", think.as_secs_f64());
    }
    script.push_str("}\n");
    script
}

/// As a script takes it.
fn span(time: Nanos) -> String {
    format!("{}ms", time.0 / 1_000_000)
}
