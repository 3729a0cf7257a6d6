//! From what is written to what is in force: flags over the file over defaults, and contradictions refused.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_control::balance::Balance;
use plimsoll_core::keys::{Misplaced, Place};
use plimsoll_core::nearest::hint;

use super::file::{CheckSpec, File, GroupSpec, TenantsSpec, TimeoutsSpec};
use super::reader::{Reader, shown};
use super::{Flags, Settings, address, origin};
use crate::config::{Check, Config, Group, Listener, Origin, Retries, Start, TenantKey, Timeouts};

/// More attempts for one request than this help nobody.
const ATTEMPTS_MOST: u32 = 5;

pub(super) fn resolve(
    place: &Place<'_>,
    file: &File,
    flags: &Flags,
) -> Result<Settings, Misplaced> {
    let mut reader = Reader::new(place);
    let listeners = reader.listeners(file, flags)?;
    let trusted = reader.trusted(file)?;
    let admin = reader.admin(file, flags, &listeners)?;
    let groups = reader.groups(file, flags)?;
    let mut timeouts = timeouts(&mut reader, "timeouts", &file.timeouts, Timeouts::default())?;
    if let Some(stream) = flags.stream_idle {
        reader.note_of("timeouts.stream", shown(stream), "--stream-idle");
        timeouts.stream = stream;
    }
    let routes = reader.routes(&file.routes, &groups, timeouts)?;
    let class_header = reader.class_header(file, flags)?;
    let classes = reader.classes(&file.classes)?;
    let tenant = reader.tenant(&file.tenants, flags)?;
    let retries = reader.retries(file)?;
    let shadow = flags.shadow || file.shadow.unwrap_or_default();
    reader.either("shadow", shadow, flags.shadow.then_some("--shadow"));
    let connections_max = reader.connections(file, flags)?;
    let drain = match flags.drain {
        Some(drain) => {
            reader.note_of("drain", shown(drain), "--drain");
            drain
        }
        None => reader.time("drain", file.drain.as_deref(), Duration::from_secs(30))?,
    };
    let config = Config {
        listeners,
        trusted,
        admin,
        groups,
        routes,
        classes,
        class_header,
        tenant,
        timeouts,
        retries,
        shadow,
        connections_max,
        drain,
        upstream_ca: reader.upstream_ca(file, flags),
        access_log: reader.access_log(file, flags)?,
    };
    Ok(Settings {
        config,
        shown: reader.shown,
    })
}

/// Whether a record measured one of these; else it measured what they are together.
fn has_measured(upstreams: &[Origin], flags: &Flags) -> bool {
    let measured = flags.measured.as_ref();
    let measured = measured.and_then(|(service, _)| origin(service).ok());
    measured.is_some_and(|one| upstreams.contains(&one))
}

/// Those of the file, on top of others.
pub(super) fn timeouts(
    reader: &mut Reader<'_>,
    path: &str,
    spec: &TimeoutsSpec,
    under: Timeouts,
) -> Result<Timeouts, Misplaced> {
    let at = |key: &str| format!("{path}.{key}");
    let connect = reader.time(&at("connect"), spec.connect.as_deref(), under.connect)?;
    let head = reader.time(&at("head"), spec.head.as_deref(), under.head)?;
    let idle = reader.time(&at("idle"), spec.idle.as_deref(), under.idle)?;
    let stream = reader.time(&at("stream"), spec.stream.as_deref(), under.stream)?;
    let whole = match spec.whole.as_deref() {
        None => under.whole,
        Some("none") => None,
        Some(text) => reader.read_time(&at("whole"), Some(text))?,
    };
    reader.note(&at("whole"), whole.map_or("\"none\"".to_owned(), shown));
    let says = |key: &str| reader.place.says(&at(key));
    if let Some(whole) = whole {
        for (key, time) in [("connect", connect), ("head", head)] {
            if time > whole && says(key) {
                let problem = format!(
                    "{} is longer than the whole may take ({}): make it shorter, or `whole` longer",
                    shown(time),
                    shown(whole)
                );
                return Err(reader.wrong(&at(key), problem));
            }
        }
    }
    Ok(Timeouts {
        connect,
        head,
        whole,
        idle,
        stream,
    })
}

