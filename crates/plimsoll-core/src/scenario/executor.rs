//! The one table of executors and their fields, and the reading of one scenario after it.

use std::num::{NonZeroU32, NonZeroU64};

use serde_json::Value;

use super::error::OptionError;
use super::fields::{Fields, known, not};
use super::{Arriving, Executor, Scenario, Stage};
use crate::schedule::Arrivals;
use crate::units::Nanos;

/// One field of an executor, for the parser's messages and the manual.
#[derive(Debug, Clone, Copy)]
pub struct FieldSpec {
    pub name: &'static str,
    /// As a script would write it; `None` means that it must be given.
    pub default: Option<&'static str>,
    pub help: &'static str,
}

/// One executor by the name that scripts use.
#[derive(Debug, Clone, Copy)]
pub struct ExecutorSpec {
    pub name: &'static str,
    pub help: &'static str,
    pub fields: &'static [FieldSpec],
}

const fn field(name: &'static str, default: Option<&'static str>, help: &'static str) -> FieldSpec {
    FieldSpec {
        name,
        default,
        help,
    }
}

/// Fields of every scenario.
pub const COMMON_FIELDS: [FieldSpec; 7] = [
    field("executor", None, "which executor"),
    field(
        "startTime",
        Some("0s"),
        "when the scenario starts, after setup",
    ),
    field(
        "gracefulStop",
        Some("30s"),
        "how long iterations may go on after the end",
    ),
    field("exec", Some("default"), "the exported function to call"),
    field("env", Some("{}"), "values of __ENV for this scenario"),
    field("tags", Some("{}"), "tags on every sample of this scenario"),
    field(
        "options",
        Some("{}"),
        "accepted; only browser scripts use it",
    ),
];

const VUS: FieldSpec = field("vus", Some("1"), "number of VUs");
const ITERATIONS: FieldSpec = field("iterations", Some("1"), "number of iterations");
const MAX_DURATION: FieldSpec = field("maxDuration", Some("10m"), "ends the scenario in any case");
const DURATION: FieldSpec = field("duration", None, "how long, at least 1s");
const STAGES: FieldSpec = field("stages", None, "legs of { duration, target }");
const TIME_UNIT: FieldSpec = field("timeUnit", Some("1s"), "what a rate is per");
const PRE_ALLOCATED: FieldSpec = field("preAllocatedVUs", None, "VUs made before the start");
const MAX_VUS: FieldSpec = field("maxVUs", Some("preAllocatedVUs"), "VUs it may grow to");
const ARRIVALS: FieldSpec = field(
    "arrivals",
    Some("uniform"),
    "ours: uniform or poisson spacing",
);
const MAX_WAIT: FieldSpec = field("maxWait", Some("0s"), "ours: wait for a VU before a drop");

/// All executors; the last is ours.
pub const EXECUTORS: [ExecutorSpec; 7] = [
    ExecutorSpec {
        name: "shared-iterations",
        help: "VUs share a number of iterations",
        fields: &[VUS, ITERATIONS, MAX_DURATION],
    },
    ExecutorSpec {
        name: "per-vu-iterations",
        help: "each VU makes a number of iterations",
        fields: &[VUS, ITERATIONS, MAX_DURATION],
    },
    ExecutorSpec {
        name: "constant-vus",
        help: "a fixed number of looping VUs",
        fields: &[VUS, DURATION],
    },
    ExecutorSpec {
        name: "ramping-vus",
        help: "looping VUs whose number follows the stages",
        fields: &[
            field("startVUs", Some("1"), "number of VUs at the start"),
            STAGES,
            field(
                "gracefulRampDown",
                Some("30s"),
                "time for an iteration of a VU that leaves",
            ),
        ],
    },
    ExecutorSpec {
        name: "constant-arrival-rate",
        help: "iterations start at a fixed rate",
        fields: &[
            field("rate", None, "iterations per timeUnit"),
            TIME_UNIT,
            DURATION,
            PRE_ALLOCATED,
            MAX_VUS,
            ARRIVALS,
            MAX_WAIT,
        ],
    },
    ExecutorSpec {
        name: "ramping-arrival-rate",
        help: "the rate of starts follows the stages in straight lines",
        fields: &[
            field("startRate", Some("0"), "rate at the start"),
            TIME_UNIT,
            STAGES,
            PRE_ALLOCATED,
            MAX_VUS,
            ARRIVALS,
            MAX_WAIT,
        ],
    },
    ExecutorSpec {
        name: "stepped-arrival-rate",
        help: "ours: each stage holds its rate",
        fields: &[
            TIME_UNIT,
            STAGES,
            PRE_ALLOCATED,
            MAX_VUS,
            ARRIVALS,
            MAX_WAIT,
        ],
    },
];

