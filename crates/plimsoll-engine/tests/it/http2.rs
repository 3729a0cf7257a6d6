//! Many attempts at once on one connection, against a server of another hand.

use std::num::NonZeroU32;

use plimsoll_core::Nanos;
use plimsoll_core::Outcome;
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::test::Http;

use super::h2_frames::{Frames, H2Behaviour};
use super::h2_server::serve;
use super::server::{Behaviour, Server};
use super::{Case, Played, case, closed, open, options, play, preflight};

fn streams(port: u16, path: &str, connections: u32, streams: u32) -> Case {
    let mut case = case(port, 1);
    case.url.request.url.push_str(path);
    case.url.http = Http::two(streams.into()).unwrap();
    case.generator.connections_max = NonZeroU32::new(connections).unwrap();
    case
}

fn most<T: Ord>(played: &Played, pick: impl Fn(&plimsoll_core::Window) -> T) -> T {
    played.windows.iter().map(pick).max().unwrap()
}

fn count(played: &Played, outcome: Outcome) -> u64 {
    played.tally().class(outcome).count
}

#[test]
fn a_closed_loop_fills_the_streams_of_few_connections() {
    let port = serve(100).port();
    let case = streams(port, "", 4, 16);
    preflight(&options(&case)).unwrap();
    let played = play(&case, Some(5000), &[(closed(64), 60)]);
    assert_eq!(played.tally().ok(), 5000);
    assert_eq!(most(&played, |window| window.wire_max), 64);
    assert_eq!(most(&played, |window| window.health.connections_open), 4);
    played.check_flows();
}

/// Six in flight on three connections of two streams, which two workers share: one of three on two streams waited all the
/// time, beside a stream that was free.
#[test]
fn a_closed_loop_of_two_workers_has_a_stream_for_each_of_its_requests() {
    let mut case = streams(serve(100).port(), "wait", 3, 2);
    case.generator.workers = NonZeroU32::new(2).unwrap();
    case.generator.timeout = Nanos::from_secs(10);
    let played = play(&case, None, &[(closed(6), 2)]);
    let ok = played.tally();
    let ok = ok.class(Outcome::Ok);
    let [response, service] =
        [&ok.response, &ok.service].map(|times| times.mean().unwrap().as_secs_f64());
    assert!(response < 1.1 * service, "{response} s and {service} s");
    assert_eq!(most(&played, |window| window.wire_max), 6);
    played.check_flows();
}

#[test]
fn a_server_that_allows_fewer_streams_gets_no_more() {
    let port = serve(3).port();
    let played = play(&streams(port, "", 5, 10), Some(2000), &[(closed(12), 60)]);
    assert_eq!(played.tally().ok(), 2000);
    assert!(most(&played, |window| window.wire_max) <= 12);
    assert_eq!(most(&played, |window| window.health.connections_open), 4);
    played.check_flows();
}

#[test]
fn arrivals_share_the_streams_too() {
    let port = serve(100).port();
    let load = [(open(1500.0, Arrivals::Poisson), 2)];
    let mut case = streams(port, "", 10, 100);
    // What is late where the machine is busy is no matter of streams.
    case.generator.timeout = Nanos::from_secs(10);
    let played = play(&case, None, &load);
    assert_eq!(played.tally().ok(), played.due());
    // One carries a hundred; where the machine stands still for a tenth of a second more than that are due at once.
    let at_once = most(&played, |window| window.in_flight_max);
    let open = u64::from(most(&played, |window| window.health.connections_open));
    assert!(open <= 1 + at_once / 100, "{open} for {at_once} at once");
    played.check_flows();
}

#[test]
fn a_server_that_leaves_again_and_again_loses_nothing() {
    let port = serve(100).port();
    let played = play(
        &streams(port, "leave", 3, 8),
        Some(1000),
        &[(closed(24), 60)],
    );
    assert_eq!(played.tally().ok(), 1000, "{:?}", played.tally());
    let connects: u64 = played
        .windows
        .iter()
        .map(|window| window.health.connects_count)
        .sum();
    assert!(connects > 20, "{connects} connections");
    played.check_flows();
}

