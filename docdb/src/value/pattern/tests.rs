//! Perl's reading of patterns: options, ASCII classes, the end before a line end.

use super::*;

fn matches(source: &str, options: &str, text: &str) -> bool {
    let pattern = Pattern::new(source, options).unwrap();
    pattern.matches(&Value::String(text.as_bytes()))
}

#[test]
fn patterns_match_as_in_perl() {
    for (source, options, text, expected) in [
        ("b", "", "abc", true),
        ("^b", "", "abc", false),
        ("^ab", "", "abc", true),
        ("B", "", "abc", false),
        ("B", "i", "abc", true),
        ("^b", "m", "a\nb", true),
        ("a.b", "", "a\nb", false),
        ("a.b", "s", "a\nb", true),
        ("a b # note", "x", "ab", true),
        ("c$", "", "abc", true),
        ("c$", "", "abc\n", true),
        ("c$", "", "abc\n\n", false),
        ("b$", "m", "b\nc", true),
        (r"^\w+$", "", "é", false),
        (r"^[\w-]+$", "", "a-b", true),
        (r"^[^\d]+$", "", "12", false),
        (r"\D", "", "12", false),
        (r"(a)\1", "", "aa", true),
        (r"(a)\1", "", "ab", false),
        ("a(?=b)", "", "ab", true),
        ("(?<!a)b", "", "ab", false),
        ("^a|b", "", "cb", true),
        ("[]a]", "", "]", true),
        ("[[]", "", "[", true),
        ("[[:alpha:]]", "", "1", false),
        (r"\<b\>", "", "<b>", true),
        ("a++b", "", "aab", true),
        ("", "", "", true),
    ] {
        assert_eq!(
            matches(source, options, text),
            expected,
            "/{source}/{options} on {text:?}"
        );
    }
}

#[test]
fn only_strings_symbols_and_itself_match() {
    let pattern = Pattern::new("a", "i").unwrap();
    assert!(pattern.matches(&Value::Symbol(b"A")));
    assert!(pattern.matches(&Value::Regex {
        pattern: b"a",
        options: b"i"
    }));
    assert!(!pattern.matches(&Value::Regex {
        pattern: b"a",
        options: b""
    }));
    assert!(!pattern.matches(&Value::Int(1)));
}

#[test]
fn a_prefix_is_found_where_there_is_one() {
    for (source, options, prefix, is_all) in [
        ("^abc", "", "abc", true),
        ("^ab.*", "", "ab", false),
        ("^abc*", "", "ab", false),
        ("^abc?", "", "ab", false),
        ("^ab+", "", "ab", false),
        ("^a|b", "", "", false),
        ("^abc", "i", "", false),
        ("abc", "", "", false),
        ("^é", "", "é", true),
        ("^", "", "", true),
    ] {
        let found = Pattern::new(source, options).unwrap().prefix();
        assert_eq!(found, (prefix.to_owned(), is_all), "/{source}/{options}");
    }
}

#[test]
fn wrong_patterns_are_refused() {
    for (source, options, code) in [
        ("(", "", Code::Location(51091)),
        ("a", "g", Code::Location(51108)),
        ("a\0b", "", Code::BadValue),
    ] {
        assert_eq!(
            Pattern::new(source, options).unwrap_err().code,
            code,
            "/{source}/{options}"
        );
    }
    assert!(Pattern::new(&"a".repeat(20_000), "").is_err());
}

/// Exponential in a naive engine; here it ends, matching or not.
#[test]
fn a_hostile_pattern_ends() {
    assert!(!matches(
        r"^(a+)+\1$",
        "",
        &"a".repeat(40).replace("aaaaa", "aaaab")
    ));
}
