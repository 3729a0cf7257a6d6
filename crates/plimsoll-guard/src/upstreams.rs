//! The upstreams of a group: one for each address of each name, with a limit, a pool and a health of its own.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::{Rc, Weak};
use std::time::Duration;
use std::{fs, io};

use plimsoll_base::clock::{Clock, wall_millis};
use plimsoll_base::random::Rng;
use plimsoll_control::balance::{Health, choose, compare};
use plimsoll_core::Nanos;
use plimsoll_net::tls::TlsError;

use crate::GuardError;
use crate::config::{Check, Group, Origin, Scheme, Start};
use crate::counts::Count;
use crate::dial::{Dial, Place, Secure};
use crate::gate::Gate;
use crate::pool::Pool;

/// One address that answers requests.
#[derive(Debug)]
pub(crate) struct Member {
    /// As people and metrics name it.
    pub(crate) name: String,
    pub(crate) gate: Rc<Gate>,
    pub(crate) pool: Pool,
    pub(crate) opened: Count,
    pub(crate) sent_again: Count,
    pub(crate) check: RefCell<Option<Check>>,
    /// Whether somebody passes the time on for it already.
    pub(crate) is_kept: Cell<bool>,
}

/// A group at work.
#[derive(Debug)]
pub(crate) struct Upstreams {
    pub(crate) config: Group,
    /// For those in TLS.
    secure: Option<Secure>,
    members: RefCell<Vec<Rc<Member>>>,
    /// How each of them is reached by these settings, in the same order.
    dials: RefCell<Vec<Dial>>,
    rng: RefCell<Rng>,
}

/// All members that there are, by address and rule: groups that name the same one share its limit, and whoever is named again
/// after a reload is the same as before.
#[derive(Debug)]
pub(crate) struct Registry {
    clock: Clock,
    members: RefCell<BTreeMap<(String, String), Weak<Member>>>,
    is_shadow: Cell<bool>,
}

impl Registry {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            members: RefCell::default(),
            is_shadow: Cell::new(false),
        }
    }

    /// From now on nobody is refused, or no longer nobody.
    pub(crate) fn set_shadow(&self, is_shadow: bool) {
        self.is_shadow.set(is_shadow);
        for member in self.members() {
            member.gate.set_shadow(is_shadow);
        }
    }

    fn members(&self) -> Vec<Rc<Member>> {
        let members = self.members.borrow();
        members.values().filter_map(Weak::upgrade).collect()
    }

    /// The member at this address, a new one if it is not there yet.
    fn member(&self, dial: &Dial, group: &Group, start: Option<f64>) -> Rc<Member> {
        let mut members = self.members.borrow_mut();
        members.retain(|_, member| member.strong_count() > 0);
        let name = dial.to_string();
        let key = (name.clone(), group.rule.name());
        if let Some(known) = members.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        let slow_start = Nanos(group.slow_start.as_nanos() as u64);
        let member = Rc::new(Member {
            gate: Gate::new(self.clock, group.rule, start, slow_start),
            pool: Pool::new(dial.clone()),
            opened: Count::default(),
            sent_again: Count::default(),
            check: RefCell::default(),
            is_kept: Cell::new(false),
            name,
        });
        member.gate.set_shadow(self.is_shadow.get());
        members.insert(key, Rc::downgrade(&member));
        member
    }
}

impl Member {
    pub(crate) fn set_slow_start(&self, slow_start: Duration) {
        let slow_start = Nanos(slow_start.as_nanos() as u64);
        self.gate
            .with_health(|health, _| health.set_slow_start(slow_start));
    }

    /// How it is checked from now on.
    pub(crate) fn set_check(&self, check: Option<&Check>) {
        *self.check.borrow_mut() = check.cloned();
        if check.is_none() {
            self.gate.with_health(Health::unchecked);
        }
    }
}

impl Upstreams {
    /// Looks up every name. Those that have no address are an error.
    pub(crate) async fn start(
        config: &Group,
        authorities: Option<&Path>,
        registry: &Registry,
    ) -> Result<Rc<Self>, GuardError> {
        let upstreams = Rc::new(Self {
            config: config.clone(),
            secure: secure(config, authorities)?,
            members: RefCell::default(),
            dials: RefCell::default(),
            rng: RefCell::new(Rng::new(wall_millis().cast_unsigned(), 7)),
        });
        upstreams.resolve(registry).await?;
        Ok(upstreams)
    }

