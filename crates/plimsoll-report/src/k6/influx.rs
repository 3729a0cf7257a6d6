//! `InfluxDB`'s line protocol, as k6 fills it: a line per sample, its metric as measurement, its tags, the field `value`.

use std::fmt::Write as _;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};

/// What a tag becomes that is written as a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Text,
    Integer,
    Float,
    Truth,
}

/// Writes samples as lines.
#[derive(Debug)]
pub struct InfluxLines {
    /// When the clock of the samples stands at zero, in nanoseconds since 1970.
    start_unix: Nanos,
    /// Tags that are written as fields, because they have too many values for an index.
    fields: Vec<(String, FieldKind)>,
}

impl InfluxLines {
    /// `fields` as `K6_INFLUXDB_TAGS_AS_FIELDS` has them: `vu:int,iter:int,url`.
    pub fn new(start_unix: Nanos, fields: &str) -> Result<Self, String> {
        let named = fields.split(',').map(str::trim);
        let read = |field: &str| {
            let (name, kind) = field.split_once(':').unwrap_or((field, "string"));
            let kind = match kind {
                "string" => FieldKind::Text,
                "int" => FieldKind::Integer,
                "float" => FieldKind::Float,
                "bool" => FieldKind::Truth,
                other => return Err(format!("`{other}` is none of string, int, float, bool")),
            };
            Ok((name.to_owned(), kind))
        };
        let fields = named.filter(|field| !field.is_empty()).map(read);
        let fields = fields.collect::<Result<Vec<_>, String>>()?;
        Ok(Self { start_unix, fields })
    }

    /// From now on, the clock that samples are stamped with stands at zero at `zero_unix` since 1970.
    pub const fn count_from(&mut self, zero_unix: Nanos) {
        self.start_unix = zero_unix;
    }

    /// Appends one line; metric and tags are those of `store`. What is no number has no place in a line.
    pub fn add(&self, out: &mut String, store: &Store, sample: &Sample) {
        if !sample.value.is_finite() {
            return;
        }
        escaped(out, &store.metric(sample.metric).0.name, &[',', ' ']);
        let mut fields = String::new();
        for (name, value) in store.tags().tags(sample.tags) {
            if value.is_empty() {
                continue;
            }
            if let Some((_, kind)) = self.fields.iter().find(|(field, _)| field == name) {
                add_field(&mut fields, name, value, *kind);
                continue;
            }
            out.push(',');
            escaped(out, name, &[',', '=', ' ']);
            out.push('=');
            escaped(out, value, &[',', '=', ' ']);
        }
        let at = self.start_unix + sample.at;
        let _infallible = writeln!(out, " {fields}value={} {}", sample.value, at.0);
    }
}

/// A field and the comma behind it; a value that is not of its kind stays a text.
fn add_field(out: &mut String, name: &str, value: &str, kind: FieldKind) {
    escaped(out, name, &[',', '=', ' ']);
    let _infallible = match kind {
        FieldKind::Integer if value.parse::<i64>().is_ok() => write!(out, "={value}i,"),
        FieldKind::Float if value.parse::<f64>().is_ok_and(f64::is_finite) => {
            write!(out, "={value},")
        }
        FieldKind::Truth if matches!(value, "true" | "false") => write!(out, "={value},"),
        _ => {
            out.push_str("=\"");
            escaped(out, value, &['"', '\\']);
            write!(out, "\",")
        }
    };
}

/// A line break would end the line; nothing in a name or a tag needs one.
fn escaped(out: &mut String, text: &str, special: &[char]) {
    for letter in text.chars() {
        if special.contains(&letter) {
            out.push('\\');
        }
        out.push(if matches!(letter, '\n' | '\r') {
            ' '
        } else {
            letter
        });
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::metrics::{Contains, Kind};

    use super::*;

    fn line(name: &str, tags: &[(&str, &str)], value: f64) -> String {
        let mut store = Store::default();
        let metric = store.register(name, Kind::Trend, Contains::Time).unwrap();
        let sample = Sample {
            metric,
            tags: store.tag_set(tags),
            at: Nanos::from_millis(2),
            value,
        };
        let lines = InfluxLines::new(Nanos::from_secs(1), "vu:int,iter:int,url").unwrap();
        let mut out = String::new();
        lines.add(&mut out, &store, &sample);
        out
    }

    #[test]
    fn a_sample_is_a_line_with_its_tags_and_fields() {
        assert_eq!(line("waits", &[], 1.5), "waits value=1.5 1002000000\n");
        let tags = [
            ("name", "a b,c=d"),
            ("url", "http://h/?q=\"x\" y"),
            ("vu", "7"),
            ("empty", ""),
        ];
        assert_eq!(
            line("waits", &tags, 12.0),
            "waits,name=a\\ b\\,c\\=d url=\"http://h/?q=\\\"x\\\" y\",vu=7i,value=12 1002000000\n"
        );
        assert_eq!(
            line("waits", &[("iter", "x\ny")], 1.0),
            "waits iter=\"x y\",value=1 1002000000\n"
        );
        assert_eq!(line("waits", &[], f64::NAN), "");
        let error = InfluxLines::new(Nanos::ZERO, "vu:integer").unwrap_err();
        assert!(error.contains("none of string, int"), "{error}");
    }
}
