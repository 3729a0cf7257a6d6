//! `--out`: every sample as it comes, in k6's shapes, into files or to a server.

mod influx;
mod otlp;
mod remote;
mod sender;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};
use plimsoll_core::scenario::Options;
use plimsoll_core::threshold::Thresholds;
use plimsoll_report::k6::{self, CsvRows, CsvTime, JsonLines, Output};

use self::influx::Influx;
use self::otlp::Collector;
use self::remote::Remote;
use crate::machine;
use crate::script::console;

/// One `--out`.
enum Out {
    Json(JsonLines<Sink>),
    Csv(CsvRows<Sink>),
    Remote(Remote),
    Influx(Influx),
    Collector(Box<Collector>),
}

/// All of them. The first that cannot be written says so once; the test goes on.
pub(crate) struct Outs {
    all: Vec<Out>,
    failed: Option<std::io::Error>,
    /// `--out web-dashboard`, with what stands behind `=`.
    pub(crate) page: Option<Vec<(String, String)>>,
}

impl Outs {
    pub(crate) fn open(asked: &[Output], options: &Options) -> Result<Self> {
        let start = Nanos(machine::since_1970().as_nanos() as u64);
        let mut outs = Self {
            all: Vec::new(),
            failed: None,
            page: None,
        };
        for output in asked.iter().cloned() {
            let out = match output {
                Output::Json(file) => Out::Json(JsonLines::new(Sink::open(file)?, start)),
                Output::Csv(file) => Out::Csv(csv(file, start, options)?),
                Output::RemoteWrite(url) => Out::Remote(Remote::start(url)?),
                Output::Influx { url, is_v2 } => Out::Influx(Influx::start(url, is_v2, start)?),
                Output::Otlp(url) => Out::Collector(Box::new(Collector::start(url, start)?)),
                Output::Dashboard(settings) => {
                    warn_of_unfollowed(&settings);
                    outs.page = Some(settings);
                    continue;
                }
            };
            outs.all.push(out);
        }
        Ok(outs)
    }

    /// The run's clock, with which samples are stamped, stands at zero at `zero_unix` since 1970.
    pub(crate) fn count_from(&mut self, zero_unix: Nanos) {
        for out in &mut self.all {
            match out {
                Out::Json(lines) => lines.count_from(zero_unix),
                Out::Csv(rows) => rows.count_from(zero_unix),
                Out::Influx(influx) => influx.count_from(zero_unix),
                // Their points have the time at which they are sent.
                Out::Remote(_) | Out::Collector(_) => {}
            }
        }
    }

    pub(crate) fn write(&mut self, store: &Store, thresholds: &Thresholds, samples: &[Sample]) {
        for out in &mut self.all {
            let written = match out {
                Out::Json(lines) => samples
                    .iter()
                    .try_for_each(|sample| lines.write(store, thresholds, sample)),
                Out::Csv(rows) => samples
                    .iter()
                    .try_for_each(|sample| rows.write(store, sample)),
                Out::Remote(remote) => {
                    remote.absorb(store, samples);
                    Ok(())
                }
                Out::Influx(influx) => {
                    influx.absorb(store, samples);
                    Ok(())
                }
                Out::Collector(collector) => {
                    collector.absorb(store, samples);
                    Ok(())
                }
            };
            if let Err(error) = written {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Writes what is buffered.
    pub(crate) fn close(self) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error).context("write --out");
        }
        for out in self.all {
            let written = match out {
                Out::Json(lines) => lines.into_inner().finish(),
                Out::Csv(rows) => rows.into_inner().finish(),
                Out::Remote(remote) => {
                    remote.close();
                    Ok(())
                }
                Out::Influx(influx) => {
                    influx.close();
                    Ok(())
                }
                Out::Collector(collector) => {
                    collector.close();
                    Ok(())
                }
            };
            written.context("write --out")?;
        }
        Ok(())
    }
}

/// Settings of k6's page that ours has no use for.
fn warn_of_unfollowed(settings: &[(String, String)]) {
    for (name, _) in settings {
        let why = match name.as_str() {
            "record" => "the record has everything: --record FILE",
            "tag" | "tags" => "the page shows the same for every run",
            _ => continue,
        };
        console::warn(&format!(
            "--out web-dashboard: `{name}` is not followed: {why}"
        ));
    }
}

fn csv(file: Option<k6::File>, start: Nanos, options: &Options) -> Result<CsvRows<Sink>> {
    let named = || {
        let path = std::env::var("K6_CSV_FILENAME").ok()?;
        Output::parse(&format!("csv={path}")).ok()
    };
    let file = file.or_else(|| match named() {
        Some(Output::Csv(file)) => file,
        _ => None,
    });
    let time = match std::env::var("K6_CSV_TIME_FORMAT") {
        Err(_) => CsvTime::default(),
        Ok(name) => CsvTime::parse(&name).ok_or_else(|| {
            anyhow!("K6_CSV_TIME_FORMAT `{name}` is not known; write unix or rfc3339")
        })?,
    };
    let tags = &options.settings.system_tags;
    CsvRows::new(Sink::open(file)?, start, time, tags).context("write --out csv")
}

/// A file, compressed if its name says so, or standard output.
enum Sink {
    Stdout(std::io::Stdout),
    Plain(BufWriter<File>),
    Gzip(BufWriter<GzEncoder<File>>),
}

impl Sink {
    fn open(file: Option<k6::File>) -> Result<Self> {
        let Some(named) = file.filter(|file| file.path != "-") else {
            return Ok(Self::Stdout(std::io::stdout()));
        };
        if Path::new(&named.path).is_file() {
            console::warn(&format!(
                "{} was there already and is written over, as k6 does",
                named.path
            ));
        }
        let file =
            File::create(&named.path).with_context(|| format!("write --out {}", named.path))?;
        Ok(if named.is_gzip {
            Self::Gzip(BufWriter::new(GzEncoder::new(file, Compression::fast())))
        } else {
            Self::Plain(BufWriter::new(file))
        })
    }

    /// Everything is in the file, with the end of the archive.
    fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush(),
            Self::Plain(mut out) => out.flush(),
            Self::Gzip(out) => {
                let zipped = out
                    .into_inner()
                    .map_err(std::io::IntoInnerError::into_error)?;
                zipped.finish().map(drop)
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Plain(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
        }
    }
}
