//! From files and flags to a script that is ready to run.

mod local;
mod print;
mod surroundings;
mod tls;

use std::io::Read as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use plimsoll_core::Nanos;
use plimsoll_core::metrics::Store;
use plimsoll_core::scenario::{Flag, Layer, Options, Origin, Scenario, Strictness};
use plimsoll_core::test::ScriptSetup;
use plimsoll_core::threshold::Thresholds;
use plimsoll_engine::scripted::{Family, HttpDebug, Naming, Script, Select};
use plimsoll_net::proxy::Proxies;
use plimsoll_report::k6::Output;
use plimsoll_script::host::{ConsoleLine, HttpSample, Instance, LogLevel};
use plimsoll_script::{
    Disk, Host, Load, Program, Secrets, Settings, Sources, SystemTags, TagSetId,
};

use super::console;
use crate::args::ScriptSource;
use crate::exit::{Exit, Failure};
use crate::machine;
use print::Digests;

/// A script with its options, and what decides its exit code.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) script: Arc<Script>,
    pub(crate) options: Options,
    pub(crate) thresholds: Thresholds,
    /// As messages and titles name it.
    pub(crate) name: String,
    /// Exports and `handleSummary` get the newer shape.
    pub(crate) machine_readable: bool,
    /// What the record says of it.
    pub(crate) setup: ScriptSetup,
}

impl Loaded {
    /// Until no iteration starts any more.
    pub(crate) fn regular_end(&self) -> Nanos {
        let ends = self.script.scenarios.iter().map(Scenario::regular_end_ns);
        ends.max().unwrap_or_default()
    }
}

/// A mistake in options, with the exit code that k6 gives it.
pub(super) fn invalid(error: impl std::fmt::Display) -> anyhow::Error {
    Failure::new(Exit::BadUsage, error.to_string()).into()
}

/// The error of a script, with the exit code that k6 gives it.
pub(crate) fn of_script(error: &plimsoll_script::ScriptError) -> anyhow::Error {
    Failure::new(Exit::from(error.cause()), error.to_string()).into()
}

/// Reads everything and checks it; nothing has been sent yet.
pub(crate) fn load(source: &ScriptSource, seed: u64, stop: &Arc<AtomicBool>) -> Result<Loaded> {
    let first = Settings {
        seed,
        ..Settings::default()
    };
    if source.takes_surroundings {
        surroundings::warn_of_unfollowed(source);
    }
    let (program, whole) = load_program(source, first, stop)?;
    if let Some(why) = program.own_context_because() {
        let message = format!("every virtual user has a JavaScript context of its own: {why}");
        console::line(LogLevel::Debug, &message, None);
    }
    let options = options(source, &program)?;
    for warning in &options.warnings {
        console::warn(&warning.to_string());
    }
    warn_of_missing(&options);
    let exported: Vec<&str> = program.functions().iter().map(|name| &**name).collect();
    options
        .scenarios
        .check_functions(&exported)
        .map_err(invalid)?;
    let mut store = Store::default();
    register(&mut store, &program)?;
    let thresholds = Thresholds::from_json(&options.thresholds_place, &options.thresholds);
    let thresholds = if options.settings.is_set(Flag::NoThresholds) {
        Thresholds::default()
    } else {
        thresholds.map_err(invalid)?
    };
    thresholds.bind(&mut store).map_err(invalid)?;
    let settings = Settings {
        secrets: if source.show_secrets {
            Secrets::Shown
        } else {
            Secrets::Masked
        },
        ..script_settings(&options, seed)?
    };
    let env = [program.surroundings(), &source.env[..]].concat();
    let scenarios = options.scenarios.clone();
    let mut script = Script::new(Arc::new(program), settings, scenarios, store);
    apply(&mut script, &options, source)?;
    Ok(Loaded {
        setup: print::setup(whole, &options, &env),
        script: Arc::new(script),
        options,
        thresholds,
        name: source.script.clone(),
        machine_readable: source.machine_readable,
    })
}

