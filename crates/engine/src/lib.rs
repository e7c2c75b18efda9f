//! I/O engines.
