//! Routes, classes and tenants from heads.

use super::*;
use crate::config::{ClassRule, Route};

fn facts<'a>(
    method: &'a str,
    target: &'a str,
    host: &'a str,
    field: &'a dyn Fn(&str) -> Option<&'a [u8]>,
) -> Facts<'a> {
    Facts {
        method,
        target,
        host: Some(host),
        client: IpAddr::from([10, 0, 0, 7]),
        is_upgrade: false,
        field,
    }
}

fn policy(change: impl FnOnce(&mut Config)) -> Policy {
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let mut config = Config::simple(any.into(), vec![any.into()]);
    change(&mut config);
    Policy::new(config, Vec::new(), RandomState::new())
}

fn none(_: &str) -> Option<&'static [u8]> {
    None
}

#[test]
fn a_prefix_ends_between_parts_of_a_path() {
    for (path, prefix, is) in [
        ("/api", "/api", true),
        ("/api/x", "/api", true),
        ("/apiary", "/api", false),
        ("/api/x", "/api/", true),
        ("/api", "/api/", false),
        ("/", "/", true),
        ("/x", "/", true),
        ("*", "/", false),
    ] {
        assert_eq!(is_below(path, prefix), is, "{path} below {prefix}");
    }
}

#[test]
fn hosts_are_compared_as_names() {
    for (given, wanted, is) in [
        ("A.example.com:8080", "a.example.com", true),
        ("a.example.com.", "a.example.com", true),
        ("a.example.com", "*.example.com", true),
        ("example.com", "*.example.com", false),
        (".example.com", "*.example.com", false),
        ("evilexample.com", "*.example.com", false),
        ("[::1]:80", "[::1]", true),
        ("\u{e9}xample.com", "*.xample.com", false),
    ] {
        assert_eq!(is_host(given, wanted), is, "{given} as {wanted}");
    }
}

#[test]
fn what_is_said_must_all_hold() {
    let matches = Match {
        path: Some("/api".to_owned()),
        host: Some("a".to_owned()),
        methods: vec!["GET".to_owned(), "HEAD".to_owned()],
        headers: vec![("X-Kind".to_owned(), "batch".to_owned())],
    };
    let batch = |name: &str| name.eq_ignore_ascii_case("x-kind").then_some(&b"batch"[..]);
    assert!(is_meant(&matches, &facts("GET", "/api?x", "a", &batch)));
    assert!(!is_meant(&matches, &facts("POST", "/api", "a", &batch)));
    assert!(!is_meant(&matches, &facts("GET", "/", "a", &batch)));
    assert!(!is_meant(&matches, &facts("GET", "/api", "b", &batch)));
    assert!(!is_meant(&matches, &facts("GET", "/api", "a", &none)));
}

#[test]
fn the_class_is_that_of_header_route_or_rule_in_this_order() {
    let below = |path: &str| Match {
        path: Some(path.to_owned()),
        ..Match::default()
    };
    let policy = policy(|config| {
        config.class_header = Some("X-Class".to_owned());
        config.routes = vec![Route {
            matches: below("/pay"),
            group: 0,
            class: Some(Class::Critical),
            timeouts: None,
            waits: false,
        }];
        config.classes = vec![ClassRule {
            matches: below("/"),
            class: Class::Background,
        }];
    });
    let sheddable = |name: &str| (name == "X-Class").then_some(&b"sheddable"[..]);
    let odd = |name: &str| (name == "X-Class").then_some(&b"best"[..]);
    let class = |target, field: &dyn Fn(&str) -> Option<&'static [u8]>| {
        let own = |name: &str| field(name);
        policy.asked(&facts("GET", target, "a", &own)).wanted.class
    };
    assert_eq!(class("/pay/1", &sheddable), Class::Sheddable);
    assert_eq!(class("/pay/1", &odd), Class::Critical);
    assert_eq!(class("/other", &odd), Class::Background);
}