/// Options that are understood and not followed: never silently.
fn warn_of_missing(options: &Options) {
    if options.settings.is_set(Flag::Paused) {
        console::warn(
            "option paused is not followed: there is no REST API to resume the test with, so it starts at once",
        );
    }
}

/// The program, with the digest and the number of its files.
fn load_program(
    source: &ScriptSource,
    settings: Settings,
    stop: &Arc<AtomicBool>,
) -> Result<(Program, (String, u32))> {
    let folder = std::env::current_dir().context("find the working directory")?;
    let (entry, sources): (PathBuf, Box<dyn Sources>) = if source.script == "-" {
        let mut text = Vec::new();
        std::io::stdin()
            .read_to_end(&mut text)
            .context("read the script from standard input")?;
        let entry = folder.join("-");
        let sources = Piped {
            entry: entry.clone(),
            text,
        };
        (entry, Box::new(sources))
    } else {
        (folder.join(&source.script), Box::new(Disk))
    };
    let digests = Rc::new(Digests::new(sources));
    let program = Program::load(Load {
        sources: Rc::<Digests>::clone(&digests),
        entry,
        env: source.env.clone(),
        surroundings: surroundings::given(source),
        host: Rc::new(InitHost),
        settings,
        shares_context: true,
        stop: Arc::clone(stop),
    });
    let program = program.map_err(|error| of_script(&error))?;
    Ok((program, digests.whole()))
}

/// A script from standard input, with its imports from the disk.
struct Piped {
    entry: PathBuf,
    text: Vec<u8>,
}

impl Sources for Piped {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        if path == self.entry {
            return Ok(self.text.clone());
        }
        Disk.read(path)
    }
}

fn options(source: &ScriptSource, program: &Program) -> Result<Options> {
    let mut layers = Vec::new();
    if let Some(path) = &surroundings::config_file(source) {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("read options from {}", path.display()))?;
        let object = serde_json::from_str(&text)
            .with_context(|| format!("read options from {}", path.display()))?;
        layers.push(
            Layer::from_object(Origin::ConfigFile, &object, source.strictness).map_err(invalid)?,
        );
    }
    let script = Layer::from_object(Origin::Script, program.options(), source.strictness);
    layers.push(script.map_err(invalid)?);
    let variables = surroundings::variables();
    let variables = || variables.iter().map(|(name, value)| (&**name, &**value));
    for origin in [Origin::Environment, Origin::OwnEnvironment] {
        layers.push(Layer::from_environment(origin, variables()).map_err(invalid)?);
    }
    let flags = source
        .options
        .iter()
        .map(|(name, value)| (&**name, &**value));
    layers.push(Layer::from_flags(flags).map_err(invalid)?);
    Options::from_layers(&layers).map_err(invalid)
}

/// The names are those that the script's loader has checked, each declared once.
fn register(store: &mut Store, program: &Program) -> Result<()> {
    for metric in program.declared() {
        let id = store.register(&metric.name, metric.kind, metric.contains);
        id.map_err(|error| invalid(error.to_string()))?;
    }
    Ok(())
}

fn script_settings(options: &Options, seed: u64) -> Result<Settings> {
    let said = &options.settings;
    let defaults = Settings::default();
    let names = said.system_tags.iter().map(String::as_str);
    let system_tags = SystemTags::only(names)
        .map_err(|name| invalid(format!("systemTags: there is no system tag `{name}`")))?;
    let boxed = |(name, value): (&String, &String)| (name.as_str().into(), value.as_str().into());
    Ok(Settings {
        options_json: options.to_json().to_string().into(),
        tags: said.tags.iter().map(boxed).collect(),
        user_agent: match &said.user_agent {
            Some(agent) => agent.as_str().into(),
            None => defaults.user_agent.clone(),
        },
        max_redirects: said.max_redirects as u32,
        throw: said.is_set(Flag::Throw),
        discard_response_bodies: said.is_set(Flag::DiscardResponseBodies),
        keep_cookies: said.is_set(Flag::NoCookiesReset),
        system_tags,
        seed,
        ..defaults
    })
}

