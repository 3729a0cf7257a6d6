//! What is asked of whom: a request's route, group, class and tenant, from what its head says.

use std::cell::RefCell;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_control::admission::{Class, Request};
use plimsoll_core::secrets::is_secret;
use tokio::time::Instant;

use crate::config::{Config, Match, TenantKey, Timeouts};
use crate::repeats::Repeats;
use crate::said;
use crate::upstreams::Upstreams;

/// Labels of routes and tenants are cut here: they are for people, and must not hold memory.
const LABEL_BYTES: usize = 48;

/// Fields that clients and meshes count attempts in; a value above the number beside it is a retry.
const ATTEMPTS: [(&str, u32); 4] = [
    ("x-envoy-attempt-count", 1),
    ("x-retry-count", 0),
    ("retry-attempt", 0),
    ("grpc-previous-rpc-attempts", 0),
];

/// What a head says, whichever version of HTTP it came in.
pub(crate) struct Facts<'a> {
    pub(crate) method: &'a str,
    /// With its query.
    pub(crate) target: &'a str,
    pub(crate) host: Option<&'a str>,
    pub(crate) client: IpAddr,
    /// It asks to go on with another protocol.
    pub(crate) is_upgrade: bool,
    /// The first field of a name, in any case.
    pub(crate) field: &'a dyn Fn(&str) -> Option<&'a [u8]>,
}

/// The settings in force, and the groups that they name.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) config: Config,
    pub(crate) groups: Vec<Rc<Upstreams>>,
    /// Keys are hashed so that nobody can choose whom they are counted with.
    hashing: RandomState,
    repeats: RefCell<Repeats>,
}

/// A request as it is let in.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// None: no route is for it.
    pub(crate) group: Option<Rc<Upstreams>>,
    pub(crate) timeouts: Timeouts,
    pub(crate) attempts: u32,
    /// Method and path, for people.
    pub(crate) route: String,
    pub(crate) client: IpAddr,
    /// The tenant, where it is not the client's address.
    pub(crate) tenant: Option<String>,
    pub(crate) wanted: Request,
    /// How long its client waits, as it says.
    pub(crate) patience: Option<Duration>,
    /// Needs no permit.
    pub(crate) waits: bool,
    /// Is over when somebody likes: it waits, or is to become a stream of events or a tunnel.
    pub(crate) stays: bool,
}

impl Policy {
    pub(crate) fn new(config: Config, groups: Vec<Rc<Upstreams>>, hashing: RandomState) -> Self {
        Self {
            config,
            groups,
            hashing,
            repeats: RefCell::default(),
        }
    }

    pub(crate) fn hashing(&self) -> RandomState {
        self.hashing.clone()
    }

    pub(crate) fn asked(&self, facts: &Facts<'_>) -> Asked {
        let config = &self.config;
        let route = config
            .routes
            .iter()
            .position(|route| is_meant(&route.matches, facts));
        let place = match (route, &self.groups[..]) {
            (Some(route), _) => config.routes.get(route).map(|route| route.group),
            (None, [_]) => Some(0),
            (None, _) => None,
        };
        let route = route.and_then(|route| config.routes.get(route));
        let label = label(facts);
        let tenant = tenant(&config.tenant, facts);
        let tenant_key = match tenant {
            Some(key) => self.hashing.hash_one(key),
            None => self.of_address(facts.client),
        };
        let wanted = Request {
            class: self.class(route.and_then(|route| route.class), facts),
            tenant: tenant_key,
            route: self.hashing.hash_one(&label),
            session: tenant_key,
            deadline: None,
            is_retry: self.repeats(facts, tenant_key) || is_retry(facts),
        };
        let waits = route.is_some_and(|route| route.waits);
        let group = place.and_then(|place| self.groups.get(place)).cloned();
        let stays = || waits || facts.is_upgrade || wants_events(facts);
        Asked {
            // Where there is only one, nothing is chosen by it.
            stays: group.as_ref().is_some_and(|group| group.only().is_none()) && stays(),
            group,
            timeouts: route
                .and_then(|route| route.timeouts)
                .unwrap_or(config.timeouts),
            attempts: config.retries.attempts,
            route: label,
            client: facts.client,
            tenant: tenant.map(|key| shown(&config.tenant, key, tenant_key)),
            wanted,
            patience: said::patience(facts.field),
            waits,
        }
    }

    /// Whether its idempotency key came lately, of the same tenant and for the same.
    fn repeats(&self, facts: &Facts<'_>, tenant: u64) -> bool {
        let Some(key) = (facts.field)("idempotency-key") else {
            return false;
        };
        let hash = (tenant, facts.method, facts.target, key);
        let hash = self.hashing.hash_one(hash);
        self.repeats.borrow_mut().again(hash, Instant::now())
    }

