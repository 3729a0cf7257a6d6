//! The one table of exit codes.

use std::panic::UnwindSafe;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use plimsoll_core::ending::Cause;
use plimsoll_core::step::StepError;
use plimsoll_net::TargetError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use thiserror::Error;

use crate::output;

/// How a command ended. Codes from 97 on are k6's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Passed,
    /// A gate failed: the numbers carry no verdict.
    RunInvalid,
    /// A variant is worse than the one it was compared with.
    Worse,
    Inconclusive,
    NotConverged,
    Unreachable,
    ObjectiveMissed,
    SetupTimeout,
    /// Of teardown and `handleSummary`. k6 leaves with 101 after a teardown: that is Rust's code for a panic.
    HookTimeout,
    BadUsage,
    Interrupted,
    ScriptException,
    ScriptAborted,
    InternalPanic,
    ScriptFailed,
    /// As a shell says that it cannot run a program.
    NotStarted,
    ScriptMissing,
}

impl Exit {
    pub(crate) const TABLE: [(Self, u8, &'static str); 17] = [
        (Self::Passed, 0, "passed, or nothing was asked"),
        (
            Self::RunInvalid,
            3,
            "run invalid: a gate failed, so there is no verdict",
        ),
        (Self::Worse, 4, "worse than what it was compared with"),
        (
            Self::Inconclusive,
            5,
            "inconclusive: too little was seen to say pass or fail",
        ),
        (Self::NotConverged, 6, "the search did not converge"),
        (Self::Unreachable, 7, "target unreachable"),
        (
            Self::ObjectiveMissed,
            99,
            "objective missed, or threshold crossed",
        ),
        (Self::SetupTimeout, 100, "the script's setup took too long"),
        (
            Self::HookTimeout,
            102,
            "the script's teardown or handleSummary took too long",
        ),
        (
            Self::BadUsage,
            104,
            "bad usage, plan, option, file or output",
        ),
        (
            Self::Interrupted,
            105,
            "interrupted; the record up to then is valid",
        ),
        (
            Self::ScriptException,
            107,
            "exception in the script's top level, setup or teardown, or it uses what is not there yet",
        ),
        (
            Self::ScriptAborted,
            108,
            "the script called exec.test.abort()",
        ),
        (Self::InternalPanic, 109, "internal fault of plimsoll"),
        (
            Self::ScriptFailed,
            110,
            "the script called exec.test.fail()",
        ),
        (
            Self::NotStarted,
            127,
            "a program of a tier cannot be started; only the lab sees it",
        ),
        (Self::ScriptMissing, 255, "the script's file cannot be read"),
    ];

    fn row(self) -> &'static (Self, u8, &'static str) {
        const TABLE: &[(Exit, u8, &str)] = &Exit::TABLE;
        let row = TABLE.iter().find(|(exit, ..)| *exit == self);
        row.expect("invariant: every exit has its row, see the test")
    }

    pub(crate) fn code(self) -> u8 {
        self.row().1
    }

    pub(crate) fn meaning(self) -> &'static str {
        self.row().2
    }

    /// Of the lab's helpers, which know two ends.
    pub(crate) const fn from_guardian(code: u8) -> Self {
        match code {
            0 => Self::Passed,
            _ => Self::NotStarted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<Cause> for Exit {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::ThresholdCrossed => Self::ObjectiveMissed,
            Cause::SetupTimeout => Self::SetupTimeout,
            Cause::TeardownTimeout | Cause::SummaryTimeout => Self::HookTimeout,
            Cause::InvalidOptions => Self::BadUsage,
            Cause::Interrupted => Self::Interrupted,
            Cause::InitException | Cause::HookException | Cause::Unsupported => {
                Self::ScriptException
            }
            Cause::Aborted => Self::ScriptAborted,
            Cause::Failed => Self::ScriptFailed,
            Cause::Missing => Self::ScriptMissing,
        }
    }
}

/// Whether a thread has panicked: then nothing that the process says is to be trusted.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Runs the program, and makes a panic on any of its threads an internal fault; what could not be printed is no pass.
pub(crate) fn guarded(run: impl FnOnce() -> Exit + UnwindSafe) -> Exit {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICKED.store(true, Ordering::Relaxed);
        print(info);
    }));
    let exit = std::panic::catch_unwind(run);
    match exit {
        Ok(Exit::Passed) if !has_panicked() && output::is_data_lost() => Exit::BadUsage,
        Ok(exit) if !has_panicked() => exit,
        _ => Exit::InternalPanic,
    }
}

fn has_panicked() -> bool {
    PANICKED.load(Ordering::Relaxed)
}

/// True until a command says that it ends by itself after a signal, and again some time after the first one.
fn ends_at_once() -> &'static Arc<AtomicBool> {
    static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
    &FLAG
}

/// True once a signal has come for a command that ends by itself.
fn interrupted() -> &'static Arc<AtomicBool> {
    static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    &FLAG
}

/// Programs around this one (timeout, npm, a shell) send one Ctrl-C to the process and again to its group: what follows so soon
/// is the same one.
const SAME_SIGNAL: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(100);

/// Those that end a run. A terminal that goes away is one of them, unless whoever started the program said that it shall
/// not be (`nohup`).
fn signals() -> impl Iterator<Item = i32> {
    let hangs_up = !is_ignored(SIGHUP);
    [SIGINT, SIGTERM]
        .into_iter()
        .chain(hangs_up.then_some(SIGHUP))
}

/// The signal was ignored when the process began: bit n − 1 of `SigIgn` in `/proc/PID/status`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// From now on Ctrl-C and SIGTERM end the process with the code of the table.
pub(crate) fn on_signals() -> Result<(), std::io::Error> {
    for signal in signals() {
        let code = i32::from(Exit::Interrupted.code());
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(ends_at_once()))?;
    }
    Ok(())
}

/// Set by Ctrl-C and SIGTERM, for a command that then comes to an end by itself; another one, later, ends the process at once.
pub(crate) fn interrupt_flag() -> Result<Arc<AtomicBool>, std::io::Error> {
    let flag = Arc::clone(interrupted());
    for signal in signals() {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    ends_at_once().store(false, Ordering::SeqCst);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(|| {
            while !is_interrupted() {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(SAME_SIGNAL);
            ends_at_once().store(true, Ordering::SeqCst);
        })?;
    Ok(flag)
}

/// Whether a signal has come since a command asked for [`interrupt_flag`].
pub(crate) fn is_interrupted() -> bool {
    interrupted().load(Ordering::SeqCst)
}

/// An error that knows its exit code; everything else that fails is bad usage or environment.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
        }
    }
}

pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.exit;
    }
    let unresolved = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(TargetError::Dns { .. }))
    };
    let stopped = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(StepError::Interrupted))
    };
    if error.chain().any(unresolved) {
        Exit::Unreachable
    } else if error.chain().any(stopped) {
        Exit::Interrupted
    } else {
        Exit::BadUsage
    }
}

#[cfg(test)]
mod tests;
