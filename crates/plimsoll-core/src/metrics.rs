//! The metrics of a scripted test: built-in and custom ones, their tags, and what was counted.

mod names;
mod registry;
mod series;
mod sink;
mod store;
mod sum;
mod tags;
mod trend;

pub use names::Names;
pub use registry::{
    BUILT_IN, BuiltIn, BuiltInSpec, Contains, Kind, Metric, MetricError, MetricId, check_name,
};
pub use series::SeriesCounts;
pub use sink::{Counter, Gauge, Rate, Sink};
pub use store::{Check, Conditions, Sample, Store, Submetric};
pub use tags::{FEW_VALUES, SCRIPT_TAG_SETS_MAX, TagSetId, TagSets};
pub use trend::Trend;
