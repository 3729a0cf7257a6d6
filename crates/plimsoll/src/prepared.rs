//! A test with everything that playing it takes: the name resolved and the request encoded, the script read, or the workload planned.

use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_core::test::{Test, Workload};
use plimsoll_engine::Options;

use crate::script::load::Loaded;

/// Ready to be played; nothing has been sent.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) test: Test,
    pub(crate) subject: Subject,
    /// Where every attempt is written by itself.
    pub(crate) csv: Option<PathBuf>,
    /// What came of the one request before the load, in words.
    pub(crate) greeting: Option<String>,
}

impl Prepared {
    pub(crate) fn new(test: Test, subject: Subject) -> Self {
        Self {
            test,
            subject,
            csv: None,
            greeting: None,
        }
    }
}

/// What the generator is handed for `Test::what`.
#[derive(Clone)]
pub(crate) enum Subject {
    Url(Box<Options>),
    Script(Arc<Loaded>),
    /// With the names and passwords that its record masks.
    Workload(Box<Workload>),
}
