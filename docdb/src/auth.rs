//! Users, what they may do, and how they prove who they are (SCRAM-SHA-256).

mod roles;
mod scram;
mod users;

pub use roles::ROLES;
pub(crate) use roles::{Access, Role};
pub(crate) use scram::random;
pub(crate) use scram::{Conversation, Credentials};
pub(crate) use users::{User, Users, UsersError};
