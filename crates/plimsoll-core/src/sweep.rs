//! A sweep: one test at many points, what was measured at each, and which model follows them. Data only.

mod model;

pub use model::{Model, Refusal};
