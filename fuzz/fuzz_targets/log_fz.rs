//! Any bytes as a compressed log of fio: `cargo +nightly fuzz run log_fz`.
#![no_main]

use fiord_formats::log::fz::{FzDecoder, FzEncoder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut decoder = FzDecoder::new(bytes);
    loop {
        match decoder.next_row() {
            Ok(Some((row, columns))) => {
                let (mut encoder, mut file) = (FzEncoder::new(columns), Vec::new());
                encoder.push(&row);
                encoder.finish_stream(&mut file);
                let again = FzDecoder::new(&*file).next_row().expect("a row of the encoder");
                assert_eq!(again, Some((row, columns)));
            }
            Ok(None) => break,
            Err(error) if error.can_skip() => {}
            Err(_) => break,
        }
    }
});
