//! Uploads of an object in parts: what S3 answers at their beginning and at their end, and the list of parts.

/// Maximum number of parts of an object that S3 accepts.
pub const MAX_PARTS: u32 = 10_000;

/// Maximum length of the identifier of an upload, in bytes.
const MAX_ID: usize = 4096;

/// The identifier of an upload, from the answer to the request that begins it. `None` if the document is something else.
///
/// ```
/// use fiord_formats::http::upload_id;
///
/// let document = b"<InitiateMultipartUploadResult><UploadId>a&amp;b</UploadId></InitiateMultipartUploadResult>";
/// assert_eq!(upload_id(document).as_deref(), Some("a&b"));
/// assert_eq!(upload_id(b"<Error><UploadId>a</UploadId></Error>"), None);
/// ```
#[must_use]
pub fn upload_id(document: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(document).ok()?;
    if root(text)? != "InitiateMultipartUploadResult" {
        return None;
    }
    let (id, _) = text.split_once("<UploadId>")?.1.split_once("</UploadId>")?;
    let id = super::refusal::unescape(id.trim());
    let is_usable = !id.is_empty() && id.len() <= MAX_ID && !id.contains(char::is_control);
    is_usable.then_some(id)
}

/// What a server answers, with status 200, to the request that completes an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadEnd {
    /// The object exists.
    Complete,
    /// The upload failed after the server had sent the status. The document says why ([`super::RefusalText`]).
    Refused,
    /// Another document.
    Unknown,
}

impl UploadEnd {
    /// Reads the body of the answer. Servers may send white space before the document, to keep the connection alive.
    #[must_use]
    pub fn read(document: &[u8]) -> UploadEnd {
        // Only the root matters, and the text after it may be cut in the middle of a character.
        match root(&String::from_utf8_lossy(document)) {
            // `CompleteMultipartUploadResult`; moto ends it with `Response`.
            Some(name) if name.starts_with("CompleteMultipartUpload") => UploadEnd::Complete,
            Some("Error") => UploadEnd::Refused,
            _ => UploadEnd::Unknown,
        }
    }
}

/// The name of the root element of a document, without its prefix.
fn root(document: &str) -> Option<&str> {
    let mut rest = document.trim_start_matches('\u{feff}').trim_start();
    loop {
        rest = if let Some(after) = rest.strip_prefix("<?") {
            after.split_once("?>")?.1.trim_start()
        } else if let Some(after) = rest.strip_prefix("<!--") {
            after.split_once("-->")?.1.trim_start()
        } else {
            break;
        };
    }
    let inside = rest.strip_prefix('<')?;
    let end = inside.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
    let name = &inside[..end];
    Some(name.split_once(':').map_or(name, |(_, local)| local))
}

/// The document that lists the parts of an upload, for the request that completes it.
///
/// ```
/// use fiord_formats::http::PartList;
///
/// let mut list = PartList::new();
/// list.add("\"0cc1\"");
/// assert!(list.document().ends_with(
///     "<Part><PartNumber>1</PartNumber><ETag>\"0cc1\"</ETag></Part></CompleteMultipartUpload>"
/// ));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartList {
    parts: String,
    count: u32,
}

impl PartList {
    /// A list without parts.
    #[must_use]
    pub const fn new() -> PartList {
        PartList { parts: String::new(), count: 0 }
    }

    /// Removes all parts.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.count = 0;
    }

    /// Adds the next part. `tag`: the value of the header `ETag` in the answer to its request.
    pub fn add(&mut self, tag: &str) {
        use std::fmt::Write as _;
        self.count += 1;
        // Writing to a string cannot fail.
        let _ = write!(self.parts, "<Part><PartNumber>{}</PartNumber><ETag>", self.count);
        for character in tag.chars() {
            match character {
                '&' => self.parts.push_str("&amp;"),
                '<' => self.parts.push_str("&lt;"),
                '>' => self.parts.push_str("&gt;"),
                other => self.parts.push(other),
            }
        }
        self.parts.push_str("</ETag></Part>");
    }

    #[must_use]
    pub fn document(&self) -> String {
        format!(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{}</CompleteMultipartUpload>",
            self.parts
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::RefusalText;
    use super::*;

    #[test]
    fn an_upload_has_the_identifier_of_its_document() {
        let document = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<InitiateMultipartUploadResult \
                        xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>b</Bucket><Key>k</Key>\
                        <UploadId>VXBs.b2Fk-_</UploadId></InitiateMultipartUploadResult>";
        assert_eq!(upload_id(document.as_bytes()).as_deref(), Some("VXBs.b2Fk-_"));
        for wrong in [
            "",
            "<html><UploadId>x</UploadId></html>",
            "<InitiateMultipartUploadResult/>",
            "<InitiateMultipartUploadResult><UploadId> </UploadId></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><UploadId>a\r\nX: y</UploadId></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><UploadId>cut",
        ] {
            assert_eq!(upload_id(wrong.as_bytes()), None, "{wrong}");
        }
        let long = "x".repeat(MAX_ID + 1);
        let document = format!("<InitiateMultipartUploadResult><UploadId>{long}</UploadId>");
        assert_eq!(upload_id(document.as_bytes()), None);
    }

    #[test]
    fn an_error_within_a_success_is_a_refusal() {
        let error = b"  \n <?xml version=\"1.0\"?><!-- x -->\n<Error><Code>InternalError</Code><Message>Try again</Message></Error>";
        assert_eq!(UploadEnd::read(error), UploadEnd::Refused);
        assert_eq!(RefusalText::read(error).code, "InternalError");
        let good = b"<s3:CompleteMultipartUploadResult xmlns:s3=\"x\"><Key>Error</Key></s3:CompleteMultipartUploadResult>";
        assert_eq!(UploadEnd::read(good), UploadEnd::Complete);
        assert_eq!(UploadEnd::read(b"<CompleteMultipartUploadResult>\xff"), UploadEnd::Complete);
        for other in [
            &b""[..],
            b"   ",
            b"<html>",
            b"<Errors/>",
            b"<?xml",
            b"<!-- <Error>",
            b"Error",
            b"<Error",
        ] {
            assert_eq!(UploadEnd::read(other), UploadEnd::Unknown, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(document in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (upload_id(&document), UploadEnd::read(&document));
        }

        #[test]
        fn documents_of_elements_are_read(document in "(<\\?xml\\?>|<!--|-->|<Error>|<InitiateMultipartUploadResult>|<UploadId>|</UploadId>|a|&lt;| ){0,12}") {
            let id = upload_id(document.as_bytes());
            let is_first = root(&document) == Some("InitiateMultipartUploadResult");
            prop_assert!(id.is_none() || is_first);
            prop_assert_eq!(UploadEnd::read(document.as_bytes()) == UploadEnd::Refused, root(&document) == Some("Error"));
        }

        #[test]
        fn tags_survive_in_the_list(tags in prop::collection::vec("[ -~]{1,40}", 1..20)) {
            let mut list = PartList::new();
            tags.iter().for_each(|tag| list.add(tag));
            let document = list.document();
            let found: Vec<_> = document.split("<ETag>").skip(1).map(|rest| {
                super::super::refusal::unescape(rest.split_once("</ETag>").unwrap().0)
            }).collect();
            prop_assert_eq!(&found, &tags);
            let last = format!("<PartNumber>{}</PartNumber>", tags.len());
            prop_assert!(document.contains(&last));
            list.clear();
            prop_assert_eq!(list, PartList::new());
        }
    }
}
