//! Replays recorded searches of services with one known cause each.

mod models;
mod replay;
