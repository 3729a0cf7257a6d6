//! Regular expressions: `$regexMatch`, `$regexFind` and `$regexFindAll`.

use std::rc::Rc;

use bson::{Bson, doc};

use super::Evaluated;
use super::function::{Call, Function, functions, named};
use super::scope::{Held, Scope};
use crate::error::{Code, Result};
use crate::value::pattern::{GaveUp, Groups, Regex, Steps};

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$regexMatch" Named(&REGEX) => |call| run(Wanted::Whether, call);
    "$regexFind" Named(&REGEX) => |call| run(Wanted::First, call);
    "$regexFindAll" Named(&REGEX) => |call| run(Wanted::All, call);
};

named! {
    REGEX("input", "regex"; "options") 51103 31024 31022;
}

/// What a step of a search counts as: about the time that copying so many bytes takes.
const STEP_BYTES: usize = 8;

/// What is asked of a text and a pattern.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Whether,
    First,
    All,
}

/// A compiled pattern and what it was made of.
struct Compiled {
    regex: Rc<Regex>,
    source: String,
}

impl Compiled {
    fn find(&self, input: &str, from: usize, steps: &mut Steps) -> Result<Option<Groups>> {
        let found = self.regex.find(input, from, steps);
        found.map_err(|GaveUp| GaveUp::error(&self.source))
    }
}

impl Wanted {
    /// What it is where the text or the pattern is null.
    fn nothing(self) -> Bson {
        match self {
            Self::Whether => Bson::Boolean(false),
            Self::First => Bson::Null,
            Self::All => Bson::Array(Vec::new()),
        }
    }

    fn look(self, input: &str, compiled: &Compiled, scope: &Scope<'_>) -> Result<Bson> {
        // One allowance for all matches together: a pattern that looks far ahead does so from each of them.
        let mut steps = Steps::for_text(input);
        let found = match self {
            Self::Whether => {
                let found = compiled.regex.is_match(input, &mut steps);
                found
                    .map(Bson::Boolean)
                    .map_err(|GaveUp| GaveUp::error(&compiled.source))
            }
            Self::First => match compiled.find(input, 0, &mut steps)? {
                Some(groups) => describe(input, &groups, &mut Place::default(), &mut scope.held()),
                None => Ok(Bson::Null),
            },
            Self::All => find_all(input, compiled, &mut steps, scope),
        }?;
        let steps = usize::try_from(steps.spent()).unwrap_or(usize::MAX);
        scope.charge_bytes(steps.saturating_mul(STEP_BYTES))?;
        scope.charge(&found)?;
        Ok(found)
    }
}

fn run(wanted: Wanted, call: &mut Call<'_>) -> Result<Evaluated> {
    let name = call.name;
    let input = text(name, call.take(0))?;
    let source = source(name, call.take(1), call.take(2))?;
    let (Some(input), Some((source, options))) = (input, source) else {
        return Ok(Some(wanted.nothing()));
    };
    let regex = call.scope.regex(&source, &options)?;
    let compiled = Compiled { regex, source };
    wanted.look(&input, &compiled, call.scope).map(Some)
}

/// The text to look in; `None` where it is null.
fn text(name: &str, input: Evaluated) -> Result<Option<String>> {
    match input {
        None | Some(Bson::Null | Bson::Undefined) => Ok(None),
        Some(Bson::String(text)) => Ok(Some(text)),
        Some(_) => {
            Err(Code::Location(51104).error(format!("{name} needs 'input' to be of type string")))
        }
    }
}

/// The pattern and its options; `None` where it is null.
fn source(name: &str, pattern: Evaluated, options: Evaluated) -> Result<Option<(String, String)>> {
    let (source, own_options) = match pattern {
        None | Some(Bson::Null | Bson::Undefined) => (None, String::new()),
        Some(Bson::String(source)) => (Some(source), String::new()),
        Some(Bson::RegularExpression(regex)) => (
            Some(regex.pattern.as_str().to_owned()),
            regex.options.as_str().to_owned(),
        ),
        Some(_) => {
            return Err(Code::Location(51105).error(format!(
                "{name} needs 'regex' to be of type string or regex"
            )));
        }
    };
    let options = match options {
        None | Some(Bson::Null | Bson::Undefined) => own_options,
        Some(Bson::String(_)) if !own_options.is_empty() => {
            return Err(Code::Location(51107).error(format!(
                "{name}: found regex option(s) specified in both 'regex' and 'option' fields"
            )));
        }
        Some(Bson::String(options)) => options,
        Some(_) => {
            return Err(
                Code::Location(51106).error(format!("{name} needs 'options' to be of type string"))
            );
        }
    };
    Ok(source.map(|source| (source, options)))
}

fn find_all(
    input: &str,
    compiled: &Compiled,
    steps: &mut Steps,
    scope: &Scope<'_>,
) -> Result<Bson> {
    let mut found = Vec::new();
    let mut held = scope.held();
    let mut place = Place::default();
    let mut from = 0;
    while let Some(groups) = compiled.find(input, from, steps)? {
        let (start, end) = groups.first().copied().flatten().unwrap_or_default();
        found.push(describe(input, &groups, &mut place, &mut held)?);
        // After an empty match the next one begins a character further.
        let rest = input.get(end..).unwrap_or_default();
        let step = rest.chars().next().map_or(1, char::len_utf8);
        from = if end > start { end } else { end + step };
        if from > input.len() {
            break;
        }
    }
    Ok(Bson::Array(found))
}

/// How many characters come before a byte; each match goes on counting where the one before ended.
#[derive(Debug, Default)]
struct Place {
    bytes: usize,
    characters: usize,
}

impl Place {
    fn characters_before(&mut self, at: usize, input: &str) -> usize {
        if at < self.bytes {
            *self = Self::default();
        }
        let between = input.get(self.bytes..at).unwrap_or_default();
        self.characters += between.chars().count();
        self.bytes = at;
        self.characters
    }
}

/// What a description of a match takes beside its texts, and each text of a group.
const DESCRIBED_BYTES: usize = 512;
const CAPTURE_BYTES: usize = 64;

fn describe(input: &str, groups: &Groups, place: &mut Place, held: &mut Held<'_>) -> Result<Bson> {
    // Groups within groups, and those that look ahead, hold the same text many times: counted before it is copied.
    let texts = groups.iter().flatten();
    let bytes = texts.map(|(start, end)| CAPTURE_BYTES + end.saturating_sub(*start));
    held.add_bytes(DESCRIBED_BYTES + bytes.sum::<usize>())?;
    let text = |(start, end): (usize, usize)| input.get(start..end).unwrap_or_default();
    let whole = groups.first().copied().flatten().unwrap_or_default();
    let before = place.characters_before(whole.0, input);
    let captures: Vec<Bson> = groups
        .iter()
        .skip(1)
        .map(|group| group.map_or(Bson::Null, |group| Bson::String(text(group).to_owned())))
        .collect();
    Ok(Bson::Document(doc! {
        "match": text(whole),
        "idx": i32::try_from(before).unwrap_or(i32::MAX),
        "captures": captures,
    }))
}
