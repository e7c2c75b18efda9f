//! The documents in which servers say why they refused a request.

/// Maximum length of the text of a refusal, in characters.
const MAX_TEXT: usize = 300;

/// Why a server refused a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RefusalText {
    /// The word that S3 has for the reason, such as `NoSuchBucket`. Empty if the document has none.
    pub code: String,
    /// A sentence. Empty if the document has none.
    pub message: String,
}

impl RefusalText {
    /// Reads the body of an answer: an error document of S3, or the first lines of a text. A page in HTML has no
    /// message, because it repeats the status.
    #[must_use]
    pub fn read(body: &[u8]) -> RefusalText {
        let text = String::from_utf8_lossy(&body[..body.len().min(64 << 10)]);
        let start = text.trim_start();
        let is_markup = start.starts_with('<');
        if !is_markup {
            return RefusalText { code: String::new(), message: tidy(start) };
        }
        RefusalText { code: element(&text, "Code"), message: element(&text, "Message") }
    }
}

/// The text of the first element with this name.
fn element(document: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let inside = document.split_once(&open).and_then(|(_, rest)| rest.split_once(&close));
    inside.map_or_else(String::new, |(text, _)| tidy(&unescape(text)))
}

/// Replaces the entities of XML.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let known = [("lt;", '<'), ("gt;", '>'), ("quot;", '"'), ("apos;", '\''), ("#39;", '\'')];
        let entity = known.iter().find(|(entity, _)| after.starts_with(entity));
        let (entity, character) = entity.copied().unwrap_or(("", '&'));
        plain.push(character);
        rest = match entity {
            "" => after.strip_prefix("amp;").unwrap_or(after),
            entity => &after[entity.len()..],
        };
    }
    plain.push_str(rest);
    plain
}

/// One line without control characters, of limited length.
fn tidy(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_document_of_s3_has_a_code_and_a_message() {
        let body = b"<?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>The bucket &lt;a&amp;b&gt; does\nnot exist</Message></Error>";
        let refusal = RefusalText::read(body);
        assert_eq!(refusal.code, "NoSuchBucket");
        assert_eq!(refusal.message, "The bucket <a&b> does not exist");
    }

    #[test]
    fn plain_text_is_a_message_and_a_page_is_none() {
        assert_eq!(RefusalText::read(b" no\r\nspace\x1b[1m ").message, "no space [1m");
        let page = b"<html><head><title>404 Not Found</title></head></html>";
        assert_eq!(RefusalText::read(page), RefusalText::default());
        assert_eq!(RefusalText::read(&[b'x'; 1000]).message.len(), 303);
    }

    proptest! {
        #[test]
        fn any_body_is_one_short_line(body in prop::collection::vec(any::<u8>(), 0..600)) {
            let refusal = RefusalText::read(&body);
            for text in [refusal.code, refusal.message] {
                prop_assert!(text.chars().count() <= MAX_TEXT + 3 && !text.chars().any(char::is_control));
            }
        }
    }
}
