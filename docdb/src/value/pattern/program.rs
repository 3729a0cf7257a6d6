//! A pattern as instructions for [`super::machine::Machine`].

use std::collections::BTreeMap;
use std::sync::Arc;

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::hir::{Class, HirKind};

use super::invalid;
use crate::error::Result;

/// Instructions of one pattern; repetitions are written out.
const LENGTH_MAX: usize = 20_000;
/// Ranges of all different classes of one pattern, 8 bytes each. `\p{L}` has some 650.
const RANGES_MAX: usize = 100_000;
/// The largest number of a repetition (Perl's limit).
const REPEAT_MAX: usize = 65_535;

/// Sorted ranges of characters, shared by the steps that ask for the same ones.
type Ranges = Arc<[(char, char)]>;

/// What the machine does next.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Char(char),
    /// One character of sorted ranges.
    Class(Ranges),
    Any {
        newline: bool,
    },
    /// Goes on at the first place, and at the second if that fails.
    Split(usize, usize),
    Jump(usize),
    /// Remembers the position.
    Save(usize),
    /// Ends a round of a repetition: jumps on if it went nowhere since the slot was saved.
    Unless(usize, usize),
    Assert(Assertion),
    Backref {
        group: usize,
        casei: bool,
    },
    /// Fails unless the group matched.
    IfGroup(usize),
    /// Runs what follows, up to its `Accept`, and goes on at `end`.
    Look {
        negated: bool,
        /// For a look behind: the fewest and the most characters.
        behind: Option<(usize, usize)>,
        end: usize,
    },
    /// The same, taking what it matched, without coming back to other ways.
    Atomic(usize),
    Accept,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// Groups, the whole match included.
    pub(super) groups: usize,
    /// Slots of groups, and of repetitions after them.
    pub(super) slots: usize,
    rounds: usize,
    irregular: bool,
    /// While it is written, the classes that were read: a repetition is written out, and reading `\p{L}` takes long.
    classes: BTreeMap<(String, bool), Ranges>,
    /// Ranges in them.
    ranges: usize,
}

impl Program {
    pub(super) fn compile(tree: &Expr) -> Result<Self> {
        let mut program = Self {
            groups: 1,
            ..Self::default()
        };
        program.write(tree)?;
        program.push(Step::Accept)?;
        program.slots = program.groups * 2 + program.rounds;
        let first = program.groups * 2;
        for step in &mut program.steps {
            // The slots of repetitions come after those of groups, whose number is known only now.
            match step {
                Step::Save(slot) | Step::Unless(slot, _) if *slot >= ROUNDS => {
                    *slot = *slot - ROUNDS + first;
                }
                _ => {}
            }
        }
        program.classes.clear();
        Ok(program)
    }

    /// Whether an automaton can decide it.
    pub(super) fn is_regular(&self) -> bool {
        !self.irregular
    }

    /// Instructions, and ranges of different classes.
    pub(super) fn weight(&self) -> usize {
        self.steps.len() + self.ranges
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        let ranges = self.ranges * size_of::<(char, char)>();
        size_of::<Self>() + self.steps.capacity() * size_of::<Step>() + ranges
    }

