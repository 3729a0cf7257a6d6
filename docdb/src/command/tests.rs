//! Commands as a driver sends them, carried out by a shard in a directory of its own.

mod crud;
mod cursors;
mod full;
mod harness;
mod indexes;
mod lists;
mod meanwhile;
mod memory;
mod metadata;
mod model;
mod queries;
mod slices;
