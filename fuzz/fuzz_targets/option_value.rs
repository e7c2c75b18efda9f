//! Any text as a pattern, a list of faults and a crash: `cargo +nightly fuzz run option_value`.
#![no_main]

use fiord_formats::verify::pattern::{self, BodyPattern};
use fiord_job::option::read;
use fiord_job::option::value::{Bases, PatternPart, ValueError};
use libfuzzer_sys::fuzz_target;

fn is_inside(text: &str, error: &ValueError) {
    if let Some((start, end)) = error.span {
        assert!(text.get(start..end).is_some(), "{text:?}: {error:?}");
    }
}

fuzz_target!(|text: &str| {
    let bases = Bases::default();
    match read::pattern(text, &bases) {
        Err(error) => is_inside(text, &error),
        Ok(parts) => {
            let part = |part| match part {
                PatternPart::Bytes(bytes) => pattern::ResolvedPart::Bytes(bytes),
                PatternPart::Offset => pattern::ResolvedPart::Offset,
                PatternPart::File(name) => pattern::ResolvedPart::Bytes(name.into_bytes()),
            };
            let parts = parts.into_iter().map(part).collect();
            if let Some(pattern) = BodyPattern::new(parts, 512) {
                let mut write = [0; 2000];
                pattern.fill(4096, &mut write);
                let mut again = [1; 2000];
                pattern.fill(4096, &mut again);
                assert_eq!(write, again);
            }
        }
    }
    read::faults(text, &bases).map_or_else(|error| is_inside(text, &error), drop);
    read::crash(text, &bases).map_or_else(|error| is_inside(text, &error), drop);
});
