//! `io_uring_cmd`: NVMe commands passed through to a namespace.

pub mod protection;
