//! A form as a browser sends it: `multipart/form-data` from fields as curl's `-F` takes them (RFC 7578).

use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// Fields with their values.
pub(super) struct Form {
    parts: Vec<Part>,
    boundary: String,
}

struct Part {
    /// `Content-Disposition` and, of a file, `Content-Type`.
    head: String,
    value: Vec<u8>,
}

impl Form {
    /// `name=value`, `name=<FILE` for the text in a file, `name=@FILE[;type=TYPE][;filename=NAME]` for the file itself.
    pub(super) fn read(fields: &[String]) -> Result<Self> {
        let parts: Vec<Part> = fields
            .iter()
            .map(|field| part(field))
            .collect::<Result<_>>()?;
        let mut boundary = "plimsoll-boundary-1".to_owned();
        let holds = |boundary: &str| {
            let boundary = boundary.as_bytes();
            let mut values = parts.iter().map(|part| &part.value);
            values.any(|value| {
                value
                    .windows(boundary.len())
                    .any(|window| window == boundary)
            })
        };
        // One that occurs in no value, and is the same in each run.
        let mut turn = 1;
        while holds(&boundary) {
            turn += 1;
            boundary = format!("plimsoll-boundary-{turn}-x");
        }
        Ok(Self { parts, boundary })
    }

    pub(super) fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    pub(super) fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for part in &self.parts {
            let head = format!("--{}\r\n{}\r\n\r\n", self.boundary, part.head);
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&part.value);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        body
    }
}

fn part(field: &str) -> Result<Part> {
    let Some((name, value)) = field.split_once('=') else {
        bail!("-F `{field}`: write name=value, name=@FILE or name=<FILE");
    };
    let read =
        |path: &str| std::fs::read(path).with_context(|| format!("-F `{field}`: read {path}"));
    let name = quoted(name);
    let plain = |value| Part {
        head: format!("Content-Disposition: form-data; name={name}"),
        value,
    };
    if let Some(path) = value.strip_prefix('<') {
        return Ok(plain(read(path)?));
    }
    let Some(file) = value.strip_prefix('@') else {
        return Ok(plain(value.as_bytes().to_vec()));
    };
    let mut parts = file.split(';');
    let path = parts.next().unwrap_or_default();
    let shown = Path::new(path).file_name().unwrap_or_default();
    let mut filename = shown.to_string_lossy().into_owned();
    let mut kind = "application/octet-stream".to_owned();
    for option in parts {
        match option.trim().split_once('=') {
            Some(("type", value)) => value.clone_into(&mut kind),
            Some(("filename", value)) => value.clone_into(&mut filename),
            _ => bail!("-F `{field}`: behind a file there may stand ;type=TYPE and ;filename=NAME"),
        }
    }
    if kind.chars().any(char::is_control) {
        bail!("-F `{field}`: a type cannot hold a line break");
    }
    Ok(Part {
        head: format!(
            "Content-Disposition: form-data; name={name}; filename={}\r\nContent-Type: {kind}",
            quoted(&filename)
        ),
        value: read(path)?,
    })
}

/// In quotes, with what would end them written as browsers write it.
fn quoted(text: &str) -> String {
    let text = text.replace('"', "%22");
    format!("\"{}\"", text.replace('\r', "%0D").replace('\n', "%0A"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_parts() {
        let form = Form::read(&["a=1".to_owned(), "b\"=x=y".to_owned()]).unwrap();
        let body = String::from_utf8(form.body()).unwrap();
        assert_eq!(
            body,
            "--plimsoll-boundary-1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
             --plimsoll-boundary-1\r\nContent-Disposition: form-data; name=\"b%22\"\r\n\r\nx=y\r\n\
             --plimsoll-boundary-1--\r\n"
        );
    }

    #[test]
    fn no_value_ends_a_part_early() {
        let form = Form::read(&["a=plimsoll-boundary-1".to_owned()]).unwrap();
        assert!(
            form.content_type()
                .ends_with("boundary=plimsoll-boundary-2-x")
        );
        for (field, fragment) in [
            ("a", "name=value"),
            ("a=@/nonexistent", "/nonexistent"),
            ("a=@x;size=1", ";type=TYPE"),
        ] {
            let error = Form::read(&[field.to_owned()]).err().unwrap();
            assert!(
                format!("{error:#}").contains(fragment),
                "{field}: {error:#}"
            );
        }
    }
}
