//! `--out json=FILE` and `--out csv=FILE`: every sample as it comes, in k6's shapes.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context as _, Result, anyhow};
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};
use plimsoll_core::scenario::Options;
use plimsoll_core::threshold::Thresholds;
use plimsoll_report::k6::{CsvRows, CsvTime, JsonLines};

use crate::machine;

type Sink = Box<dyn Write>;

/// One `--out`.
enum Out {
    Json(JsonLines<Sink>),
    Csv(CsvRows<Sink>),
}

/// All of them. The first that cannot be written says so once; the test goes on.
pub(crate) struct Outs {
    outs: Vec<Out>,
    failed: Option<std::io::Error>,
}

impl Outs {
    pub(crate) fn open(asked: &[String], options: &Options) -> Result<Self> {
        let start = Nanos(machine::since_1970().as_nanos() as u64);
        let outs: Result<Vec<Out>> = asked
            .iter()
            .map(|text| Out::open(text, start, options))
            .collect();
        Ok(Self {
            outs: outs?,
            failed: None,
        })
    }

    pub(crate) fn write(&mut self, store: &Store, thresholds: &Thresholds, samples: &[Sample]) {
        for out in &mut self.outs {
            for sample in samples {
                let written = match out {
                    Out::Json(lines) => lines.write(store, thresholds, sample),
                    Out::Csv(rows) => rows.write(store, sample),
                };
                if let Err(error) = written {
                    self.failed.get_or_insert(error);
                    break;
                }
            }
        }
    }

    /// Writes what is buffered.
    pub(crate) fn close(self) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error).context("write --out");
        }
        for out in self.outs {
            let mut sink = match out {
                Out::Json(lines) => lines.into_inner(),
                Out::Csv(rows) => rows.into_inner(),
            };
            sink.flush().context("write --out")?;
        }
        Ok(())
    }
}

impl Out {
    fn open(text: &str, start: Nanos, options: &Options) -> Result<Self> {
        let (kind, path) = text.split_once('=').unwrap_or((text, ""));
        match kind {
            "json" => Ok(Self::Json(JsonLines::new(sink(path)?, start))),
            "csv" => {
                let path = match path {
                    "" => std::env::var("K6_CSV_FILENAME").unwrap_or_default(),
                    path => path.to_owned(),
                };
                let time = match std::env::var("K6_CSV_TIME_FORMAT") {
                    Err(_) => CsvTime::default(),
                    Ok(name) => CsvTime::parse(&name).ok_or_else(|| {
                        anyhow!("K6_CSV_TIME_FORMAT `{name}` is not known; write unix or rfc3339")
                    })?,
                };
                let tags = &options.settings.system_tags;
                let rows = CsvRows::new(sink(&path)?, start, time, tags);
                Ok(Self::Csv(rows.context("write --out csv")?))
            }
            other => Err(anyhow!(
                "--out {other} is not there; write json=FILE or csv=FILE"
            )),
        }
    }
}

/// A file, or standard output without a name or with `-`.
fn sink(path: &str) -> Result<Sink> {
    if path.is_empty() || path == "-" {
        return Ok(Box::new(std::io::stdout()));
    }
    let file = File::create(path).with_context(|| format!("write --out {path}"))?;
    Ok(Box::new(BufWriter::new(file)))
}
