//! The command as a person uses it: what it says, what it exits with, what it leaves behind.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod attempts;
mod bad_input;
mod bodies;
mod compare;
mod deploy;
mod docdb;
mod fixtures;
mod flags;
mod guard;
mod http2;
mod kept;
mod lab;
mod misbehaving;
mod mutual_tls;
mod options;
mod outputs;
mod page;
mod proxies;
mod records;
mod redirects;
mod runs;
mod scripts;
mod signals;
mod support;
mod sweep;
mod ways;
mod wire;
mod workload;
