//! Routes and classes: which requests are meant, and whether each can ever be.

use std::collections::BTreeMap;

use plimsoll_control::admission::Class;
use plimsoll_core::keys::Misplaced;
use plimsoll_core::nearest::hint;

use super::file::{ClassSpec, RouteSpec};
use super::reader::Reader;
use super::resolve::timeouts;
use crate::config::{ClassRule, Group, Match, Route, Timeouts};
use crate::policy::is_below;

impl Reader<'_> {
    pub(super) fn routes(
        &mut self,
        specs: &[RouteSpec],
        groups: &[Group],
        all: Timeouts,
    ) -> Result<Vec<Route>, Misplaced> {
        let mut routes: Vec<Route> = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            let path = format!("routes.{}", index + 1);
            let matches = self.matches(&path, Wanted::from(spec))?;
            let earlier = routes.iter().map(|route| &route.matches);
            self.reachable(&path, &matches, earlier)?;
            let group = self.group(&path, spec.group.as_deref(), groups)?;
            let class_path = format!("{path}.class");
            let class = spec.class.as_deref();
            let class = class
                .map(|word| self.class(&class_path, word))
                .transpose()?;
            let says = self.place.says(&format!("{path}.timeouts"));
            let own = says
                .then(|| timeouts(self, &format!("{path}.timeouts"), &spec.timeouts, all))
                .transpose()?;
            let to = groups.get(group).map_or("", |group| group.name.as_str());
            let class_shown = class.map_or(String::new(), |class| format!(" as {}", class.name()));
            let waits = spec.waits.unwrap_or(false);
            let waits_shown = if waits { ", waits" } else { "" };
            let line = format!("{} to {to}{class_shown}{waits_shown}", shown(&matches));
            self.note(&path, line);
            routes.push(Route {
                matches,
                group,
                class,
                timeouts: own,
                waits,
            });
        }
        self.used(&routes, groups)?;
        Ok(routes)
    }

    fn group(&self, path: &str, name: Option<&str>, groups: &[Group]) -> Result<usize, Misplaced> {
        let names = || groups.iter().map(|group| group.name.as_str());
        let all = || names().collect::<Vec<_>>().join(", ");
        match name {
            Some(name) => names().position(|known| known == name).ok_or_else(|| {
                let fix = hint(name, names());
                let problem = format!("there is no group `{name}`{fix}; there are {}", all());
                self.wrong(&format!("{path}.group"), problem)
            }),
            None if groups.len() == 1 => Ok(0),
            None => {
                let problem = format!("say which group it leads to: {}", all());
                Err(self.wrong(&format!("{path}.group"), problem))
            }
        }
    }

    /// With several groups, each is there for something.
    fn used(&self, routes: &[Route], groups: &[Group]) -> Result<(), Misplaced> {
        if groups.len() == 1 {
            return Ok(());
        }
        for (index, group) in groups.iter().enumerate() {
            if routes.iter().all(|route| route.group != index) {
                let path = format!("groups.{}", group.name);
                let fix = "no route leads to it: give it one ([[routes]] with its `group`), or take it out";
                return Err(self.wrong(&path, fix));
            }
        }
        Ok(())
    }

    pub(super) fn classes(&mut self, specs: &[ClassSpec]) -> Result<Vec<ClassRule>, Misplaced> {
        let mut rules: Vec<ClassRule> = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            let path = format!("classes.{}", index + 1);
            let matches = self.matches(&path, Wanted::from(spec))?;
            self.reachable(&path, &matches, rules.iter().map(|rule| &rule.matches))?;
            let class_path = format!("{path}.class");
            let word = spec.class.as_deref();
            let word = word.ok_or_else(|| {
                self.wrong(
                    &class_path,
                    "say which class: critical, default, sheddable or background",
                )
            })?;
            let class = self.class(&class_path, word)?;
            self.note(&path, format!("{} as {}", shown(&matches), class.name()));
            rules.push(ClassRule { matches, class });
        }
        Ok(rules)
    }

    fn class(&self, path: &str, word: &str) -> Result<Class, Misplaced> {
        Class::parse(word).ok_or_else(|| {
            let names: Vec<&str> = Class::ALL.iter().map(|class| class.name()).collect();
            let fix = hint(word, names.iter().copied());
            let problem = format!("`{word}` is no class{fix}; there are {}", names.join(", "));
            self.wrong(path, problem)
        })
    }

    fn matches(&self, path: &str, wanted: Wanted<'_>) -> Result<Match, Misplaced> {
        let at = |key: &str| format!("{path}.{key}");
        if let Some(prefix) = wanted.path
            && (!prefix.starts_with('/') || prefix.contains(['?', '#', ' ']))
        {
            let problem = format!("`{prefix}`: a path begins with / and has no query");
            return Err(self.wrong(&at("path"), problem));
        }
        if let Some(host) = wanted.host {
            let name = host.strip_prefix("*.").unwrap_or(host);
            let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
            let has_port = !name.starts_with('[') && name.contains(':');
            if name.is_empty() || !name.bytes().all(is_fine) || has_port {
                let problem = format!(
                    "`{host}`: write a name alone, such as api.example.com or *.example.com"
                );
                return Err(self.wrong(&at("host"), problem));
            }
        }
        for method in wanted.methods {
            let is_upper = method.bytes().all(|byte| byte.is_ascii_uppercase());
            if method.is_empty() || !is_upper {
                let upper = method.to_ascii_uppercase();
                let problem = format!("`{method}`: methods are written in capitals: {upper}");
                return Err(self.wrong(&at("methods"), problem));
            }
        }
        for name in wanted.headers.keys() {
            self.header_name(&at("headers"), name)?;
        }
        Ok(Match {
            path: wanted.path.map(str::to_owned),
            host: wanted.host.map(str::to_owned),
            methods: wanted.methods.to_vec(),
            headers: wanted.headers.clone().into_iter().collect(),
        })
    }

    pub(super) fn header_name(&self, path: &str, name: &str) -> Result<(), Misplaced> {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            let problem = format!("`{name}` is no name of a header; write one such as X-Class");
            return Err(self.wrong(path, problem));
        }
        Ok(())
    }

    /// Refuses what an earlier one takes all of.
    fn reachable<'m>(
        &self,
        path: &str,
        matches: &Match,
        mut earlier: impl Iterator<Item = &'m Match>,
    ) -> Result<(), Misplaced> {
        let Some(taker) = earlier.position(|earlier| covers(earlier, matches)) else {
            return Ok(());
        };
        let problem = format!(
            "it is never used: number {} before it takes all of it, and the first that matches counts; put this one \
             before that",
            taker + 1
        );
        Err(self.wrong(path, problem))
    }
}

