//! Any bytes as an interval of a verified block: `cargo +nightly fuzz run verify_header`.
#![no_main]

use fiord_formats::verify::header::{Expected, Header};
use fiord_formats::verify::{interval, method::Method};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(header) = Header::read(bytes) else { return };
    let Header { length, offset, seed, number, .. } = header;
    let expected = Expected { length, offset, seed: Some(seed), number: Some(number) };
    for method in Method::ALL {
        let _ = interval::check(bytes, method, &expected);
    }
    let mut written = bytes.to_vec();
    header.write(&mut written).expect("a header was read from as many bytes");
    assert_eq!(Header::read(&written), Ok(header));
});
