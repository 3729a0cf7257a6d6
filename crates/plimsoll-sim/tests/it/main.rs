//! The simulator against closed forms, and the search against simulated services.
#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod behaviour;
mod closed_forms;
mod conditions;
mod families;
mod faults;
mod gates;
mod guarded;
mod played;
mod reference;
mod rendered;
mod replayed;
mod retries;
mod searches;
mod tiers;
mod virtual_users;
mod worlds;
