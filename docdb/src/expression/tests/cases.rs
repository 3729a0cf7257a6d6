//! The tables: one line per behaviour.

use super::check_table;
use crate::value::shell;

const ROOT: &str = r#"{_id: 7, n: 5, d: 2.5, s: "Hello", nil: null, sub: {x: 1, y: {z: 2}}, arr: [3, 1, 2],
    docs: [{k: 1, v: "a"}, {k: 2}, 5, [{k: 3}]], day: date("2024-02-29T12:34:56.789Z"), "a-b": 1}"#;

#[test]
fn values_and_logic() {
    check_table(VALUES, &shell::document(ROOT));
}

#[test]
fn arrays_and_objects() {
    check_table(ARRAYS, &shell::document(ROOT));
}

#[test]
fn strings_and_conversions() {
    check_table(STRINGS, &shell::document(ROOT));
}

#[test]
fn dates() {
    check_table(DATES, &shell::document(ROOT));
}

#[test]
fn refusals() {
    check_table(ERRORS, &shell::document(ROOT));
}

pub(super) const VALUES: &str = r#"
"$n" => 5
"$sub.y.z" => 2
"$sub.q" => missing
"$n.x" => missing
"$docs.k" => [1, 2, [3]]
"$arr.0" => []
"$$ROOT.n" => 5
"$$CURRENT.sub.x" => 1
"$$NOW" => date(1700000000123L)
"$$REMOVE" => missing
"$$limit" => 10
"plain" => "plain"
5 => 5
{a: "$n", b: {c: "$sub.x"}, gone: "$nope"} => {a: 5, b: {c: 1}}
["$n", "$nope", 1] => [5, null, 1]
{$literal: "$n"} => "$n"
{$expr: {$eq: ["$n", 5]}} => true
{$add: [1, 2]} => 3
{$add: [1, 2L]} => 3L
{$add: [1, 2.5]} => 3.5
{$add: [1, 2D]} => 3D
{$add: [2147483647, 1]} => 2147483648L
{$add: [9223372036854775807L, 1]} => 9223372036854775808.0
{$add: ["$n", null]} => null
{$add: []} => 0
{$add: ["$day", 1000]} => date("2024-02-29T12:34:57.789Z")
{$subtract: [5, 2]} => 3
{$subtract: ["$day", 789]} => date("2024-02-29T12:34:56Z")
{$subtract: ["$day", "$day"]} => 0L
{$subtract: ["$nope", 1]} => null
{$multiply: [2, 3, 4]} => 24
{$multiply: [3037000500L, 3037000500L]} => 9.223372037000250000e18
{$divide: [7, 2]} => 3.5
{$divide: [6, 2]} => 3.0
{$divide: [1D, 8]} => 0.125D
{$mod: [7, 3]} => 1
{$mod: [-7, 3]} => -1
{$mod: [7.5, 2]} => 1.5
{$mod: [-2147483648, -1]} => 0
{$abs: -5} => 5
{$abs: -2147483648} => 2147483648L
{$abs: -1.5D} => 1.5D
{$ceil: 2.1} => 3.0
{$ceil: 2.1D} => 3D
{$floor: -2.1} => -3.0
{$floor: 7} => 7
{$round: 2.5} => 2.0
{$round: 3.5} => 4.0
{$round: [2.345, 2]} => 2.35
{$round: [2.675, 2]} => 2.67
{$round: [1.005, 2]} => 1.0
{$round: [0.285, 2]} => 0.28
{$round: [1.298, 100]} => 1.298
{$round: [23.298, -1]} => 20.0
{$round: [1.298D, 1]} => 1.3D
{$round: [1.298D, 5]} => 1.29800D
{$round: [1.298D, 100]} => 1.298000000000000000000000000000000D
{$round: [1.298912343250054252245154325D, 20]} => 1.29891234325005425225D
{$trunc: [1.298912343250054252245154325D, 20]} => 1.29891234325005425224D
{$round: [23.298D, -1]} => 2E+1D
{$round: [2.5D, 0]} => 2D
{$trunc: [1.298, 1]} => 1.2
{$trunc: [-1.6D, 0]} => -1D
{$round: [1250, -2]} => 1200
{$round: [-1.5D, 0]} => -2D
{$trunc: -2.7} => -2.0
{$trunc: [1299, -2]} => 1200
{$sqrt: 16} => 4.0
{$pow: [2, 10]} => 1024
{$pow: [2, -1]} => 0.5
{$pow: [2, 40]} => 1099511627776L
{$exp: 0} => 1.0
{$ln: 1} => 0.0
{$log: [8, 2]} => 3.0
{$log10: 1000} => 3.0
{$cmp: [1, 2]} => -1
{$cmp: ["a", 2]} => 1
{$eq: ["$n", 5.0]} => true
{$eq: ["$nope", null]} => false
{$ne: ["$n", 5]} => false
{$gt: ["$n", 3]} => true
{$gte: ["$n", 5]} => true
{$lt: ["$nope", null]} => true
{$lte: [[1, 2], [1, 3]]} => true
{$and: []} => true
{$and: ["$n", 0]} => false
{$and: [false, {$divide: [1, 0]}]} => false
{$or: []} => false
{$or: [0, null, "$s"]} => true
{$not: ["$nope"]} => true
{$not: [{$gt: ["$n", 3]}]} => false
{$cond: [{$gt: ["$n", 3]}, "big", "small"]} => "big"
{$cond: {if: "$nope", then: 1, else: 2}} => 2
{$ifNull: ["$nil", "$nope", "x"]} => "x"
{$ifNull: ["$n", "x"]} => 5
{$ifNull: ["$nil", "$nope"]} => missing
{$switch: {branches: [{case: {$lt: ["$n", 3]}, then: "a"}, {case: {$lt: ["$n", 9]}, then: "b"}], default: "c"}} => "b"
{$switch: {branches: [{case: false, then: "a"}], default: "c"}} => "c"
{$let: {vars: {a: 1, b: "$n"}, in: {$add: ["$$a", "$$b"]}}} => 6
{$let: {vars: {a: "$nope"}, in: "$$a"}} => missing
{$let: {vars: {a: {x: [{y: 1}, {y: 2}]}}, in: "$$a.x.y"}} => [1, 2]
{$type: "$n"} => "int"
{$type: "$nope"} => "missing"
{$isNumber: 5L} => true
{$isNumber: "5"} => false
"#;

