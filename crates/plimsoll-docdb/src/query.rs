//! Asks of documents: filters, projections, sort orders, and which index serves a filter.
