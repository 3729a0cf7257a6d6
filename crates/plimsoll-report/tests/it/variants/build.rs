//! Experiments for the tests: runs of the sample queue with tiers, users and a set-up around them.

use plimsoll_analysis::experiment::judged;
use plimsoll_core::Nanos;
use plimsoll_core::comparison::{Comparison, Contrast};
use plimsoll_core::experiment::{Experiment, Judged, Prediction, Run, Variant};
use plimsoll_core::record::{
    CgroupSample, LabSetup, Line, Observation, ProcessSample, Record, Seen, ThreadSample, TierSetup,
};
use plimsoll_core::test::{Script, What};
use plimsoll_core::verdict::{Cause, Confidence, Evidence, GateState, Judgement, Limit, Signal};

use crate::{comparison, sample};

/// What a test owns, so that an experiment can borrow it.
pub(crate) struct Played {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) base: Option<&'static str>,
    pub(crate) changes: Vec<String>,
    pub(crate) records: Vec<Record>,
    pub(crate) predicted: Option<Prediction>,
    pub(crate) probe: bool,
}

pub(crate) fn played(name: &'static str, rates: &[f64]) -> Played {
    let is_first = name == "A";
    let records = rates.iter().zip(1..);
    Played {
        name,
        about: if is_first {
            "one server"
        } else {
            "two servers"
        },
        base: (!is_first).then_some("A"),
        changes: if is_first {
            Vec::new()
        } else {
            vec!["tiers.app.instances: 1 → 2".to_owned()]
        },
        records: records
            .map(|(rate, number)| record(name, *rate, number))
            .collect(),
        predicted: None,
        probe: false,
    }
}

/// Offered so much to a queue that carries 467/s; its app used 0.3 of 0.4 cores, held back in a quarter of periods.
fn record(variant: &str, rate: f64, number: u32) -> Record {
    let mut record = sample::run(rate, 20);
    record.header.lab = Some(LabSetup {
        experiment: "two servers".to_owned(),
        variant: variant.to_owned(),
        run: number,
        tiers: vec![TierSetup {
            name: "app".to_owned(),
            tier: "app".to_owned(),
            isolation: "quota of 0.4 core".to_owned(),
            cpu_cores: Some(0.4),
            limits: [("slots".to_owned(), 64.0)].into(),
            ..TierSetup::default()
        }],
        ..LabSetup::default()
    });
    let ends: Vec<Nanos> = record
        .windows
        .iter()
        .map(plimsoll_core::Window::end_ns)
        .collect();
    for at_ns in ends {
        let app = ThreadSample {
            run_ns: Nanos::from_millis(300),
            ..ThreadSample::default()
        };
        let process = ProcessSample {
            pid: 7,
            threads: vec![app],
            ..ProcessSample::default()
        };
        let group = CgroupSample {
            quota_cores: Some(0.4),
            periods: 40,
            throttled_periods: 10,
            ..CgroupSample::default()
        };
        for seen in [Seen::Process(process), Seen::Cgroup(group)] {
            record.push(Line::Observation(Observation {
                at_ns,
                length_ns: Nanos::from_secs(1),
                tier: "app".to_owned(),
                seen,
            }));
        }
    }
    record
}

/// As if a script's users had been ramped up: 100 more in every second.
pub(crate) fn ramped(mut played: Played) -> Played {
    for record in &mut played.records {
        record.header.test.what = What::Script(Script {
            name: "shop.js".to_owned(),
            setup: None,
        });
        for (index, window) in record.windows.iter_mut().enumerate() {
            window.vus = Some(100 * (index as u32 + 1));
        }
    }
    played
}

pub(crate) fn invalid(record: &mut Record) {
    let verdict = sample::verdict_mut(record);
    verdict.valid = false;
    verdict.verdict = Judgement::Invalid;
    verdict.limit = None;
    let gate = &mut verdict.gates[5];
    gate.state = GateState::Fail;
    "the generator fell behind".clone_into(&mut gate.note);
}

pub(crate) fn confirmed() -> Limit {
    Limit {
        cause: Cause::ConnectionSlots,
        tier: Some("proxy".to_owned()),
        process: None,
        confidence: Confidence::Confirmed,
        ceiling_per_s: None,
        evidence: vec![Evidence {
            signal: Signal::Experiment,
            text: "slots lifts it from 64 to 1,024 and failures fall from 37 % to 0 %".to_owned(),
        }],
        ruled_out: vec!["disk: 0 threads wait for it".to_owned()],
    }
}

pub(crate) fn against(estimate: f64, contrast: Contrast) -> Comparison {
    let mut all = comparison::sample();
    all.mismatches.clear();
    all.contrasts = vec![Contrast {
        variant: "2A".to_owned(),
        baseline: "A".to_owned(),
        estimate,
        ..contrast
    }];
    all
}

pub(crate) fn experiment(all: &[Played], comparison: Option<Comparison>) -> Judged<'_> {
    let variant = |one: &'_ Played| one.name;
    let variants = all.iter().map(|one| Variant {
        name: variant(one),
        about: one.about,
        base: one.base,
        changes: &one.changes,
        runs: one
            .records
            .iter()
            .zip(1..)
            .map(|(record, number): (_, u32)| Run {
                path: format!("out/{}-{number}/run.plimsoll.jsonl", one.name),
                record,
            })
            .collect(),
        predicted: one.predicted.clone(),
        probe: one.probe,
    });
    judged(Experiment {
        title: "two | servers",
        variants: variants.collect(),
        warnings: Vec::new(),
        folder: "out".to_owned(),
        comparison,
        report: Some("out/report.html".to_owned()),
    })
}

/// As if the app had been two instances, the second named by the limit and the first as busy as this part of it.
pub(crate) fn two_instances(mut played: Played, part: f64) -> Played {
    for record in &mut played.records {
        let lab = record.header.lab.as_mut().unwrap();
        let first = TierSetup {
            name: "app-1".to_owned(),
            ..lab.tiers[0].clone()
        };
        let second = TierSetup {
            name: "app-2".to_owned(),
            ..first.clone()
        };
        lab.tiers = vec![first, second];
        for seen in &mut record.observations {
            "app-2".clone_into(&mut seen.tier);
        }
        let mut others = record.observations.clone();
        for other in &mut others {
            "app-1".clone_into(&mut other.tier);
            if let Seen::Process(process) = &mut other.seen {
                process.pid = 8;
                process.threads[0].run_ns = Nanos((3e8 * part) as u64);
            }
        }
        record.observations.extend(others);
        sample::verdict_mut(record).limit = Some(Limit {
            cause: Cause::CpuQuota,
            tier: Some("app-2".to_owned()),
            confidence: Confidence::Supported,
            ..confirmed()
        });
        let limit = sample::verdict_mut(record).limit.as_mut().unwrap();
        limit.evidence.clear();
    }
    played
}