pub(super) const ARRAYS: &str = r#"
{$size: "$arr"} => 3
{$arrayElemAt: ["$arr", 0]} => 3
{$arrayElemAt: ["$arr", -1]} => 2
{$arrayElemAt: ["$arr", 9]} => missing
{$arrayElemAt: ["$nope", 0]} => null
{$first: "$arr"} => 3
{$last: "$arr"} => 2
{$first: [[]]} => missing
{$slice: ["$arr", 2]} => [3, 1]
{$slice: ["$arr", -2]} => [1, 2]
{$slice: ["$arr", 1, 1]} => [1]
{$slice: ["$arr", -2, 1]} => [1]
{$slice: ["$arr", 9, 1]} => []
{$concatArrays: ["$arr", [4], []]} => [3, 1, 2, 4]
{$concatArrays: ["$arr", "$nope"]} => null
{$in: [1, "$arr"]} => true
{$in: ["1", "$arr"]} => false
{$isArray: "$arr"} => true
{$isArray: "$n"} => false
{$range: [0, 5, 2]} => [0, 2, 4]
{$range: [3, 0, -1]} => [3, 2, 1]
{$range: [0, 0]} => []
{$range: [5, 0]} => []
{$reverseArray: "$arr"} => [2, 1, 3]
{$indexOfArray: ["$arr", 1]} => 1
{$indexOfArray: ["$arr", 3, 1]} => -1
{$indexOfArray: ["$nope", 3]} => null
{$filter: {input: "$arr", as: "e", cond: {$gt: ["$$e", 1]}}} => [3, 2]
{$filter: {input: "$arr", cond: {$gt: ["$$this", 0]}, limit: 2}} => [3, 1]
{$filter: {input: "$nope", cond: true}} => null
{$map: {input: "$arr", as: "e", in: {$multiply: ["$$e", "$n"]}}} => [15, 5, 10]
{$map: {input: [1], in: "$$REMOVE"}} => [null]
{$reduce: {input: "$arr", initialValue: 0, in: {$add: ["$$value", "$$this"]}}} => 6
{$reduce: {input: [], initialValue: 1, in: 2}} => 1
{$zip: {inputs: [[1, 2, 3], ["a", "b"]]}} => [[1, "a"], [2, "b"]]
{$zip: {inputs: [[1, 2], ["a"]], useLongestLength: true}} => [[1, "a"], [2, null]]
{$zip: {inputs: [[1, 2], ["a"]], useLongestLength: true, defaults: [0, "z"]}} => [[1, "a"], [2, "z"]]
{$sortArray: {input: "$arr", sortBy: 1}} => [1, 2, 3]
{$sortArray: {input: [{a: 1, b: 1}, {a: 1, b: 2}, {a: 0}], sortBy: {a: 1, b: -1}}} => [{a: 0}, {a: 1, b: 2}, {a: 1, b: 1}]
{$sum: "$arr"} => 6
{$sum: ["$n", "$d", "x"]} => 7.5
{$sum: "$s"} => 0
{$avg: "$arr"} => 2.0
{$avg: []} => null
{$min: "$arr"} => 1
{$max: ["$n", "$d"]} => 5
{$min: [null, 3]} => 3
{$setUnion: [[1, 2], [2.0, 3]]} => [1, 2, 3]
{$setIntersection: [[1, 2, 3], [3, 2]]} => [2, 3]
{$setDifference: [[3, 1, 1, 2], [2]]} => [3, 1]
{$setEquals: [[1, 2], [2, 1, 1]]} => true
{$setIsSubset: [[1], [1, 2]]} => true
{$setUnion: [[1], null]} => null
{$allElementsTrue: [[1, true]]} => true
{$anyElementTrue: [[0, false]]} => false
{$mergeObjects: ["$sub", {x: 9, w: 1}, null]} => {x: 9, y: {z: 2}, w: 1}
{$mergeObjects: "$nope"} => {}
{$objectToArray: {a: 1, b: 2}} => [{k: "a", v: 1}, {k: "b", v: 2}]
{$arrayToObject: [[["a", 1], ["b", 2]]]} => {a: 1, b: 2}
{$arrayToObject: {$literal: [{k: "a", v: 1}]}} => {a: 1}
{$getField: "a-b"} => 1
{$getField: {field: "x", input: "$sub"}} => 1
{$getField: {field: "q", input: "$sub"}} => missing
{$setField: {field: "a.b", input: {}, value: 1}} => {"a.b": 1}
{$setField: {field: "x", input: "$sub", value: "$$REMOVE"}} => {y: {z: 2}}
{$unsetField: {field: "x", input: "$sub"}} => {y: {z: 2}}
{$bsonSize: {}} => 5
{$bsonSize: "$sub"} => 27
{$bsonSize: "$nope"} => null
{$binarySize: "öä"} => 4
{$binarySize: ""} => 0
{$binarySize: "$nil"} => null
"#;

