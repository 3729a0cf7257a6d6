//! Reads a record back: whole lines only, older schemas gladly, newer ones never by guessing.

use std::io::BufRead;

use thiserror::Error;

use super::fold::Folding;
use super::plausible::implausible;
use super::seal::Seals;
use super::{After, Event, EventKind, Header, LevelStart, Line, Observation, SCHEMA, ScriptCounts};
use crate::outcome::Outcome;
use crate::step::Phase;
use crate::tally::Tally;
use crate::units::Nanos;
use crate::verdict::{LevelResult, Verdict};
use crate::window::Window;

/// Longest line read; a window of every class with full histograms stays below 4 MB.
const LINE_BYTES_MAX: usize = 64 << 20;

/// Why a file cannot be used as a record.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("cannot read the record: {0}")]
    Io(#[from] std::io::Error),
    #[error("the record is empty")]
    Empty,
    #[error("line 1 is not a record header: {0}; expected a file that plimsoll run or find wrote")]
    NoHeader(String),
    #[error("the record has schema `{0}`, this version reads `{SCHEMA}`; use a newer plimsoll")]
    Newer(String),
    #[error("line {line} is not readable: {reason}")]
    Line { line: usize, reason: String },
    #[error("line {0} is longer than 64 MiB")]
    LongLine(usize),
}

/// Something odd that did not stop the reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// The last line has no end: the run was cut off while writing it. It was skipped.
    TornLastLine { line: usize },
    /// A kind of line this version does not know.
    UnknownKind { line: usize, kind: String },
    /// The run wrote no verdict: it was interrupted.
    NoVerdict,
    /// A verdict after the verdict.
    SecondVerdict { line: usize },
    /// Lines that are not as they were written, by their check sums: the first, and how many.
    Altered { first: usize, count: usize },
    /// What a search found does not follow from its windows, and where it leaves them.
    Departs { why: String },
    /// What the search found is as stored: the record lacks what it takes to play it again, or other rules made it.
    FoundAsStored,
    /// The stored verdict says otherwise than what the record's windows come to.
    Says(Vec<Said>),
}

/// A figure of the stored verdict beside what the windows come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its name in words: `goodput`, `gate 5`.
    pub what: String,
    pub stored: String,
    pub computed: String,
}

/// A record in memory.
#[derive(Debug, Clone)]
pub struct Record {
    pub header: Header,
    pub levels: Vec<LevelStart>,
    pub windows: Vec<Window>,
    pub observations: Vec<Observation>,
    pub level_results: Vec<LevelResult>,
    pub events: Vec<Event>,
    /// What a script counted, level by level; the last line of a level counts.
    pub scripts: Vec<ScriptCounts>,
    /// What was found when the load had ended, if the run looked.
    pub after: Option<After>,
    /// The last verdict line, if the run came to one.
    pub verdict: Option<Verdict>,
    pub remarks: Vec<Remark>,
    /// How far the level of the last window has been folded.
    pub(super) folding: Option<Folding>,
}

impl Record {
    pub fn new(header: Header) -> Self {
        Self {
            header,
            levels: Vec::new(),
            windows: Vec::new(),
            observations: Vec::new(),
            level_results: Vec::new(),
            events: Vec::new(),
            scripts: Vec::new(),
            after: None,
            verdict: None,
            remarks: Vec::new(),
            folding: None,
        }
    }

    /// Reads to the end. A torn last line and unknown kinds become remarks.
    pub fn read(mut input: impl BufRead) -> Result<Self, ReadError> {
        let mut bytes = Vec::new();
        if read_line(&mut input, &mut bytes, 1)? == 0 {
            return Err(ReadError::Empty);
        }
        let mut record = Self::new(parse_header(&bytes)?);
        let mut seals = Seals::default();
        seals.line(&bytes);
        let mut number = 1;
        loop {
            number += 1;
            bytes.clear();
            if read_line(&mut input, &mut bytes, number)? == 0 {
                break;
            }
            let torn = bytes.last() != Some(&b'\n');
            match serde_json::from_slice::<Line>(&bytes) {
                Ok(line) => record.take(line, number)?,
                Err(_) if torn => {
                    record.remarks.push(Remark::TornLastLine { line: number });
                    break;
                }
                Err(error) => record.remarks.push(unknown_kind(&bytes, number, &error)?),
            }
            seals.line(&bytes);
        }
        if let Some((first, count)) = seals.altered() {
            record.remarks.push(Remark::Altered { first, count });
        }
        if record.verdict.is_none() {
            record.remarks.push(Remark::NoVerdict);
        }
        Ok(record)
    }

