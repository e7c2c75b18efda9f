//! Texts without characters that a terminal obeys.

use std::borrow::Cow;

/// A text for a terminal or a line of output: characters that [`is_obeyed`] names become question marks. Names of jobs and
/// files may come from elsewhere, and could hide or forge output.
///
/// ```
/// assert_eq!(fiord_types::plain("a\u{1b}[31mb\tc\n"), "a?[31mb\tc\n");
/// ```
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    match text.contains(is_obeyed) {
        true => text.chars().map(|c| if is_obeyed(c) { '?' } else { c }).collect::<String>().into(),
        false => text.into(),
    }
}

/// Whether a terminal obeys a character instead of showing it: control characters other than line ends and tabs, and
/// characters that change the direction of text.
#[must_use]
pub const fn is_obeyed(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_terminal_obeys_are_replaced() {
        assert_eq!(
            plain("\u{1b}[2J\u{9b}31m\u{7f}\r\u{202e}x\u{2066}y\u{200f}z\0"),
            "?[2J?31m???x?y?z?"
        );
        for text in ["", "a\tb\nc", "Zürich “ok” ☃ \u{10ffff} \u{a0}"] {
            assert!(matches!(plain(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
