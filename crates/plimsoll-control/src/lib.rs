//! Decides what to do next from what was just observed. Pure: time and randomness are passed in.

pub mod admission;
pub mod balance;
pub mod executor;
pub mod search;
