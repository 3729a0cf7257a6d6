//! The fixtures, one injected cause each, and the plain services beside them.

pub(crate) mod cpu_quota;
pub(crate) mod downstream;
pub(crate) mod echo;
pub(crate) mod event_loop;
pub(crate) mod freeze;
pub(crate) mod fsync;
pub(crate) mod lock;
pub(crate) mod memory_gc;
pub(crate) mod pinned_loop;
pub(crate) mod proxy_slots;
pub(crate) mod rate_rule;
pub(crate) mod slow_downstream;
pub(crate) mod small_pool;
