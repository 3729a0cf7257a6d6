//! A store against a model of it: batches, scans, flushes, reopening, faults and crashes.

mod corruption;
mod crash;
mod faults;
mod model;
mod simulated;
mod support;
mod tables;
