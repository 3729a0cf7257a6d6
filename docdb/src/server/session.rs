//! What the server remembers of a connection: who logged in, and what the handshake agreed on.

use std::sync::Arc;

use crate::auth::{Access, Conversation, User};

#[derive(Debug)]
pub(crate) struct Session {
    /// Counted from one, as `connectionId` in `hello`.
    pub(crate) id: i32,
    /// Where the client is.
    pub(crate) peer: String,
    /// It came from this host: it may make the first user.
    pub(crate) local: bool,
    /// A login under way.
    pub(crate) conversation: Option<Conversation>,
    /// Who logged in: the database of the user, the name, and what it may.
    pub(crate) user: Option<(String, String, Arc<User>)>,
    /// The state of the users' list that `user` comes from.
    pub(crate) users_version: u64,
}

impl Session {
    pub(crate) fn new(id: i32, peer: String, local: bool) -> Self {
        Self {
            id,
            peer,
            local,
            conversation: None,
            user: None,
            users_version: 0,
        }
    }

    pub(crate) fn may(&self, access: Access, database: &str) -> bool {
        self.user
            .as_ref()
            .is_some_and(|(_, _, user)| user.may(access, database))
    }
}