/// Every field that can stand in some scenario.
pub(super) fn every_field() -> impl Iterator<Item = &'static str> {
    let own = EXECUTORS.iter().flat_map(|spec| spec.fields);
    COMMON_FIELDS.iter().chain(own).map(|field| field.name)
}

const MINIMUM: Nanos = Nanos::from_secs(1);
const GRACE: Nanos = Nanos::from_secs(30);
const MAX_DURATION_DEFAULT: Nanos = Nanos::from_secs(600);

/// Reads one scenario; `place` is the path to it, such as `options.scenarios.login`.
pub(super) fn scenario(place: &str, name: &str, value: &Value) -> Result<Scenario, OptionError> {
    check_name(place, name)?;
    let map = value.as_object();
    let map = map.ok_or_else(|| not(place, value, "an object with an `executor`"))?;
    let fields = Fields { place, map };
    let spec = spec_of(&fields)?;
    let common = COMMON_FIELDS.iter().chain(spec.fields);
    let names: Vec<&str> = common.map(|field| field.name).collect();
    known(&fields, &names)?;
    Ok(Scenario {
        name: name.to_owned(),
        executor: executor(spec.name, &fields)?,
        start_ns: fields.duration("startTime")?.unwrap_or_default(),
        graceful_stop_ns: fields.duration("gracefulStop")?.unwrap_or(GRACE),
        exec: exec(&fields)?,
        env: fields.texts("env")?,
        tags: fields.texts("tags")?,
        extra: fields.value("options").cloned(),
    })
}

fn check_name(place: &str, name: &str) -> Result<(), OptionError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(allowed) {
        return Ok(());
    }
    Err(OptionError::Rule {
        place: place.to_owned(),
        problem: format!("`{name}` cannot name a scenario"),
        fix: "use letters, digits, - and _ only".to_owned(),
    })
}

