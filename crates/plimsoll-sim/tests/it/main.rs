//! The simulator against closed forms, and the search against simulated services.

mod families;
mod searches;