pub(super) const STRINGS: &str = r#"
{$concat: ["$s", " ", "x"]} => "Hello x"
{$concat: ["$s", null]} => null
{$toUpper: "$s"} => "HELLO"
{$toLower: "$nope"} => ""
{$strcasecmp: ["ab", "AB"]} => 0
{$substr: ["$s", 1, 3]} => "ell"
{$substrBytes: ["$s", 1, -1]} => "ello"
{$substrBytes: ["$s", 9, 1]} => ""
{$substrCP: ["öäü", 1, 1]} => "ä"
{$strLenBytes: "öä"} => 4
{$strLenCP: "öä"} => 2
{$split: ["a-b-c", "-"]} => ["a", "b", "c"]
{$split: ["$nope", "-"]} => null
{$indexOfCP: ["öäü", "ü"]} => 2
{$indexOfCP: ["abcabc", "c", 3]} => 5
{$indexOfCP: ["abc", "c", 0, 2]} => -1
{$indexOfBytes: ["öäü", "ü"]} => 4
{$trim: {input: "  a b  "}} => "a b"
{$ltrim: {input: "xxaxx", chars: "x"}} => "axx"
{$rtrim: {input: "xxaxx", chars: "x"}} => "xxa"
{$regexMatch: {input: "$s", regex: "^hel", options: "i"}} => true
{$regexMatch: {input: "$nope", regex: "x"}} => false
{$regexFind: {input: "xöab12", regex: /([a-z])(\d+)/}} => {match: "b12", idx: 3, captures: ["b", "12"]}
{$regexFind: {input: "abc", regex: "x"}} => null
{$regexFindAll: {input: "a1b2", regex: "[0-9]"}} => [{match: "1", idx: 1, captures: []}, {match: "2", idx: 3, captures: []}]
{$replaceOne: {input: "a-a", find: "a", replacement: "b"}} => "b-a"
{$replaceAll: {input: "a-a", find: "a", replacement: "b"}} => "b-b"
{$replaceAll: {input: null, find: "a", replacement: "b"}} => null
{$toInt: "42"} => 42
{$toInt: 3.9} => 3
{$toInt: "$nope"} => null
{$toLong: "42"} => 42L
{$toLong: "$day"} => 1709210096789L
{$toDouble: "1.5"} => 1.5
{$toDecimal: "1.50"} => 1.50D
{$toString: 1.0} => "1"
{$toString: 1.5} => "1.5"
{$toString: "$day"} => "2024-02-29T12:34:56.789Z"
{$toString: oid("0123456789abcdef01234567")} => "0123456789abcdef01234567"
{$toBool: 0.0} => false
{$toBool: "false"} => true
{$toObjectId: "0123456789abcdef01234567"} => oid("0123456789abcdef01234567")
{$toDate: 0L} => date(0)
{$toDate: "2024-02-29"} => date("2024-02-29T00:00:00Z")
{$convert: {input: "x", to: "int", onError: "bad"}} => "bad"
{$convert: {input: null, to: "int", onNull: "none"}} => "none"
{$convert: {input: "7", to: 18}} => 7L
{$convert: {input: true, to: "double"}} => 1.0
"#;

