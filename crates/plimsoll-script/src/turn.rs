//! What a virtual user asks for when it suspends, and what it is told when it goes on.

use std::rc::Rc;

use plimsoll_core::Nanos;

use crate::http::{HttpCall, HttpResult};

/// Why a virtual user goes on.
#[derive(Debug)]
pub enum Resumption {
    /// Run a function of the script. Only when nothing is under way.
    Start(Iteration),
    /// The pause that [`Suspension::Sleep`] asked for is over.
    Slept,
    /// One result per call of [`Suspension::Http`], in their order.
    Http(Vec<HttpResult>),
    /// End at once: the pending call throws what no script can catch, so the next turn is [`End::Interrupted`].
    Stop,
}

/// What a virtual user waits for.
#[derive(Debug)]
pub enum Suspension {
    /// One call, or those of `http.batch` that may be in flight together.
    Http(Vec<HttpCall>),
    /// A pause: `sleep`, or a timer while nothing else is left to run.
    Sleep(Nanos),
    /// The function returned; ready for the next [`Resumption::Start`].
    Done(End),
}

/// How the function ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// What the function returned as JSON, when the caller asked for it and there was something.
    Ok { returned: Option<Box<str>> },
    /// It threw; the console has been told. The iteration counts all the same.
    Exception(Thrown),
    /// `exec.test.abort(message)`: the whole test ends (exit code 108).
    Abort { message: Box<str> },
    /// The script uses what is not there yet: the whole test ends, and never well.
    Missing { message: Box<str> },
    /// [`Resumption::Stop`], the stop flag, or the budget ended it.
    Interrupted,
}

/// An exception that no script code caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    /// `Error: what went wrong`, or the thrown value as text.
    pub message: Box<str>,
    /// One line per frame, innermost first; may be empty.
    pub stack: Box<str>,
}

/// Which scenario an iteration belongs to; shared by all its iterations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scenario {
    pub name: Box<str>,
    /// As in the options, for example `constant-vus`.
    pub executor: Box<str>,
    /// Wall clock, milliseconds since 1970.
    pub start_unix_ms: u64,
    /// Tags of every sample of the scenario, besides `scenario`.
    pub tags: Vec<(Box<str>, Box<str>)>,
    /// What `__ENV` holds on top of the program's own.
    pub env: Vec<(Box<str>, Box<str>)>,
}

/// One run of one function of the script.
#[derive(Debug, Clone, Default)]
pub struct Iteration {
    /// `default`, `setup`, `teardown`, `handleSummary` or what `exec` names.
    pub function: Rc<str>,
    /// JSON of the one argument; none means undefined.
    pub data: Option<Rc<str>>,
    /// Give what the function returns back as JSON (setup, handleSummary).
    pub wants_return: bool,
    /// Unset for setup, teardown and handleSummary.
    pub scenario: Option<Rc<Scenario>>,
    /// Name of the implicit outer group: `setup` and `teardown` have one.
    pub root_group: Option<&'static str>,
    /// `__VU`: from 1 over all instances; 0 in setup and teardown.
    pub vu_in_test: u64,
    /// From 1 in this process.
    pub vu_in_instance: u64,
    /// `__ITER`: from 0 for this virtual user.
    pub in_vu: u64,
    /// From 0 for this virtual user in this scenario.
    pub in_scenario: u64,
    /// From 0 over all virtual users of the scenario in this process, if the executor counts it.
    pub in_instance: u64,
    /// From 0 over all instances.
    pub in_test: u64,
}
