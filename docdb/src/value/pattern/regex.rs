//! One compiled pattern: an automaton where the pattern is regular, and a machine that counts its steps for the rest.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson;
use regex_automata::{Input, MatchKind};

use super::invalid;
use super::machine::Machine;
use super::program::Program;
use super::steps::{GaveUp, Groups, Steps};
use super::translate::translate;
use crate::error::Result;

/// Repetitions of a repetition.
const REPEATED: [&str; 4] = ["?{", "*{", "+{", "}{"];
/// Bytes of a regular pattern's automaton; a larger one is left to the machine.
const AUTOMATON_BYTES: usize = 256 << 10;
/// Bytes of the states that it remembers. Cleared too often, it gives up, and the machine counts.
const CACHE_BYTES: usize = 128 << 10;
const CLEARED_MAX: usize = 3;
/// Making a state costs as much as following this many.
const BYTES_PER_STATE: usize = 32;

#[derive(Clone)]
pub(crate) struct Regex {
    program: Arc<Program>,
    automaton: Option<Arc<Automaton>>,
}

struct Automaton {
    dfa: DFA,
    /// Never waited for: a filter belongs to one executor.
    cache: Mutex<Cache>,
}

impl fmt::Debug for Regex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Regex")
            .field("automaton", &self.automaton.is_some())
            .finish_non_exhaustive()
    }
}

impl Regex {
    /// The pattern and its options were checked.
    pub(super) fn new(source: &str, options: &str) -> Result<Self> {
        let flags: String = options
            .chars()
            .filter(|flag| "imsx".contains(*flag))
            .collect();
        let mut text = translate(source, options.contains('m'));
        if !flags.is_empty() {
            text = format!("(?{flags}){text}");
        }
        let tree =
            fancy_regex::Expr::parse_tree(&text).map_err(|error| invalid(&error.to_string()))?;
        let program = Program::compile(&tree.expr)?;
        // What follows a repetition is read in two ways, here as text and there as a repetition of it.
        let is_plain = !REPEATED.iter().any(|two| text.contains(two));
        let automaton = if is_plain && program.is_regular() {
            Automaton::new(&text)
        } else {
            None
        };
        Ok(Self {
            program: Arc::new(program),
            automaton: automaton.map(Arc::new),
        })
    }

    /// About how large it is: instructions, and ranges of characters.
    pub(crate) fn weight(&self) -> usize {
        self.program.weight()
    }

    /// Bytes of memory, without the states that an automaton remembers later.
    pub(super) fn held(&self) -> usize {
        let automaton = self.automaton.as_ref().map_or(0, |one| one.held());
        size_of::<Self>() + self.program.held() + automaton
    }

    pub(crate) fn is_match(&self, text: &str, steps: &mut Steps) -> Result<bool, GaveUp> {
        match self.automaton.as_ref().and_then(|one| one.is_match(text)) {
            Some(found) => Ok(found),
            None => Ok(self.find(text, 0, steps)?.is_some()),
        }
    }

    /// The first match at or after `from`.
    pub(crate) fn find(
        &self,
        text: &str,
        from: usize,
        steps: &mut Steps,
    ) -> Result<Option<Groups>, GaveUp> {
        Machine::new(&self.program, text, steps).find(from)
    }
}

impl Automaton {
    /// `None` if the pattern makes a large one, or says something that automata cannot.
    fn new(pattern: &str) -> Option<Self> {
        let config = Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(CLEARED_MAX))
            .minimum_bytes_per_state(Some(BYTES_PER_STATE))
            .unicode_word_boundary(true);
        let nfa = thompson::Config::new().nfa_size_limit(Some(AUTOMATON_BYTES));
        let dfa = DFA::builder()
            .thompson(nfa)
            .configure(config)
            .build(pattern)
            .ok()?;
        let cache = Mutex::new(dfa.create_cache());
        Some(Self { dfa, cache })
    }

    fn held(&self) -> usize {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        size_of::<Self>() + self.dfa.get_nfa().memory_usage() + cache.memory_usage()
    }

    /// `None` if it gave up.
    fn is_match(&self, text: &str) -> Option<bool> {
        let input = Input::new(text).earliest(true);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.dfa.try_search_fwd(&mut cache, &input);
        found.ok().map(|found| found.is_some())
    }
}
