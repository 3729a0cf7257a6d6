//! Templates in a request: `{{counter}}`, `{{uuid}}`, `{{random:1..6}}` and `{{row.NAME}}`, filled in for every attempt.
//!
//! A request without any costs nothing: it is encoded once before the run.

use std::ops::RangeInclusive;
use std::sync::Arc;

use plimsoll_base::random::Rng;
use plimsoll_core::test::Request;
use thiserror::Error;

/// Why a text is no template, or rows cannot fill one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    #[error(
        "`{{{{{0}}}}}` is not known; there are {{{{counter}}}}, {{{{uuid}}}}, {{{{random:1..6}}}} and, with --rows, \
         {{{{row.COLUMN}}}}; --no-templates sends such text as it stands"
    )]
    Unknown(String),
    #[error("`{{{{{0}}}}}`: a range is written FIRST..LAST, such as 1..6")]
    Range(String),
    #[error(
        "`{{{{row.{0}}}}}` needs a file of rows: say --rows FILE.csv, or `rows` in a file of requests"
    )]
    NoRows(String),
    #[error("the rows have no column `{0}`; they have {1}")]
    Column(String, String),
    #[error("`{{{{` without `}}}}` in `{0}`; --no-templates sends such text as it stands")]
    Open(String),
    #[error("a method and a host cannot be templates: `{0}`")]
    Place(String),
    #[error(
        "row {row}, column `{column}`: a line break or control character cannot stand in a header"
    )]
    Header { row: usize, column: String },
}

/// A template that is wrong, and which part of the request it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{part}: {error}")]
pub struct Misplaced {
    /// `url`, `headers` or `body`.
    pub part: &'static str,
    pub error: TemplateError,
}

impl TemplateError {
    fn of(part: &'static str) -> impl Fn(Self) -> Misplaced {
        move |error| Misplaced { part, error }
    }
}

/// Whether the templates of a request can be filled.
pub fn check_templates(request: &Request, rows: Option<&Arc<Rows>>) -> Result<(), Misplaced> {
    Template::of(request, rows).map(|_| ())
}

/// Rows of a table, all of the same length.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// One request with templates in it.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    url: Text,
    headers: Vec<(String, Text)>,
    body: Text,
    rows: Option<Arc<Rows>>,
}

/// What fills the templates of one attempt.
#[derive(Debug)]
pub(crate) struct Filling {
    /// The attempt's number among all of the run, from 0.
    pub(crate) number: u64,
    /// Which row it has, from 0; after the last comes the first.
    pub(crate) row: u64,
    pub(crate) rng: Rng,
}

#[derive(Debug, Clone)]
struct Text(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Literal(Vec<u8>),
    Counter,
    Uuid,
    Random(RangeInclusive<u64>),
    Column(usize, Written),
}

/// How the value of a row is written, so that it stays one part of what it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    AsItIs,
    /// In a URL, or a form.
    Percent,
    /// Between the quotes of JSON.
    JsonString,
}

impl Template {
    /// The templates of a request; nothing if it has none.
    pub(crate) fn of(
        request: &Request,
        rows: Option<&Arc<Rows>>,
    ) -> Result<Option<Self>, Misplaced> {
        let columns = rows.map(|rows| rows.columns.as_slice());
        let parse = |part, text: &[u8]| Text::parse(text, columns).map_err(TemplateError::of(part));
        let template = Self {
            url: parse("url", request.url.as_bytes())?.written(Written::Percent),
            headers: request
                .headers
                .iter()
                .map(|(name, value)| Ok((name.clone(), parse("headers", value.as_bytes())?)))
                .collect::<Result<_, Misplaced>>()?,
            body: parse("body", &request.body)?.in_body(content_type(request)),
            rows: rows.cloned(),
        };
        let texts = template.headers.iter().map(|(_, text)| text);
        let is_fixed = template.url.is_fixed()
            && template.body.is_fixed()
            && texts.clone().all(Text::is_fixed);
        if is_fixed {
            return Ok(None);
        }
        let authority = request.url.split('/').take(3).collect::<Vec<_>>().join("/");
        if authority.contains("{{") || request.method.contains("{{") {
            let error = TemplateError::Place(request.url.clone());
            return Err(TemplateError::of("url")(error));
        }
        for text in texts {
            let checked = template.check_header(text);
            checked.map_err(TemplateError::of("headers"))?;
        }
        Ok(Some(template))
    }

