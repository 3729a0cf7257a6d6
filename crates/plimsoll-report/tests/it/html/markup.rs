//! Reads the pages we write: tags, attributes and text, strictly.

use std::collections::BTreeMap;

/// One element as written.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    /// Index of the element around it.
    pub(crate) parent: Option<usize>,
    /// Text directly inside it, unescaped.
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn has_class(&self, class: &str) -> bool {
        let classes = self.attributes.get("class").map_or("", String::as_str);
        classes.split_whitespace().any(|known| known == class)
    }

    pub(crate) fn number(&self, attribute: &str) -> f64 {
        self.attributes[attribute].parse().unwrap()
    }
}

const VOID: [&str; 2] = ["meta", "br"];
/// Everything a report is made of; anything else came in from a record.
const KNOWN: [&str; 52] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "footer",
    "article",
    "section",
    "h1",
    "h2",
    "h3",
    "p",
    "b",
    "i",
    "br",
    "span",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "div",
    "figure",
    "figcaption",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "details",
    "summary",
    "script",
    "svg",
    "desc",
    "defs",
    "pattern",
    "rect",
    "path",
    "circle",
    "text",
    "line",
    "g",
    "polygon",
    "polyline",
    "code",
    "caption",
    "sup",
];

/// Every element in document order; panics on whatever is not well formed.
pub(crate) fn parse(page: &str) -> Vec<Element> {
    let mut elements: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").expect("a doctype");
    while let Some(at) = rest.find('<') {
        let (text, tail) = rest.split_at(at);
        if let Some(&inner) = open.last() {
            elements[inner].text.push_str(&unescape(text));
        }
        let end = tag_end(tail);
        let (tag, after) = tail.split_at(end);
        rest = after.strip_prefix('>').unwrap();
        let tag = tag.strip_prefix('<').unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().expect("something is open");
            assert_eq!(elements[closed].name, name, "closed in order");
            continue;
        }
        let alone = tag.ends_with('/');
        let element = element(tag.trim_end_matches('/'), open.last().copied());
        let raw = matches!(element.name.as_str(), "style" | "script");
        let stays_open = !alone && !VOID.contains(&element.name.as_str());
        elements.push(element);
        if raw {
            let close = format!("</{}>", elements.last().unwrap().name);
            rest = rest.split_once(close.as_str()).expect("raw text ends").1;
        } else if stays_open {
            open.push(elements.len() - 1);
        }
    }
    assert!(open.is_empty(), "everything is closed");
    elements
}

/// The end of a tag: `>` outside quotes.
fn tag_end(text: &str) -> usize {
    let mut quoted = false;
    for (index, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '>' if !quoted => return index,
            _ => {}
        }
    }
    panic!(
        "a tag does not end: {}",
        text.chars().take(80).collect::<String>()
    );
}

fn element(tag: &str, parent: Option<usize>) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(KNOWN.contains(&name), "`{name}` is no tag of ours");
    let mut attributes = BTreeMap::new();
    while !rest.trim().is_empty() {
        let (key, tail) = rest
            .split_once("=\"")
            .expect("attributes have quoted values");
        let (value, tail) = tail.split_once('"').expect("a quote ends");
        assert!(!value.contains('<'), "markup in an attribute: {value}");
        attributes.insert(key.trim().to_owned(), unescape(value));
        rest = tail;
    }
    Element {
        name: name.to_owned(),
        attributes,
        parent,
        text: String::new(),
    }
}

fn unescape(text: &str) -> String {
    let text = text
        .replace("&nbsp;", "\u{a0}")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    text.replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}
