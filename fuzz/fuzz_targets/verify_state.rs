//! Any bytes as a state file: `cargo +nightly fuzz run verify_state`.
#![no_main]

use fiord_formats::verify::state::VerifyState;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(state) = VerifyState::read(bytes) else { return };
    let written = state.write().expect("a name that was read fits");
    assert_eq!(VerifyState::read(&written), Ok(state));
});
