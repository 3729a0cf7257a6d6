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
        (r"^\Qa.b*\E$", "", "a.b*", true),
        (r"^\Qa.b*\E$", "", "axb*", false),
        (r"\Q a#b", "x", " a#b", true),
        (r"[\Q]^\E]", "", "]", true),
        (r"a\Eb", "", "ab", true),
        (r"^\h+$", "", "\u{a0}\t\u{3000}", true),
        (r"\h", "", "a", false),
        (r"^\H+$", "", "ab", true),
        (r"[\h-]", "", "-", true),
        (r"^\v$", "", "\u{2028}", true),
        (r"^a\Rb$", "", "a\r\nb", true),
        (r"^a\N+$", "", "abc", true),
        (r"b\Z", "", "b\n", true),
        ("(?>a+)ab", "", "aaab", false),
        ("(?:(a)|b)(?(1)c|d)", "", "bd", true),
        ("^(?:(a)|b)(?(1)c|d)$", "", "ad", false),
        ("(?<=ab|c)d", "", "cd", true),
        ("(?<!a{2})b", "", "aab", false),
        ("^(?:a?)*?b", "", "aab", true),
        (r"(?:(a)|b)*\1", "i", "abA", true),
        (r"\bé", "", "é", false),
        ("É", "i", "é", true),
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

/// Exponential or quadratic in the text: none of them may take the time, and none may say that nothing matched.
#[test]
fn a_hostile_pattern_ends_in_an_error_never_in_no_match() {
    let long = |count: usize| "a".repeat(count);
    for (source, text) in [
        (r"^(a+)+\1b$", long(60)),
        (r"(x?a+)+(?!a)b", long(60)),
        (r"(?=(.*)).*\1x", long(200_000)),
        (r"(?=.*x)y", long(200_000)),
        (r"(?>a*)b(?=c)", long(200_000)),
        (r"(.*)\1(.*)\2x", long(2000)),
    ] {
        let pattern = Pattern::new(source, "").unwrap();
        let found = pattern.matches(&Value::String(text.as_bytes()));
        let failure = pattern.take_failure().map(|error| error.code);
        assert_eq!(
            (found, failure),
            (false, Some(Code::Location(51156))),
            "{source}"
        );
        assert!(pattern.take_failure().is_none(), "told once");
    }
}

#[test]
fn repetitions_of_nothing_and_of_large_classes_are_compiled_within_bounds() {
    for source in [
        "(?:(?:a{0}){65535}){65535}",
        "(?:(?:(?:){65535}){65535}){65535}",
        r"(?:a{0}\1{0}){0,65535}",
    ] {
        // Whether it is taken or refused, it ends.
        drop(Pattern::new(source, ""));
    }
    for source in [
        "(?:(?:a{0}){999999999}){999999999}",
        "a{65536}",
        "a{1,70000}",
        "(?<=(?:(?:ab{60000}){60000}){60000})c",
    ] {
        let error = Pattern::new(source, "").unwrap_err();
        assert_eq!(error.code, Code::Location(51091), "{source}");
    }
    // Of a class that is written out 19,000 times there is one.
    let many = compile(r"\p{L}{19000}", "").unwrap();
    assert!(many.weight() < 25_000, "{}", many.weight());
    let mut different = String::new();
    for part in ('\u{4e00}'..).take(300) {
        different.push_str(r"[\p{L}\p{N}");
        different.extend([part, ']']);
    }
    assert!(compile(&different, "").is_err());
}

/// What is regular takes time in proportion to the text, however it would backtrack.
#[test]
fn regular_patterns_are_decided_in_long_texts() {
    let long = "ab ".repeat(100_000);
    for (source, expected) in [
        ("a.*b.*c", false),
        ("(a|b| )*c", false),
        ("(?:a+b+ )+$", true),
    ] {
        let pattern = Pattern::new(source, "").unwrap();
        let found = pattern.matches(&Value::String(long.as_bytes()));
        assert!(pattern.take_failure().is_none(), "{source}");
        assert_eq!(found, expected, "{source}");
    }
}

/// Against another engine over the same syntax, on short texts of few letters.
#[test]
fn the_machine_agrees_with_another_engine() {
    let mut rng = plimsoll_base::random::Rng::new(7, 0);
    let parts = [
        "a", "b", "c", ".", "[ab]", "(a|b)", "(?:a|bc)", "^", "$", r"\b", "(?=a)", "(?!b)",
        "(?<=a)", "(?<!c)", "(b)?", r"(a+)\1",
    ];
    let ends = ["", "", "*", "+", "?", "*?", "{1,2}"];
    let mut pick = |most: usize| (rng.next_u64() % most as u64) as usize;
    for _ in 0..3000 {
        let mut source = String::new();
        for _ in 0..=pick(3) {
            let part = parts[pick(parts.len())];
            source.push_str(part);
            if !part.starts_with(['^', '$', '\\'])
                && !part.starts_with("(?")
                && !part.ends_with('?')
            {
                source.push_str(ends[pick(ends.len())]);
            }
        }
        let text: String = (0..pick(7))
            .map(|_| ['a', 'b', 'c', ' '][pick(4)])
            .collect();
        let Ok(other) = fancy_regex::Regex::new(&translate::translate(&source, false)) else {
            continue;
        };
        let Ok(expected) = other.captures(&text) else {
            continue;
        };
        let ours = compile(&source, "").unwrap();
        let found = ours.find(&text, 0, &mut Steps::for_text(&text)).unwrap();
        let whole = found.as_ref().and_then(|groups| groups[0]);
        let expected =
            expected.and_then(|found| found.get(0).map(|whole| (whole.start(), whole.end())));
        assert_eq!(whole, expected, "/{source}/ on {text:?}");
        assert_eq!(
            ours.is_match(&text, &mut Steps::for_text(&text)).unwrap(),
            expected.is_some(),
            "/{source}/ on {text:?}"
        );
    }
}