    /// Adds a line that was read, unless it cannot be true.
    fn take(&mut self, line: Line, number: usize) -> Result<(), ReadError> {
        if let Some(reason) = implausible(&line) {
            let line = number;
            return Err(ReadError::Line { line, reason });
        }
        if matches!(line, Line::Verdict(_)) && self.verdict.is_some() {
            self.remarks.push(Remark::SecondVerdict { line: number });
        }
        self.push(line);
        Ok(())
    }

    /// When the run was stopped before its end: by a signal, or by what left no verdict. None if it came to its end.
    pub fn interrupted_at(&self) -> Option<Nanos> {
        let mut events = self.events.iter();
        let signal = events.find(|event| event.what == EventKind::Interrupted);
        if signal.is_some() {
            return signal.map(|event| event.at_ns);
        }
        let is_cut = self.remarks.contains(&Remark::NoVerdict);
        let ends = self.windows.iter().map(Window::end_ns);
        is_cut.then(|| ends.max().unwrap_or_default())
    }

    /// Adds one line, as it would be read back.
    pub fn push(&mut self, line: Line) {
        match line {
            Line::Header(header) => self.header = header,
            Line::Level(level) => self.levels.push(level),
            Line::Window(window) => self.push_window(window),
            Line::Observation(observation) => match &self.folding {
                Some(folding) => folding.look(&mut self.observations, observation),
                None => self.observations.push(observation),
            },
            Line::LevelEnd(result) => self.level_results.push(result),
            Line::Event(event) => self.events.push(event),
            Line::Script(counts) => {
                self.scripts.retain(|known| known.level != counts.level);
                self.scripts.push(counts);
            }
            Line::After(after) => self.after = Some(after),
            Line::Verdict(verdict) => self.verdict = Some(verdict),
        }
    }

    /// A level that no search bounds is folded when it takes too much memory.
    fn push_window(&mut self, window: Window) {
        let level = window.level;
        let known = self.folding.filter(|folding| folding.level() == level);
        let start = self.level(level);
        let endless = start.is_some_and(|start| start.step.phase == Phase::Run);
        let began = start.map_or(window.start_ns, |start| start.start_ns);
        let mut folding = known.unwrap_or_else(|| Folding::new(level, began));
        folding.push(&mut self.windows, window);
        if endless && folding.is_full() {
            folding.halve(&mut self.windows, &mut self.observations);
        }
        self.folding = Some(folding);
    }

    pub fn level(&self, level: u32) -> Option<&LevelStart> {
        self.levels.iter().find(|start| start.step.level == level)
    }

    pub fn level_result(&self, level: u32) -> Option<&LevelResult> {
        self.level_results
            .iter()
            .find(|result| result.level == level)
    }

    /// What a script counted in these levels, as one; none if no such line was written.
    pub fn script_of(&self, levels: &[u32]) -> Option<ScriptCounts> {
        let all = self.scripts.iter();
        ScriptCounts::pooled(all.filter(|counts| levels.contains(&counts.level)))
    }

    /// What a script counted in the levels that the verdict describes; of a run without a verdict, in its last level.
    pub fn script(&self) -> Option<ScriptCounts> {
        match &self.verdict {
            Some(verdict) => self.script_of(&self.deciding_levels(verdict)),
            None => self.scripts.last().cloned(),
        }
    }

