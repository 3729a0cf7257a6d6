//! Shares of the machine: whether what a variant asks for is there, and which cores stand in for a quota.

use std::collections::BTreeMap;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::LabError;
use crate::experiment::Variant;

/// Rounding of shares such as 0.1 + 0.2.
const SLACK: f64 = 1e-6;

/// Cores that this process may use.
pub fn machine_cores() -> Result<Vec<usize>, LabError> {
    let set = sched_getaffinity(None)
        .map_err(|errno| LabError::io("read the CPU affinity")(errno.into()))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .collect())
}

/// Refuses a variant whose tiers and generator ask for more cores than there are.
pub fn check_shares(variant: &Variant, cores: usize) -> Result<(), LabError> {
    let generator = variant.test.cpu;
    let confined: Vec<String> = variant
        .tiers
        .iter()
        .filter_map(|tier| {
            let cpu = tier.cpu?;
            Some(match tier.instances {
                1 => format!("{} {cpu}", tier.name),
                many => format!("{} {many} × {cpu}", tier.name),
            })
        })
        .collect();
    let asked = variant.cpu() + generator;
    if confined.is_empty() || asked <= cores as f64 + SLACK {
        return Ok(());
    }
    Err(LabError::TooSmall {
        variant: variant.name.clone(),
        shares: format!("{}, load generator {generator}", confined.join(", ")),
        asked: (asked * 1e3).round() / 1e3,
        cores,
    })
}

/// For each instance with a share, the cores that it is confined to where no quota can be had: as many as its share
/// rounded up, the least loaded ones, from the far end so that the generator keeps the first.
pub(super) fn cores(variant: &Variant) -> Result<BTreeMap<String, Vec<usize>>, LabError> {
    Ok(place(variant, &machine_cores()?))
}

fn place(variant: &Variant, cores: &[usize]) -> BTreeMap<String, Vec<usize>> {
    let mut load: Vec<(f64, usize)> = cores.iter().rev().map(|core| (0.0, *core)).collect();
    if let Some(first) = load.last_mut() {
        first.0 += variant.test.cpu;
    }
    let mut placed = BTreeMap::new();
    for tier in &variant.tiers {
        let Some(cpu) = tier.cpu else { continue };
        let wanted = (cpu.ceil() as usize).clamp(1, load.len().max(1));
        for index in 0..tier.instances {
            // Stable: of cores that are loaded alike the far one comes first.
            load.sort_by(|one, other| one.0.total_cmp(&other.0));
            let chosen = load.iter_mut().take(wanted);
            let mut own: Vec<usize> = chosen
                .map(|(load, core)| {
                    *load += cpu / wanted as f64;
                    *core
                })
                .collect();
            own.sort_unstable();
            placed.insert(tier.instance_name(index), own);
        }
    }
    placed
}

#[cfg(test)]
mod tests;
