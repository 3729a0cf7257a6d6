//! The grammar of `--watch`, and what it refuses.

use super::*;

fn subject_of(text: &str) -> Subject {
    Watch::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .subject
}

#[test]
fn every_kind_with_and_without_a_tier() {
    assert_eq!(subject_of("pid:4711"), Subject::Pid(4711));
    assert_eq!(subject_of("port:5432"), Subject::Port(5432));
    assert_eq!(subject_of("name:nginx"), Subject::Name("nginx".into()));
    assert_eq!(
        subject_of("nginx-log:/var/log/a=b:c.log"),
        Subject::NginxLog("/var/log/a=b:c.log".into())
    );
    let watch = Watch::parse(" db=port:5432 ").unwrap();
    assert_eq!(watch.tier.as_deref(), Some("db"));
    let watch = Watch::parse("app=metrics:http://localhost:9100/m?x=1:2").unwrap();
    assert_eq!(watch.tier.as_deref(), Some("app"));
    let Subject::Metrics(url) = watch.subject else {
        panic!("not metrics");
    };
    assert_eq!(url.to_string(), "http://localhost:9100/m?x=1:2");
}

#[test]
fn addresses_of_metrics_endpoints() {
    for (text, shown) in [
        ("http://h", "http://h/metrics"),
        ("http://h:81", "http://h:81/metrics"),
        ("http://[::1]:9/x", "http://[::1]:9/x"),
        ("http://[::1]/x", "http://[::1]/x"),
    ] {
        assert_eq!(metrics_target(text).unwrap().to_string(), shown);
    }
}

#[test]
fn what_is_refused_says_how_to_write_it() {
    for (text, fragment) in [
        ("", "does not say what to watch"),
        ("pid", "does not say what to watch"),
        ("pid:", "pid:4711"),
        ("pid:0", "pid:4711"),
        ("pid:-1", "pid:4711"),
        ("port:70000", "port:5432"),
        ("port:http", "port:5432"),
        ("name:", "name:postgres"),
        ("nginx-log:", "nginx-log:/var"),
        ("metrics:https://h/", "plain http"),
        ("metrics:http://", "plain http"),
        ("metrics:http://h:x/", "plain http"),
        ("metrics:http://h/a b", "plain http"),
        ("metrics:http://u@h/", "plain http"),
        ("prot:1", "`prot` is not known"),
        ("=pid:1", "tier name"),
        ("a b=pid:1", "tier name"),
        ("db=5432", "does not say what to watch"),
    ] {
        let error = Watch::parse(text).unwrap_err().to_string();
        assert!(error.contains(fragment), "{text}: {error}");
    }
}
