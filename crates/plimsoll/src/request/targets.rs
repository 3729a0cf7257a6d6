//! Targets from a file, in the formats of vegeta: requests as text, or one JSON object on each line.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use plimsoll_core::test::Request;
use plimsoll_net::h1::parse_header;
use serde::Deserialize;

/// At least one; `-` is standard input.
pub(super) fn read(file: &Path) -> Result<Vec<Request>> {
    let is_input = file == Path::new("-");
    let shown = if is_input {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let text = if is_input {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("read targets from {shown}"))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let is_json = text.trim_start().starts_with('{');
    let requests = if is_json {
        from_json(&text)
    } else {
        from_text(&text, folder)
    };
    let requests = requests.with_context(|| shown.clone())?;
    if requests.is_empty() {
        bail!("{shown} holds no target; write lines such as GET http://127.0.0.1:3000/");
    }
    Ok(requests)
}

/// `METHOD URL`, header lines, and `@FILE` for the body; an empty line or the next method ends a target.
fn from_text(text: &str, folder: &Path) -> Result<Vec<Request>> {
    let mut requests: Vec<Request> = Vec::new();
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let at = || format!("line {}", number + 1);
        if line.is_empty() {
            is_inside = false;
        } else if line.starts_with('#') {
            // A comment.
        } else if let Some((method, url)) = request_line(line) {
            requests.push(Request {
                method: method.to_owned(),
                url: url.to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
            });
            is_inside = true;
        } else if let Some(request) = requests.last_mut().filter(|_| is_inside) {
            if let Some(path) = line.strip_prefix('@') {
                let path = folder.join(path);
                request.body = std::fs::read(&path)
                    .with_context(|| format!("{}: read the body from {}", at(), path.display()))?;
            } else {
                request.headers.push(parse_header(line).with_context(at)?);
            }
        } else {
            bail!(
                "{}: `{line}` is no METHOD URL, such as GET http://127.0.0.1:3000/",
                at()
            );
        }
    }
    Ok(requests)
}

fn request_line(line: &str) -> Option<(&str, &str)> {
    let (method, url) = line.split_once(char::is_whitespace)?;
    let url = url.trim();
    let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && url.contains("://")).then_some((method, url))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    method: String,
    url: String,
    /// In base64.
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    header: Option<BTreeMap<String, Vec<String>>>,
}

fn from_json(text: &str) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at = || format!("line {}", number + 1);
        let read: Line = serde_json::from_str(line).with_context(at)?;
        let body = read.body.unwrap_or_default();
        let body = base64::engine::general_purpose::STANDARD.decode(body);
        let body = body.with_context(|| format!("{}: the body is not base64", at()))?;
        let mut headers = Vec::new();
        for (name, values) in read.header.unwrap_or_default() {
            for value in values {
                headers.push(parse_header(&format!("{name}: {value}")).with_context(at)?);
            }
        }
        requests.push(Request {
            method: read.method,
            url: read.url,
            headers,
            body,
        });
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_as_vegeta_reads_it() {
        let folder = std::env::temp_dir().join(format!("plimsoll-targets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("b.json"), "{}").unwrap();
        let text = "# all\nGET http://a/1\nX-A: 1\n\nPOST http://a/2\n@b.json\nDELETE http://a/3\n";
        let requests = from_text(text, &folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let shown: Vec<_> = requests.iter().map(|r| (&*r.method, &*r.url)).collect();
        assert_eq!(
            shown,
            [
                ("GET", "http://a/1"),
                ("POST", "http://a/2"),
                ("DELETE", "http://a/3")
            ]
        );
        assert_eq!(requests[0].headers, [("X-A".to_owned(), "1".to_owned())]);
        assert_eq!(requests[1].body, b"{}");
    }

    #[test]
    fn json_lines_as_vegeta_reads_them() {
        let text = r#"{"method":"POST","url":"http://a/","body":"aGk=","header":{"X":["1","2"]}}"#;
        let requests = from_json(text).unwrap();
        assert_eq!(requests[0].body, b"hi");
        assert_eq!(requests[0].headers.len(), 2);
    }

    #[test]
    fn what_is_no_target_is_named_with_its_line() {
        let folder = Path::new("");
        for (text, fragment) in [
            ("GET http://a/\n\nX-A: 1\n", "line 3"),
            ("get http://a/", "line 1"),
            ("GET http://a/\n@missing", "line 2"),
            ("GET http://a/\nno header", "line 2"),
        ] {
            let error = from_text(text, folder).unwrap_err();
            assert!(format!("{error:#}").contains(fragment), "{text}: {error:#}");
        }
        for text in ["{\"method\":\"GET\"}", "{\"method\":1}"] {
            let error = from_json(text).unwrap_err();
            assert!(format!("{error:#}").contains("line 1"), "{error:#}");
        }
    }
}
