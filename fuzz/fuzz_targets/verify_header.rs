//! Any bytes as an interval of a verified block: `cargo +nightly fuzz run verify_header`.
#![no_main]

use fiord_formats::verify::header::{Expected, VerifyHeader};
use fiord_formats::verify::{interval, method::Method};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(header) = VerifyHeader::read(bytes) else { return };
    let VerifyHeader { length, offset, seed, number, .. } = header;
    let expected = Expected { length, offset, seed: Some(seed), number: Some(number) };
    for method in Method::ALL {
        let _ = interval::check(bytes, method, &expected);
    }
    let mut written = bytes.to_vec();
    header.write(&mut written).expect("a header was read from as many bytes");
    assert_eq!(VerifyHeader::read(&written), Ok(header));
});