/// What a route or a class says of the requests that it means.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    path: Option<&'a str>,
    host: Option<&'a str>,
    methods: &'a [String],
    headers: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a RouteSpec> for Wanted<'a> {
    fn from(spec: &'a RouteSpec) -> Self {
        Self {
            path: spec.path.as_deref(),
            host: spec.host.as_deref(),
            methods: &spec.methods,
            headers: &spec.headers,
        }
    }
}

impl<'a> From<&'a ClassSpec> for Wanted<'a> {
    fn from(spec: &'a ClassSpec) -> Self {
        Self {
            path: spec.path.as_deref(),
            host: spec.host.as_deref(),
            methods: &spec.methods,
            headers: &spec.headers,
        }
    }
}

/// Whether `one` matches whatever `other` does.
fn covers(one: &Match, other: &Match) -> bool {
    let path = one.path.as_deref().is_none_or(|prefix| {
        let below = other.path.as_deref();
        below.is_some_and(|path| is_below(path, prefix))
    });
    let host = one.host.as_deref().is_none_or(|wanted| {
        let other = other.host.as_deref().unwrap_or_default();
        let domain = wanted.strip_prefix('*').unwrap_or("\0");
        other.eq_ignore_ascii_case(wanted)
            || (other.len() > domain.len() && other.ends_with(domain))
    });
    let methods = one.methods.is_empty()
        || (!other.methods.is_empty()
            && other
                .methods
                .iter()
                .all(|method| one.methods.contains(method)));
    let headers = one.headers.iter().all(|(name, value)| {
        let mut others = other.headers.iter();
        others.any(|(known, held)| known.eq_ignore_ascii_case(name) && held == value)
    });
    path && host && methods && headers
}

fn shown(matches: &Match) -> String {
    let mut parts: Vec<String> = Vec::new();
    if !matches.methods.is_empty() {
        parts.push(matches.methods.join("|"));
    }
    if let Some(host) = &matches.host {
        parts.push(host.clone());
    }
    if let Some(path) = &matches.path {
        parts.push(path.clone());
    }
    for (name, value) in &matches.headers {
        parts.push(format!("{name}: {value}"));
    }
    if parts.is_empty() {
        parts.push("everything".to_owned());
    }
    parts.join(" ")
}
