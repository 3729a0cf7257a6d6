//! Every kind of import, and what the refusals say.

use super::*;

const BASE: &str = "file:///tests/main.js";

#[test]
fn imports_lead_to_files_natives_and_libraries() {
    let cases = [
        ("k6/http", "k6/http"),
        ("./lib/a.js", "file:///tests/lib/a.js"),
        ("../b.js", "file:///b.js"),
        ("/c.ts", "file:///c.ts"),
        ("file:///d/./e.js", "file:///d/e.js"),
        ("https://jslib.k6.io/k6-utils/1.4.0/index.js", "k6-utils"),
        ("https://jslib.k6.io/url/1.0.0/index.js", "url"),
    ];
    for (specifier, id) in cases {
        let target = resolve(BASE, specifier).unwrap();
        assert_eq!(target.id(), id, "{specifier}");
        assert_eq!(Target::from_id(id), Some(target));
    }
}

#[test]
fn refusals_name_the_import_and_the_fix() {
    let cases = [
        ("lodash", "\"./lodash.js\""),
        ("https://cdn.example/x/y.js", "\"./y.js\""),
        (
            "https://jslib.k6.io/papaparse/5.1.1/index.js",
            "download the file",
        ),
        ("k6/x/sql", "run this script with the k6"),
        ("k6/browser", "scenario of its own|script of its own"),
        ("k6/ws", "not supported yet"),
        ("k6/htp", "no such module"),
    ];
    for (specifier, words) in cases {
        let refusal = resolve(BASE, specifier).unwrap_err();
        assert!(refusal.contains(specifier), "{refusal}");
        let said = words.split('|').any(|words| refusal.contains(words));
        assert!(said, "{refusal}");
    }
}
