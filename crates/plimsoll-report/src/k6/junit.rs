//! Thresholds as test cases of `JUnit`, which every CI system can show.

use super::Results;
use super::text::judged_figure;

/// One test case per threshold; a broken one is a failure. Checks do not decide a test, so they are
/// no cases.
pub fn junit(results: &Results<'_>, name: &str) -> String {
    let failures = results
        .judgements
        .iter()
        .filter(|judged| !judged.ok)
        .count();
    let (tests, seconds) = (results.judgements.len(), results.elapsed.as_secs_f64());
    let name = escaped(name);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    putln!(
        xml,
        "<testsuites tests=\"{tests}\" failures=\"{failures}\" time=\"{seconds:.3}\">"
    );
    putln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" time=\"{seconds:.3}\">"
    );
    for judgement in results.judgements {
        let case = escaped(&format!("{} {}", judgement.key, judgement.source));
        let shown = escaped(&judged_figure(results, judgement));
        if judgement.ok {
            putln!(xml, "    <testcase name=\"{case}\" classname=\"{name}\"/>");
        } else {
            putln!(
                xml,
                "    <testcase name=\"{case}\" classname=\"{name}\">\
                 <failure message=\"{shown}\"/></testcase>"
            );
        }
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Text inside an attribute; characters that XML cannot hold are left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' | '\r' => safe.push(' '),
            other if other.is_control() => {}
            other => safe.push(other),
        }
    }
    safe
}
