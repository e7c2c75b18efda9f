//! Makes the texts of a host harmless. They end up on the user's terminal, where control characters could hide or forge
//! output. This works on the JSON of a message before it is read, so no text of any message is forgotten.

use fiord_types::is_obeyed;

/// Replaces control characters other than line ends and tabs, and characters that change the direction of text, by question
/// marks. `bytes` is a message (see [`crate::message`]); bytes after its JSON stay as they are.
pub(super) fn tame(bytes: &mut [u8]) {
    let Some((head, rest)) = bytes.split_first_chunk_mut::<4>() else { return };
    let length = rest.len().min(u32::from_le_bytes(*head) as usize);
    let json = &mut rest[..length];
    let mut at = 0;
    while at < json.len() {
        at += match &mut json[at..] {
            // Characters that JSON escapes: \b, \f, \r and \u0000 to \u001f.
            [b'\\', b'u', digits @ ..] if digits.len() >= 4 => {
                if is_bad_escape(&digits[..4]) {
                    digits[..4].copy_from_slice(b"003f");
                }
                6
            }
            [b'\\', letter, ..] => {
                if matches!(letter, b'b' | b'f' | b'r') {
                    *letter = b'n';
                }
                2
            }
            [delete @ 0x7f, ..] => {
                *delete = b'?';
                1
            }
            // U+0080 to U+009f.
            [first @ 0xc2, second @ 0x80..=0x9f, ..] => {
                (*first, *second) = (b'?', b'?');
                2
            }
            // U+061c.
            [first @ 0xd8, second @ 0x9c, ..] => {
                (*first, *second) = (b'?', b'?');
                2
            }
            // U+200e, U+200f, U+202a to U+202e, U+2066 to U+2069.
            [first @ 0xe2, second @ 0x80, third @ (0x8e | 0x8f | 0xaa..=0xae), ..]
            | [first @ 0xe2, second @ 0x81, third @ 0xa6..=0xa9, ..] => {
                (*first, *second, *third) = (b'?', b'?', b'?');
                3
            }
            _ => 1,
        };
    }
}

/// Whether four hexadecimal digits are a character that is replaced.
fn is_bad_escape(digits: &[u8]) -> bool {
    let text = std::str::from_utf8(digits).unwrap_or_default();
    let code = u32::from_str_radix(text, 16).ok();
    // A half of a surrogate pair is a part of a character above those that a terminal obeys.
    code.and_then(char::from_u32).is_some_and(is_obeyed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{FromHost, decode, encode};

    fn tamed(text: &str) -> String {
        let mut bytes = encode(&FromHost::Refused { text: text.to_owned() }, b"\x7f\\r");
        tame(&mut bytes);
        match decode(&bytes) {
            Ok((FromHost::Refused { text }, b"\x7f\\r")) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(tamed("a\u{1b}[31mb\u{7f}c\u{9b}d\u{202e}e\u{2066}f"), "a?[31mb?c??d???e???f");
        assert_eq!(tamed("a\u{61c}b"), "a??b");
        assert_eq!(tamed("line\r\nnext\ttab \u{8}\u{c}"), "line\n\nnext\ttab \n\n");
    }

    #[test]
    fn other_texts_stay() {
        for text in ["", "C:\\u001b\\\\u001b\\r", "Zürich “ok” ☃ \u{10ffff}", "\"\\\""] {
            assert_eq!(tamed(text), text);
        }
    }

    #[test]
    fn broken_messages_stay_broken() {
        for bytes in [
            &b""[..],
            b"\x01",
            b"\xff\xff\xff\xff\\",
            b"\x05\0\0\0\\u00",
            b"\x02\0\0\0\xe2\x80\x8e",
        ] {
            let mut copy = bytes.to_vec();
            tame(&mut copy);
            assert_eq!(copy.len(), bytes.len());
            assert!(decode::<FromHost>(&copy).is_err());
        }
    }
}
