//! The command as a person uses it: what it says, what it exits with, what it leaves behind.

mod bad_input;
mod records;
mod runs;
mod support;
