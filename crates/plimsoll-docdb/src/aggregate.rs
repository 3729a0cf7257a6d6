//! Runs an aggregation pipeline: expressions and stages over a stream of documents.