fn apply(script: &mut Script, options: &Options, source: &ScriptSource) -> Result<()> {
    let said = &options.settings;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    script.workers = (cores / 2).max(1);
    script.requests_per_s_max = said.requests_per_s_max;
    script.part = said.part;
    script.http_debug = match said.http_debug.as_deref() {
        None => HttpDebug::Off,
        Some("full") => HttpDebug::Full,
        Some(_) => HttpDebug::Heads,
    };
    script.reuses_connections = !said.is_set(Flag::NoConnectionReuse);
    script.closes_idle = said.is_set(Flag::NoVuConnectionReuse);
    script.batch_max = (said.batch as usize).max(1);
    script.batch_per_host_max = match said.batch_per_host {
        0 => usize::MAX,
        most => most as usize,
    };
    script.iteration_least = said.min_iteration_ns;
    script.keeps_samples = source.outs.iter().any(Output::takes_samples);
    if script.keeps_samples {
        script.store.feed_outputs();
    }
    script.naming = Arc::new(naming(options, source.strictness)?);
    if let Some(path) = &said.console_output {
        console::write_to(Path::new(path))?;
    }
    Ok(())
}

fn naming(options: &Options, strictness: Strictness) -> Result<Naming> {
    let said = &options.settings;
    let mut naming = Naming {
        blocked_names: said.block_hostnames.clone(),
        keep: said.dns.ttl_ns.unwrap_or(Nanos::from_secs(3600 * 24 * 365)),
        family: family(&said.dns.policy),
        select: select(&said.dns.select),
        tls: tls::choice(said, strictness)?,
        identities: tls::identities(said)?,
        local: local::addresses(&said.local_ips)?,
        proxies: Proxies::from_environment(|name| std::env::var(name).ok()),
        ..Naming::default()
    };
    tls::check(said, &naming)?;
    for (name, address) in &said.hosts {
        let wrong = || {
            invalid(format!(
                "hosts: `{address}` for {name} is no IP address; write 127.0.0.1 or 127.0.0.1:8080"
            ))
        };
        let (ip, port) = match address.parse::<std::net::SocketAddr>() {
            Ok(socket) => (socket.ip(), Some(socket.port())),
            Err(_) => (address.parse::<IpAddr>().map_err(|_| wrong())?, None),
        };
        naming.hosts.push((name.clone(), ip, port));
    }
    for network in &said.blacklist_ips {
        let wrong = || {
            invalid(format!(
                "blacklistIPs: `{network}` is no network; write 10.0.0.0/8"
            ))
        };
        let (address, bits) = network.split_once('/').unwrap_or((network, ""));
        let ip: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let bits = if bits.is_empty() {
            most
        } else {
            bits.parse().map_err(|_| wrong())?
        };
        if bits > most {
            return Err(wrong());
        }
        naming.blocked_networks.push((ip, bits));
    }
    Ok(naming)
}

/// By the name that the option has checked.
fn family(policy: &str) -> Family {
    match policy {
        "preferIPv6" => Family::PreferV6,
        "onlyIPv4" => Family::OnlyV4,
        "onlyIPv6" => Family::OnlyV6,
        "any" => Family::Any,
        _ => Family::PreferV4,
    }
}

fn select(name: &str) -> Select {
    match name {
        "first" => Select::First,
        "roundRobin" => Select::RoundRobin,
        _ => Select::Random,
    }
}

/// The surroundings of the init code: it may only write to the console.
#[derive(Debug)]
struct InitHost;

impl Host for InitHost {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn unix_ms(&self) -> i64 {
        machine::since_1970().as_millis() as i64
    }

    fn sample(&self, _: plimsoll_core::metrics::MetricId, _: f64, _: TagSetId) {}

    fn http(&self, _: &HttpSample<'_>) {}

    fn check_failed(&self, _: Option<u64>) {}

    fn console(&self, line: &ConsoleLine<'_>) {
        console::line(line.level, line.message, line.source);
    }

    fn mark_failed(&self, _: &str) {}

    fn instance(&self) -> Instance {
        Instance::default()
    }

    fn scenario_progress(&self, _: &str) -> f64 {
        0.0
    }
}