pub(super) const DATES: &str = r#"
{$year: "$day"} => 2024
{$month: "$day"} => 2
{$dayOfMonth: "$day"} => 29
{$hour: "$day"} => 12
{$hour: {date: "$day", timezone: "+02:00"}} => 14
{$hour: {date: "$day", timezone: "-1300"}} => 23
{$minute: "$day"} => 34
{$second: "$day"} => 56
{$millisecond: "$day"} => 789
{$dayOfWeek: "$day"} => 5
{$dayOfYear: "$day"} => 60
{$isoDayOfWeek: "$day"} => 4
{$isoWeek: "$day"} => 9
{$isoWeekYear: date("2021-01-03T00:00:00Z")} => 2020
{$isoWeek: date("2021-01-03T00:00:00Z")} => 53
{$year: "$nope"} => null
{$year: date(-1L)} => 1969
{$dateToString: {date: "$day"}} => "2024-02-29T12:34:56.789Z"
{$dateToString: {date: "$day", format: "%Y/%m/%d %H:%M:%S.%L %j %% %b %u"}} => "2024/02/29 12:34:56.789 060 % Feb 4"
{$dateToString: {date: "$day", format: "%d %H %z", timezone: "+12:30"}} => "01 01 +1230"
{$dateToString: {date: null, onNull: "none"}} => "none"
{$dateFromString: {dateString: "2024-02-29T12:34:56.789+01:00"}} => date("2024-02-29T11:34:56.789Z")
{$dateFromString: {dateString: "29.02.2024", format: "%d.%m.%Y"}} => date("2024-02-29T00:00:00Z")
{$dateFromString: {dateString: "2023-02-29", onError: "bad"}} => "bad"
{$dateFromString: {dateString: null, onNull: "none"}} => "none"
{$dateAdd: {startDate: "$day", unit: "day", amount: 1}} => date("2024-03-01T12:34:56.789Z")
{$dateAdd: {startDate: date("2024-01-31T00:00:00Z"), unit: "month", amount: 1}} => date("2024-02-29T00:00:00Z")
{$dateAdd: {startDate: "$day", unit: "year", amount: 1}} => date("2025-02-28T12:34:56.789Z")
{$dateSubtract: {startDate: "$day", unit: "week", amount: 1}} => date("2024-02-22T12:34:56.789Z")
{$dateDiff: {startDate: date("2023-12-31T23:59:59Z"), endDate: date("2024-01-01T00:00:00Z"), unit: "year"}} => 1L
{$dateDiff: {startDate: date(0), endDate: "$day", unit: "day"}} => 19782L
{$dateDiff: {startDate: date("2024-02-24T00:00:00Z"), endDate: date("2024-02-25T00:00:00Z"), unit: "week"}} => 1L
{$dateDiff: {startDate: date("2024-02-24T00:00:00Z"), endDate: date("2024-02-25T00:00:00Z"), unit: "week", startOfWeek: "monday"}} => 0L
{$dateTrunc: {date: "$day", unit: "month"}} => date("2024-02-01T00:00:00Z")
{$dateTrunc: {date: "$day", unit: "hour"}} => date("2024-02-29T12:00:00Z")
{$dateTrunc: {date: "$day", unit: "minute", binSize: 15}} => date("2024-02-29T12:30:00Z")
{$dateTrunc: {date: "$day", unit: "week", startOfWeek: "mon"}} => date("2024-02-26T00:00:00Z")
{$dateTrunc: {date: "$day", unit: "quarter"}} => date("2024-01-01T00:00:00Z")
"#;

