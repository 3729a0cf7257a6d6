//! Runs a pattern's program over a text, way by way, and counts every step.

use fancy_regex::Assertion;

use super::program::{Program, Step};
use super::steps::{GaveUp, Groups, Steps};

/// Ways back that are remembered at once: about 100 MB of them would be more than a match is worth.
const WAYS_MAX: usize = 2_000_000;

pub(super) struct Machine<'a> {
    program: &'a Program,
    text: &'a str,
    steps: &'a mut Steps,
    slots: Vec<usize>,
    back: Vec<Back>,
}

/// What to return to when a way fails.
enum Back {
    Way { step: usize, at: usize },
    Slot { slot: usize, value: usize },
}

/// Slots that are reset in the time of a step.
const SLOTS_PER_STEP: u64 = 16;
/// A slot that holds no position.
const NOWHERE: usize = usize::MAX;

impl<'a> Machine<'a> {
    pub(super) fn new(program: &'a Program, text: &'a str, steps: &'a mut Steps) -> Self {
        Self {
            program,
            text,
            steps,
            slots: vec![NOWHERE; program.slots],
            back: Vec::new(),
        }
    }

    /// The groups of the first match that begins at or after `from`.
    pub(super) fn find(&mut self, from: usize) -> Result<Option<Groups>, GaveUp> {
        let mut start = from;
        // Thousands of groups take their time at each start too.
        let reset = self.slots.len() as u64 / SLOTS_PER_STEP;
        loop {
            self.steps.take_many(reset)?;
            self.slots.fill(NOWHERE);
            self.back.clear();
            self.set(0, start);
            if let Some(end) = self.run(0, start, None)? {
                self.set(1, end);
                let pair = |group: usize| {
                    let (first, last) = (self.slot(group * 2), self.slot(group * 2 + 1));
                    (first != NOWHERE && last != NOWHERE).then_some((first, last))
                };
                return Ok(Some((0..self.program.groups).map(pair).collect()));
            }
            let Some(next) = self.next_char(start) else {
                return Ok(None);
            };
            start += next.len_utf8();
        }
    }

    /// Runs from `step` to an `Accept`; where that was. With `end`, only there.
    fn run(
        &mut self,
        mut step: usize,
        mut at: usize,
        end: Option<usize>,
    ) -> Result<Option<usize>, GaveUp> {
        let floor = self.back.len();
        let program = self.program;
        loop {
            self.steps.take()?;
            let went = match program.steps.get(step) {
                None => None,
                Some(Step::Accept) => {
                    if end.is_none_or(|end| end == at) {
                        return Ok(Some(at));
                    }
                    None
                }
                Some(Step::Split(first, second)) => {
                    self.remember(Back::Way { step: *second, at })?;
                    Some((*first, at))
                }
                Some(Step::Jump(to)) => Some((*to, at)),
                Some(Step::Save(slot)) => {
                    self.save(*slot, at)?;
                    Some((step + 1, at))
                }
                Some(Step::Unless(slot, out)) => {
                    let next = if self.slot(*slot) == at {
                        *out
                    } else {
                        step + 1
                    };
                    Some((next, at))
                }
                Some(Step::Look {
                    negated,
                    behind,
                    end,
                }) => (self.look(step + 1, at, *behind)? != *negated).then_some((*end, at)),
                Some(Step::Atomic(end)) => self.apart(step + 1, at, None)?.map(|to| (*end, to)),
                Some(other) => self.consume(other, at)?.map(|to| (step + 1, to)),
            };
            match went.or_else(|| self.go_back(floor)) {
                Some(next) => (step, at) = next,
                None => return Ok(None),
            }
        }
    }

    /// A step that looks at the text here; where it leads.
    fn consume(&mut self, step: &Step, at: usize) -> Result<Option<usize>, GaveUp> {
        let next = self.next_char(at);
        let fits = match (step, next) {
            (Step::Assert(assertion), _) => return Ok(self.holds(*assertion, at).then_some(at)),
            (Step::IfGroup(group), _) => {
                return Ok((self.slot(group * 2 + 1) != NOWHERE).then_some(at));
            }
            (Step::Backref { group, casei }, _) => return self.again(*group, *casei, at),
            (Step::Char(wanted), Some(next)) => *wanted == next,
            (Step::Any { newline }, Some(next)) => *newline || next != '\n',
            (Step::Class(ranges), Some(next)) => contains(ranges, next),
            _ => false,
        };
        Ok(next.filter(|_| fits).map(|next| at + next.len_utf8()))
    }

