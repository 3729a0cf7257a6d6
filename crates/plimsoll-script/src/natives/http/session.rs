//! What one virtual user keeps between its requests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::cookies::Jar;
use super::expected::Expected;
use crate::http::Proto;
use crate::tags::TagSetId;

/// A jar that several objects may share.
pub(crate) type SharedJar = Rc<RefCell<Jar>>;

#[derive(Default)]
pub(crate) struct HttpSession {
    /// The virtual user's own jar.
    pub(crate) jar: RefCell<SharedJar>,
    pub(crate) expected: RefCell<Expected>,
    pub(crate) last_tags: RefCell<Option<LastTags>>,
    pub(crate) last_answer: Cell<Option<(AnswerKey, TagSetId)>>,
}

/// The tag set of the last request: most scripts repeat theirs.
pub(crate) struct LastTags {
    pub(crate) base: TagSetId,
    pub(crate) method: Rc<str>,
    pub(crate) name: Rc<str>,
    pub(crate) tags: TagSetId,
}

impl HttpSession {
    pub(crate) fn begin_iteration(&self, keep_cookies: bool) {
        if !keep_cookies {
            self.release();
        }
    }

    pub(crate) fn release(&self) {
        if !self.jar.borrow().borrow().is_empty() {
            *self.jar.borrow_mut() = SharedJar::default();
        }
    }
}

/// Decides the tag set of an answer without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerKey {
    pub(crate) call: TagSetId,
    pub(crate) status: u16,
    pub(crate) proto: Proto,
    pub(crate) expected: Option<bool>,
    pub(crate) tls: Option<&'static str>,
}
