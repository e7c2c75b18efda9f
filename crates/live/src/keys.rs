//! Keys, from the bytes that a terminal sends.

/// A key that the view knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKey {
    /// A key that types a character.
    Char(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    F1,
    /// Ctrl-L.
    Redraw,
}

/// The keys in the bytes of one read. A terminal sends all bytes of a key at once, so an escape character without more is
/// the key Escape. Unknown keys are left out.
#[must_use]
pub fn keys(bytes: &[u8]) -> Vec<LiveKey> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    let mut keys = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (key, length) = match first {
            '\x1b' => sequence(rest),
            '\r' | '\n' => (Some(LiveKey::Enter), 1),
            '\t' => (Some(LiveKey::Tab), 1),
            '\x08' | '\x7f' => (Some(LiveKey::Backspace), 1),
            '\x0c' => (Some(LiveKey::Redraw), 1),
            key if key.is_control() => (None, key.len_utf8()),
            key => (Some(LiveKey::Char(key)), key.len_utf8()),
        };
        keys.extend(key);
        rest = &rest[length..];
    }
    keys
}

/// The key at the beginning of a text that starts with an escape character, and its length (ECMA-48, and xterm's
/// control sequences): `ESC [`, parameters, a letter or `~`; or `ESC O` and a letter.
fn sequence(text: &str) -> (Option<LiveKey>, usize) {
    let Some(body) = text.get(1..).filter(|body| body.starts_with(['[', 'O'])) else {
        return (Some(LiveKey::Escape), 1);
    };
    let is_last = |c: char| c.is_ascii_alphabetic() || c == '~';
    let Some(end) = body[1..].find(is_last) else { return (None, text.len()) };
    let key = match &body[1..end + 2] {
        "A" => Some(LiveKey::Up),
        "B" => Some(LiveKey::Down),
        "C" => Some(LiveKey::Right),
        "D" => Some(LiveKey::Left),
        "H" | "1~" | "7~" => Some(LiveKey::Home),
        "F" | "4~" | "8~" => Some(LiveKey::End),
        "5~" => Some(LiveKey::PageUp),
        "6~" => Some(LiveKey::PageDown),
        "P" | "11~" => Some(LiveKey::F1),
        _ => None,
    };
    (key, end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_and_sequences() {
        use LiveKey::*;
        assert_eq!(keys(b"q\r\x7f"), [Char('q'), Enter, Backspace]);
        assert_eq!(keys(b"\x1b"), [Escape]);
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[5~\x1b[1;5C x"),
            [Up, Down, PageUp, Char(' '), Char('x')]
        );
        assert_eq!(keys("ä\x0c".as_bytes()), [Char('ä'), Redraw]);
    }

    #[test]
    fn no_input_is_too_strange() {
        let all: Vec<u8> = (0..=255).collect();
        for length in 0..all.len() {
            let _ = (keys(&all[..length]), keys(&all[length..]));
        }
        for broken in ["\x1b[", "\x1bO", "\x1b[1", "\x1b\x1b[A", "\x1b[ä~", "\x1b[<0;1;1M"] {
            let _ = keys(broken.as_bytes());
        }
        assert_eq!(keys(b"\x1b\x1b[A"), [LiveKey::Escape, LiveKey::Up]);
    }
}
