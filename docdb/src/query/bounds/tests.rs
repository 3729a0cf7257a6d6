//! The law of bounds, with random documents, filters, indexes and orders; and what bounds look like.

use std::collections::BTreeSet;

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document, Regex, bson, doc};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::query::encode_key;
use crate::query::keys;
use crate::query::keys::Purpose;
use crate::query::sort::SortOrder;
use crate::value::Fields;
use crate::value::samples::{self, decimal, raw};
use crate::value::shell;

const PATHS: [&str; 8] = ["a", "b", "a.b", "a.c", "a.0", "a.b.c", "a.0.b", "b.c"];

/// Few values, so that they meet.
fn scalar() -> impl Strategy<Value = Bson> {
    prop_oneof![
        6 => (0..4_i32).prop_map(Bson::Int32),
        1 => select(vec![bson!(1.0), bson!(1.5), decimal("2"), bson!(f64::NAN), bson!(-1_i64)]),
        2 => select(vec![bson!("x"), bson!("xy"), bson!("y"), bson!("")]),
        2 => Just(Bson::Null),
        1 => select(vec![Bson::Undefined, Bson::MinKey, Bson::MaxKey, bson!(true), Bson::Symbol("x".into())]),
    ]
}

fn fields(value: impl Strategy<Value = Bson> + Clone) -> impl Strategy<Value = Document> {
    let field = (
        select(&["b", "c", "b", "c", "b", "c", "b", "c", "0"][..]),
        value,
    );
    prop::collection::vec(field, 0..3).prop_map(|fields| {
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    })
}

fn value() -> impl Strategy<Value = Bson> + Clone {
    let leaf = scalar().boxed();
    leaf.prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Bson::Array),
            fields(inner).prop_map(Bson::Document),
        ]
    })
    .boxed()
}

/// What most filters look for: arrays of numbers, and arrays of documents with numbers.
fn shaped() -> impl Strategy<Value = Bson> + Clone {
    let number = || (0..3_i32).prop_map(Bson::Int32);
    let numbers = || prop::collection::vec(number(), 0..3).prop_map(Bson::Array);
    let either = prop_oneof![2 => number(), 1 => numbers()];
    let inner = fields(either.boxed()).prop_map(Bson::Document).boxed();
    prop_oneof![
        2 => number(),
        2 => numbers(),
        1 => inner.clone(),
        3 => prop::collection::vec(inner, 0..3).prop_map(Bson::Array),
    ]
    .boxed()
}

fn document() -> impl Strategy<Value = Document> {
    let field = |name: &'static str| {
        let value = prop_oneof![2 => shaped(), 1 => value()];
        prop::option::weighted(0.8, value).prop_map(move |value| (name, value))
    };
    (field("a"), field("b")).prop_map(|(a, b)| {
        let fields = [a, b].into_iter();
        fields
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    })
}

fn constant() -> impl Strategy<Value = Bson> + Clone {
    let defined = value().prop_filter("undefined is no constant", |value| {
        !raw(&doc! {"": value})
            .as_bytes()
            .contains(&crate::value::kind::UNDEFINED)
    });
    prop_oneof![4 => scalar().prop_filter("undefined", |value| *value != Bson::Undefined), 1 => defined].boxed()
}

