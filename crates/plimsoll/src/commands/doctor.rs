//! `plimsoll doctor`: is this host fit to generate load, and how much of it?

use std::fmt::Write as _;
use std::num::NonZeroU32;

use anyhow::Result;
use plimsoll_analysis::steal;
use plimsoll_base::priority::Priority;
use plimsoll_core::record::SelfCheck;
use serde::Serialize;

use crate::args::Format;
use crate::exit::Exit;
use crate::selfcheck;
use crate::session::interrupt_flag;
use crate::{machine, output};

/// Lag above this is worse than timers and scheduler explain (DESIGN section 5).
const LAG_TOLERATED_MS: f64 = 1.0;
/// What a server test needs at least: descriptors and ports.
const FILES_WANTED: u64 = 10_000;
const PORTS_WANTED: u64 = 20_000;

#[derive(Debug, Serialize)]
struct Finding {
    subject: &'static str,
    good: bool,
    measured: String,
    fix: &'static str,
}

pub(crate) fn execute(format: Format) -> Result<Exit> {
    let interrupt = interrupt_flag()?;
    let before = cpu_times();
    output::progress("plimsoll doctor: 6 s against the built-in echo");
    let workers = NonZeroU32::new(machine::cores() as u32 / 2).unwrap_or(NonZeroU32::MIN);
    let check = selfcheck::measure(workers, &interrupt)?;
    let steal = steal_ratio(before, cpu_times());
    let findings = findings(&check, steal);
    let text = match format {
        Format::Json => {
            let document = serde_json::json!({ "self_check": check, "findings": findings });
            serde_json::to_string_pretty(&document)? + "\n"
        }
        Format::Text | Format::Markdown => page(&check, workers, &findings),
    };
    output::data(&text);
    let fit = findings.iter().all(|finding| finding.good);
    Ok(if fit { Exit::Passed } else { Exit::RunInvalid })
}

fn findings(check: &SelfCheck, steal: Option<f64>) -> Vec<Finding> {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let (first, last) = ports();
    let ports = u64::from(last.saturating_sub(first)) + 1;
    let mut findings = vec![
        Finding {
            subject: "cores",
            good: machine::cores() >= 2,
            measured: machine::cores().to_string(),
            fix: "with one core a target on this host and the generator slow each other",
        },
        Finding {
            subject: "open files",
            good: files.is_none_or(|files| files >= FILES_WANTED),
            measured: files.map_or("unlimited".to_owned(), |files| files.to_string()),
            fix: "raise the hard limit: ulimit -Hn 20000, or LimitNOFILE= of the service",
        },
        Finding {
            subject: "local ports",
            good: ports >= PORTS_WANTED,
            measured: format!("{ports} ({first}–{last})"),
            fix: "widen them: sysctl net.ipv4.ip_local_port_range='10240 65535'",
        },
        Finding {
            subject: "lag",
            good: check.lag_p99_ns.as_millis_f64() <= LAG_TOLERATED_MS,
            measured: format!(
                "p99 {}, longest {} at {:.0}/s",
                check.lag_p99_ns, check.lag_max_ns, check.open_rate_per_s
            ),
            fix: "something else uses the processors: stop it, or use another host",
        },
    ];
    findings.push(Finding {
        subject: "priority",
        good: check.priority == Priority::RealTime,
        measured: check.priority.to_string(),
        fix: "beside other work it sends late: run as root, or sudo setcap cap_sys_nice=ep $(which plimsoll)",
    });
    if let Some(steal) = steal {
        findings.push(Finding {
            subject: "steal",
            good: steal <= steal::TOLERATED,
            measured: format!("{:.1} % of the time", steal * 100.0),
            fix: "the hypervisor gives this machine's processors to others: repeat, or use another",
        });
    }
    findings
}

fn page(check: &SelfCheck, workers: NonZeroU32, findings: &[Finding]) -> String {
    let mut text = format!(
        "generator   up to {:.0}/s with {workers} load thread{} ({:.1} µs of processor per request)\n\
         echo        {:.0}/s answered, generator and echo sharing this host\n",
        check.max_per_s,
        if workers.get() == 1 { "" } else { "s" },
        check.run_ns_per_request / 1000.0,
        check.echo_per_s,
    );
    for finding in findings {
        let mark = if finding.good { '✓' } else { '!' };
        let _infallible = writeln!(text, "{mark} {:<12}{}", finding.subject, finding.measured);
        if !finding.good {
            let _infallible = writeln!(text, "              {}", finding.fix);
        }
    }
    text
}

fn ports() -> (u32, u32) {
    let text =
        std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut fields = text
        .split_whitespace()
        .filter_map(|field| field.parse().ok());
    (
        fields.next().unwrap_or(32_768),
        fields.next().unwrap_or(60_999),
    )
}

/// Total and stolen ticks of all processors.
fn cpu_times() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guest times are part of user.
    Some((fields.iter().take(8).sum(), *fields.get(7)?))
}

fn steal_ratio(before: Option<(u64, u64)>, after: Option<(u64, u64)>) -> Option<f64> {
    let (before, after) = (before?, after?);
    let total = after.0.saturating_sub(before.0);
    (total > 0).then(|| after.1.saturating_sub(before.1) as f64 / total as f64)
}
