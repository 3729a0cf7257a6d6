//! What one virtual user keeps between its requests.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;

use super::Proto;
use super::cookies::Jar;
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

/// The rule that `http_req_failed` and the tag `expected_response` follow.
#[derive(Debug, Clone, Default)]
pub(crate) enum Expected {
    /// 200 to 399.
    #[default]
    Usual,
    /// Inclusive ranges.
    Ranges(Rc<[(u16, u16)]>),
    /// A callback of null: nobody asks.
    Off,
}

impl Expected {
    /// Whether that status was expected; none if nobody asks.
    pub(crate) fn judge(&self, status: u16) -> Option<bool> {
        match self {
            Self::Usual => Some((200..400).contains(&status)),
            Self::Ranges(ranges) => Some(
                ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&status)),
            ),
            Self::Off => None,
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
    /// Where it came from, if that is a tag.
    pub(crate) ip: Option<IpAddr>,
}
