//! The one record of a run: JSON Lines, appended as it happens, readable after any interruption.
//!
//! `docs/formats/record-1.md` describes every line kind field by field.

mod after;
mod event;
mod fold;
mod header;
mod observation;
mod plausible;
mod read;
mod script;
mod seal;
mod setup;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

pub use after::{After, Verified};
pub use event::{
    Anchor, Event, EventKind, Fault, FaultKind, Guarded, Iteration, SearchStart, SelfCheck,
};
pub use observation::*;
pub use read::{ReadError, Record, Remark, Said};
pub use script::{
    Iterations, LeftOut, MetricCounts, NameCounts, Scope, ScriptCounts, SubmetricCounts, VuSpan,
};
pub use setup::{LabSetup, Published, TierSetup};

use crate::step::Step;
use crate::test::Test;
use crate::units::Nanos;
use crate::verdict::{LevelResult, Verdict};
use crate::window::Window;

/// The schema this version writes.
pub const SCHEMA: &str = "plimsoll.record/1";

/// What ran, where and on what: the first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "header::HeaderLine", into = "header::HeaderLine")]
pub struct Header {
    pub schema: String,
    pub test: Test,
    /// Wall-clock start, RFC 3339 in UTC.
    pub started_at: String,
    pub machine: Machine,
    pub plimsoll_version: String,
    /// A name for the target in titles; the host of the URL unless given.
    pub title: String,
    /// What a reader must know of the set-up, in the words of who started the run.
    pub note: String,
    /// A run of the lab: its variant, and the tiers as they were started.
    pub lab: Option<LabSetup>,
}

/// The host that generated the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub host: String,
    pub kernel: String,
    pub cpu: String,
    pub cores_count: u32,
    pub memory_bytes: u64,
}

/// The start of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelStart {
    pub start_ns: Nanos,
    #[serde(flatten)]
    pub step: Step,
}

/// One line of the file; `kind` tells which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[expect(
    clippy::large_enum_variant,
    reason = "lines are handled one at a time, never in bulk"
)]
pub enum Line {
    Header(Header),
    Level(LevelStart),
    Window(Window),
    Observation(Observation),
    LevelEnd(LevelResult),
    Event(Event),
    Script(ScriptCounts),
    After(After),
    Verdict(Verdict),
}

/// Appends lines; every line is whole on disk before the next begins.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    /// The line being written. Kept: a block of its size every second would leave holes in the heap.
    line: Vec<u8>,
    /// Check sum of the line before.
    sum: u32,
}

impl<W: Write> Writer<W> {
    /// Starts a record with its header.
    pub fn start(out: W, header: Header) -> io::Result<Self> {
        let mut writer = Self {
            out,
            line: Vec::new(),
            sum: 0,
        };
        writer.take(&Line::Header(header))?;
        seal::announce(&mut writer.line);
        writer.write()?;
        Ok(writer)
    }

    pub fn append(&mut self, line: &Line) -> io::Result<()> {
        self.take(line)?;
        self.write()
    }

    fn take(&mut self, line: &Line) -> io::Result<()> {
        self.line.clear();
        Ok(serde_json::to_writer(&mut self.line, line)?)
    }

    fn write(&mut self) -> io::Result<()> {
        self.sum = seal::seal(&mut self.line, self.sum)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.out.flush()
    }
}
