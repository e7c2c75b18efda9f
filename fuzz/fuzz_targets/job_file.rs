//! Any bytes as a job file: `cargo +nightly fuzz run job_file`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fiord_job::fuzz::job_file(bytes);
});
