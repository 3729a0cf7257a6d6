//! Starts the services as processes of their own and looks at them from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod article;
mod ceilings;
mod lifecycle;
mod page;
mod proxy;
mod proxy_tls;
mod real;
mod shop;
mod status;
mod support;
mod usage;
