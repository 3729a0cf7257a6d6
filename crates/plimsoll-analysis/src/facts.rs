//! What a record shows, level by level and tier by tier, before anybody says what it means: the gates, the verdict and the
//! explanation all stand on it.

pub(crate) mod client;
pub(crate) mod gauges;
pub(crate) mod level;
pub(crate) mod tick;