    fn push(&mut self, step: Step) -> Result<usize> {
        if self.steps.len() >= LENGTH_MAX {
            return Err(invalid("regular expression is too large"));
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    fn set(&mut self, at: usize, step: Step) {
        if let Some(place) = self.steps.get_mut(at) {
            *place = step;
        }
    }

    fn write(&mut self, expr: &Expr) -> Result<()> {
        match expr {
            Expr::Empty => Ok(()),
            Expr::Any { newline, .. } => self.push(Step::Any { newline: *newline }).map(drop),
            Expr::Assertion(assertion) => self.push(Step::Assert(*assertion)).map(drop),
            Expr::Literal { val, casei } => self.literal(val, *casei),
            Expr::LiteralBytes { bytes } => {
                let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
                self.literal(&text, false)
            }
            Expr::Delegate { inner, casei } => self.class(inner, *casei),
            Expr::GeneralNewline { .. } => self.newline(),
            Expr::Concat(parts) => parts.iter().try_for_each(|part| self.write(part)),
            Expr::Alt(choices) => self.alternatives(choices),
            Expr::Group(inner) => {
                let group = self.groups;
                self.groups += 1;
                self.push(Step::Save(group * 2))?;
                self.write(inner)?;
                self.push(Step::Save(group * 2 + 1)).map(drop)
            }
            Expr::Repeat {
                child,
                lo,
                hi,
                greedy,
            } => self.repeat(child, (*lo, *hi), *greedy),
            other => self.irregular(other),
        }
    }

    /// What no automaton can decide.
    fn irregular(&mut self, expr: &Expr) -> Result<()> {
        self.irregular = true;
        match expr {
            Expr::LookAround(inner, kind) => self.look(inner, *kind),
            Expr::AtomicGroup(inner) => {
                let start = self.push(Step::Atomic(0))?;
                self.write(inner)?;
                self.push(Step::Accept)?;
                let end = self.here();
                self.set(start, Step::Atomic(end));
                Ok(())
            }
            Expr::Backref { group, casei } => {
                let (group, casei) = (*group, *casei);
                self.push(Step::Backref { group, casei }).map(drop)
            }
            Expr::BackrefExistsCondition {
                group,
                relative_recursion_level: None,
            } => self.push(Step::IfGroup(*group)).map(drop),
            Expr::KeepOut => self.push(Step::Save(0)).map(drop),
            Expr::Conditional {
                condition,
                true_branch,
                false_branch,
            } => {
                let split = self.push(Step::Jump(0))?;
                // The condition is looked at without a way back: once it holds, the other branch is out.
                self.write(&Expr::AtomicGroup(condition.clone()))?;
                self.write(true_branch)?;
                let jump = self.push(Step::Jump(0))?;
                let otherwise = self.here();
                self.write(&Expr::LookAround(
                    condition.clone(),
                    LookAround::LookAheadNeg,
                ))?;
                self.write(false_branch)?;
                let end = self.here();
                self.set(jump, Step::Jump(end));
                self.set(split, Step::Split(split + 1, otherwise));
                Ok(())
            }
            _ => Err(invalid(
                "recursion, subroutine calls and backtracking verbs are not supported here",
            )),
        }
    }

    fn literal(&mut self, text: &str, casei: bool) -> Result<()> {
        for part in text.chars() {
            if casei {
                let mut one = [0; 4];
                self.class(&regex_syntax::escape(part.encode_utf8(&mut one)), true)?;
            } else {
                self.push(Step::Char(part))?;
            }
        }
        Ok(())
    }

    /// One character, as the parser of regular patterns reads it.
    fn class(&mut self, inner: &str, casei: bool) -> Result<()> {
        let key = (inner.to_owned(), casei);
        let known = self.classes.get(&key).cloned();
        let ranges = if let Some(ranges) = known {
            ranges
        } else {
            let ranges = class(inner, casei)?;
            self.ranges += ranges.len();
            if self.ranges > RANGES_MAX {
                return Err(invalid("regular expression is too large"));
            }
            self.classes.insert(key, Arc::clone(&ranges));
            ranges
        };
        self.push(Step::Class(ranges)).map(drop)
    }

    /// `\R`: a whole line end, or one of its characters.
    fn newline(&mut self) -> Result<()> {
        self.irregular = true;
        let split = self.push(Step::Jump(0))?;
        self.push(Step::Char('\r'))?;
        self.push(Step::Char('\n'))?;
        let jump = self.push(Step::Jump(0))?;
        let single = self.here();
        self.class(r"[\n\x0B\f\r\x{85}\x{2028}\x{2029}]", false)?;
        let end = self.here();
        self.set(split, Step::Split(split + 1, single));
        self.set(jump, Step::Jump(end));
        Ok(())
    }

    fn alternatives(&mut self, choices: &[Expr]) -> Result<()> {
        let mut jumps = Vec::new();
        for (at, choice) in choices.iter().enumerate() {
            if at + 1 == choices.len() {
                self.write(choice)?;
                break;
            }
            let split = self.push(Step::Jump(0))?;
            self.write(choice)?;
            jumps.push(self.push(Step::Jump(0))?);
            let next = self.here();
            self.set(split, Step::Split(split + 1, next));
        }
        let end = self.here();
        for jump in jumps {
            self.set(jump, Step::Jump(end));
        }
        Ok(())
    }

    fn repeat(&mut self, child: &Expr, (lo, hi): (usize, usize), greedy: bool) -> Result<()> {
        if lo > REPEAT_MAX || (hi != usize::MAX && hi > REPEAT_MAX) {
            return Err(invalid("number too big in {} quantifier"));
        }
        // A group that is written out several times is the same group each time.
        let first = self.groups;
        let mut after = first;
        let mut copy = |program: &mut Self| {
            program.groups = first;
            let written = program.write(child);
            after = program.groups.max(after);
            written
        };
        for _ in 0..lo {
            let before = self.here();
            copy(self)?;
            // What writes no step, as `a{0}`, never reaches the limit of steps and says no more the next time.
            if self.here() == before {
                break;
            }
        }
        let way = |on: usize, out: usize| {
            if greedy {
                Step::Split(on, out)
            } else {
                Step::Split(out, on)
            }
        };
        if hi == usize::MAX {
            let round = ROUNDS + self.rounds;
            self.rounds += 1;
            let split = self.push(Step::Jump(0))?;
            self.push(Step::Save(round))?;
            copy(self)?;
            let unless = self.push(Step::Jump(0))?;
            self.push(Step::Jump(split))?;
            let end = self.here();
            self.set(split, way(split + 1, end));
            self.set(unless, Step::Unless(round, end));
        } else {
            let mut splits = Vec::new();
            for _ in lo..hi {
                splits.push(self.push(Step::Jump(0))?);
                copy(self)?;
            }
            let end = self.here();
            for split in splits {
                self.set(split, way(split + 1, end));
            }
        }
        self.groups = self.groups.max(after);
        Ok(())
    }

    fn look(&mut self, inner: &Expr, kind: LookAround) -> Result<()> {
        let negated = matches!(kind, LookAround::LookAheadNeg | LookAround::LookBehindNeg);
        let behind = match kind {
            LookAround::LookBehind | LookAround::LookBehindNeg => Some(width(inner)),
            LookAround::LookAhead | LookAround::LookAheadNeg => None,
        };
        let start = self.push(Step::Jump(0))?;
        self.write(inner)?;
        self.push(Step::Accept)?;
        let end = self.here();
        self.set(
            start,
            Step::Look {
                negated,
                behind,
                end,
            },
        );
        Ok(())
    }
}

/// The ranges of a class.
fn class(inner: &str, casei: bool) -> Result<Ranges> {
    let parsed = regex_syntax::ParserBuilder::new()
        .case_insensitive(casei)
        .build()
        .parse(inner);
    let parsed = parsed.map_err(|error| invalid(&error.to_string()))?;
    let ranges: Option<Ranges> = match parsed.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(
            class
                .iter()
                .map(|range| (range.start(), range.end()))
                .collect(),
        ),
        HirKind::Class(Class::Bytes(class)) => Some(
            class
                .iter()
                .map(|range| (char::from(range.start()), char::from(range.end())))
                .collect(),
        ),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).unwrap_or_default();
            let mut parts = text.chars();
            match (parts.next(), parts.next()) {
                (Some(only), None) => Some([(only, only)].into()),
                _ => None,
            }
        }
        _ => None,
    };
    ranges.ok_or_else(|| invalid(&format!("{inner} is not supported here")))
}

