//! Which kind of module a text is, and where things stand in it.

use super::*;

#[test]
fn kinds_of_modules_are_told_apart() {
    let cases = [
        ("import http from 'k6/http';", false),
        ("const a = 1; export default function () {}", false),
        (
            "const http = require('k6/http');\nexport default function () {}",
            false,
        ),
        (
            "const http = require('k6/http');\nmodule.exports.default = () => {};",
            true,
        ),
        ("exports.add = (a, b) => a + b;", true),
        ("function helper() {}", false),
    ];
    for (text, expected) in cases {
        assert_eq!(is_common(text), expected, "{text}");
    }
}

#[test]
fn names_of_a_common_module_are_read_off_its_text() {
    let text = "exports.a = 1; exports.b == 2; module.exports = { c, d: { x: 1 }, e2() { return [f, 1] } };";
    assert_eq!(names_exported(text), ["a", "c", "d", "e2"]);
}

/// With 60 variables of the process in each of 10,000 virtual users, `__ENV` would be most of what a script takes.
#[test]
fn variables_that_a_script_names_are_told_from_any() {
    let some = |names: &[&'static str]| Some(names.to_vec());
    for (text, expected) in [
        ("const a = __ENV.BASE_URL || 'x';", some(&["BASE_URL"])),
        (
            "f(__ENV['A'], __ENV[\"B_1\"], __ENV?.C)",
            some(&["A", "B_1", "C"]),
        ),
        ("no variables", some(&[])),
        ("const { BASE_URL } = __ENV;", None),
        ("__ENV[name]", None),
        ("JSON.stringify(__ENV)", None),
        ("__ENV.A; eval('__' + 'ENV')", None),
    ] {
        assert_eq!(variables_named(text), expected, "{text}");
    }
}

#[test]
fn an_import_is_found_in_its_line() {
    let text = "// first\nimport { a } from \"./a.js\";\n";
    let place = import_position(text, "./a.js");
    assert_eq!((place.line, place.column), (2, 19));
    assert_eq!(import_position(text, "./b.js").line, 0);
}
