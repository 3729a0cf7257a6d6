//! `plimsoll serve NAME`: one embedded service in this process, its helpers as children of it.

mod article;
pub mod catalogue;
mod children;
pub(crate) mod clock;
mod cores;
mod disk;
pub(crate) mod documents;
mod fixture;
mod http;
mod link;
mod list;
mod listener;
mod listing;
mod metrics;
pub(crate) mod pool;
mod proxy;
mod quota;
mod shop;
mod status;
pub(crate) mod stop;
mod threads;
mod upstream;

use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::str::FromStr;

pub(crate) use children::LISTENING;
pub use cores::Cores;

use crate::LabError;
use catalogue::{Service, Values};

/// What a service is started with; the flags of `plimsoll serve` say the same.
#[derive(Debug, Clone)]
pub struct Args {
    /// With or without the word `fixture` before it.
    pub name: Vec<String>,
    /// Only show what there is.
    pub list: bool,
    /// As the page in the documentation.
    pub markdown: bool,
    /// The twin whose limit lies elsewhere or is lifted.
    pub healthy: bool,
    /// Parameters are drawn from it.
    pub seed: u64,
    pub set: Vec<Setting>,
    /// 0 takes a free one.
    pub port: u16,
    pub host: IpAddr,
    pub cores: Option<Cores>,
    /// Where a proxy forwards to in turn, or the service behind an application.
    pub upstream: Vec<SocketAddr>,
    /// A proxy's timing log.
    pub log: Option<PathBuf>,
    pub dir: Option<PathBuf>,
    /// As the kernel shows it.
    pub process_name: Option<String>,
    /// The service ends when this process ends.
    pub parent: Option<u32>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            name: Vec::new(),
            list: false,
            markdown: false,
            healthy: false,
            seed: 1,
            set: Vec::new(),
            port: 8080,
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            cores: None,
            upstream: Vec::new(),
            log: None,
            dir: None,
            process_name: None,
            parent: None,
        }
    }
}

/// One `--set`.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub name: String,
    pub value: f64,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} has no value; write PARAMETER=VALUE"))?;
        let number: Result<f64, _> = value.trim().parse();
        let value = number.map_err(|_| format!("{value:?} is no number"))?;
        Ok(Self {
            name: name.trim().to_owned(),
            value,
        })
    }
}

/// What a service is started with.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) service: &'static Service,
    pub(crate) values: Values,
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    upstreams: Vec<SocketAddr>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) dir: Option<PathBuf>,
    /// Started by another service: it speaks to its parent only.
    helper: bool,
    healthy: bool,
}

/// A further source for an observer, as `--watch` takes it.
#[derive(Debug, Clone)]
pub(crate) enum Watch {
    /// The name of a tier, and where it listens.
    Port(&'static str, SocketAddr),
    Log(PathBuf),
    Metrics(SocketAddr),
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(tier, address) => write!(f, "--watch {tier}=port:{}", address.port()),
            Self::Log(file) => write!(f, "--watch nginx-log:{}", file.display()),
            Self::Metrics(address) => write!(f, "--watch metrics:http://{address}/metrics"),
        }
    }
}

/// Runs the service until SIGTERM or SIGINT, or prints the list.
pub fn run(args: Args) -> Result<(), LabError> {
    let name = match args.name.as_slice() {
        _ if args.list => return listing::print(args.markdown),
        [group, name] if group == "fixture" => name.clone(),
        words => words.join(" "),
    };
    let service = catalogue::service(&name)?;
    let mut values = Values::draw(service, args.seed, args.healthy);
    for setting in &args.set {
        values.set(service, &setting.name, setting.value)?;
    }
    if let Some(parent) = args.parent
        && !children::end_with_parent(parent)?
    {
        return Ok(());
    }
    if let Some(name) = &args.process_name {
        name_process(name);
    }
    if let Some(cores) = &args.cores {
        cores.confine()?;
    }
    let listener = listener::open(SocketAddr::new(args.host, args.port))?;
    let address = listener
        .local_addr()
        .map_err(LabError::io("read the address listened on"))?;
    (service.start)(Context {
        service,
        values,
        listener,
        address,
        upstreams: args.upstream,
        log: args.log,
        dir: args.dir,
        helper: args.parent.is_some(),
        healthy: args.healthy,
    })
}

impl Context {
    /// Announces the service: the address and what to watch on stdout, one line each; what it is
    /// for a person on stderr.
    pub(crate) fn ready(&self, watch: &[Watch]) -> Result<(), LabError> {
        self.ready_over("http", watch)
    }

    /// The same for a service that speaks `https`.
    pub(crate) fn ready_over(&self, scheme: &str, watch: &[Watch]) -> Result<(), LabError> {
        let mut out = io::stdout().lock();
        // Both lines at once: who has read the first finds the second.
        let mut text = format!("{LISTENING}{scheme}://{}\n", self.address);
        if !watch.is_empty() {
            let watch: Vec<String> = watch.iter().map(Watch::to_string).collect();
            text.push_str(&watch.join(" "));
            text.push('\n');
        }
        let mut print = || {
            out.write_all(text.as_bytes())?;
            out.flush()
        };
        print().map_err(LabError::io("print the address"))?;
        if !self.helper {
            listing::introduce(self.service, &self.values, self.healthy);
        }
        Ok(())
    }

    /// The service behind this one, for those that cannot do without.
    pub(crate) fn upstream(&self) -> Result<SocketAddr, LabError> {
        let first = self.upstreams.first();
        first.copied().ok_or(LabError::UpstreamMissing {
            service: self.service.name,
        })
    }

    /// A list and a database, in this order.
    pub(crate) fn two_upstreams(&self) -> Result<[SocketAddr; 2], LabError> {
        match self.upstreams.as_slice() {
            [list, database] => Ok([*list, *database]),
            _ => Err(LabError::UpstreamsTwo {
                service: self.service.name,
            }),
        }
    }

    /// All of them; at least one.
    pub(crate) fn upstreams(&self) -> Result<Vec<SocketAddr>, LabError> {
        self.upstream().map(|_| self.upstreams.clone())
    }
}

/// Names the process for `ps` and reports; the kernel keeps fifteen bytes.
fn name_process(name: &str) {
    let mut bytes: Vec<u8> = name.bytes().filter(|byte| *byte != 0).take(15).collect();
    bytes.push(0);
    if let Ok(name) = std::ffi::CString::from_vec_with_nul(bytes) {
        // A process without the name works as well.
        rustix::thread::set_name(&name).ok();
    }
}