pub(super) const ERRORS: &str = r#"
{$foo: 1} => !168 Unrecognized expression '$foo'
{$add: [1], $x: 2} => !15983 an expression specification must contain exactly one field
"$" => !16872 '$' by itself is not a valid FieldPath
"$a." => !40353 FieldPath must not end with a '.'.
"$a..b" => !15998 FieldPath field names may not be empty strings.
"$$nope" => !17276 Use of undefined variable: nope
{a: 1, $b: 2} => !16410 FieldPath field names may not start with '$'
{"a.b": 1} => !16412 FieldPath field names may not contain '.'
{$abs: [1, 2]} => !16020 Expression $abs takes exactly 1 arguments. 2 were passed in.
{$slice: [[1]]} => !28667 Expression $slice takes at least 2 arguments, and at most 3, but 1 were passed in.
{$add: ["x", 1]} => !14 $add only supports numeric or date types, not string
{$add: ["$day", "$day"]} => !16612 only one date allowed in an $add expression
{$subtract: [1, "x"]} => !14 can't $subtract string from int
{$multiply: ["x"]} => !14 $multiply only supports numeric types, not string
{$divide: [1, 0]} => !2 can't $divide by zero
{$divide: ["x", 1]} => !14 $divide only supports numeric types, not string and int
{$mod: [1, 0]} => !16610 can't $mod by zero
{$abs: "x"} => !28765 $abs only supports numeric types, not string
{$abs: -9223372036854775808L} => !28680 can't take $abs of long long min
{$sqrt: -1} => !28714 $sqrt's argument must be greater than or equal to 0
{$ln: 0} => !28766 $ln's argument must be a positive number
{$round: [1.5, 101]} => !51083 value must be in [-20, 100]
{$concat: ["a", 1]} => !16702 $concat only supports strings, not int
{$toUpper: [[1]]} => !16007 can't convert from BSON type array to String
{$strLenCP: 1} => !34471 $strLenCP requires a string argument, found: int
{$split: ["a", ""]} => !40087 $split requires a non-empty separator
{$substrBytes: ["ö", 1, 1]} => !28656 starting index is a UTF-8 continuation byte
{$trim: {input: 1}} => !50699 $trim requires its input to be a string, got 1 (of type int) instead.
{$regexMatch: {input: 1, regex: "x"}} => !51104 $regexMatch needs 'input' to be of type string
{$size: 1} => !17124 The argument to $size must be an array, but was of type: int
{$size: "$nope"} => !17124 but was of type: missing
{$arrayElemAt: [1, 0]} => !28689 $arrayElemAt's first argument must be an array, but is int
{$concatArrays: [1]} => !28664 $concatArrays only supports arrays, not int
{$in: [1, 2]} => !40081 $in requires an array as a second argument, found: int
{$filter: {input: 1, cond: true}} => !28651 input to $filter must be an array not int
{$map: {input: 1, in: 1}} => !16883 input to $map must be an array not int
{$map: {input: []}} => !16882 Missing 'in' parameter to $map
{$reduce: {input: 1, initialValue: 0, in: 1}} => !40080 $reduce requires that 'input' be an array, found: int
{$range: [0, 1, 0]} => !34449 $range requires a non-zero step value
{$range: [0, 2147483647]} => !146 $range would use too much memory
{$setUnion: [1]} => !17043 All operands of $setUnion must be arrays. One argument is of type: int
{$mergeObjects: [1]} => !40400 $mergeObjects requires object inputs, but input 1 is of type int
{$let: {vars: {Bad: 1}, in: 1}} => !9 'Bad' starts with an invalid character for a user variable name
{$cond: {if: 1, then: 2}} => !17082 Missing 'else' parameter to $cond
{$ifNull: ["$n"]} => !1257300 $ifNull needs at least two arguments, had: 1
{$switch: {branches: [{case: false, then: 1}]}} => !40066 $switch could not find a matching branch for an input
{$switch: {branches: []}} => !40068 $switch requires at least one branch.
{$toInt: "x"} => !241 Failed to parse number 'x' in $convert with no onError value
{$toInt: 3000000000L} => !241 Conversion would overflow target type
{$toDate: true} => !241 Unsupported conversion from bool to date in $convert with no onError value
{$convert: {input: 1, to: "nope"}} => !2 Unknown type name alias: nope
{$year: "x"} => !16006 can't convert from BSON type string to Date
{$year: {date: "$day", timezone: "Mars/Base"}} => !40485 unrecognized time zone identifier
{$year: {date: "$day", timezone: "Europe/Berlin"}} => !40485 the time zone "Europe/Berlin" is not supported here
{$year: {date: "$day", timezone: "CET"}} => !40485 the time zone "CET" is not supported here
{$bsonSize: "$s"} => !31393 $bsonSize requires a document input, found: string
{$binarySize: "$n"} => !51276 $binarySize requires a string or BinData argument, found: int
{$dateToString: {date: "$day", format: "%q"}} => !18536 Invalid format character '%q' in format string
{$dateAdd: {startDate: "$day", unit: "eon", amount: 1}} => !9 unknown time unit value: eon
{$reduce: {input: {$range: [0, 60]}, initialValue: [1], in: {$concatArrays: ["$$value", "$$value"]}}} => !146 would hold more than
{$reduce: {input: {$range: [0, 60]}, initialValue: "abcd", in: {$concat: ["$$value", "$$value"]}}} => !10334 would make a string of
{$reduce: {input: {$range: [0, 60]}, initialValue: [1], in: ["$$value", "$$value"]}} => !146 would hold more than
{$size: {$map: {input: {$range: [0, 2000]}, in: {$range: [0, 2000]}}}} => !146 would hold more than
"#;
