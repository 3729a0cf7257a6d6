//! Throws broken input at everything that reads what others wrote.

pub mod corpus;
pub mod drive;
pub mod mutate;
pub mod targets;