    /// Something of it comes out of rows.
    pub(crate) fn has_rows(&self) -> bool {
        let headers = self.headers.iter().map(|(_, text)| text);
        let mut texts = headers.chain([&self.url, &self.body]);
        let is_of_row = |piece: &Piece| matches!(piece, Piece::Column(..));
        texts.any(|text| text.0.iter().any(is_of_row))
    }

    /// No row may break out of a header.
    fn check_header(&self, text: &Text) -> Result<(), TemplateError> {
        let Some(rows) = &self.rows else {
            return Ok(());
        };
        for piece in &text.0 {
            let Piece::Column(column, _) = piece else {
                continue;
            };
            for (number, row) in rows.rows.iter().enumerate() {
                let value = row.get(*column).map_or("", String::as_str);
                if value.chars().any(char::is_control) {
                    return Err(TemplateError::Header {
                        row: number + 1,
                        column: rows.columns.get(*column).cloned().unwrap_or_default(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The request of one attempt.
    pub(crate) fn fill(&self, method: &str, filling: &mut Filling) -> Request {
        let row = self.rows.as_deref().and_then(|rows| {
            let count = rows.rows.len() as u64;
            rows.rows
                .get(filling.row.checked_rem(count)? as usize)
                .map(Vec::as_slice)
        });
        let mut fill = |text: &Text| text.fill(filling, row.unwrap_or_default());
        let url = fill(&self.url);
        let headers = self.headers.iter().map(|(name, value)| {
            let value = fill(value);
            (name.clone(), String::from_utf8_lossy(&value).into_owned())
        });
        let headers = headers.collect();
        Request {
            method: method.to_owned(),
            url: String::from_utf8_lossy(&url).into_owned(),
            headers,
            body: fill(&self.body),
        }
    }
}

impl Text {
    fn parse(text: &[u8], columns: Option<&[String]>) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(begin) = find(rest, b"{{") {
            let (before, after) = rest.split_at(begin);
            let inside = after.get(2..).unwrap_or_default();
            let Some(end) = find(inside, b"}}") else {
                let shown =
                    String::from_utf8_lossy(after.get(..after.len().min(40)).unwrap_or_default());
                return Err(TemplateError::Open(shown.into_owned()));
            };
            let (name, after) = inside.split_at(end);
            pieces.push(Piece::Literal(before.to_vec()));
            pieces.push(Piece::parse(&String::from_utf8_lossy(name), columns)?);
            rest = after.get(2..).unwrap_or_default();
        }
        pieces.push(Piece::Literal(rest.to_vec()));
        pieces.retain(|piece| !matches!(piece, Piece::Literal(bytes) if bytes.is_empty()));
        Ok(Self(pieces))
    }

    fn is_fixed(&self) -> bool {
        let mut pieces = self.0.iter();
        pieces.all(|piece| matches!(piece, Piece::Literal(_)))
    }

    fn written(mut self, how: Written) -> Self {
        for piece in &mut self.0 {
            if let Piece::Column(_, written) = piece {
                *written = how;
            }
        }
        self
    }

    /// A body by its type: fields of a form are encoded, and what stands between quotes of JSON is escaped.
    fn in_body(mut self, content_type: &str) -> Self {
        if is_type(content_type, "x-www-form-urlencoded") {
            return self.written(Written::Percent);
        }
        if !is_type(content_type, "json") {
            return self;
        }
        let mut json = Quotes::default();
        for piece in &mut self.0 {
            match piece {
                Piece::Literal(bytes) => bytes.iter().for_each(|&byte| json.pass(byte)),
                Piece::Column(_, written) if json.is_inside => *written = Written::JsonString,
                _ => {}
            }
        }
        self
    }

    fn fill(&self, filling: &mut Filling, row: &[String]) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Counter => out.extend_from_slice(filling.number.to_string().as_bytes()),
                Piece::Uuid => out.extend_from_slice(uuid(&mut filling.rng).as_bytes()),
                Piece::Random(range) => {
                    let width = range.end() - range.start() + 1;
                    let drawn = range.start() + filling.rng.below(width);
                    out.extend_from_slice(drawn.to_string().as_bytes());
                }
                Piece::Column(column, written) => {
                    let value = row.get(*column).map_or("", String::as_str);
                    written.put(value, &mut out);
                }
            }
        }
        out
    }
}

impl Piece {
    fn parse(name: &str, columns: Option<&[String]>) -> Result<Self, TemplateError> {
        let name = name.trim();
        if let Some(column) = name.strip_prefix("row.") {
            let columns = columns.ok_or_else(|| TemplateError::NoRows(column.to_owned()))?;
            let place = columns.iter().position(|known| known == column);
            let unknown = || TemplateError::Column(column.to_owned(), columns.join(", "));
            return place
                .map(|place| Self::Column(place, Written::AsItIs))
                .ok_or_else(unknown);
        }
        if let Some(range) = name.strip_prefix("random:") {
            let ends = range.split_once("..").and_then(|(first, last)| {
                let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                (first <= last && last < u64::MAX).then_some(first..=last)
            });
            return ends
                .map(Self::Random)
                .ok_or_else(|| TemplateError::Range(name.to_owned()));
        }
        match name {
            "counter" => Ok(Self::Counter),
            "uuid" => Ok(Self::Uuid),
            _ => Err(TemplateError::Unknown(name.to_owned())),
        }
    }
}

impl Written {
    fn put(self, value: &str, out: &mut Vec<u8>) {
        match self {
            Self::AsItIs => out.extend_from_slice(value.as_bytes()),
            Self::Percent => value.bytes().for_each(|byte| percent(byte, out)),
            Self::JsonString => value.chars().for_each(|char| json_char(char, out)),
        }
    }
}

fn percent(byte: u8, out: &mut Vec<u8>) {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        out.push(byte);
    } else {
        out.extend_from_slice(format!("%{byte:02X}").as_bytes());
    }
}

/// One character of a JSON string (RFC 8259, section 7).
fn json_char(char: char, out: &mut Vec<u8>) {
    match char {
        '"' | '\\' => out.extend_from_slice(&[b'\\', char as u8]),
        '\0'..='\x1F' => out.extend_from_slice(format!("\\u{:04x}", char as u32).as_bytes()),
        _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Whether a text of JSON is inside a string after what went past.
#[derive(Debug, Default)]
struct Quotes {
    is_inside: bool,
    is_escaped: bool,
}

impl Quotes {
    fn pass(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = self.is_inside,
            b'"' => self.is_inside = !self.is_inside,
            _ => {}
        }
    }
}

fn content_type(request: &Request) -> &str {
    let mut headers = request.headers.iter();
    let found = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map_or("", |(_, value)| value)
}

/// Whether a media type is of that subtype, or built on it (`application/problem+json`).
fn is_type(content_type: &str, subtype: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let found = essence.rsplit(['/', '+']).next().unwrap_or_default();
    found.eq_ignore_ascii_case(subtype)
}

/// A random UUID (RFC 9562, version 4).
fn uuid(rng: &mut Rng) -> String {
    let high = rng.next_u64() & !0xF000 | 0x4000;
    let low = rng.next_u64() & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    )
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests;
