//! The sentences of remarks, and how they come back from a record.

use super::*;
use crate::verdict::SearchResult;

#[test]
fn a_remark_is_a_sentence_with_its_figures_and_an_old_sentence_is_kept() {
    let text = r#"{"converged":true,"remarks":["as before",
        {"about":"fails_even_at","at":{"vus":1.0},"text":"the objectives fail even at 1 VU"},
        {"about":"something_new","text":"of a later version"}]}"#;
    let found: SearchResult = serde_json::from_str(text).unwrap();
    let at = LoadSize::Vus(1.0);
    assert_eq!(
        found.remarks,
        [
            SearchRemark::Other("as before".to_owned()),
            SearchRemark::FailsEvenAt { at },
            SearchRemark::Other("of a later version".to_owned()),
        ]
    );
    let again = serde_json::to_value(&found).unwrap();
    assert_eq!(again["remarks"][0], "as before");
    assert_eq!(
        again["remarks"][1]["text"],
        "the objectives fail even at 1 VU"
    );
    assert_eq!(again["remarks"][1]["at"]["vus"], 1.0);
}

#[test]
fn stalls_are_said_with_the_soak_that_would_place_the_boundary() {
    let remark = SearchRemark::SetByStalls {
        interval_seconds: 20.0,
        lower: Some(LoadSize::PerS(400.0)),
        upper: Some(LoadSize::PerS(450.0)),
        soak_intervals: 50.0,
    };
    assert_eq!(
        remark.to_string(),
        "rare stalls, about one every 20 s, set the limit; it lies between 400 and 450/s; a soak of at least 50 \
         times that interval (17 min) would say where"
    );
}