#[test]
fn tenants_are_told_apart_by_what_was_chosen() {
    let cookie_is = |value: &'static [u8]| {
        move |name: &str| name.eq_ignore_ascii_case("cookie").then_some(value)
    };
    let one = cookie_is(b"theme=dark; sid=ann");
    let two = cookie_is(b"sid=bob");
    let none_of_it = cookie_is(b"nosid=ann; sid=");
    let policy = policy(|config| config.tenant = TenantKey::Cookie("sid".to_owned()));
    let asked = |field: &dyn Fn(&str) -> Option<&'static [u8]>| {
        let own = |name: &str| field(name);
        policy.asked(&facts("GET", "/", "a", &own))
    };
    assert_ne!(asked(&one).wanted.tenant, asked(&two).wanted.tenant);
    assert_eq!(asked(&none_of_it).tenant, None);
    assert_eq!(asked(&none_of_it).wanted.tenant, asked(&none).wanted.tenant);
}

#[test]
fn what_lets_somebody_in_is_not_shown() {
    let ann = |_: &str| Some(&b"sid=ann"[..]);
    let named = |tenant: TenantKey| {
        let policy = policy(|config| config.tenant = tenant);
        let asked = policy.asked(&facts("GET", "/", "a", &ann));
        asked.tenant.expect("a tenant was chosen")
    };
    assert_eq!(named(TenantKey::Header("X-Tenant".to_owned())), "sid=ann");
    for tenant in [
        TenantKey::Cookie("sid".to_owned()),
        TenantKey::Header("X-Api-Key".to_owned()),
        TenantKey::Header("Authorization".to_owned()),
    ] {
        let name = named(tenant);
        assert!(name.starts_with('#') && !name.contains("ann"), "{name}");
    }
}

#[test]
fn who_wants_events_says_so() {
    for (accept, is) in [
        ("text/event-stream", true),
        ("text/html, Text/Event-Stream;q=0.9", true),
        ("text/event-streams, */*", false),
        ("", false),
    ] {
        let field = |name: &str| (name == "accept").then_some(accept.as_bytes());
        assert_eq!(
            wants_events(&facts("GET", "/", "a", &field)),
            is,
            "{accept}"
        );
    }
}

#[test]
fn a_key_that_comes_again_is_a_retry() {
    let policy = policy(|_| {});
    let is_retry = |target: &str, key: Option<&'static [u8]>, last: u8| {
        let field = |name: &str| key.filter(|_| name == "idempotency-key");
        let facts = Facts {
            client: IpAddr::from([10, 0, 0, last]),
            ..facts("POST", target, "a", &field)
        };
        policy.asked(&facts).wanted.is_retry
    };
    assert!(!is_retry("/pay", Some(b"k1"), 7));
    assert!(is_retry("/pay", Some(b"k1"), 7));
    // Another key, another thing, another client; and no key at all.
    assert!(!is_retry("/pay", Some(b"k2"), 7));
    assert!(!is_retry("/order", Some(b"k1"), 7));
    assert!(!is_retry("/pay", Some(b"k1"), 8));
    assert!(!is_retry("/pay", None, 7) && !is_retry("/pay", None, 7));
}

#[test]
fn attempts_are_counted_and_labels_have_no_ids() {
    let retry = |name: &str| (name == "x-retry-count").then_some(&b"1"[..]);
    let first = |name: &str| (name == "x-envoy-attempt-count").then_some(&b"1"[..]);
    let policy = policy(|_| {});
    let asked = policy.asked(&facts("GET", "/users/17/x?y", "a", &retry));
    assert!(asked.wanted.is_retry);
    assert_eq!(asked.route, "GET /users/:id");
    assert!(
        !policy
            .asked(&facts("GET", "/", "a", &first))
            .wanted
            .is_retry
    );
    let long = "/\u{e9}".repeat(40);
    let nothing = |_: &str| None;
    let asked = policy.asked(&facts("GET", &long, "a", &nothing));
    assert!(asked.route.len() <= 48);
}
