//! Any bytes as answers of a server: `cargo +nightly fuzz run http_response`.
#![no_main]

use fiord_formats::http::{
    HttpEvent, HttpMethod, HttpReader, ListScan, PartList, RefusalText, UploadEnd, encode_path,
    encode_text, upload_id,
};
use libfuzzer_sys::fuzz_target;

const LIMIT: u64 = 1 << 16;

/// Reads answers until the bytes are used up. Returns what they contained.
fn read(method: HttpMethod, bytes: &[u8], step: usize) -> (Vec<u16>, Vec<u8>, bool) {
    let mut reader = HttpReader::new();
    let (mut statuses, mut bodies) = (Vec::new(), Vec::new());
    reader.begin(method, LIMIT);
    for piece in bytes.chunks(step) {
        let mut input = piece;
        loop {
            match reader.next(&mut input) {
                Err(_) => return (statuses, bodies, false),
                Ok(HttpEvent::More) => break,
                Ok(HttpEvent::Head) => statuses.push(reader.status()),
                Ok(HttpEvent::Body(data)) => {
                    assert!(!data.is_empty());
                    bodies.extend_from_slice(data);
                }
                Ok(HttpEvent::Complete) => {
                    if reader.closes() {
                        return (statuses, bodies, true);
                    }
                    reader.begin(method, LIMIT);
                }
            }
        }
    }
    let complete = reader.end().is_ok();
    (statuses, bodies, complete)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let method = if choice & 1 == 0 { HttpMethod::Get } else { HttpMethod::Head };
    let whole = read(method, bytes, bytes.len().max(1));
    let pieces = read(method, bytes, usize::from(choice >> 1).max(1));
    assert_eq!(whole, pieces);
    let (mut list, mut parts) = (ListScan::default(), ListScan::default());
    list.read(bytes);
    bytes.chunks(usize::from(choice >> 1).max(1)).for_each(|piece| parts.read(piece));
    assert_eq!(list, parts);
    assert!(RefusalText::read(bytes).message.len() < 2000);
    let _ = UploadEnd::read(bytes);
    if let Some(id) = upload_id(bytes) {
        assert!(
            encode_text(&id)
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte))
        );
    }
    let mut parts = PartList::new();
    parts.add(&String::from_utf8_lossy(bytes));
    assert_eq!(parts.document().matches('<').count(), 8);
    let encoded = encode_path(bytes);
    assert_eq!(encode_path(encoded.as_bytes()), encoded);
});
