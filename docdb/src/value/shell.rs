//! Reads values as one writes them in a shell, so that tables of cases stay readable: `{a: [1, 2L, 1.5, "x"]}`.
//!
//! Numbers are int unless they end in `L` (long) or `D` (decimal) or have a point (double);
//! `date(0)`, `oid("…")`, `bytes([1])`, `symbol("…")` and `/pattern/i` give those types.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Document, Regex, oid::ObjectId};

use super::samples::raw;
use crate::error::{CommandError, Result};

struct Reader<'a> {
    rest: &'a str,
}

/// The value that `text` writes; panics with the rest of the text where it makes no sense.
pub(crate) fn value(text: &str) -> Bson {
    let mut reader = Reader { rest: text };
    let value = reader.value();
    assert!(reader.peek().is_none(), "left over: {}", reader.rest);
    value
}

pub(crate) fn document(text: &str) -> Document {
    match value(text) {
        Bson::Document(document) => document,
        other => panic!("no document: {other}"),
    }
}

pub(crate) fn documents(text: &str) -> Vec<Document> {
    match value(text) {
        Bson::Array(array) => array
            .into_iter()
            .map(|one| one.as_document().expect("a document").clone())
            .collect(),
        other => panic!("no array: {other}"),
    }
}

/// The rows of a table: what stands before ` => ` in a line, and what after it.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().filter_map(|line| line.split_once(" => "));
    rows.map(|(question, answer)| (question.trim(), answer))
}

/// Checks that `error` has the code that begins `expected` and says the text after it.
#[track_caller]
pub(crate) fn assert_refused(question: &str, error: &CommandError, expected: &str) {
    let (code, text) = expected.split_once(' ').expect("a code and a text");
    assert_eq!(error.code.number().to_string(), code, "{question}: {error}");
    assert!(error.message.contains(text), "{question}: {error}");
}

/// Checks that `found` is the document `answer`, to the byte, or is refused as `!CODE TEXT`.
#[track_caller]
pub(crate) fn assert_answer(question: &str, found: Result<Document>, answer: &str) {
    match (found, answer.strip_prefix('!')) {
        (Err(error), Some(refusal)) => assert_refused(question, &error, refusal),
        (Ok(found), None) => {
            let expected = document(answer);
            assert_eq!(raw(&found), raw(&expected), "{question}: {found}");
        }
        (found, _) => panic!("{question}: {found:?}"),
    }
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.peek();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) {
        assert!(self.eat(wanted), "expected {wanted} before: {}", self.rest);
    }

    fn take(&mut self, until: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(until).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn value(&mut self) -> Bson {
        match self.peek() {
            Some('{') => Bson::Document(self.document()),
            Some('[') => Bson::Array(self.array()),
            Some('"') => Bson::String(self.quoted('"')),
            Some('/') => {
                let pattern = self.quoted('/');
                let options = self.take(|c| !c.is_ascii_lowercase());
                Bson::RegularExpression(Regex {
                    pattern: pattern.try_into().expect("no NUL"),
                    options: options.to_owned().try_into().expect("no NUL"),
                })
            }
            _ => self.word(),
        }
    }

    fn document(&mut self) -> Document {
        let mut document = Document::new();
        self.expect('{');
        while !self.eat('}') {
            let name = match self.peek() {
                Some('"') => self.quoted('"'),
                _ => self.take(|c| c == ':').trim().to_owned(),
            };
            self.expect(':');
            document.insert(name, self.value());
            self.eat(',');
        }
        document
    }

    fn array(&mut self) -> Vec<Bson> {
        let mut array = Vec::new();
        self.expect('[');
        while !self.eat(']') {
            array.push(self.value());
            self.eat(',');
        }
        array
    }

    fn quoted(&mut self, quote: char) -> String {
        self.expect(quote);
        let text = self.take(|c| c == quote).replace("\\n", "\n");
        self.expect(quote);
        text
    }

    fn word(&mut self) -> Bson {
        let word = self.take(|c: char| !(c.is_alphanumeric() || "+-.".contains(c)));
        match word {
            "null" => return Bson::Null,
            "undefined" => return Bson::Undefined,
            "true" | "false" => return Bson::Boolean(word == "true"),
            "NaN" => return Bson::Double(f64::NAN),
            "Infinity" => return Bson::Double(f64::INFINITY),
            "MinKey" => return Bson::MinKey,
            "MaxKey" => return Bson::MaxKey,
            "date" | "oid" | "bytes" | "symbol" => return self.call(word),
            _ => {}
        }
        if let Some(long) = word.strip_suffix('L') {
            return Bson::Int64(long.parse().expect("a long"));
        }
        if let Some(decimal) = word.strip_suffix('D') {
            return Bson::Decimal128(decimal.parse().expect("a decimal"));
        }
        match word.parse::<i32>() {
            Ok(int) => Bson::Int32(int),
            Err(_) => Bson::Double(word.parse().unwrap_or_else(|_| panic!("what is {word}?"))),
        }
    }

    fn call(&mut self, name: &str) -> Bson {
        self.expect('(');
        let argument = self.value();
        self.expect(')');
        match (name, argument) {
            ("date", Bson::Int64(millis)) => Bson::DateTime(DateTime::from_millis(millis)),
            ("date", Bson::Int32(millis)) => Bson::DateTime(DateTime::from_millis(millis.into())),
            ("date", Bson::String(text)) => {
                Bson::DateTime(DateTime::parse_rfc3339_str(text).expect("a date"))
            }
            ("oid", Bson::String(hex)) => Bson::ObjectId(ObjectId::parse_str(hex).expect("an id")),
            ("symbol", Bson::String(text)) => Bson::Symbol(text),
            ("bytes", Bson::Array(bytes)) => Bson::Binary(Binary {
                subtype: BinarySubtype::Generic,
                bytes: bytes
                    .iter()
                    .filter_map(|one| Some(one.as_i32()? as u8))
                    .collect(),
            }),
            (name, argument) => panic!("no {name} of {argument}"),
        }
    }
}
