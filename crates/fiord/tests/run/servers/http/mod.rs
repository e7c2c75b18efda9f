//! `http` on real servers (nginx for WebDAV, moto for S3), and on a server of the tests that fails on purpose.

mod answers;
mod connections;
mod faults;
mod moto;
mod nginx;
mod retries;
mod secrets;
mod uploads;
