//! What `guard.toml` may say: every key once, with its type, an example and its meaning. The reader, the check of unknown
//! keys and the tables of `docs/guard.md` follow from it.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_core::keys::{Inside, Section};
use plimsoll_core::section;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

pub(super) const SECTIONS: [&Section; 9] = [
    &File::SECTION,
    &ListenerSpec::SECTION,
    &GroupSpec::SECTION,
    &CheckSpec::SECTION,
    &RouteSpec::SECTION,
    &ClassSpec::SECTION,
    &TenantsSpec::SECTION,
    &TimeoutsSpec::SECTION,
    &RetriesSpec::SECTION,
];

pub(super) fn inside(path: &str) -> Inside {
    match path {
        "listeners" => Inside::Keys(&ListenerSpec::SECTION),
        "groups" => Inside::Named(&GroupSpec::SECTION),
        "check" => Inside::Keys(&CheckSpec::SECTION),
        "routes" => Inside::Keys(&RouteSpec::SECTION),
        "classes" => Inside::Keys(&ClassSpec::SECTION),
        "tenants" => Inside::Keys(&TenantsSpec::SECTION),
        "timeouts" => Inside::Keys(&TimeoutsSpec::SECTION),
        "retries" => Inside::Keys(&RetriesSpec::SECTION),
        _ => Inside::Free,
    }
}

section! {
    #[serde(default)]
    File = "the top of the file" {
        /// where clients come in, or a list of such places; `:8080` is every address of this host, `unix:/run/guard.sock` a
        /// socket in the file system
        listen: Option<Many> = "\":8080\"",
        /// the same, as tables
        listeners: Vec<ListenerSpec> = "[[listeners]]",
        /// proxies before the guard, by address or network, or a list of them: what they say in `X-Forwarded-For`, `-Host`,
        /// `-Proto` and `-Port` goes on, and requests are their clients', not theirs. From everybody else all of it is taken out
        trusted: Option<Many> = "\"10.0.0.0/8\"",
        /// the service to protect, or a list of them that do the same: `http://`, `https://` or `unix:/path`
        upstream: Option<Many> = "\"http://127.0.0.1:3000\"",
        /// several services, or more to say about one, instead of `upstream`
        groups: BTreeMap<String, GroupSpec> = "[groups.app]",
        /// which requests go to which group: the first that matches. With one group everything else goes there, with
        /// several it is answered with 404
        routes: Vec<RouteSpec> = "[[routes]]",
        /// how important requests are: the first that matches, `default` where none does
        classes: Vec<ClassSpec> = "[[classes]]",
        /// a header that says how important a request is; it goes before routes and classes, so let only somebody set it
        /// who may be trusted
        class_header: Option<String> = "\"X-Class\"",
        /// whose request it is
        tenants: TenantsSpec = "[tenants]",
        /// what limits the requests in flight to each upstream: `half-load`, or, to compare with, `fixed:16`, `aimd`,
        /// `vegas`, `gradient2`, `envoy`
        limit: Option<String> = "\"half-load\"",
        /// how long things may take
        timeouts: TimeoutsSpec = "[timeouts]",
        /// requests that the guard itself sends again
        retries: RetriesSpec = "[retries]",
        /// refuse nobody, and only count who would have been refused
        shadow: Option<bool> = "true",
        /// certificates (PEM) that vouch for upstreams in TLS, in place of this host's
        upstream_ca: Option<String> = "\"/etc/guard/ca.pem\"",
        /// a line of JSON for each request goes there; `-` is standard output
        access_log: Option<String> = "\"/var/log/guard.jsonl\"",
        /// answer /metrics, /ready and /explain here
        admin: Option<String> = "\"127.0.0.1:9464\"",
        /// connections of clients at most; half of the descriptors of the process unless given
        connections: Option<u32> = "10000",
        /// after SIGTERM, how long requests under way may take
        drain: Option<String> = "\"30s\"",
    }
}

section! {
    #[serde(default)]
    ListenerSpec = "[[listeners]]" {
        /// where clients come in
        address: Option<String> = "\":8080\"",
        /// speak TLS with this certificate (PEM: its own first, then those that signed it), or these: each client is shown the
        /// one for the name it asks for
        tls_cert: Option<Many> = "\"/etc/guard/cert.pem\"",
        /// their keys, in the same order; none where the files hold both
        tls_key: Option<Many> = "\"/etc/guard/key.pem\"",
        /// clients may speak HTTP/2: by ALPN in TLS, by prior knowledge without
        http2: Option<bool> = "false",
    }
}

