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

#[test]
fn what_keeps_a_load_from_being_held_is_said() {
    let said = |seconds, budgets_ratio| {
        let remark = SearchRemark::NothingHeld {
            at: LoadSize::PerS(440.0),
            seconds,
            budgets_ratio,
            least_seconds: 48.3,
        };
        remark.to_string()
    };
    assert_eq!(
        said(54.0, 5.8),
        "no load is held: the 54 s that were played near 440/s have 5.80 times as many bad attempts as the objective \
         allows, and no load a little below met it for 49 s: allow more with --within"
    );
    assert_eq!(
        said(48.2, 0.7),
        "no load is held: the 48 s that were played near 440/s meet the objective, but a load must do so for 49 s: \
         allow more with --within"
    );
    assert_eq!(
        said(60.0, 0.7),
        "no load is held: the 60 s that were played near 440/s meet the objective, but a lower load broke it, or the \
         queue grew: allow more with --within"
    );
    assert_eq!(
        said(0.0, 0.0),
        "no load is held: the limit is probably near 440/s, and nothing was played there: allow more with --within"
    );
}
