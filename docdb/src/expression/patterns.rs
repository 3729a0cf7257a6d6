//! Regular expressions: `$regexMatch`, `$regexFind` and `$regexFindAll`.

use bson::{Bson, doc};
use fancy_regex::{Captures, Regex};

use super::Evaluated;
use super::function::{Call, Function, NULL, functions, named};
use crate::error::{Code, Result};
use crate::value::pattern;

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$regexMatch" Named(&REGEX) => matches;
    "$regexFind" Named(&REGEX) => find;
    "$regexFindAll" Named(&REGEX) => find_all;
};

named! {
    REGEX("input", "regex"; "options") 51103 31024 31022;
}

/// The text and the compiled pattern; `None` where either is null.
fn arguments(call: &mut Call<'_>) -> Result<Option<(String, Regex)>> {
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
    Ok(Some((input, pattern::compile(&source, &options)?)))
}

fn matches(call: &mut Call<'_>) -> Result<Evaluated> {
    let found = match arguments(call)? {
        Some((input, regex)) => regex.is_match(input.as_str()).unwrap_or(false),
        None => false,
    };
    Ok(Some(Bson::Boolean(found)))
}

fn find(call: &mut Call<'_>) -> Result<Evaluated> {
    let Some((input, regex)) = arguments(call)? else {
        return NULL;
    };
    let found = regex.captures(input.as_str()).ok().flatten();
    Ok(Some(found.map_or(Bson::Null, |captures| {
        describe(&input, &captures)
    })))
}

fn find_all(call: &mut Call<'_>) -> Result<Evaluated> {
    let Some((input, regex)) = arguments(call)? else {
        return Ok(Some(Bson::Array(Vec::new())));
    };
    let mut found = Vec::new();
    for captures in regex.captures_iter(input.as_str()) {
        // The engine gave up: what was found so far stands.
        let Ok(captures) = captures else { break };
        found.push(describe(&input, &captures));
    }
    call.built(found)
}

fn describe(input: &str, captures: &Captures<'_, str>) -> Bson {
    let (text, start) = captures
        .get(0)
        .map_or(("", 0), |whole| (whole.as_str(), whole.start()));
    let before = input.get(..start).unwrap_or_default().chars().count();
    let groups: Vec<Bson> = captures
        .iter()
        .skip(1)
        .map(|group| group.map_or(Bson::Null, |group| Bson::String(group.as_str().to_owned())))
        .collect();
    Bson::Document(doc! {
        "match": text,
        "idx": i32::try_from(before).unwrap_or(i32::MAX),
        "captures": groups,
    })
}
