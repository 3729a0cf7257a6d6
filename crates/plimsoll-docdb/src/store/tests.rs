//! A store against a model of it: batches, scans, flushes, reopening, faults and crashes.

mod model;
mod support;
