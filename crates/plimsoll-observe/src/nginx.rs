//! Follows an nginx access log and reads the timing fields of each request.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_core::Nanos;
use plimsoll_core::record::ProxySample;

/// The line to put into `http { … }`, and to name in `access_log FILE plimsoll;`.
pub(crate) const LOG_FORMAT: &str = "log_format plimsoll 'rt=$request_time urt=$upstream_response_time \
                              uct=$upstream_connect_time us=$upstream_status st=$status';";

/// Read per sample; a log that grows faster is read with a lag that the next samples catch up.
const BYTES_MAX: u64 = 16 << 20;
/// A longer line is no access-log line: it is skipped.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A log file from its present end on.
#[derive(Debug)]
pub(crate) struct LogTail {
    path: PathBuf,
    file: File,
    inode: u64,
    /// The start of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl LogTail {
    pub(crate) fn open_at_end(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            path: path.to_owned(),
            inode: file.metadata()?.ino(),
            file,
            partial: Vec::new(),
        })
    }

    /// The requests logged since the last call, and the number of lines without timing fields.
    pub(crate) fn read_new(&mut self) -> io::Result<(ProxySample, u64)> {
        let mut sample = ProxySample::default();
        let mut unknown = 0;
        if self.file.metadata()?.len() < self.file.stream_position()? {
            // Truncated in place (copytruncate): what follows starts at the beginning.
            self.file.rewind()?;
            self.partial.clear();
        }
        self.drain(&mut sample, &mut unknown)?;
        if let Ok(found) = std::fs::metadata(&self.path)
            && found.ino() != self.inode
        {
            // Rotated: the old file is read to its end, now the new one from its start.
            self.file = File::open(&self.path)?;
            self.inode = self.file.metadata()?.ino();
            self.partial.clear();
            self.drain(&mut sample, &mut unknown)?;
        }
        Ok((sample, unknown))
    }

    fn drain(&mut self, sample: &mut ProxySample, unknown: &mut u64) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.partial);
        (&mut self.file).take(BYTES_MAX).read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, next) = rest.split_at(end);
            rest = next.get(1..).unwrap_or_default();
            if line.len() > LINE_BYTES_MAX
                || !parse_log_line(&String::from_utf8_lossy(line), sample)
            {
                *unknown += 1;
            }
        }
        if rest.len() <= LINE_BYTES_MAX {
            self.partial = rest.to_owned();
        }
        Ok(())
    }
}

/// Counts one line into `sample`; false when it lacks `rt=` and `st=`.
///
/// Of several upstream attempts nginx writes a list such as `0.010, 0.020 : 0.005`: times are summed,
/// the last status counts. A `-` means that this step was never reached.
pub fn parse_log_line(line: &str, sample: &mut ProxySample) -> bool {
    let value = |key: &str| value_of(line, key);
    let (Some(request), Some(status)) = (
        value("rt").and_then(seconds_sum),
        value("st").and_then(|text| text.parse::<u16>().ok()),
    ) else {
        return false;
    };
    sample.requests += 1;
    *sample.status.entry(status / 100).or_default() += 1;
    sample.request_time.record(request);
    match value("us").and_then(last_of) {
        None => {}
        Some("-") => sample.upstream_unreached += 1,
        Some(_) => {
            if let Some(time) = value("urt").and_then(seconds_sum) {
                sample.upstream_time.record(time);
            }
            if let Some(time) = value("uct").and_then(seconds_sum) {
                sample.upstream_connect_time.record(time);
            }
        }
    }
    true
}

/// The text after ` key=` up to the next ` word=`; quotes around it are dropped.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    let start = loop {
        let found = line.get(from..)?.find(key)? + from;
        let boundary = line
            .get(..found)?
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '[' | '('));
        let after = found + key.len();
        if boundary && line.get(after..)?.starts_with('=') {
            break after + 1;
        }
        from = after;
    };
    let rest = line.get(start..)?.trim_start_matches('"');
    let is_list = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ' ' | ':' | '-');
    let end = rest.find(|c| !is_list(c)).unwrap_or(rest.len());
    Some(rest.get(..end)?.trim())
}

/// The sum of a list of seconds; `None` when no part is a number.
fn seconds_sum(list: &str) -> Option<Nanos> {
    let seconds: Vec<f64> = list
        .split([',', ':', ' '])
        .filter_map(|part| part.trim().parse::<f64>().ok())
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
        .collect();
    (!seconds.is_empty()).then(|| Nanos::from_secs_f64(seconds.iter().sum()))
}

fn last_of(list: &str) -> Option<&str> {
    list.split([',', ':', ' '])
        .map(str::trim)
        .rfind(|part| !part.is_empty())
}

#[cfg(test)]
mod tests;
