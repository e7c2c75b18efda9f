//! Paths of objects.

/// Encodes the path of an object for a request. The characters that RFC 3986 does not reserve and slashes stay, and
/// so does a valid escape (`%20`), because the name may be encoded already. Everything else becomes an escape. The
/// result is also the path that a signature of S3 covers.
///
/// ```
/// use fiord_formats::http::encode_path;
///
/// assert_eq!(encode_path(b"/bucket/a b+c%2f~"), "/bucket/a%20b%2Bc%2F~");
/// ```
#[must_use]
pub fn encode_path(path: &[u8]) -> String {
    let mut encoded = String::with_capacity(path.len());
    let mut at = 0;
    while let Some(&byte) = path.get(at) {
        at += 1;
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            encoded.push(byte as char);
            continue;
        }
        encoded.push('%');
        let digits = path.get(at..at + 2);
        match digits.filter(|two| byte == b'%' && two.iter().all(u8::is_ascii_hexdigit)) {
            Some(two) => {
                encoded.extend(two.iter().map(|digit| digit.to_ascii_uppercase() as char));
                at += 2;
            }
            None => encoded.push_str(&format!("{byte:02X}")),
        }
    }
    encoded
}

/// Encodes a value in the query of a request, as [`encode_path`] does, with the slashes.
#[must_use]
pub fn encode_query(value: &[u8]) -> String {
    encode_path(value).replace('/', "%2F")
}

/// Encodes a value in the query of a request that is not encoded already: percent signs are characters as all others.
///
/// ```
/// assert_eq!(fiord_formats::http::encode_text("a%2F/b"), "a%252F%2Fb");
/// ```
#[must_use]
pub fn encode_text(value: &str) -> String {
    encode_query(value.replace('%', "%25").as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_encoded_path_is_safe_and_encoding_it_again_changes_nothing(path in prop::collection::vec(any::<u8>(), 0..64)) {
            let encoded = encode_path(&path);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?' && byte != b'#'));
            prop_assert_eq!(encode_path(encoded.as_bytes()), encoded);
        }
    }

    #[test]
    fn percent_signs_without_digits_are_encoded() {
        assert_eq!(encode_path(b"/100%"), "/100%25");
        assert_eq!(encode_path(b"/a%zz%2"), "/a%25zz%252");
        assert_eq!(encode_query(b"k/e y&"), "k%2Fe%20y%26");
        assert_eq!(encode_path("/ä?".as_bytes()), "/%C3%A4%3F");
    }
}