    /// The text of a group once more. Its bytes count as steps.
    fn again(&mut self, group: usize, casei: bool, at: usize) -> Result<Option<usize>, GaveUp> {
        let (start, end) = (self.slot(group * 2), self.slot(group * 2 + 1));
        let Some(wanted) = self.text.get(start..end).filter(|_| start != NOWHERE) else {
            return Ok(None);
        };
        let mut rest = self.text.get(at..).unwrap_or_default().chars();
        let mut to = at;
        for wanted in wanted.chars() {
            self.steps.take()?;
            match rest.next() {
                Some(found) if found == wanted || (casei && folded(found) == folded(wanted)) => {
                    to += found.len_utf8();
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(to))
    }

    fn look(
        &mut self,
        step: usize,
        at: usize,
        behind: Option<(usize, usize)>,
    ) -> Result<bool, GaveUp> {
        let Some((fewest, most)) = behind else {
            return Ok(self.apart(step, at, None)?.is_some());
        };
        let before = self.text.get(..at).unwrap_or_default();
        let starts = before.char_indices().rev().map(|(start, _)| start);
        let starts = std::iter::once(at).chain(starts).enumerate();
        for (_, start) in starts
            .skip_while(|(count, _)| *count < fewest)
            .take_while(|(count, _)| *count <= most)
        {
            self.steps.take()?;
            if self.apart(step, start, Some(at))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs a part on its own: of the ways through it only the one that was found is kept.
    fn apart(
        &mut self,
        step: usize,
        at: usize,
        end: Option<usize>,
    ) -> Result<Option<usize>, GaveUp> {
        let floor = self.back.len();
        let found = self.run(step, at, end)?;
        // Slots that it changed are still put back when what encloses it fails.
        let mut kept = floor;
        for place in floor..self.back.len() {
            if matches!(self.back.get(place), Some(Back::Slot { .. })) {
                self.back.swap(kept, place);
                kept += 1;
            }
        }
        self.back.truncate(kept);
        Ok(found)
    }

    /// The way that was remembered last, above `floor`.
    fn go_back(&mut self, floor: usize) -> Option<(usize, usize)> {
        while self.back.len() > floor {
            match self.back.pop()? {
                Back::Way { step, at } => return Some((step, at)),
                Back::Slot { slot, value } => self.set(slot, value),
            }
        }
        None
    }

    fn remember(&mut self, back: Back) -> Result<(), GaveUp> {
        if self.back.len() >= WAYS_MAX {
            return Err(GaveUp);
        }
        self.back.push(back);
        Ok(())
    }

    fn save(&mut self, slot: usize, at: usize) -> Result<(), GaveUp> {
        let value = self.slot(slot);
        self.remember(Back::Slot { slot, value })?;
        self.set(slot, at);
        Ok(())
    }

    fn slot(&self, slot: usize) -> usize {
        self.slots.get(slot).copied().unwrap_or(NOWHERE)
    }

    fn set(&mut self, slot: usize, value: usize) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = value;
        }
    }

    fn next_char(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            _ => self.text.get(at..)?.chars().next(),
        }
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let before = at
            .checked_sub(1)
            .and_then(|place| bytes.get(place))
            .copied();
        let after = bytes.get(at).copied();
        // As in Perl without Unicode properties: letters, digits and underscores of ASCII.
        let is_word = |byte: Option<u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let (left, right) = (is_word(before), is_word(after));
        match assertion {
            Assertion::StartText => before.is_none(),
            Assertion::EndText => after.is_none(),
            Assertion::EndTextIgnoreTrailingNewlines { .. } => bytes
                .get(at..)
                .is_none_or(|rest| rest.iter().all(|byte| *byte == b'\n')),
            Assertion::StartLine { .. } => before.is_none_or(|byte| byte == b'\n'),
            Assertion::StartLineOniguruma { .. } => {
                before.is_none() || (before == Some(b'\n') && after.is_some())
            }
            Assertion::EndLine { .. } => after.is_none_or(|byte| byte == b'\n'),
            Assertion::LeftWordBoundary => !left && right,
            Assertion::LeftWordHalfBoundary => !left,
            Assertion::RightWordBoundary => left && !right,
            Assertion::RightWordHalfBoundary => !right,
            Assertion::WordBoundary => left != right,
            Assertion::NotWordBoundary => left == right,
        }
    }
}

fn contains(ranges: &[(char, char)], wanted: char) -> bool {
    let at = ranges.partition_point(|(_, last)| *last < wanted);
    ranges.get(at).is_some_and(|(first, _)| *first <= wanted)
}

fn folded(part: char) -> char {
    part.to_lowercase().next().unwrap_or(part)
}
