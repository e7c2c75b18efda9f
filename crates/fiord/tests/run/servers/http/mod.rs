//! `http` on real servers (nginx for WebDAV, moto and SeaweedFS for S3), and on a server of the tests that fails on purpose.

mod answers;
mod connections;
mod faults;
mod moto;
mod nginx;
mod retries;
mod seaweed;
mod secrets;
mod uploads;