    /// The windows of a level in order.
    pub fn windows_of(&self, level: u32) -> impl Iterator<Item = &Window> {
        self.windows
            .iter()
            .filter(move |window| window.level == level)
    }

    /// The windows that speak for a level: without the first ones, which a search discards because
    /// the level before them still shows. A level cut short within them speaks with what there is.
    pub fn judged_windows(&self, level: u32) -> impl Iterator<Item = &Window> {
        let result = self.level_result(level);
        let discarded = result.map_or(0, |result| result.discarded_windows as usize);
        let all = self.windows_of(level).count();
        let skip = if all > discarded { discarded } else { 0 };
        self.windows_of(level).skip(skip)
    }

    /// The levels that carry the verdict's figures: one, or those that a search pooled at the rate it claims.
    pub fn deciding_levels(&self, verdict: &Verdict) -> Vec<u32> {
        let pooled = &verdict.found.capacity_levels;
        if pooled.contains(&verdict.level) {
            pooled.clone()
        } else {
            vec![verdict.level]
        }
    }

    /// Attempts of the whole run that were answered as done, and as taken in: what is owed for.
    pub fn acknowledged(&self) -> (u64, u64) {
        let ended = self.windows.iter().map(Window::total);
        let carried = self.windows.iter().flat_map(|window| &window.carried);
        let carried = carried.map(|carried| carried.tally.clone());
        ended.chain(carried).fold((0, 0), |(ok, accepted), tally| {
            let count = |outcome| tally.class(outcome).count;
            (ok + count(Outcome::Ok), accepted + count(Outcome::Accepted))
        })
    }

    /// Everything that became of the attempts of the judged windows, ends after the level included.
    pub fn judged_tally(&self, level: u32) -> Tally {
        let mut tally = Tally::default();
        for window in self.judged_windows(level) {
            tally.merge(&window.total());
        }
        let carried = self.windows.iter().flat_map(|window| &window.carried);
        for carried in carried.filter(|carried| carried.level == level) {
            tally.merge(&carried.tally);
        }
        tally
    }
}

fn read_line(
    input: &mut impl BufRead,
    bytes: &mut Vec<u8>,
    number: usize,
) -> Result<usize, ReadError> {
    let mut limited = std::io::Read::take(input, LINE_BYTES_MAX as u64 + 1);
    let read = limited.read_until(b'\n', bytes)?;
    if read > LINE_BYTES_MAX {
        Err(ReadError::LongLine(number))
    } else {
        Ok(read)
    }
}

fn parse_header(bytes: &[u8]) -> Result<Header, ReadError> {
    let value: serde_json::Value = serde_json::from_slice(bytes)
        .map_err(|_| ReadError::NoHeader("it is not JSON".to_owned()))?;
    let schema = value.get("schema").and_then(|schema| schema.as_str());
    match schema {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("plimsoll.record/") => {
            return Err(ReadError::Newer(other.to_owned()));
        }
        _ => return Err(ReadError::NoHeader("it has no `schema` of ours".to_owned())),
    }
    match serde_json::from_value::<Line>(value) {
        Ok(Line::Header(header)) => Ok(header),
        Ok(_) => Err(ReadError::NoHeader("its kind is not `header`".to_owned())),
        Err(error) => Err(ReadError::NoHeader(error.to_string())),
    }
}

/// A line of a kind we do not know is skipped with a remark; a known kind must be readable.
fn unknown_kind(bytes: &[u8], line: usize, error: &serde_json::Error) -> Result<Remark, ReadError> {
    const KINDS: [&str; 9] = [
        "header",
        "level",
        "window",
        "observation",
        "level_end",
        "event",
        "script",
        "after",
        "verdict",
    ];
    let value: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
    let kind = value
        .as_ref()
        .and_then(|value| value.get("kind"))
        .and_then(|kind| kind.as_str());
    match kind {
        Some(kind) if !KINDS.contains(&kind) => Ok(Remark::UnknownKind {
            line,
            kind: kind.to_owned(),
        }),
        _ => Err(ReadError::Line {
            line,
            reason: error.to_string(),
        }),
    }
}
