//! What each operator answers, as one would write it in a shell: `expression => value`, or `!code text`.

mod cases;
mod laws;

use bson::{Bson, DateTime, RawDocumentBuf, doc};

use super::{Expression, Variables, operators};
use crate::error::Result;
use crate::value::{display, shell};

fn evaluate(expression: &Bson, root: &bson::Document) -> Result<Option<Bson>> {
    let mut variables = Variables::at(DateTime::from_millis(1_700_000_000_123));
    variables.set("limit", Bson::Int32(10));
    let raw = RawDocumentBuf::try_from(root).expect("a valid document");
    Expression::parse_bson(expression, &variables)?.evaluate(&raw, &variables)
}

/// Two values alike to the type: text tells `1`, `1.0` and `1L` apart where equality is not enough.
fn written(value: Option<&Bson>) -> String {
    value.map_or("missing".to_owned(), |value| {
        format!("{} {}", display::type_name(value), display::value(value))
    })
}

fn check_table(table: &str, root: &bson::Document) {
    for (expression, answer) in shell::rows(table) {
        let result = evaluate(&shell::value(expression), root);
        if let Some(refusal) = answer.strip_prefix('!') {
            shell::assert_refused(expression, &result.expect_err(expression), refusal);
            continue;
        }
        let result = result.unwrap_or_else(|error| panic!("{expression}: {error}"));
        let expected = (answer != "missing").then(|| shell::value(answer));
        assert_eq!(
            written(result.as_ref()),
            written(expected.as_ref()),
            "{expression}"
        );
    }
}

#[test]
fn every_operator_has_a_case() {
    let text = [
        cases::VALUES,
        cases::ARRAYS,
        cases::STRINGS,
        cases::DATES,
        cases::ERRORS,
    ]
    .concat();
    let missing: Vec<_> = operators()
        .into_iter()
        .filter(|name| !text.contains(&format!("{{{name}:")))
        .collect();
    assert_eq!(missing, ["$rand"]);
    for _ in 0..100 {
        let drawn = evaluate(&doc! {"$rand": {}}.into(), &doc! {}).expect("draws");
        let drawn = drawn.and_then(|value| value.as_f64()).expect("a double");
        assert!((0.0..1.0).contains(&drawn), "{drawn}");
    }
}

/// A document may cost half a second or so: whatever a loop does within counts.
#[test]
fn what_a_loop_does_with_patterns_and_decimals_is_charged() {
    let dear = "a".repeat(60);
    let each = |body: Bson| doc! { "$size": { "$map": { "input": { "$range": [0, 700_000] }, "in": body } } };
    let search =
        |name: &str, regex: Bson| Bson::from(doc! { name: { "input": &dear, "regex": regex } });
    // No match is found, after thousands of steps.
    let constant = r"^(a+)(a+)\1b";
    let built = Bson::from(doc! { "$concat": ["^x", { "$toString": "$$this" }] });
    for body in [
        search("$regexMatch", constant.into()),
        search("$regexFind", constant.into()),
        search("$regexFindAll", constant.into()),
        search("$regexFind", built),
    ] {
        let error = evaluate(&each(body.clone()).into(), &doc! {}).expect_err("too much");
        assert_eq!(error.code.number(), 146, "{body}");
    }
    let far: bson::Decimal128 = "1E+6144".parse().expect("a decimal");
    let body = doc! { "$mod": [far, 7] };
    let error = evaluate(&each(body.into()).into(), &doc! {}).expect_err("too much");
    assert_eq!(error.code.number(), 146);
}

#[test]
fn nested_groups_that_hold_the_same_text_are_counted_before_it_is_copied() {
    // Few steps for each part, and forty groups that hold it.
    let text = format!("{}b", "a".repeat(500_000)).repeat(8);
    let (open, close) = ("(".repeat(40), ")".repeat(40));
    let regex = format!("(?={open}[^b]*{close})[^b]*b");
    let find = doc! { "$regexFindAll": { "input": "$text", "regex": regex } };
    let error = evaluate(&find.into(), &doc! { "text": text }).expect_err("too much");
    assert_eq!(error.code.number(), 146);
}
