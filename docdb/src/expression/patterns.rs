//! Regular expressions: `$regexMatch`, `$regexFind` and `$regexFindAll`.

use bson::{Bson, doc};

use super::Evaluated;
use super::function::{Call, Function, NULL, functions, named};
use crate::error::{Code, Result};
use crate::value::pattern::{self, GaveUp, Groups, Regex, Steps};

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$regexMatch" Named(&REGEX) => matches;
    "$regexFind" Named(&REGEX) => find;
    "$regexFindAll" Named(&REGEX) => find_all;
};

named! {
    REGEX("input", "regex"; "options") 51103 31024 31022;
}

/// A text and what is looked for in it.
struct Search {
    input: String,
    regex: Regex,
    source: String,
}

impl Search {
    fn find(&self, from: usize, steps: &mut Steps) -> Result<Option<Groups>> {
        let found = self.regex.find(&self.input, from, steps);
        found.map_err(|GaveUp| GaveUp::error(&self.source))
    }
}

/// The text and the compiled pattern; `None` where either is null.
fn arguments(call: &mut Call<'_>) -> Result<Option<Search>> {
    let name = call.name;
    let input = match call.take(0) {
        None | Some(Bson::Null | Bson::Undefined) => None,
        Some(Bson::String(text)) => Some(text),
        Some(_) => {
            return Err(
                Code::Location(51104).error(format!("{name} needs 'input' to be of type string"))
            );
        }
    };
    let (source, own_options) = match call.take(1) {
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
    let options = match call.take(2) {
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
    let (Some(input), Some(source)) = (input, source) else {
        return Ok(None);
    };
    let regex = pattern::compile(&source, &options)?;
    Ok(Some(Search {
        input,
        regex,
        source,
    }))
}

fn matches(call: &mut Call<'_>) -> Result<Evaluated> {
    let found = match arguments(call)? {
        Some(search) => {
            let found = search
                .regex
                .is_match(&search.input, &mut Steps::for_text(&search.input));
            found.map_err(|GaveUp| GaveUp::error(&search.source))?
        }
        None => false,
    };
    Ok(Some(Bson::Boolean(found)))
}

fn find(call: &mut Call<'_>) -> Result<Evaluated> {
    let Some(search) = arguments(call)? else {
        return NULL;
    };
    let found = search.find(0, &mut Steps::for_text(&search.input))?;
    Ok(Some(found.map_or(Bson::Null, |groups| {
        describe(&search.input, &groups)
    })))
}

fn find_all(call: &mut Call<'_>) -> Result<Evaluated> {
    let Some(search) = arguments(call)? else {
        return Ok(Some(Bson::Array(Vec::new())));
    };
    let mut found = Vec::new();
    // One allowance for all matches together: a pattern that looks far ahead does so from each of them.
    let mut steps = Steps::for_text(&search.input);
    let mut from = 0;
    while let Some(groups) = search.find(from, &mut steps)? {
        let (start, end) = groups.first().copied().flatten().unwrap_or_default();
        found.push(describe(&search.input, &groups));
        // After an empty match the next one begins a character further.
        let rest = search.input.get(end..).unwrap_or_default();
        let step = rest.chars().next().map_or(1, char::len_utf8);
        from = if end > start { end } else { end + step };
        if from > search.input.len() {
            break;
        }
    }
    call.built(found)
}

fn describe(input: &str, groups: &Groups) -> Bson {
    let text = |(start, end): (usize, usize)| input.get(start..end).unwrap_or_default();
    let whole = groups.first().copied().flatten().unwrap_or_default();
    let before = input.get(..whole.0).unwrap_or_default().chars().count();
    let captures: Vec<Bson> = groups
        .iter()
        .skip(1)
        .map(|group| group.map_or(Bson::Null, |group| Bson::String(text(group).to_owned())))
        .collect();
    Bson::Document(doc! {
        "match": text(whole),
        "idx": i32::try_from(before).unwrap_or(i32::MAX),
        "captures": captures,
    })
}
