//! The path argument of `res.json`: members, indexes, `#` for length or all, and `#(…)` queries.

use rquickjs::{Array, Coerced, Result, Value};

/// What the path leads to, or undefined.
pub(crate) fn select<'js>(root: &Value<'js>, path: &str) -> Result<Value<'js>> {
    let mut steps = steps_of(path);
    steps.reverse();
    follow(root.clone(), steps)
}

/// `steps` is a stack: the next one is the last.
fn follow(mut value: Value<'_>, mut steps: Vec<String>) -> Result<Value<'_>> {
    while let Some(step) = steps.pop() {
        let ctx = value.ctx().clone();
        if let Some(array) = value.as_array() {
            if step == "#" {
                if steps.is_empty() {
                    return Ok(Value::new_number(ctx, array.len() as f64));
                }
                return each(array, &steps);
            }
            if let Some(query) = step.strip_prefix("#(") {
                let (all, query) = match query.strip_suffix(")#") {
                    Some(query) => (true, query),
                    None => (false, query.trim_end_matches(')')),
                };
                let matching = matching(array, query)?;
                if all && steps.is_empty() {
                    return Ok(collect(array, &matching)?.into_value());
                }
                if all {
                    return each(&collect(array, &matching)?, &steps);
                }
                value = match matching.first() {
                    Some(index) => array.get(*index)?,
                    None => Value::new_undefined(ctx),
                };
                continue;
            }
            value = match step.parse::<usize>() {
                Ok(index) => array.get(index)?,
                Err(_) => Value::new_undefined(ctx),
            };
            continue;
        }
        let Some(object) = value.as_object() else {
            return Ok(Value::new_undefined(ctx));
        };
        value = object.get(step)?;
    }
    Ok(value)
}

fn each<'js>(array: &Array<'js>, steps: &[String]) -> Result<Value<'js>> {
    let found = Array::new(array.ctx().clone())?;
    for element in array.iter::<Value<'js>>() {
        let value = follow(element?, steps.to_vec())?;
        if !value.is_undefined() {
            found.set(found.len(), value)?;
        }
    }
    Ok(found.into_value())
}

fn collect<'js>(array: &Array<'js>, indexes: &[usize]) -> Result<Array<'js>> {
    let found = Array::new(array.ctx().clone())?;
    for index in indexes {
        found.set(found.len(), array.get::<Value<'js>>(*index)?)?;
    }
    Ok(found)
}

fn matching(array: &Array<'_>, query: &str) -> Result<Vec<usize>> {
    const OPERATORS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
    let split = OPERATORS.iter().find_map(|operator| {
        let (path, wanted) = query.split_once(operator)?;
        Some((path.trim(), *operator, wanted.trim()))
    });
    let mut indexes = Vec::new();
    for (index, element) in array.iter::<Value<'_>>().enumerate() {
        let element = element?;
        let fits = match split {
            Some((path, operator, wanted)) => {
                let value = if path.is_empty() {
                    element
                } else {
                    select(&element, path)?
                };
                compares(&value, operator, wanted)?
            }
            None => !select(&element, query)?.is_undefined(),
        };
        if fits {
            indexes.push(index);
        }
    }
    Ok(indexes)
}

fn compares(value: &Value<'_>, operator: &str, wanted: &str) -> Result<bool> {
    if value.is_undefined() {
        return Ok(false);
    }
    let order = if let (Some(number), Ok(wanted)) = (value.as_number(), wanted.parse::<f64>()) {
        number.partial_cmp(&wanted)
    } else {
        let text: Coerced<String> = value.get()?;
        Some(text.0.as_str().cmp(wanted.trim_matches('"')))
    };
    Ok(order.is_some_and(|order| match operator {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<=" => order.is_le(),
        ">=" => order.is_ge(),
        "<" => order.is_lt(),
        _ => order.is_gt(),
    }))
}

/// Splits at dots, but neither inside `#(…)` nor after a backslash.
fn steps_of(path: &str) -> Vec<String> {
    let (mut steps, mut step, mut depth, mut is_escaped) = (Vec::new(), String::new(), 0, false);
    for character in path.chars() {
        if is_escaped {
            step.push(character);
            is_escaped = false;
            continue;
        }
        match character {
            '\\' => is_escaped = true,
            '.' if depth == 0 => steps.push(std::mem::take(&mut step)),
            _ => {
                depth += i32::from(character == '(') - i32::from(character == ')');
                step.push(character);
            }
        }
    }
    steps.push(step);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_plain_dots_only() {
        assert_eq!(steps_of("a.b.0"), ["a", "b", "0"]);
        assert_eq!(steps_of("a\\.b.c"), ["a.b", "c"]);
        assert_eq!(
            steps_of("a.#(b.c==\"x.y\").d"),
            ["a", "#(b.c==\"x.y\")", "d"]
        );
    }
}