impl Reader<'_> {
    /// Notes a value that a flag says, if it does.
    pub(super) fn either(&mut self, path: &str, value: impl std::fmt::Display, flag: Option<&str>) {
        match flag {
            Some(flag) => self.note_of(path, value, flag),
            None => self.note(path, value),
        }
    }

    fn admin(
        &mut self,
        file: &File,
        flags: &Flags,
        listeners: &[Listener],
    ) -> Result<Option<SocketAddr>, Misplaced> {
        let of_file = file.admin.as_deref().map(address).transpose();
        let of_file = of_file.map_err(|problem| self.wrong("admin", problem))?;
        let admin = flags.admin.or(of_file);
        let Some(address) = admin else {
            self.note("admin", "\"none\"");
            return Ok(None);
        };
        let is_taken = |listener: &Listener| listener.place == address.into();
        if address.port() != 0 && listeners.iter().any(is_taken) {
            let fix = format!("{address} is where clients come in: choose another port");
            return Err(self.wrong("admin", fix));
        }
        let flag = flags.admin.map(|_| "--admin");
        self.either("admin", format!("\"{address}\""), flag);
        Ok(admin)
    }

    fn groups(&mut self, file: &File, flags: &Flags) -> Result<Vec<Group>, Misplaced> {
        if self.place.says("upstream") && self.place.says("groups") {
            let fix = "both `upstream` and [groups] name services: move it into a group";
            return Err(self.wrong("upstream", fix));
        }
        if !flags.upstreams.is_empty() && self.place.says("groups") {
            let fix = "--upstream names a service, and so does the file with groups: leave --upstream out";
            return Err(self.wrong("groups", fix));
        }
        if self.place.says("groups") {
            let names = self.place.in_order("groups");
            if names.is_empty() {
                return Err(self.wrong("groups", "there is none: write [groups.app]"));
            }
            let named = |name: String| {
                let spec = file.groups.get(&name)?;
                Some((name, spec))
            };
            let specs: Vec<_> = names.into_iter().filter_map(named).collect();
            let group =
                |(name, spec): &(String, &GroupSpec)| self.group_of(name, spec, file, flags);
            let groups = specs.iter().map(group).collect::<Result<Vec<_>, _>>()?;
            self.shared(&groups)?;
            self.is_begun(&groups, flags)?;
            return Ok(groups);
        }
        let (texts, flag) = if flags.upstreams.is_empty() {
            let of_file = file.upstream.clone().unwrap_or_default();
            (of_file.0, None)
        } else {
            (flags.upstreams.clone(), Some("--upstream"))
        };
        let measured = flags.measured.as_ref().filter(|_| texts.is_empty());
        let (texts, flag) = match measured {
            Some((service, record)) => (vec![service.clone()], Some(record.as_str())),
            None => (texts, flag),
        };
        if texts.is_empty() {
            let fix = "no service to protect is named; write --upstream http://127.0.0.1:3000, or upstream = \
                       \"http://127.0.0.1:3000\" into the file";
            return Err(self.place.at(&["upstream"], fix));
        }
        let upstreams = self.origins("upstream", &texts)?;
        self.either("upstream", format!("{texts:?}"), flag);
        let rule = self.limit("", None, file, flags)?;
        let start = self.start("", (None, true), &upstreams, flags, rule)?;
        Ok(vec![Group {
            rule,
            start,
            ..Group::simple(upstreams)
        }])
    }

    /// What was measured is for one of the groups.
    fn is_begun(&self, groups: &[Group], flags: &Flags) -> Result<(), Misplaced> {
        let Some((limit, record)) = &flags.start else {
            return Ok(());
        };
        if groups.iter().any(|group| group.start.is_some()) {
            return Ok(());
        }
        let service = flags.measured.as_ref();
        let service = service.map_or("a script", |(service, _)| service);
        let problem = format!(
            "none of them has the service that {record} measured ({service}): write start = {limit} into the one that it is for"
        );
        Err(self.wrong("groups", problem))
    }

    /// An upstream of several groups has one limit and one check.
    fn shared(&self, groups: &[Group]) -> Result<(), Misplaced> {
        for (index, group) in groups.iter().enumerate() {
            for other in groups.iter().take(index) {
                let mut both = group.upstreams.iter();
                let Some(origin) = both.find(|origin| other.upstreams.contains(origin)) else {
                    continue;
                };
                let differs = if group.rule != other.rule {
                    "limit"
                } else if group.start != other.start {
                    "start"
                } else if group.check != other.check {
                    "check"
                } else if group.slow_start != other.slow_start {
                    "slow_start"
                } else {
                    continue;
                };
                let problem = format!(
                    "{origin} is in `{}` too, with another `{differs}`: it is one service, so say the same in both",
                    other.name
                );
                return Err(self.wrong(&format!("groups.{}.{differs}", group.name), problem));
            }
        }
        Ok(())
    }

    fn group_of(
        &mut self,
        name: &str,
        spec: &GroupSpec,
        file: &File,
        flags: &Flags,
    ) -> Result<Group, Misplaced> {
        let path = format!("groups.{name}");
        let at = |key: &str| format!("{path}.{key}");
        if spec.upstreams.is_empty() {
            let fix = "it has no service: upstreams = [\"http://127.0.0.1:3000\"]";
            return Err(self.wrong(&at("upstreams"), fix));
        }
        let upstreams = self.origins(&at("upstreams"), &spec.upstreams)?;
        self.note(&at("upstreams"), format!("{:?}", spec.upstreams));
        let within = format!("{path}.");
        let rule = self.limit(&within, spec.limit.as_deref(), file, flags)?;
        let is_only = file.groups.len() == 1;
        let start = self.start(&within, (spec.start, is_only), &upstreams, flags, rule)?;
        let plain = Group::simple(Vec::new());
        let balance = match spec.balance.as_deref() {
            None => plain.balance,
            Some(word) => Balance::parse(word).ok_or_else(|| {
                let names = Balance::ALL.map(Balance::name);
                let fix = hint(word, names);
                let problem = format!(
                    "`{word}` is no way to choose{fix}; there are {}",
                    names.join(", ")
                );
                self.wrong(&at("balance"), problem)
            })?,
        };
        self.note(&at("balance"), format!("\"{}\"", balance.name()));
        let out_most = self.number(
            &at("out_most"),
            spec.out_most,
            (0.0, 1.0),
            plain.out_most_ratio,
        )?;
        let slow_start = self.time(
            &at("slow_start"),
            spec.slow_start.as_deref(),
            plain.slow_start,
        )?;
        let check = spec.check.as_ref();
        let check = check
            .map(|check| self.check(&at("check"), check))
            .transpose()?;
        Ok(Group {
            name: name.to_owned(),
            upstreams,
            rule,
            start,
            balance,
            out_most_ratio: out_most,
            slow_start,
            check,
        })
    }

    fn origins(&self, path: &str, texts: &[String]) -> Result<Vec<Origin>, Misplaced> {
        let mut origins: Vec<Origin> = Vec::new();
        for text in texts {
            let origin = origin(text).map_err(|problem| self.wrong(path, problem))?;
            if origins.contains(&origin) {
                return Err(self.wrong(path, format!("{origin} is there twice: take one out")));
            }
            origins.push(origin);
        }
        Ok(origins)
    }

    /// The rule. `within` is the path of the group with its dot.
    fn limit(
        &mut self,
        within: &str,
        of_group: Option<&str>,
        file: &File,
        flags: &Flags,
    ) -> Result<Rule, Misplaced> {
        let own = format!("{within}limit");
        let (path, text) = match (of_group, file.limit.as_deref()) {
            (Some(text), _) => (own.as_str(), Some(text)),
            (None, text) => ("limit", text),
        };
        let said = text.map(|text| {
            Rule::parse(text).ok_or_else(|| {
                let rules = ["half-load", "aimd", "vegas", "gradient2", "envoy"];
                let near = hint(text, rules);
                let fix = "write half-load, fixed:16 (a number of your own), aimd, vegas, gradient2 or envoy";
                self.wrong(path, format!("`{text}` is no limit{near}; {fix}"))
            })
        });
        let said = said.transpose()?;
        let rule = flags.rule.or(said).unwrap_or_default();
        let flag = flags.rule.map(|_| "--limit");
        self.either(path, format!("\"{}\"", rule.name()), flag);
        Ok(rule)
    }

    /// Where the limit of each upstream begins, if that was measured. A record speaks of the only group, or of the one that has
    /// its service.
    fn start(
        &mut self,
        within: &str,
        (start, is_only): (Option<f64>, bool),
        upstreams: &[Origin],
        flags: &Flags,
        rule: Rule,
    ) -> Result<Option<Start>, Misplaced> {
        let start_path = format!("{within}start");
        let measured = flags.start.as_ref();
        let begins = match start {
            Some(limit) => {
                if !(1.0..=20_000.0).contains(&limit) {
                    let problem = format!("{limit} is not between 1 and 20000");
                    return Err(self.wrong(&start_path, problem));
                }
                self.note(&start_path, limit);
                Some(Start::Each(limit))
            }
            None => measured
                .filter(|_| is_only || has_measured(upstreams, flags))
                .map(|(limit, record)| {
                    let is_one_of_them = upstreams.len() > 1 && has_measured(upstreams, flags);
                    let start = if is_one_of_them {
                        Start::Each(*limit)
                    } else {
                        Start::Shared(*limit)
                    };
                    self.note_of(&start_path, limit, record);
                    start
                }),
        };
        if begins.is_some() && rule != Rule::HalfLoad {
            let problem = format!(
                "`{}` has a beginning of its own: leave the start out, or use half-load",
                rule.name()
            );
            return Err(self.wrong(&start_path, problem));
        }
        Ok(begins)
    }

    fn check(&mut self, path: &str, spec: &CheckSpec) -> Result<Check, Misplaced> {
        let at = |key: &str| format!("{path}.{key}");
        let asked = spec.path.as_deref().unwrap_or_default();
        let is_fine = asked.starts_with('/') && asked.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_fine {
            let problem = format!("`{asked}`: say what to ask for, such as path = \"/health\"");
            return Err(self.wrong(&at("path"), problem));
        }
        self.note(&at("path"), format!("{asked:?}"));
        let every = self.time(&at("every"), spec.every.as_deref(), Duration::from_secs(2))?;
        let usual = Duration::from_secs(1).min(every);
        let timeout = self.time(&at("timeout"), spec.timeout.as_deref(), usual)?;
        if timeout > every {
            let problem = format!(
                "{} is longer than the time from one check to the next ({})",
                shown(timeout),
                shown(every)
            );
            return Err(self.wrong(&at("timeout"), problem));
        }
        Ok(Check {
            path: asked.to_owned(),
            every,
            timeout,
        })
    }

    fn class_header(&mut self, file: &File, flags: &Flags) -> Result<Option<String>, Misplaced> {
        if let Some(name) = &file.class_header {
            self.header_name("class_header", name)?;
        }
        let header = flags.class_header.as_ref().or(file.class_header.as_ref());
        let flag = flags.class_header.as_ref().map(|_| "--class-header");
        let value = header.map_or("\"none\"".to_owned(), |name| format!("{name:?}"));
        self.either("class_header", value, flag);
        Ok(header.cloned())
    }

    fn tenant(&mut self, spec: &TenantsSpec, flags: &Flags) -> Result<TenantKey, Misplaced> {
        if let (Some(_), Some(_)) = (&spec.header, &spec.cookie) {
            let fix = "a tenant is told by a header or by a cookie: keep one of them";
            return Err(self.wrong("tenants.cookie", fix));
        }
        if let Some(name) = &flags.tenant_header {
            self.note_of("tenants.header", format!("{name:?}"), "--tenant-header");
            return Ok(TenantKey::Header(name.clone()));
        }
        if let Some(name) = &spec.header {
            self.header_name("tenants.header", name)?;
            self.note("tenants.header", format!("{name:?}"));
            return Ok(TenantKey::Header(name.clone()));
        }
        if let Some(name) = &spec.cookie {
            self.header_name("tenants.cookie", name)?;
            self.note("tenants.cookie", format!("{name:?}"));
            return Ok(TenantKey::Cookie(name.clone()));
        }
        self.note("tenants", "the client's address");
        Ok(TenantKey::Address)
    }

    fn retries(&mut self, file: &File) -> Result<Retries, Misplaced> {
        let plain = Retries::default();
        let attempts = file.retries.attempts.unwrap_or(plain.attempts);
        if attempts > ATTEMPTS_MOST {
            let problem =
                format!("{attempts} is more than {ATTEMPTS_MOST}: who fails so often is down");
            return Err(self.wrong("retries.attempts", problem));
        }
        self.note("retries.attempts", attempts);
        let ratio = self.number("retries.ratio", file.retries.ratio, (0.0, 1.0), plain.ratio)?;
        Ok(Retries { attempts, ratio })
    }

    fn connections(&mut self, file: &File, flags: &Flags) -> Result<usize, Misplaced> {
        let most = flags.connections_most.max(1);
        let Some(wanted) = file.connections else {
            self.note("connections", most);
            return Ok(most);
        };
        if wanted == 0 {
            return Err(self.wrong("connections", "0 lets nobody in; write 1 or more"));
        }
        if wanted as usize > most {
            let problem = format!(
                "{wanted} are more than this process has descriptors for ({most}, two for each): raise the limit of open \
                 files (ulimit -n, LimitNOFILE), or write less"
            );
            return Err(self.wrong("connections", problem));
        }
        self.note("connections", wanted);
        Ok(wanted as usize)
    }
}