#[test]
fn without_keepalive_every_request_has_a_connection_of_its_own() {
    let port = serve(100).port();
    let mut case = streams(port, "", 8, 16);
    case.generator.keepalive = false;
    let played = play(&case, Some(200), &[(closed(8), 60)]);
    assert_eq!(played.tally().ok(), 200);
    let connects: u64 = played
        .windows
        .iter()
        .map(|window| window.health.connects_count)
        .sum();
    assert!(connects >= 200, "{connects} connections");
    played.check_flows();
}

#[test]
fn streams_that_are_never_answered_time_out_and_reset_ones_fail() {
    let port = serve(100).port();
    let mut case = streams(port, "hang", 2, 5);
    case.generator.timeout = super::HASTY;
    let played = play(&case, None, &[(closed(10), 1)]);
    assert!(count(&played, Outcome::Timeout) >= 10);
    assert_eq!(played.tally().ok(), 0);
    played.check_flows();
    let played = play(
        &streams(port, "reset", 2, 5),
        Some(100),
        &[(closed(10), 60)],
    );
    assert_eq!(count(&played, Outcome::Reset), 100);
    played.check_flows();
}

#[test]
fn a_dead_server_fails_each_attempt_once() {
    let case = streams(1, "", 4, 10);
    let failure = preflight(&options(&case)).unwrap_err();
    assert_eq!(failure.outcome, Outcome::Refused);
    let played = play(&case, Some(200), &[(closed(40), 60)]);
    assert_eq!(count(&played, Outcome::Refused), 200);
    played.check_flows();
}

#[test]
fn a_first_answer_counts_although_the_server_closes_with_it() {
    let server = Frames::start(H2Behaviour::LeaveAtOnce);
    let options = options(&streams(server.port, "", 1, 1));
    for _ in 0..50 {
        assert_eq!(preflight(&options).unwrap().answer.status, 200);
    }
}

#[test]
fn a_server_of_http_1_is_named_before_the_run() {
    let server = Server::start(Behaviour::Answer);
    let mut case = streams(server.port, "", 1, 1);
    case.generator.timeout = Nanos::from_secs(2);
    let failure = preflight(&options(&case)).unwrap_err();
    assert_eq!(failure.outcome, Outcome::Protocol, "{failure:?}");
    assert!(failure.reason.contains("HTTP/2"), "{}", failure.reason);
}

#[test]
fn answers_that_are_not_as_long_as_declared_are_no_answers() {
    let port = serve(100).port();
    for (path, outcome) in [("short", Outcome::Eof), ("long", Outcome::Protocol)] {
        let played = play(&streams(port, path, 2, 5), Some(100), &[(closed(10), 60)]);
        assert_eq!(count(&played, outcome), 100, "{path}");
        played.check_flows();
    }
    let mut case = streams(port, "short", 2, 5);
    case.url.request.method = "HEAD".to_owned();
    let played = play(&case, Some(100), &[(closed(10), 60)]);
    assert_eq!(played.tally().ok(), 100);
}

#[test]
fn every_misbehaviour_over_http_2_has_its_outcome() {
    let cases = [
        (H2Behaviour::CloseAtOnce, Outcome::Eof),
        (H2Behaviour::NoSettings, Outcome::Protocol),
        (H2Behaviour::NoStreams, Outcome::ConnectTimeout),
        (H2Behaviour::LaterStreams, Outcome::Ok),
        (H2Behaviour::Odd, Outcome::Ok),
        (H2Behaviour::CloseMidway, Outcome::Eof),
        (H2Behaviour::EndEarly, Outcome::Eof),
        (H2Behaviour::EndLate, Outcome::Protocol),
        (H2Behaviour::Reset(8), Outcome::Reset),
        (H2Behaviour::GoAway(11), Outcome::Protocol),
        (H2Behaviour::Push, Outcome::Protocol),
        (H2Behaviour::LongFrame, Outcome::Protocol),
        (H2Behaviour::BrokenHeaders, Outcome::Protocol),
        (H2Behaviour::EndlessHeaders, Outcome::Protocol),
        (H2Behaviour::EndlessBody, Outcome::Timeout),
        (H2Behaviour::Silent, Outcome::Timeout),
        (H2Behaviour::Status("500"), Outcome::Http5xx),
        (H2Behaviour::Status("503"), Outcome::Shed),
    ];
    std::thread::scope(|scope| {
        for (behaviour, outcome) in cases {
            scope.spawn(move || {
                let server = Frames::start(behaviour);
                let mut case = streams(server.port, "", 2, 4);
                // Beside a build it may take the server most of a second to accept a connection.
                // Who times out holds a stream all the while: with more of them than streams,
                // one would wait for a connection's successor, and may fail as its connect does.
                let (timeout, rate) = match outcome {
                    Outcome::Timeout | Outcome::ConnectTimeout => (4, 4.0),
                    _ => (5, 40.0),
                };
                case.generator.timeout = Nanos::from_secs(timeout);
                let loads = [(closed(3), 1), (open(rate, Arrivals::Uniform), 1)];
                let played = play(&case, None, &loads);
                played.check_flows();
                let tally = played.tally();
                let got: Vec<_> = tally
                    .occurred()
                    .map(|(outcome, class)| (outcome, class.count))
                    .collect();
                assert!(tally.attempts() > 0, "{behaviour:?}");
                assert_eq!(got, [(outcome, tally.attempts())], "{behaviour:?}");
                assert!(server.connections() < 20_000, "{behaviour:?} in a loop");
            });
        }
    });
}

