//! Changes one document as an update says: operators, replacement, pipeline.
