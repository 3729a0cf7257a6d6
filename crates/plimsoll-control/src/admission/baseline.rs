//! The limits that others have published, with their defaults, to choose instead of ours and to compare with.

mod aimd;
mod envoy;
mod fixed;
mod gradient2;
mod vegas;
mod window;

pub(super) use aimd::Aimd;
pub(super) use envoy::Envoy;
pub(super) use fixed::Fixed;
pub(super) use gradient2::Gradient2;
pub(super) use vegas::Vegas;
