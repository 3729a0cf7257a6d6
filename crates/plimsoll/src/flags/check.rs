//! What a row demands of its values, and rows of each other.

use std::cmp::Ordering;
use std::ffi::OsString;

use anyhow::{Result, bail};

use super::given::{Given, Origin, Value};
use super::{Flag, Form, Takes};

/// Whether the values of one spelling fit what it means for this form of the test.
pub(super) fn arity(
    spelling: &str,
    flag: &Flag,
    texts: &[&OsString],
    form: Option<Form>,
) -> Result<()> {
    let form = form.map_or("this command", Form::singular);
    match (&flag.takes, texts) {
        (Takes::Nothing, [text, ..]) => bail!(
            "{spelling} takes no value for {form}, where it means --{}: leave `{}` out",
            flag.long,
            text.display()
        ),
        (Takes::One(name), []) => bail!(
            "{spelling} means --{} for {form} and needs a {name}: {spelling} {name}",
            flag.long
        ),
        _ => Ok(()),
    }
}

/// Whether it may be given so often.
pub(super) fn times(flag: &Flag, value: &Value) -> Result<()> {
    let once = matches!(flag.takes, Takes::One(_) | Takes::Choice(..));
    if once && value.texts.len() > 1 {
        bail!(
            "{} is given {} times; give it once",
            value.spelling,
            value.texts.len()
        );
    }
    Ok(())
}

/// What flags demand of each other. What is said by a file gives way to a variable, and both to a flag.
pub(super) fn whole(given: &mut Given) -> Result<()> {
    let verb = given.verb;
    for flag in given.flags() {
        if flag.is_required && !given.values.contains_key(flag.long) {
            bail!("{} needs --{}: {}", verb.name(), flag.long, flag.help);
        }
        for other in flag.not_with {
            exclusive(given, flag.long, other)?;
        }
        if let (Some(needed), Some(value)) = (flag.needs, given.values.get(flag.long))
            && !given.values.contains_key(needed)
        {
            if value.origin == Origin::Flag {
                bail!("{} needs --{needed}", value.spelling);
            }
            given.values.remove(flag.long);
        }
    }
    Ok(())
}

fn exclusive(given: &mut Given, one: &'static str, other: &'static str) -> Result<()> {
    let (Some(a), Some(b)) = (given.values.get(one), given.values.get(other)) else {
        return Ok(());
    };
    let lower = match a.origin.cmp(&b.origin) {
        Ordering::Greater => other,
        Ordering::Less => one,
        Ordering::Equal => bail!(
            "{} and {} together: give one of them",
            a.spelling,
            b.spelling
        ),
    };
    given.values.remove(lower);
    Ok(())
}
