//! BSON values as MongoDB sees them: order, equality, numbers, paths, and keys whose bytes sort alike.
