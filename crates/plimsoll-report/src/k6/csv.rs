//! `--out csv`: a row per sample, with a column per system tag.

use std::collections::BTreeSet;
use std::io::{self, Write};

use plimsoll_base::calendar::rfc3339;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};

/// How moments are written; the names are those of `K6_CSV_TIME_FORMAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CsvTime {
    #[default]
    Unix,
    UnixMilli,
    UnixMicro,
    UnixNano,
    Rfc3339,
    Rfc3339Nano,
}

const TIMES: [(&str, CsvTime); 6] = [
    ("unix", CsvTime::Unix),
    ("unix_milli", CsvTime::UnixMilli),
    ("unix_micro", CsvTime::UnixMicro),
    ("unix_nano", CsvTime::UnixNano),
    ("rfc3339", CsvTime::Rfc3339),
    ("rfc3339_nano", CsvTime::Rfc3339Nano),
];

impl CsvTime {
    /// Reads `unix`, `unix_milli`, `rfc3339` and so on.
    pub fn parse(name: &str) -> Option<Self> {
        let found = TIMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, time)| *time)
    }

    fn show(self, unix: Nanos) -> String {
        match self {
            Self::Unix => (unix.0 / 1_000_000_000).to_string(),
            Self::UnixMilli => (unix.0 / 1_000_000).to_string(),
            Self::UnixMicro => (unix.0 / 1_000).to_string(),
            Self::UnixNano => unix.0.to_string(),
            Self::Rfc3339 => rfc3339(unix, false),
            Self::Rfc3339Nano => rfc3339(unix, true),
        }
    }
}

/// Writes samples as they come, below one header.
#[derive(Debug)]
pub struct CsvRows<W> {
    out: W,
    /// When the clock of the samples stands at zero, in nanoseconds since 1970.
    start_unix: Nanos,
    time: CsvTime,
    /// System tags with a column, sorted.
    columns: Vec<String>,
}

impl<W: Write> CsvRows<W> {
    /// Writes the header. System tags that are switched off get no column.
    pub fn new(
        mut out: W,
        start_unix: Nanos,
        time: CsvTime,
        system_tags: &BTreeSet<String>,
    ) -> io::Result<Self> {
        let columns: Vec<String> = system_tags.iter().cloned().collect();
        let mut header = vec!["metric_name", "timestamp", "metric_value"];
        header.extend(columns.iter().map(String::as_str));
        header.extend(["extra_tags", "metadata"]);
        writeln!(out, "{}", header.join(","))?;
        Ok(Self {
            out,
            start_unix,
            time,
            columns,
        })
    }

    /// From now on, the clock that samples are stamped with stands at zero at `zero_unix` since 1970.
    pub const fn count_from(&mut self, zero_unix: Nanos) {
        self.start_unix = zero_unix;
    }

    /// Writes one sample; metric and tags are those of `store`.
    pub fn write(&mut self, store: &Store, sample: &Sample) -> io::Result<()> {
        let name = &store.metric(sample.metric).0.name;
        let at = self.time.show(self.start_unix + sample.at);
        write!(self.out, "{name},{at},{:.6}", sample.value)?;
        for column in &self.columns {
            let value = store.tags().value(sample.tags, column);
            write!(self.out, ",{}", quoted(value.unwrap_or_default()))?;
        }
        let is_extra = |tag: &(&str, &str)| self.columns.iter().all(|column| column != tag.0);
        let tags = store.tags().tags(sample.tags).filter(is_extra);
        let extra: Vec<String> = tags
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        writeln!(self.out, ",{},", quoted(&extra.join("&")))
    }

    /// Gives the writer back, so that it can be flushed and closed.
    pub fn into_inner(self) -> W {
        self.out
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
