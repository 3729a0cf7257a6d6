//! A plan in words: whole, in a line for `--check`, and what to know of it.

use plimsoll_core::Nanos;
use plimsoll_lab::experiment::{Arrivals, Experiment, Load, Program, Tier, Variant};
use plimsoll_report::format::{self, quoted};

use super::Run;

/// The plan for people; `takes` is its time, `confirming` the most that `--confirm` adds.
pub(super) fn whole(
    experiment: &Experiment,
    runs: &[Run],
    takes: Nanos,
    confirming: Option<Nanos>,
    remarks: &[String],
) -> String {
    let mut lines = vec![experiment.title.clone()];
    lines.extend(experiment.variants.iter().flat_map(variant_lines));
    let order: Vec<&str> = runs.iter().map(|run| run.variant.name.as_str()).collect();
    lines.push(format!("  order  {}", order.join(" ")));
    lines.push(format!("  takes  about {}", format::duration(takes)));
    lines.extend(confirming.map(|most| {
        format!(
            "  --confirm adds one run for each variant whose limit no other variant moves: at most {} more",
            format::duration(most)
        )
    }));
    if experiment.runs == 1 {
        lines.push("  single run, no interval".to_owned());
    }
    lines.extend(remarks.iter().map(|remark| format!("  ! {remark}")));
    lines.join("\n") + "\n"
}

/// The plan in a line, and what a reader must know of it.
pub(super) fn checked(experiment: &Experiment, remarks: &[String]) -> String {
    let count = experiment.variants.len() as u64;
    let variants = format::plural(count, "variant is", "variants are");
    let mut lines = vec![format!("{}: {variants} in order", experiment.title)];
    lines.extend(remarks.iter().map(|remark| format!("! {remark}")));
    lines.join("\n") + "\n"
}

/// The warnings, and which differences will have several causes.
pub(super) fn remarks(experiment: &Experiment, warnings: &[String]) -> Vec<String> {
    let several = experiment.variants.iter().filter_map(several_changes);
    warnings.iter().cloned().chain(several).collect()
}

fn several_changes(variant: &Variant) -> Option<String> {
    let base = variant.base.as_deref();
    let base = base.filter(|_| variant.changes.len() > 1)?;
    Some(format!(
        "variants {} and {} differ in {} things: a difference cannot be put down to one of them; \
         a variant in between with `base` would tell",
        quoted(base),
        quoted(&variant.name),
        variant.changes.len()
    ))
}

fn variant_lines(variant: &Variant) -> Vec<String> {
    let named = format!("  {}  {}", variant.name, variant.about);
    let mut lines = vec![named.trim_end().to_owned()];
    lines.extend(variant.tiers.iter().map(tier_line));
    lines.push(test_line(variant));
    let base = quoted(variant.base.as_deref().unwrap_or_default());
    let changes = variant.changes.iter();
    lines.extend(changes.map(|change| format!("    other than {base}: {change}")));
    lines
}

fn tier_line(tier: &Tier) -> String {
    let program = match &tier.program {
        Program::Command(path) => path.display().to_string(),
        Program::Embedded { name, .. } => format!("embedded {name}"),
    };
    let times = match tier.instances {
        1 => String::new(),
        several => format!("{several} × "),
    };
    let cores = tier.cpu.map(|cpu| match cpu {
        whole if whole.fract() == 0.0 => format::plural(whole as u64, "core", "cores"),
        part => format!("{part} of a core"),
    });
    let memory = tier
        .memory_bytes
        .map(|bytes| format!("{} MiB", bytes >> 20));
    let limits = tier
        .limits
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    let faults = tier
        .faults
        .iter()
        .map(|fault| format!("{} at {}", fault.what.word(), fault.at));
    let shares = cores.into_iter().chain(memory).chain(limits).chain(faults);
    let shares: Vec<String> = shares.collect();
    let line = format!(
        "    tier {}: {times}{program}  {}",
        tier.name,
        shares.join(", ")
    );
    line.trim_end().to_owned()
}

/// Keys of TOML one after the other, those of a table with its name: `workers = 4, client.retries = 5`.
fn on_one_line(toml: &str) -> String {
    let mut table = String::new();
    let mut said = Vec::new();
    for line in toml.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            Some(name) => table = format!("{}.", name.trim_matches(['[', ']'])),
            None => said.push(format!("{table}{line}")),
        }
    }
    said.join(", ")
}

fn test_line(variant: &Variant) -> String {
    let load = match &variant.test.load {
        Load::Script(path) => format!("script {}", path.display()),
        Load::Workload { path, with, .. } => {
            let with = on_one_line(with);
            let own = if with.is_empty() {
                String::new()
            } else {
                format!(" with {with}")
            };
            format!("workload {}{own}", path.display())
        }
        Load::Url { request, .. } | Load::Stages { request, .. } => request.url.clone(),
        Load::Find { request, .. } => format!("capacity of {}", request.url),
    };
    let times = variant.test.times.as_ref();
    let times = times.map_or(String::new(), |times| {
        let arrivals = match &variant.test.load {
            Load::Url { arrivals, .. } => *arrivals,
            _ => Arrivals::Closed,
        };
        match arrivals {
            Arrivals::Closed => String::new(),
            Arrivals::Rate(rate) => format!(" at {rate}x of {}", times.of),
            Arrivals::Ramp { from, to } => format!(" at {from}x to {to}x of {}", times.of),
        }
    });
    let protocol = match (variant.test.h2, variant.test.streams) {
        (None, _) => String::new(),
        (Some(false), _) => " over HTTP/1.1".to_owned(),
        (Some(true), None) => " over HTTP/2".to_owned(),
        (Some(true), Some(streams)) => format!(" over HTTP/2, {streams} streams a connection"),
    };
    let length = variant.test.load.duration();
    let length = length.map_or(String::new(), |length| {
        format!(" for {}", format::duration(length))
    });
    let warm_up = format::plural(variant.test.warm_up, "request", "requests");
    format!("    test {load}{times}{protocol}{length}, after {warm_up}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_workload_has_of_its_own_stands_on_one_line() {
        let toml = "workers = 4\n\n[client]\nretries = 5\npool_wait = \"1s\"\n";
        let line = "workers = 4, client.retries = 5, client.pool_wait = \"1s\"";
        assert_eq!(on_one_line(toml), line);
        assert_eq!(on_one_line("\n"), "");
    }
}
