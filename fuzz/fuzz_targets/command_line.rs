//! Any text as a command line, an argument a line: `cargo +nightly fuzz run command_line`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    fiord_job::fuzz::command_line(text);
});