section! {
    #[serde(default)]
    GroupSpec = "[groups.NAME]" {
        /// where they are; of a name with several addresses all are used, and it is looked up again every ten seconds
        upstreams: Vec<String> = "[\"http://10.0.0.1:3000\", \"http://app:3000\"]",
        /// as at the top of the file, for this group
        limit: Option<String> = "\"half-load\"",
        /// where the limit of each upstream begins, if it was measured; it goes on from there
        start: Option<f64> = "16",
        /// which upstream is next: `least`, the one whose limit is used least, or `two-choices`, the less used of two
        balance: Option<String> = "\"least\"",
        /// at most this share of the group is left out for bad answers
        out_most: Option<f64> = "0.5",
        /// an upstream that comes back is given its whole share again after this
        slow_start: Option<String> = "\"10s\"",
        /// ask each upstream again and again whether it is well; unless given its answers alone tell
        check: Option<CheckSpec> = "{ path = \"/health\" }",
    }
}

section! {
    #[serde(default)]
    CheckSpec = "check of [groups.NAME]" {
        /// what is asked for: an answer of 200 to 399 is a good one; two others in a row take an upstream out, one brings it
        /// back
        path: Option<String> = "\"/health\"",
        /// how often
        every: Option<String> = "\"2s\"",
        /// longest wait for the answer
        timeout: Option<String> = "\"1s\"",
    }
}

section! {
    #[serde(default)]
    RouteSpec = "[[routes]]" {
        /// the path is this, or goes on after it with a `/`
        path: Option<String> = "\"/api\"",
        /// the host, without a port; `*.example.com` for all below it
        host: Option<String> = "\"api.example.com\"",
        /// any of these methods
        methods: Vec<String> = "[\"GET\", \"HEAD\"]",
        /// headers with exactly these values
        headers: BTreeMap<String, String> = "{ X-Kind = \"batch\" }",
        /// where it goes; the only group unless given
        group: Option<String> = "\"app\"",
        /// how important it is: `critical`, `default`, `sheddable` or `background`
        class: Option<String> = "\"critical\"",
        /// how long things may take, where that differs: keys of [timeouts]
        timeouts: TimeoutsSpec = "{ whole = \"2s\" }",
        /// its requests wait for something to happen (long polls) and are no work meanwhile: they need no permit and say nothing
        /// about the limit. Half as many as connections may be there, with streams and tunnels
        waits: Option<bool> = "true",
    }
}

section! {
    #[serde(default)]
    ClassSpec = "[[classes]]" {
        /// how important they are: `critical`, `default`, `sheddable` or `background`; each class but `critical` keeps a
        /// floor of the permits: 25, 10 and 5 %
        class: Option<String> = "\"background\"",
        /// as of a route
        path: Option<String> = "\"/reports\"",
        /// as of a route
        host: Option<String> = "\"api.example.com\"",
        /// as of a route
        methods: Vec<String> = "[\"GET\"]",
        /// as of a route
        headers: BTreeMap<String, String> = "{ X-Kind = \"batch\" }",
    }
}

section! {
    #[serde(default)]
    TenantsSpec = "[tenants]" {
        /// what this header says; the client's address where it is missing
        header: Option<String> = "\"X-Tenant\"",
        /// the same, of a cookie
        cookie: Option<String> = "\"session\"",
    }
}

section! {
    #[serde(default)]
    TimeoutsSpec = "[timeouts]" {
        /// until a connection to the upstream is there
        connect: Option<String> = "\"5s\"",
        /// from the request to the head of its answer
        head: Option<String> = "\"60s\"",
        /// from the permit to the end of the answer, connecting and a second try included; `none`, or none given, for no such bound
        whole: Option<String> = "\"2s\"",
        /// without a byte in either direction
        idle: Option<String> = "\"60s\"",
        /// the same, of streams of events and of WebSockets
        stream: Option<String> = "\"1h\"",
    }
}

section! {
    #[serde(default)]
    RetriesSpec = "[retries]" {
        /// for one request: only one of which nothing was sent, or that changes nothing and was not answered; 0 for none
        attempts: Option<u32> = "1",
        /// of all answers, at most this share
        ratio: Option<f64> = "0.1",
    }
}

/// One text, or a list of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Many(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Many {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Many;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Many, E> {
                Ok(Many(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Many, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Many(texts))
            }
        }
        deserializer.deserialize_any(Texts)
    }
}