fn operators() -> impl Strategy<Value = Document> + Clone {
    let compare = select(&["$eq", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte"][..]);
    let leaf = prop_oneof![
        16 => (compare, prop_oneof![4 => (0..3_i32).prop_map(Bson::Int32), 1 => constant()])
            .prop_map(|(operator, value)| doc! {operator: value}),
        4 => (0..3_i32, 0..4_i32).prop_map(|(low, high)| doc! {"$gte": low, "$lt": high}),
        1 => (constant(), constant()).prop_map(|(low, high)| doc! {"$gte": low, "$lt": high}),
        1 => (select(&["$in", "$nin", "$all"][..]), prop::collection::vec(constant(), 0..3))
            .prop_filter_map("operators in $all", |(operator, values)| {
                (!has_operator(&values)).then(|| doc! {operator: values})
            }),
        1 => prop::collection::vec(constant(), 0..3).prop_filter_map("operators in $in", |values| {
            (!has_operator(&values)).then(|| long_list(values))
        }),
        1 => any::<bool>().prop_map(|exists| doc! {"$exists": exists}),
        1 => select(vec![bson!("number"), bson!("string"), bson!("array"), bson!("null"), bson!("object")])
            .prop_map(|kind| doc! {"$type": kind}),
        1 => select(vec!["^x", "^x.*", "x", "^"]).prop_map(|pattern| {
            doc! {"$regex": Bson::RegularExpression(Regex { pattern: pattern.try_into().unwrap(), options: "".try_into().unwrap() })}
        }),
        1 => (0..3_i32).prop_map(|size| doc! {"$size": size}),
        1 => Just(doc! {"$mod": [2, 1]}),
        1 => Just(doc! {"$bitsAnySet": 1}),
    ];
    let leaf = leaf.boxed();
    let part = (select(&["b", "c", "b", "c", "0"][..]), leaf.clone())
        .prop_map(|(name, operators)| (name.to_owned(), Bson::Document(operators)));
    let parts = prop::collection::vec(part, 1..3);
    prop_oneof![
        8 => leaf.clone(),
        1 => leaf.clone().prop_map(|operators| doc! {"$not": operators}),
        1 => leaf.clone().prop_map(|operators| doc! {"$elemMatch": {"$not": operators}}),
        1 => leaf.prop_map(|operators| doc! {"$elemMatch": operators}),
        3 => parts.prop_map(|parts| doc! {"$elemMatch": (parts.into_iter().collect::<Document>())}),
    ]
    .boxed()
}

/// These and more than a thousand that no document has.
fn long_list(mut values: Vec<Bson>) -> Document {
    values.extend((100..1200_i32).map(Bson::Int32));
    doc! {"$in": values}
}

fn has_operator(values: &[Bson]) -> bool {
    values.iter().any(|value| matches!(value, Bson::Document(inner) if inner.keys().any(|key| key.starts_with('$'))))
}

/// Conditions on a few paths, most of them joined, so that they meet on one index.
fn condition(paths: Vec<&'static str>) -> impl Strategy<Value = Document> {
    let one = (select(paths), operators()).prop_map(|(path, operators)| doc! {path: operators});
    let both = prop::collection::vec(one, 1..4)
        .prop_map(|clauses| doc! {"$and": clauses})
        .boxed();
    let several = prop::collection::vec(both.clone(), 1..3);
    prop_oneof![
        6 => both.clone(),
        2 => (select(&["$or", "$nor"][..]), several.clone()).prop_map(|(operator, clauses)| doc! {operator: clauses}),
        1 => (both, several).prop_map(|(one, clauses)| doc! {"$and": [one, {"$or": clauses}]}),
    ]
}

fn pattern(paths: Vec<&'static str>) -> impl Strategy<Value = Document> {
    let direction = select(&[1_i32, -1][..]);
    let directions = prop::collection::vec(direction, 4);
    (Just(paths).prop_shuffle(), directions).prop_map(|(paths, directions)| {
        let fields = paths.into_iter().zip(directions);
        fields
            .map(|(path, direction)| (path.to_owned(), Bson::Int32(direction)))
            .collect()
    })
}

/// A filter, an index and a sort order over the same few paths.
fn question() -> impl Strategy<Value = (Document, Document, Document)> {
    subsequence(PATHS.to_vec(), 1..4).prop_flat_map(|paths| {
        (
            condition(paths.clone()),
            pattern(paths.clone()),
            pattern(paths),
        )
    })
}

/// An index over documents: its entries in key order, each with its document's place.
struct Index {
    fields: Vec<SortField>,
    entries: BTreeSet<(Vec<u8>, usize)>,
    is_multikey: bool,
}

/// MongoDB refuses to index what a number in a path could mean in two ways, and parallel arrays.
fn is_ambiguous(value: &Bson) -> bool {
    match value {
        Bson::Array(elements) => elements.iter().any(|element| {
            matches!(element, Bson::Document(inner) if inner.contains_key("0"))
                || is_ambiguous(element)
        }),
        Bson::Document(inner) => inner.values().any(is_ambiguous),
        _ => false,
    }
}

fn has_array(value: &Bson) -> bool {
    match value {
        Bson::Array(_) => true,
        Bson::Document(inner) => inner.values().any(has_array),
        _ => false,
    }
}

fn index(pattern: &Document, documents: &mut Vec<RawDocumentBuf>) -> Index {
    let order = SortOrder::parse(&raw(pattern)).unwrap();
    let fields = order.fields().to_vec();
    let mut index = Index {
        fields: fields.clone(),
        entries: BTreeSet::new(),
        is_multikey: false,
    };
    let mut kept = Vec::new();
    for document in documents.drain(..) {
        let mut found = Vec::new();
        let walked = keys::each(
            Purpose::Sort,
            &fields,
            Fields::new(&document),
            &mut |values| {
                let mut out = Vec::new();
                encode_key(&fields, values, &mut out);
                found.push(out);
            },
        );
        let Ok(is_multikey) = walked else { continue };
        index.is_multikey |= is_multikey;
        index
            .entries
            .extend(found.into_iter().map(|key| (key, kept.len())));
        kept.push(document);
    }
    *documents = kept;
    index
}

impl Index {
    /// The places of documents in the order in which a scan first meets them.
    fn scan(&self, bounds: &Bounds, direction: Direction) -> Vec<usize> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        if direction == Direction::Descending {
            entries.reverse();
        }
        let mut seen = BTreeSet::new();
        let intervals: Vec<_> = bounds.intervals.each().collect();
        let inside = entries.into_iter().filter(|(key, _)| {
            intervals
                .iter()
                .any(|interval| interval.lower <= *key && *key < interval.upper)
        });
        inside
            .map(|(_, place)| *place)
            .filter(|place| seen.insert(*place))
            .collect()
    }
}

fn check_law(
    documents: &mut Vec<RawDocumentBuf>,
    condition: &Document,
    pattern: &Document,
    sort: &Document,
) -> Result<(), TestCaseError> {
    let index = index(pattern, documents);
    let filter = Filter::parse(&raw(condition)).unwrap();
    let bounds = bounds(&filter, &index.fields, index.is_multikey);
    prop_assert!(
        bounds
            .intervals
            .each()
            .collect::<Vec<_>>()
            .is_sorted_by(|one, two| one.upper <= two.lower),
        "{:?}",
        bounds
    );
    let all = 0..documents.len();
    let expected: BTreeSet<usize> = all
        .filter(|place| filter.matches(&documents[*place]))
        .collect();
    let scanned = index.scan(&bounds, Direction::Ascending);
    let found = scanned
        .iter()
        .copied()
        .filter(|place| filter.matches(&documents[*place]));
    prop_assert_eq!(&found.collect::<BTreeSet<_>>(), &expected, "{:?}", bounds);
    if bounds.is_exact {
        prop_assert_eq!(scanned.len(), expected.len(), "exact: {:?}", bounds);
    }
    let matches_nothing = filter.matches(&raw(&Document::new()));
    prop_assert!(bounds.admits_missing || !matches_nothing);
    let sort = SortOrder::parse(&raw(sort)).unwrap();
    if let Some(direction) = bounds.order(&index.fields, &sort, index.is_multikey) {
        let scanned = index.scan(&bounds, direction).into_iter();
        let matching = scanned.filter(|place| expected.contains(place));
        let keys: Vec<_> = matching.map(|place| sort.key(&documents[place])).collect();
        prop_assert!(keys.is_sorted(), "{:?} for {:?}", bounds, sort);
    }
    Ok(())
}

/// `a` is a number, numbers, or one or more documents with numbers at `b` and `c`; `b` is a number or numbers.
fn plain_document() -> impl Strategy<Value = Document> {
    let number = || (0..4_i32).prop_map(Bson::Int32);
    let numbers = || prop_oneof![2 => number(), 1 => prop::collection::vec(number(), 0..4).prop_map(Bson::Array)];
    let pair = || {
        (number(), numbers(), any::<bool>()).prop_map(|(one, two, swap)| {
            Bson::Document(if swap {
                doc! {"b": two, "c": one}
            } else {
                doc! {"b": one, "c": two}
            })
        })
    };
    let a = prop_oneof![
        2 => numbers(),
        1 => pair(),
        3 => prop::collection::vec(pair(), 0..4).prop_map(Bson::Array),
    ];
    (a, numbers(), any::<bool>()).prop_map(|(a, b, has_b)| {
        if has_b {
            doc! {"a": a, "b": b}
        } else {
            doc! {"a": a}
        }
    })
}

fn plain_operators() -> impl Strategy<Value = Document> + Clone {
    let compare = select(&["$eq", "$eq", "$gt", "$gte", "$lt", "$lte", "$ne"][..]);
    prop_oneof![
        5 => (compare, 0..4_i32).prop_map(|(operator, number)| doc! {operator: number}),
        1 => (0..3_i32, 1..4_i32).prop_map(|(low, high)| doc! {"$gte": low, "$lte": high}),
        1 => (0..4_i32, 0..4_i32).prop_map(|(one, two)| doc! {"$in": [one, two]}),
        1 => (0..4_i32, 0..4_i32).prop_map(|(one, two)| long_list(vec![one.into(), two.into()])),
        1 => (0..3_i32, 1..4_i32).prop_map(|(low, high)| doc! {"$elemMatch": {"$gte": low, "$lte": high}}),
        1 => any::<bool>().prop_map(|exists| doc! {"$exists": exists}),
        1 => Just(doc! {"$eq": null}),
    ]
    .boxed()
}

fn plain_question() -> impl Strategy<Value = (Document, Document, Document)> {
    let families = [
        vec!["a"],
        vec!["a", "b"],
        vec!["a.b", "a.c"],
        vec!["a.b", "b"],
        vec!["a.b", "a.c", "b"],
    ];
    select(families.to_vec()).prop_flat_map(|paths| {
        let clause = prop_oneof![
            4 => (select(paths.clone()), plain_operators()).prop_map(|(path, operators)| doc! {path: operators}),
            1 => (plain_operators(), plain_operators()).prop_map(|(b, c)| doc! {"a": {"$elemMatch": {"b": b, "c": c}}}),
        ];
        let all = prop::collection::vec(clause, 1..4).prop_map(|clauses| doc! {"$and": clauses}).boxed();
        let condition = prop_oneof![
            5 => all.clone(),
            1 => (all.clone(), all).prop_map(|(one, two)| doc! {"$or": [one, two]}),
        ];
        (condition, pattern(paths.clone()), pattern(paths))
    })
}

proptest! {
    #![proptest_config(samples::config(3000))]

    #[test]
    fn an_index_finds_what_a_full_scan_finds(
        documents in prop::collection::vec(document(), 4..16),
        (condition, pattern, sort) in question(),
        has_arrays in any::<bool>(),
    ) {
        let unambiguous = documents.iter().filter(|document| {
            !document.values().any(is_ambiguous) && (has_arrays || !document.values().any(has_array))
        });
        let mut documents: Vec<_> = unambiguous.map(raw).collect();
        check_law(&mut documents, &condition, &pattern, &sort)?;
    }

    /// Mostly numbers and arrays of them, so that most filters find something.
    #[test]
    fn an_index_of_numbers_finds_what_a_full_scan_finds(
        documents in prop::collection::vec(plain_document(), 12..24),
        (condition, pattern, sort) in plain_question(),
        has_arrays in any::<bool>(),
    ) {
        let fitting = documents.iter().filter(|document| has_arrays || !document.values().any(has_array));
        let mut documents: Vec<_> = fitting.map(raw).collect();
        check_law(&mut documents, &condition, &pattern, &sort)?;
    }

    #[test]
    fn what_implies_a_partial_filter_matches_it(
        documents in prop::collection::vec(document(), 1..8),
        (path, condition) in select(&PATHS[..]).prop_flat_map(|path| (Just(path), condition(vec![path]))),
        partial in operators(),
    ) {
        let filter = Filter::parse(&raw(&condition)).unwrap();
        let partial = Filter::parse(&raw(&doc! {path: partial})).unwrap();
        if filter.implies(&partial) {
            for document in documents {
                let document = raw(&document);
                prop_assert!(!filter.matches(&document) || partial.matches(&document));
            }
        }
    }
}

/// The bounds of `filter on pattern`, the index, and whether it is multikey.
fn asked(question: &str) -> (Bounds, SortOrder, bool) {
    let (condition, index) = question.split_once(" on ").expect("an index");
    let pattern = index.trim_end_matches(" multikey");
    let is_multikey = pattern != index;
    let index = SortOrder::parse(&raw(&shell::document(pattern))).unwrap();
    let filter = Filter::parse(&raw(&shell::document(condition))).unwrap();
    let bounds = bounds(&filter, index.fields(), is_multikey);
    (bounds, index, is_multikey)
}

/// Intervals, bounded fields, points, exactness.
#[test]
fn bounds_are_as_narrow_as_they_can_be() {
    let table = r#"
{a: 1} on {a: 1} => (1, 1, 1, true)
{a: 1} on {a: 1} multikey => (1, 1, 1, true)
{a: 1} on {b: 1} => (1, 0, 0, false)
{} on {b: 1} => (1, 0, 0, true)
{a: {$in: [1, 2, 3]}} on {a: 1} => (3, 1, 0, true)
{a: {$gt: 1, $lt: 5}} on {a: -1} => (1, 1, 0, true)
{a: {$gt: 1, $lt: 5}} on {a: 1} multikey => (1, 1, 0, false)
{a: {$elemMatch: {$gt: 1, $lt: 5}}} on {a: 1} multikey => (1, 1, 0, false)
{a: 1, b: {$gt: 2}} on {a: 1, b: 1} => (1, 2, 1, true)
{a: {$gt: 1}, b: 2} on {a: 1, b: 1} => (1, 1, 0, false)
{"a.b": 1, "a.c": 2} on {"a.b": 1, "a.c": 1} multikey => (1, 1, 1, false)
{a: {$elemMatch: {b: 1, c: 2}}} on {"a.b": 1, "a.c": 1} multikey => (1, 2, 2, false)
{a: {$ne: 1}} on {a: 1} => (2, 1, 0, true)
{a: {$exists: true}} on {a: 1} => (1, 0, 0, false)
{a: {$exists: false}} on {a: 1} => (1, 1, 1, false)
{a: {$regex: "^ab"}} on {a: 1} => (2, 1, 0, true)
{$or: [{a: 1}, {a: {$gt: 7}}]} on {a: 1} => (2, 1, 0, true)
{$or: [{a: 1}, {b: 1}]} on {a: 1} => (1, 0, 0, false)
{a: {$gt: 5, $lt: 1}} on {a: 1} => (0, 1, 0, true)
{a: {$in: []}} on {a: 1} multikey => (0, 1, 0, true)
"#;
    for (question, expected) in shell::rows(table) {
        let (bounds, _, _) = asked(question);
        let found = (
            bounds.intervals.len(),
            bounds.bounded,
            bounds.points,
            bounds.is_exact,
        );
        assert_eq!(format!("{found:?}"), expected, "{question}");
    }
}

/// The same of a list of two thousand numbers, with what stands beside it.
#[test]
fn a_long_list_bounds_an_index_without_a_range_for_each() {
    let numbers: Vec<i32> = (0..2000).rev().collect();
    let table = [
        ("{a: LIST} on {a: 1}", (2000, 1, 0, true)),
        ("{a: LIST} on {a: -1}", (2000, 1, 0, true)),
        ("{a: LIST} on {a: 1} multikey", (2000, 1, 0, true)),
        ("{a: LIST, b: 1} on {a: 1, b: 1}", (2000, 1, 0, false)),
        ("{b: 1, a: LIST} on {b: 1, a: 1}", (1, 1, 1, false)),
        (
            "{$and: [{a: LIST}, {a: {$gte: 1990}}]} on {a: 1}",
            (10, 1, 0, true),
        ),
        (
            "{$and: [{a: LIST}, {a: {$gt: 10}}]} on {a: -1}",
            (1989, 1, 0, true),
        ),
        (
            "{$and: [{a: LIST}, {a: {$in: [0, 7.0, 1999, 5000]}}]} on {a: 1}",
            (3, 1, 0, true),
        ),
        (
            "{$and: [{a: LIST}, {a: {$not: {$in: [3, 5, 7]}}}]} on {a: 1}",
            (2000, 1, 0, false),
        ),
        (
            "{$and: [{a: LIST}, {a: {$gt: 990}}, {a: {$not: {$in: [991, 995]}}}]} on {a: -1}",
            (1007, 1, 0, true),
        ),
        ("{$and: [{a: LIST}, {a: 7000}]} on {a: 1}", (0, 1, 0, true)),
        (
            "{$and: [{a: LIST}, {a: LIST}]} on {a: 1}",
            (2000, 1, 0, false),
        ),
        (
            "{$or: [{a: LIST}, {a: 7000}]} on {a: 1}",
            (2001, 1, 0, true),
        ),
        (
            "{$or: [{a: LIST}, {a: 7000}]} on {a: -1}",
            (2001, 1, 0, true),
        ),
        (
            "{$or: [{a: LIST}, {a: 7000}, {a: -3}, {a: -1}]} on {a: 1}",
            (1000 + 3, 1, 0, false),
        ),
        ("{a: {$not: LIST}} on {a: 1}", (1, 0, 0, false)),
    ];
    for (question, expected) in table {
        let list = format!("{{$in: {numbers:?}}}");
        let (bounds, _, _) = asked(&question.replace("LIST", &list));
        let found = (
            bounds.intervals.len(),
            bounds.bounded,
            bounds.points,
            bounds.is_exact,
        );
        assert_eq!(found, expected, "{question}");
    }
}

/// A pattern beside them leaves the values what they are, up to so many; then several are one range.
#[test]
fn a_long_list_with_a_pattern_keeps_its_values_apart() {
    for (count, expected) in [(1100, 1100), (4096, 4096), (10_000, 3334)] {
        let mut list: Vec<Bson> = (0..count).map(Bson::Int32).collect();
        list.push(Bson::RegularExpression(Regex {
            pattern: "^x".try_into().unwrap(),
            options: "".try_into().unwrap(),
        }));
        let filter = Filter::parse(&raw(&doc! { "a": { "$in": list } })).unwrap();
        let index = SortOrder::parse(&raw(&doc! { "a": 1 })).unwrap();
        let bounds = bounds(&filter, index.fields(), false);
        // Beside strings that begin so there is the pattern as a value.
        assert_eq!(bounds.intervals.len(), expected + 2);
        assert_eq!(bounds.is_exact, count <= 4096);
    }
}

/// The law, of lists that random filters are too short for.
#[test]
fn bounds_of_long_lists_hold_what_matches() {
    let documents = (-5..3500).step_by(9).map(|a| match a % 7 {
        0 => doc! { "a": a.to_string() },
        1 => doc! { "a": f64::from(a) + 0.5, "b": 1 },
        _ => doc! { "a": a, "b": a % 2 },
    });
    let documents: Vec<RawDocumentBuf> = documents.map(|one| raw(&one)).collect();
    let every = |step: usize| {
        let list = (0..3300).step_by(step).map(Bson::Int32);
        doc! { "a": { "$in": list.collect::<Vec<_>>() } }
    };
    let with_pattern = |step: usize| {
        let mut condition = every(step);
        let list = condition.get_document_mut("a").unwrap();
        let list = list.get_array_mut("$in").unwrap();
        list.push(Bson::RegularExpression(Regex {
            pattern: "^1".try_into().unwrap(),
            options: "".try_into().unwrap(),
        }));
        condition
    };
    for condition in [
        doc! { "$or": [every(2), { "a": 7 }] },
        doc! { "$or": [every(1), every(3), { "a": "14" }] },
        doc! { "$and": [every(2), { "a": { "$in": [0, 1, 2, 3000, 3400] } }] },
        doc! { "$and": [every(1), { "a": { "$nin": [0, 1, 2, 3000, 3400] } }] },
        doc! { "$and": [every(1), every(2), { "a": { "$gt": 2500 } }] },
        doc! { "$and": [with_pattern(1), every(2)] },
        with_pattern(2),
        doc! { "$or": [with_pattern(1), { "a": { "$lt": 3 } }] },
    ] {
        for pattern in [
            doc! { "a": 1 },
            doc! { "a": -1, "b": 1 },
            doc! { "b": 1, "a": 1 },
        ] {
            check_law(
                &mut documents.clone(),
                &condition,
                &pattern,
                &doc! { "a": 1 },
            )
            .unwrap();
        }
    }
}

#[test]
fn an_index_gives_an_order_where_it_can() {
    let table = r#"
{} on {a: 1} => {a: 1} forward
{} on {a: 1} multikey => {a: -1} backward
{a: 1} on {a: 1, b: 1} => {b: -1} backward
{a: 1} on {a: 1, b: 1} => {a: 1, b: -1} backward
{a: 1} on {a: 1, b: 1} multikey => {b: 1} forward
{a: {$in: [1, 2]}} on {a: 1, b: 1} => {b: 1} none
{a: {$gt: 1}} on {a: 1, b: 1} => {a: 1, b: 1} forward
{a: {$gt: 1}} on {a: 1} multikey => {a: 1} none
{} on {a: 1, b: 1} => {a: 1, b: -1} none
{} on {a: 1, b: -1} => {a: -1, b: 1} backward
{} on {a: 1} => {a: 1, b: 1} none
{"a.b": 1} on {"a.b": 1, "a.c": 1} multikey => {"a.c": 1} none
"#;
    for (question, answer) in shell::rows(table) {
        let (sort, expected) = answer.rsplit_once(' ').expect("a direction");
        let (bounds, index, is_multikey) = asked(question);
        let sort = SortOrder::parse(&raw(&shell::document(sort))).unwrap();
        let found = match bounds.order(index.fields(), &sort, is_multikey) {
            Some(Direction::Ascending) => "forward",
            Some(Direction::Descending) => "backward",
            None => "none",
        };
        assert_eq!(found, expected, "{question} => {answer}");
    }
}

#[test]
fn partial_filters_are_seen_to_hold() {
    for (condition, partial, expected) in [
        (doc! {"a": 7}, doc! {"a": {"$gt": 5}}, true),
        (doc! {"a": 3}, doc! {"a": {"$gt": 5}}, false),
        (doc! {"a": 3, "b": 1}, doc! {"a": {"$exists": true}}, true),
        (doc! {"a": null}, doc! {"a": {"$exists": true}}, false),
        (doc! {"a": {"$in": [6, 7]}}, doc! {"a": {"$gt": 5}}, true),
        (doc! {"b": 1}, doc! {"a": {"$gt": 5}}, false),
        (
            doc! {"a": "x", "b": 1},
            doc! {"a": "x", "b": {"$lt": 2}},
            true,
        ),
    ] {
        let filter = Filter::parse(&raw(&condition)).unwrap();
        let partial_filter = Filter::parse(&raw(&partial)).unwrap();
        assert_eq!(
            filter.implies(&partial_filter),
            expected,
            "{condition} and {partial}"
        );
    }
}
