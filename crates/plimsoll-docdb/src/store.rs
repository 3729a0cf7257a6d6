//! Keeps one shard on disk: an ordered key space whose batches are durable before they are acknowledged.
