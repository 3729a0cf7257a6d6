//! One value at a time: understood, checked, and noted with where it comes from.

use std::time::Duration;

use plimsoll_core::keys::{Misplaced, Place};
use plimsoll_core::units::parse_duration;

use super::Shown;

/// What nobody said.
const DEFAULT: &str = "default";

#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) shown: Vec<Shown>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(place: &'a Place<'a>) -> Self {
        Self {
            place,
            shown: Vec::new(),
        }
    }

    pub(super) fn wrong(&self, path: &str, problem: impl std::fmt::Display) -> Misplaced {
        self.place.at(&[path], format!("{path}: {problem}"))
    }

    /// Notes a value of the file, or of nobody.
    pub(super) fn note(&mut self, path: &str, value: impl std::fmt::Display) {
        let origin = self.place.origin(path);
        self.note_of(path, value, origin.as_deref().unwrap_or(DEFAULT));
    }

    /// Notes a value that somebody else says.
    pub(super) fn note_of(&mut self, path: &str, value: impl std::fmt::Display, origin: &str) {
        self.shown.push(Shown {
            key: path.to_owned(),
            value: value.to_string(),
            origin: origin.to_owned(),
        });
    }

    /// A time that is not zero.
    pub(super) fn time(
        &mut self,
        path: &str,
        text: Option<&str>,
        default: Duration,
    ) -> Result<Duration, Misplaced> {
        let time = self.read_time(path, text)?.unwrap_or(default);
        self.note(path, shown(time));
        Ok(time)
    }

    pub(super) fn read_time(
        &self,
        path: &str,
        text: Option<&str>,
    ) -> Result<Option<Duration>, Misplaced> {
        let Some(text) = text else { return Ok(None) };
        let time = parse_duration(text).map_err(|error| self.wrong(path, error))?;
        if time.0 == 0 {
            return Err(self.wrong(path, "nothing is done in no time; write 1ms or more"));
        }
        Ok(Some(Duration::from_nanos(time.0)))
    }

    /// A number between two others.
    pub(super) fn number(
        &mut self,
        path: &str,
        given: Option<f64>,
        (least, most): (f64, f64),
        default: f64,
    ) -> Result<f64, Misplaced> {
        let value = given.unwrap_or(default);
        if !(least..=most).contains(&value) {
            return Err(self.wrong(path, format!("{value} is not between {least} and {most}")));
        }
        self.note(path, value);
        Ok(value)
    }
}

/// A time as it would be written.
pub(super) fn shown(time: Duration) -> String {
    let nanos = plimsoll_core::Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let quoted = if time.subsec_nanos() == 0 {
        format!("{}s", time.as_secs())
    } else if time.as_nanos().is_multiple_of(1_000_000) {
        format!("{}ms", time.as_millis())
    } else {
        nanos.to_string().replace(' ', "")
    };
    format!("\"{quoted}\"")
}