    /// Looks up every name again: new addresses come in, those that are gone are used no more.
    pub(crate) async fn resolve(&self, registry: &Registry) -> Result<(), GuardError> {
        let mut addresses = BTreeMap::new();
        for origin in &self.config.upstreams {
            let dials = self.dials(origin).await?;
            addresses.extend(dials.into_iter().map(|dial| (dial.to_string(), dial)));
        }
        let start = self.config.start.map(|start| match start {
            Start::Each(limit) => limit,
            Start::Shared(limit) => limit / addresses.len().max(1) as f64,
        });
        let member = |dial: &Dial| registry.member(dial, &self.config, start);
        let members = addresses.values().map(member).collect();
        *self.members.borrow_mut() = members;
        *self.dials.borrow_mut() = addresses.into_values().collect();
        Ok(())
    }

    /// These settings are in force now: whoever was known before is reached as they say.
    pub(crate) fn take_over(&self) {
        for (member, dial) in self.members.borrow().iter().zip(&*self.dials.borrow()) {
            member.pool.set_dial(dial);
        }
    }

    /// Where it is now.
    async fn dials(&self, origin: &Origin) -> Result<Vec<Dial>, GuardError> {
        if origin.scheme == Scheme::Unix {
            let place = Place::Unix(origin.host.clone().into());
            return Ok(vec![Dial::plain(place)]);
        }
        let found = lookup(origin).await;
        let found = found.map_err(|source| GuardError::Resolve {
            origin: origin.to_string(),
            source,
        })?;
        let dial = |address: SocketAddr| match &self.secure {
            Some(secure) if origin.scheme == Scheme::Https => {
                Dial::secure(address.into(), bare(&origin.host), secure)
            }
            _ => Ok(Dial::plain(address.into())),
        };
        let dials: Result<_, TlsError> = found.into_iter().map(dial).collect();
        dials.map_err(|source| GuardError::Secure {
            origin: origin.to_string(),
            source,
        })
    }

    pub(crate) fn members(&self) -> Vec<Rc<Member>> {
        self.members.borrow().clone()
    }

    /// The only one, where there are no others.
    pub(crate) fn only(&self) -> Option<Rc<Member>> {
        match &self.members.borrow()[..] {
            [only] => Some(Rc::clone(only)),
            _ => None,
        }
    }

    /// The one for the next request, another than `not` if there is another. One that `stays` ends when somebody likes.
    pub(crate) fn choose(&self, stays: bool, not: Option<&Rc<Member>>) -> Option<Rc<Member>> {
        if let Some(only) = self.only() {
            return Some(only);
        }
        let members = self.members.borrow();
        let others: Vec<&Rc<Member>> = members
            .iter()
            .filter(|member| not.is_none_or(|not| !Rc::ptr_eq(member, not)))
            .collect();
        let candidate = |one: &&Rc<Member>| one.gate.candidate(stays);
        let candidates: Vec<_> = others.iter().map(candidate).collect();
        let chosen = choose(
            &candidates,
            self.config.balance,
            self.config.out_most_ratio,
            &mut self.rng.borrow_mut(),
        );
        Some(Rc::clone(others.get(chosen?)?))
    }

    /// Compares how often they fail.
    pub(crate) fn compare(&self) {
        let members = self.members.borrow();
        let now = members.first().map(|member| member.gate.now());
        let mut healths: Vec<_> = members.iter().map(|member| member.gate.health()).collect();
        let mut healths: Vec<_> = healths.iter_mut().map(|health| &mut **health).collect();
        compare(now.unwrap_or_default(), &mut healths);
    }
}

/// What upstreams in TLS have to prove; nothing where there is none of them.
pub(crate) fn secure(
    config: &Group,
    authorities: Option<&Path>,
) -> Result<Option<Secure>, GuardError> {
    let mut origins = config.upstreams.iter();
    let Some(origin) = origins.find(|origin| origin.scheme == Scheme::Https) else {
        return Ok(None);
    };
    let Some(path) = authorities else {
        let secured = Secure::new("").map_err(|source| GuardError::Secure {
            origin: origin.to_string(),
            source,
        });
        return secured.map(Some);
    };
    let what = "the authorities of upstreams";
    let path = path.to_owned();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(GuardError::File { what, path, source }),
    };
    let config = if text.is_empty() {
        Err(TlsError::Authorities("it is empty".to_owned()))
    } else {
        Secure::new(&text)
    };
    match config {
        Ok(config) => Ok(Some(config)),
        Err(source) => Err(GuardError::Certificate { what, path, source }),
    }
}

/// An address of IPv6 without its brackets.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

async fn lookup(origin: &Origin) -> io::Result<Vec<SocketAddr>> {
    let host = bare(&origin.host);
    if let Ok(address) = host.parse() {
        return Ok(vec![SocketAddr::new(address, origin.port)]);
    }
    let found = tokio::net::lookup_host((host, origin.port)).await?;
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(found)
}
