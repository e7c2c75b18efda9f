//! Any bytes as the data of a job from another host: `cargo +nightly fuzz run job_data`.
#![no_main]

use fiord_stat::job::{JobData, assemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut data) = JobData::from_json(text) else { return };
    data.merge(&data.clone());
    assemble(vec![data.clone(), data], &|errno| errno.to_string());
});