/// Slots of repetitions are numbered from here until the number of groups is known.
const ROUNDS: usize = 1 << 32;

/// The fewest and the most characters that a match has.
fn width(expr: &Expr) -> (usize, usize) {
    match expr {
        Expr::Any { .. } | Expr::Delegate { .. } => (1, 1),
        Expr::Literal { val, .. } => (val.chars().count(), val.chars().count()),
        Expr::LiteralBytes { bytes } => (bytes.len(), bytes.len()),
        Expr::GeneralNewline { .. } => (1, 2),
        Expr::Concat(parts) => parts
            .iter()
            .map(width)
            .fold((0, 0), |(lo, hi), (low, high)| {
                (lo.saturating_add(low), hi.saturating_add(high))
            }),
        Expr::Alt(choices) => choices
            .iter()
            .map(width)
            .fold((usize::MAX, 0), |(lo, hi), (low, high)| {
                (lo.min(low), hi.max(high))
            }),
        Expr::Group(inner) => width(inner),
        Expr::AtomicGroup(inner) => width(inner),
        Expr::Repeat { child, lo, hi, .. } => {
            let (low, high) = width(child);
            (low.saturating_mul(*lo), high.saturating_mul(*hi))
        }
        Expr::Backref { .. } => (0, usize::MAX),
        Expr::Conditional {
            true_branch,
            false_branch,
            ..
        } => {
            let ((low, high), (other, more)) = (width(true_branch), width(false_branch));
            (low.min(other), high.max(more))
        }
        _ => (0, 0),
    }
}
