//! The header on the wire, and the one conversion between it and a test.
//!
//! In the file a test is the object `plan`, shaped like the URL runs that came first: a script stands in it as a request
//! with the method `SCRIPT`, a workload as one with the method `WORKLOAD`, a search as a load of its own model. `docs/formats/record-1.md` describes it field by field.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Header, LabSetup, Machine};
use crate::objective::Objectives;
use crate::schedule::{Arrivals, RateProfile};
use crate::test::{
    Generator, How, Http, Load, Over, Request, Script, ScriptSetup, SearchSettings, Test, Until,
    Url, Variation, What, Workload,
};
use crate::units::Nanos;

/// Why a header is none of a test.
#[derive(Debug, Error)]
pub(super) enum HeaderError {
    #[error("a search needs objectives, and the plan has none")]
    NoObjectives,
    #[error("the plan is of a workload, and the header says nothing of it")]
    NoWorkload,
    #[error("`command` is `{0}`, and the plan is of a {1}")]
    Command(String, &'static str),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeaderLine {
    pub(super) schema: String,
    pub(super) command: String,
    pub(super) plan: Plan,
    pub(super) started_at: String,
    pub(super) machine: Machine,
    pub(super) plimsoll_version: String,
    pub(super) title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lab: Option<LabSetup>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) script: Option<ScriptSetup>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) workload: Option<Box<Workload>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) request: Request,
    #[serde(default, skip_serializing_if = "Variation::is_none")]
    pub(super) variation: Variation,
    pub(super) load: PlanLoad,
    pub(super) until: Option<Until>,
    pub(super) connections_max: NonZeroU32,
    pub(super) workers: NonZeroU32,
    pub(super) timeout_ns: Nanos,
    pub(super) keepalive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) streams_per_connection: Option<NonZeroU32>,
    pub(super) insecure: bool,
    pub(super) objectives: Option<Objectives>,
    pub(super) seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub(super) enum PlanLoad {
    Closed {
        in_flight: NonZeroU32,
    },
    Open {
        profile: RateProfile,
        arrivals: Arrivals,
    },
    Search(SearchPlan),
}

/// What is absent has the default of the first version, which wrote none of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SearchPlan {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) within_ns: Option<Nanos>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) goal_width_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) overshoot: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) over: Option<Over>,
}

impl TryFrom<HeaderLine> for Header {
    type Error = HeaderError;

    fn try_from(line: HeaderLine) -> Result<Self, HeaderError> {
        let test = line.plan.into_test(line.script, line.workload)?;
        // A record is read by what it holds; one that contradicts itself is not guessed at.
        if ["run", "find"].contains(&line.command.as_str()) && line.command != test.command() {
            return Err(HeaderError::Command(line.command, kind(&test)));
        }
        Ok(Self {
            schema: line.schema,
            test,
            started_at: line.started_at,
            machine: line.machine,
            plimsoll_version: line.plimsoll_version,
            title: line.title,
            note: line.note,
            lab: line.lab,
        })
    }
}

fn kind(test: &Test) -> &'static str {
    if test.is_search() {
        "search"
    } else {
        "load that is set"
    }
}

impl From<Header> for HeaderLine {
    fn from(header: Header) -> Self {
        let command = header.test.command().to_owned();
        let (plan, script, workload) = Plan::of_test(header.test);
        Self {
            schema: header.schema,
            command,
            plan,
            started_at: header.started_at,
            machine: header.machine,
            plimsoll_version: header.plimsoll_version,
            title: header.title,
            note: header.note,
            lab: header.lab,
            script,
            workload,
        }
    }
}

impl Plan {
    fn into_test(
        self,
        script: Option<ScriptSetup>,
        workload: Option<Box<Workload>>,
    ) -> Result<Test, HeaderError> {
        let what = if self.request.method == What::WORKLOAD {
            What::Workload(workload.ok_or(HeaderError::NoWorkload)?)
        } else if self.request.method == What::SCRIPT {
            What::Script(Script {
                name: self.request.url,
                setup: script,
            })
        } else {
            let streams = self.streams_per_connection;
            What::Url(Url {
                request: self.request,
                http: streams.map_or(Http::One, |streams| Http::Two { streams }),
                variation: self.variation,
            })
        };
        let set = |load| How::Set {
            load,
            until: self.until,
            objectives: self.objectives.clone(),
        };
        let how = match self.load {
            PlanLoad::Closed { in_flight } => set(Load::Closed { in_flight }),
            PlanLoad::Open { profile, arrivals } => set(Load::Open { profile, arrivals }),
            PlanLoad::Search(plan) => How::Search {
                settings: plan.into(),
                objectives: self.objectives.ok_or(HeaderError::NoObjectives)?,
            },
        };
        let generator = Generator {
            connections_max: self.connections_max,
            workers: self.workers,
            timeout: self.timeout_ns,
            keepalive: self.keepalive,
            insecure: self.insecure,
            seed: self.seed,
        };
        Ok(Test {
            what,
            how,
            generator,
        })
    }

    fn of_test(test: Test) -> (Self, Option<ScriptSetup>, Option<Box<Workload>>) {
        let streams_per_connection = test.streams();
        let mut variation = Variation::default();
        let named = |method: &str, name: String| Request {
            method: method.to_owned(),
            ..Request::get(name)
        };
        let (request, script, workload) = match test.what {
            What::Url(url) => {
                variation = url.variation;
                (url.request, None, None)
            }
            What::Script(script) => (named(What::SCRIPT, script.name), script.setup, None),
            What::Workload(workload) => {
                let request = named(What::WORKLOAD, workload.store.clone());
                (request, None, Some(workload))
            }
        };
        let (load, until, objectives) = match test.how {
            How::Set {
                load,
                until,
                objectives,
            } => (load.into(), until, objectives),
            How::Search {
                settings,
                objectives,
            } => (PlanLoad::Search(settings.into()), None, Some(objectives)),
        };
        let generator = test.generator;
        let plan = Self {
            request,
            variation,
            load,
            until,
            connections_max: generator.connections_max,
            workers: generator.workers,
            timeout_ns: generator.timeout,
            keepalive: generator.keepalive,
            streams_per_connection,
            insecure: generator.insecure,
            objectives,
            seed: generator.seed,
        };
        (plan, script, workload)
    }
}

impl From<Load> for PlanLoad {
    fn from(load: Load) -> Self {
        match load {
            Load::Closed { in_flight } => Self::Closed { in_flight },
            Load::Open { profile, arrivals } => Self::Open { profile, arrivals },
        }
    }
}

impl From<SearchPlan> for SearchSettings {
    fn from(plan: SearchPlan) -> Self {
        let unsaid = Self::default();
        Self {
            over: plan.over.unwrap_or(unsaid.over),
            within: plan.within_ns.unwrap_or(unsaid.within),
            goal_width: plan.goal_width_ratio.unwrap_or(unsaid.goal_width),
            overshoot: plan.overshoot.unwrap_or(unsaid.overshoot),
        }
    }
}

impl From<SearchSettings> for SearchPlan {
    fn from(settings: SearchSettings) -> Self {
        let unsaid = SearchSettings::default();
        Self {
            within_ns: Some(settings.within).filter(|within| *within != unsaid.within),
            goal_width_ratio: Some(settings.goal_width)
                .filter(|width| width.to_bits() != unsaid.goal_width.to_bits()),
            overshoot: Some(settings.overshoot).filter(|overshoot| !overshoot),
            over: Some(settings.over).filter(|over| *over != unsaid.over),
        }
    }
}

#[cfg(test)]
mod tests;