fn spec_of(fields: &Fields<'_>) -> Result<&'static ExecutorSpec, OptionError> {
    let names = EXECUTORS.map(|spec| spec.name);
    let all = names.join(", ");
    let name = fields.text("executor")?;
    let name = name.ok_or_else(|| fields.missing("executor", &format!("it is one of {all}")))?;
    let found = EXECUTORS.iter().find(|spec| spec.name == name);
    found.ok_or_else(|| {
        let fix = match name.as_str() {
            "externally-controlled" => "it left k6 with version 2; use constant-vus".to_owned(),
            other => format!(
                "it is one of {all}{}",
                crate::nearest::hint(other, names.iter().copied())
            ),
        };
        OptionError::Rule {
            place: fields.place.to_owned(),
            problem: format!("no executor is called `{name}`"),
            fix,
        }
    })
}

fn exec(fields: &Fields<'_>) -> Result<String, OptionError> {
    match fields.text("exec")? {
        None => Ok("default".to_owned()),
        Some(name) if !name.is_empty() => Ok(name),
        Some(_) => Err(rule(fields, "`exec` is empty", "name an exported function")),
    }
}

fn rule(fields: &Fields<'_>, problem: impl Into<String>, fix: &str) -> OptionError {
    OptionError::Rule {
        place: fields.place.to_owned(),
        problem: problem.into(),
        fix: fix.to_owned(),
    }
}

fn executor(name: &str, fields: &Fields<'_>) -> Result<Executor, OptionError> {
    match name {
        "shared-iterations" => shared_iterations(fields),
        "per-vu-iterations" => Ok(Executor::PerVuIterations {
            vus: vus(fields)?,
            iterations: iterations(fields)?,
            max_duration_ns: max_duration(fields)?,
        }),
        "constant-vus" => Ok(Executor::ConstantVus {
            vus: vus(fields)?,
            duration_ns: duration(fields)?,
        }),
        "ramping-vus" => ramping_vus(fields),
        "constant-arrival-rate" => {
            let missing =
                || fields.missing("rate", "write rate: 10 for ten iterations per timeUnit");
            let rate = fields.count("rate")?.ok_or_else(missing)?;
            let zero = || rule(fields, "`rate` is zero", "write a positive whole number");
            Ok(Executor::ConstantArrivalRate {
                rate: NonZeroU64::new(rate).ok_or_else(zero)?,
                duration_ns: duration(fields)?,
                arriving: arriving(fields)?,
            })
        }
        "ramping-arrival-rate" => Ok(Executor::RampingArrivalRate {
            start_rate: fields.count("startRate")?.unwrap_or(0),
            stages: stages(fields)?,
            arriving: arriving(fields)?,
        }),
        _ => Ok(Executor::SteppedArrivalRate {
            stages: stages(fields)?,
            arriving: arriving(fields)?,
        }),
    }
}

fn shared_iterations(fields: &Fields<'_>) -> Result<Executor, OptionError> {
    let (vus, iterations) = (vus(fields)?, iterations(fields)?);
    if iterations < NonZeroU64::from(vus) {
        let problem = format!("{iterations} iterations for {vus} VUs leave VUs without any");
        return Err(rule(
            fields,
            problem,
            "use at most as many VUs as iterations",
        ));
    }
    Ok(Executor::SharedIterations {
        vus,
        iterations,
        max_duration_ns: max_duration(fields)?,
    })
}

fn ramping_vus(fields: &Fields<'_>) -> Result<Executor, OptionError> {
    let start_vus = fields.vus("startVUs")?.unwrap_or(1);
    let stages = stages(fields)?;
    let peak = stages.iter().map(|stage| stage.target).max().unwrap_or(0);
    if peak.max(u64::from(start_vus)) == 0 {
        let fix = "give a stage or startVUs a positive target";
        return Err(rule(fields, "no stage has any VU", fix));
    }
    if peak > u64::from(u32::MAX) {
        let fix = "targets are numbers of VUs";
        return Err(rule(fields, format!("{peak} VUs are too many"), fix));
    }
    Ok(Executor::RampingVus {
        start_vus,
        stages,
        graceful_ramp_down_ns: fields.duration("gracefulRampDown")?.unwrap_or(GRACE),
    })
}

fn vus(fields: &Fields<'_>) -> Result<NonZeroU32, OptionError> {
    let vus = fields.vus("vus")?.unwrap_or(1);
    NonZeroU32::new(vus).ok_or_else(|| rule(fields, "`vus` is zero", "write at least 1"))
}

fn iterations(fields: &Fields<'_>) -> Result<NonZeroU64, OptionError> {
    let count = fields.count("iterations")?.unwrap_or(1);
    NonZeroU64::new(count).ok_or_else(|| rule(fields, "`iterations` is zero", "write at least 1"))
}

fn max_duration(fields: &Fields<'_>) -> Result<Nanos, OptionError> {
    let longest = fields.duration("maxDuration")?;
    at_least_a_second(
        fields,
        "maxDuration",
        longest.unwrap_or(MAX_DURATION_DEFAULT),
    )
}

fn duration(fields: &Fields<'_>) -> Result<Nanos, OptionError> {
    let duration = fields.duration("duration")?;
    let duration = duration.ok_or_else(|| fields.missing("duration", "write duration: '30s'"))?;
    at_least_a_second(fields, "duration", duration)
}

fn at_least_a_second(fields: &Fields<'_>, name: &str, time: Nanos) -> Result<Nanos, OptionError> {
    if time >= MINIMUM {
        return Ok(time);
    }
    let problem = format!("`{name}` of {} is too short", super::time::show(time));
    Err(rule(
        fields,
        problem,
        "use at least 1s; a bare number is milliseconds",
    ))
}

fn stages(fields: &Fields<'_>) -> Result<Vec<Stage>, OptionError> {
    let stages = fields.stages("stages")?.unwrap_or_default();
    if stages.is_empty() {
        let fix = "write stages: [{ duration: '30s', target: 10 }]";
        return Err(fields.missing("stages", fix));
    }
    Ok(stages)
}

fn arriving(fields: &Fields<'_>) -> Result<Arriving, OptionError> {
    let unit = fields.duration("timeUnit")?.unwrap_or(MINIMUM);
    if unit == Nanos::ZERO {
        return Err(rule(
            fields,
            "`timeUnit` is zero",
            "write 1s, 1m or another duration",
        ));
    }
    let pre_allocated = fields.vus("preAllocatedVUs")?.ok_or_else(|| {
        fields.missing(
            "preAllocatedVUs",
            "write how many VUs to make before the start",
        )
    })?;
    let max_vus = fields.vus("maxVUs")?.unwrap_or(pre_allocated);
    if max_vus < pre_allocated {
        let problem = format!("maxVUs {max_vus} is below preAllocatedVUs {pre_allocated}");
        return Err(rule(fields, problem, "raise maxVUs or leave it out"));
    }
    if max_vus == 0 {
        return Err(rule(
            fields,
            "no VU may ever run",
            "write preAllocatedVUs: 1 or more",
        ));
    }
    Ok(Arriving {
        time_unit_ns: unit,
        pre_allocated_vus: pre_allocated,
        max_vus,
        arrivals: spacing(fields)?,
        wait_max_ns: fields.duration("maxWait")?.unwrap_or_default(),
    })
}

fn spacing(fields: &Fields<'_>) -> Result<Arrivals, OptionError> {
    let spacing = fields.text("arrivals")?;
    match spacing.as_deref() {
        None | Some("uniform") => Ok(Arrivals::Uniform),
        Some("poisson") => Ok(Arrivals::Poisson),
        Some(other) => Err(rule(
            fields,
            format!("`arrivals` of `{other}` is not known"),
            "write 'uniform' or 'poisson'",
        )),
    }
}
