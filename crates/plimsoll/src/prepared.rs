//! A test with everything that playing it takes: the name resolved and the request encoded, or the script read.

use std::sync::Arc;

use plimsoll_core::test::Test;
use plimsoll_engine::Options;

use crate::script::load::Loaded;

/// Ready to be played; nothing has been sent.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) test: Test,
    pub(crate) subject: Subject,
}

/// What the generator is handed for `Test::what`.
#[derive(Clone)]
pub(crate) enum Subject {
    Url(Box<Options>),
    Script(Arc<Loaded>),
}
