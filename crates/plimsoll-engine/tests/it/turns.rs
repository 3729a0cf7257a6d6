//! Targets and rows take turns: each is sent as often as the others, however fast its answers are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_core::Nanos;
use plimsoll_core::test::Request;
use plimsoll_engine::{Options, Places, Rows};
use plimsoll_net::resolve::Ways;

use super::server::serve_by;
use super::{Case, case, closed, play, play_with};

type Asked = Arc<Mutex<BTreeMap<String, u64>>>;

/// Answers `/slow` after 50 ms and everything else at once; and how often each path was asked for.
fn quick_and_slow() -> (u16, Asked) {
    let asked = Asked::default();
    let counts = Arc::clone(&asked);
    let port = serve_by(move |path| {
        *counts.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        if path == "/slow" {
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    });
    (port, asked)
}

fn of_two_workers(port: u16, path: &str) -> Case {
    let mut case = case(port, 2);
    case.url.request.url.push_str(path);
    case.generator.timeout = Nanos::from_secs(10);
    case
}

/// One of two workers sent to the quick one only, which had a hundred requests for each of the slow one.
fn assert_even(asked: &Asked) {
    let asked = asked.lock().unwrap();
    let [quick, slow] = ["/quick", "/slow"].map(|path| asked.get(path).copied().unwrap_or(0));
    assert!(slow >= 4, "{asked:?}");
    assert!(quick.abs_diff(slow) <= 2, "{asked:?}");
}

#[test]
fn a_closed_loop_of_two_workers_sends_to_two_targets_alike() {
    let (port, asked) = quick_and_slow();
    let mut case = of_two_workers(port, "quick");
    let slow = format!("http://127.0.0.1:{port}/slow");
    case.url.variation.requests = vec![Request::get(slow)];
    let played = play(&case, None, &[(closed(2), 1)]);
    played.check_flows();
    assert_even(&asked);
}

fn with_rows(case: &Case, rows: impl IntoIterator<Item = String>) -> Options {
    let mut places = Places::resolve(&case.url, &Ways::default()).unwrap();
    places.rows = Some(Arc::new(Rows {
        columns: vec!["path".to_owned()],
        rows: rows.into_iter().map(|path| vec![path]).collect(),
    }));
    Options::new(&case.url, &places, &case.generator, None).unwrap()
}

#[test]
fn a_closed_loop_of_two_workers_sends_two_rows_alike() {
    let (port, asked) = quick_and_slow();
    let case = of_two_workers(port, "{{row.path}}");
    let options = with_rows(&case, ["quick", "slow"].map(str::to_owned));
    let played = play_with(&options, &[(closed(2), 1)]);
    played.check_flows();
    assert_even(&asked);
    // Another run begins with the first row.
    asked.lock().unwrap().clear();
    let mut options = options;
    options.attempts_max = Some(1);
    play_with(&options, &[(closed(2), 5)]);
    assert_eq!(asked.lock().unwrap().keys().collect::<Vec<_>>(), ["/quick"]);
}

#[test]
fn as_many_requests_as_rows_send_each_row_once() {
    let (port, asked) = quick_and_slow();
    let mut case = of_two_workers(port, "{{row.path}}");
    case.generator.workers = std::num::NonZeroU32::new(3).unwrap();
    let mut options = with_rows(&case, (0..40).map(|row| row.to_string()));
    options.attempts_max = Some(40);
    let played = play_with(&options, &[(closed(6), 60)]);
    assert_eq!(played.tally().ok(), 40);
    let asked = asked.lock().unwrap();
    assert!(
        asked.len() == 40 && asked.values().all(|count| *count == 1),
        "{asked:?}"
    );
}