    /// The header first, which somebody trusted sets; then the route, then the rules.
    fn class(&self, of_route: Option<Class>, facts: &Facts<'_>) -> Class {
        let header = self.config.class_header.as_deref();
        let word = header.and_then(|name| (facts.field)(name));
        let word = word.and_then(|value| std::str::from_utf8(value).ok());
        // A word that is no class is no reason to refuse anybody.
        let said = word.and_then(Class::parse).or(of_route);
        let by_rule = || {
            let mut rules = self.config.classes.iter();
            rules.find(|rule| is_meant(&rule.matches, facts))
        };
        said.or_else(|| by_rule().map(|rule| rule.class))
            .unwrap_or_default()
    }

    /// A client is an IPv4 address, or the first half of an IPv6 one: whoever has one has them all.
    fn of_address(&self, address: IpAddr) -> u64 {
        match address {
            IpAddr::V4(address) => self.hashing.hash_one(address.octets()),
            IpAddr::V6(address) => {
                let octets = address.octets();
                self.hashing.hash_one(octets.get(..8).unwrap_or_default())
            }
        }
    }
}

fn path<'a>(facts: &Facts<'a>) -> &'a str {
    facts.target.split(['?', '#']).next().unwrap_or_default()
}

fn is_meant(matches: &Match, facts: &Facts<'_>) -> bool {
    let path_is = |prefix: &String| is_below(path(facts), prefix);
    let host_is = |host: &String| facts.host.is_some_and(|given| is_host(given, host));
    let header_is = |(name, value): &(String, String)| {
        (facts.field)(name).is_some_and(|given| given == value.as_bytes())
    };
    let methods = &matches.methods;
    matches.path.as_ref().is_none_or(path_is)
        && matches.host.as_ref().is_none_or(host_is)
        && (methods.is_empty() || methods.iter().any(|method| method == facts.method))
        && matches.headers.iter().all(header_is)
}

/// Whether a path is `prefix` or stands below it: `/api` has `/api` and `/api/x`, and not `/apiary`.
pub(crate) fn is_below(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// Hosts are compared without case, port and the dot at the end.
fn is_host(given: &str, wanted: &str) -> bool {
    let bare = match given.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => given,
    };
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    match wanted.strip_prefix("*.") {
        Some(domain) => {
            let split = bare.len().checked_sub(domain.len());
            let parts = split.and_then(|at| bare.split_at_checked(at));
            parts.is_some_and(|(before, end)| {
                before.len() > 1 && before.ends_with('.') && end.eq_ignore_ascii_case(domain)
            })
        }
        None => bare.eq_ignore_ascii_case(wanted),
    }
}

fn tenant<'a>(key: &TenantKey, facts: &Facts<'a>) -> Option<&'a [u8]> {
    match key {
        TenantKey::Address => None,
        TenantKey::Header(name) => (facts.field)(name),
        TenantKey::Cookie(name) => cookie((facts.field)("cookie")?, name.as_bytes()),
    }
}

/// As those ask who want to hear of events (`EventSource` of the HTML standard).
fn wants_events(facts: &Facts<'_>) -> bool {
    let accepted = (facts.field)("accept").unwrap_or_default();
    let mut kinds = accepted.split(|byte| *byte == b',');
    kinds.any(|kind| {
        let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
    })
}

/// How a tenant is named to people. What lets somebody in is told apart and not shown.
fn shown(of: &TenantKey, key: &[u8], hash: u64) -> String {
    let is_secret = match of {
        TenantKey::Cookie(_) => true,
        TenantKey::Header(name) => is_secret(name),
        TenantKey::Address => false,
    };
    if is_secret {
        format!("#{hash:016x}")
    } else {
        cut(&String::from_utf8_lossy(key)).to_owned()
    }
}

fn cookie<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    line.split(|byte| *byte == b';').find_map(|pair| {
        let pair = pair.trim_ascii();
        let value = pair.strip_prefix(name)?.strip_prefix(b"=")?;
        Some(value).filter(|value| !value.is_empty())
    })
}

fn is_retry(facts: &Facts<'_>) -> bool {
    ATTEMPTS.iter().any(|(name, first)| {
        let text = (facts.field)(name).and_then(|value| std::str::from_utf8(value).ok());
        let count = text.and_then(|text| text.parse::<u32>().ok());
        count.is_some_and(|count| count > *first)
    })
}

/// Method and the first two parts of the path, without what looks like an id.
fn label(facts: &Facts<'_>) -> String {
    let mut label = String::with_capacity(LABEL_BYTES);
    label.push_str(facts.method);
    label.push(' ');
    for part in path(facts).split('/').skip(1).take(2) {
        let is_id = part.len() > 24 || part.bytes().any(|byte| byte.is_ascii_digit());
        label.push('/');
        label.push_str(if is_id { ":id" } else { part });
    }
    let length = cut(&label).len();
    label.truncate(length);
    label
}

fn cut(text: &str) -> &str {
    let mut length = LABEL_BYTES.min(text.len());
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    text.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests;
