//! Users, what they may do, and how they prove who they are (SCRAM-SHA-256).

mod roles;
mod scram;
mod users;

pub use roles::{Access, ROLES, Role, RoleSpec};
pub(crate) use scram::random;
pub use scram::{Conversation, Credentials};
pub use users::{User, Users, UsersError};
