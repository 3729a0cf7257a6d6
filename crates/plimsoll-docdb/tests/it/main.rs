//! The server over real sockets, spoken to byte by byte.

mod client;
mod docs;
mod hostile;
mod schedulers;
mod security;
mod service;