#[test]
fn a_stream_that_was_refused_unseen_is_sent_again_and_counted() {
    let server = Frames::start(H2Behaviour::RefuseEveryOther);
    let mut case = streams(server.port, "", 2, 1);
    case.url.request.method = "POST".to_owned();
    let played = play(&case, Some(200), &[(closed(4), 60)]);
    assert_eq!(played.tally().ok(), 200, "{:?}", played.tally());
    let resent: u64 = played.windows.iter().map(|w| w.resent_count).sum();
    assert!((180..=200).contains(&resent), "{resent} resent");
    played.check_flows();
}

#[test]
fn a_server_that_always_leaves_before_a_request_is_not_connected_to_in_a_loop() {
    let server = Frames::start(H2Behaviour::LeaveBefore);
    let played = play(
        &streams(server.port, "", 2, 1),
        Some(50),
        &[(closed(2), 60)],
    );
    let tally = played.tally();
    assert_eq!(tally.failures(), 50, "{tally:?}");
    assert_eq!(tally.class(Outcome::ConnectTimeout).count, 0, "{tally:?}");
    // Seven for each attempt, and those that were begun for the other place meanwhile.
    assert!(server.connections() <= 50 * 20, "{}", server.connections());
    played.check_flows();
}

#[test]
fn a_server_that_allows_no_stream_is_not_connected_to_again_and_again() {
    let server = Frames::start(H2Behaviour::NoStreams);
    let played = play(
        &streams(server.port, "", 2, 4),
        None,
        &[(open(40.0, Arrivals::Uniform), 1)],
    );
    played.check_flows();
    // Two at once, each for as long as a request may take (400 ms).
    assert!(server.connections() <= 16, "{}", server.connections());
}

#[test]
fn a_server_that_allows_fewer_streams_in_the_middle_loses_nothing() {
    let server = Frames::start(H2Behaviour::FewerStreams);
    let played = play(
        &streams(server.port, "", 8, 8),
        Some(400),
        &[(closed(8), 60)],
    );
    assert_eq!(played.tally().ok(), 400, "{:?}", played.tally());
    assert_eq!(server.too_many(), 0, "streams beyond the limit");
    played.check_flows();
}

/// Its connection was once in nobody's hands from then on, and in the place of another.
#[test]
fn a_server_that_allows_no_stream_for_a_moment_is_asked_again_on_the_same_connection() {
    let server = Frames::start(H2Behaviour::PausedStreams);
    let mut case = streams(server.port, "", 1, 1);
    case.generator.timeout = Nanos::from_secs(5);
    let played = play(&case, Some(20), &[(closed(1), 60)]);
    assert_eq!(played.tally().ok(), 20, "{:?}", played.tally());
    assert_eq!(server.connections(), 1);
    played.check_flows();
}

/// The server names the last request that it looked at and closes at once, so that what is still on its way to it meets a
/// reset.
#[test]
fn a_server_that_leaves_in_a_hurry_loses_no_request() {
    let server = Frames::start(H2Behaviour::LeaveInHurry);
    let played = play(
        &streams(server.port, "", 4, 8),
        Some(500),
        &[(closed(24), 60)],
    );
    assert_eq!(played.tally().ok(), 500, "{:?}", played.tally());
    assert!(server.connections() > 50);
    played.check_flows();
}
