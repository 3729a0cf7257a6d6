//! What follows from the flags of a URL that are left open.

use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_net::resolve::Ways;

use super::*;

/// Over HTTP/2, on eight connections that carry one request each.
fn without_keepalive(streams: Option<u32>, rate: Option<f64>) -> UrlTest {
    let request = Request::get("http://127.0.0.1:9/");
    let url = Url::new(request.clone(), Http::One);
    let profile = rate.map(|rate| RateProfile::constant(rate).unwrap());
    UrlTest {
        request,
        variation: Variation::default(),
        places: Places::resolve(&url, &Ways::default()).unwrap(),
        csv: None,
        protocol: Protocol::Http2 {
            streams: streams.map(number),
        },
        load: LoadPlan::Set {
            rate: profile.map(|profile| (profile, Arrivals::Poisson)),
            until: Until::after(Nanos::from_secs(1)).unwrap(),
            timeout: Nanos::from_secs(1),
            objectives: None,
        },
        connections: Some(number(8)),
        workers: Some(number(2)),
        keepalive: false,
        insecure: false,
    }
}

#[test]
fn a_connection_for_each_request_has_one_stream() {
    for (streams, rate) in [(None, None), (None, Some(5.0)), (Some(1), None)] {
        let prepared = without_keepalive(streams, rate).prepare(7).unwrap();
        assert_eq!(
            prepared.test.in_flight_max().get(),
            8,
            "{streams:?} {rate:?}"
        );
    }
    let error = without_keepalive(Some(4), None).prepare(7).err().unwrap();
    assert!(error.to_string().contains("--streams 4"), "{error}");
}
