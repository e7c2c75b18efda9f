//! Results inside an HTML page: the data that `--html` and `fiord report` put into their pages.
//!
//! A page has one element for each result. Its contents are the result's JSON, compressed (zlib, RFC 1950) and in base64:
//!
//! ```html
//! <script type="application/x-fiord-result" data-name="NAME" data-encoding="zlib+base64">…</script>
//! ```
//!
//! Browsers do not run a script of an unknown type, so the element is inert. `fiord compare` and `fiord report` read it
//! back, and so does any program with base64 and zlib.

use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// How an element with a result begins.
const OPEN: &str = "<script type=\"application/x-fiord-result\" data-name=\"";
/// What stands between the name and the contents.
const ENCODING: &str = "\" data-encoding=\"zlib+base64\">";
/// How the element ends.
const CLOSE: &str = "</script>";
/// Maximum length of a result that is read, bytes of JSON: a damaged or hostile page must not fill the memory.
const MAX_RESULT: u64 = 2 << 30;

/// A result that was found in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedResult {
    /// Name of the result: the file that the user named, or the name of the run.
    pub name: String,
    /// JSON of the result: a report, or the results of a sweep or a suite.
    pub json: String,
}

/// Why the data of a page cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// An element has no end.
    #[error("the page is truncated: its data has no end")]
    Truncated,
    /// The contents of an element are not base64.
    #[error("the data of the page is not base64: {0}")]
    NotBase64(#[from] base64::DecodeError),
    /// The contents cannot be decompressed, or are not text.
    #[error("the data of the page is damaged: {0}")]
    Damaged(#[from] io::Error),
}

/// Whether a text is a page with results.
#[must_use]
pub fn is_page(text: &str) -> bool {
    let start = text.trim_start().as_bytes();
    let html = |word: &[u8]| start.get(..word.len()).is_some_and(|s| s.eq_ignore_ascii_case(word));
    (html(b"<!doctype html") || html(b"<html")) && text.contains(OPEN)
}

/// Writes the element for a result. The name must be plain text; it is escaped.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub fn embed(name: &str, json: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(json)?;
    let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let name = name.replace('"', "&quot;").replace(char::is_control, "\u{fffd}");
    let data = STANDARD.encode(encoder.finish()?);
    write!(out, "{OPEN}{name}{ENCODING}{data}{CLOSE}")
}

/// Reads all results of a page; none if the text is not a page with results.
///
/// ```
/// use fiord_report::embedded::{embed, embedded};
///
/// let mut page = b"<!doctype html><title>x</title>".to_vec();
/// embed("a<b", b"{}", &mut page)?;
/// let results = embedded(std::str::from_utf8(&page)?)?;
/// assert_eq!((results[0].name.as_str(), results[0].json.as_str()), ("a<b", "{}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The data of the page is truncated or damaged.
pub fn embedded(page: &str) -> Result<Vec<EmbeddedResult>, EmbeddedError> {
    let mut results = Vec::new();
    if !is_page(page) {
        return Ok(results);
    }
    // Names are escaped, so neither a name nor a job can contain the start of an element.
    for part in page.split(OPEN).skip(1) {
        let (element, _) = part.split_once(CLOSE).ok_or(EmbeddedError::Truncated)?;
        let (name, data) = element.split_once(ENCODING).ok_or(EmbeddedError::Truncated)?;
        let compressed = STANDARD.decode(data.trim())?;
        let mut json = String::new();
        ZlibDecoder::new(&compressed[..]).take(MAX_RESULT).read_to_string(&mut json)?;
        let name = name.replace("&quot;", "\"").replace("&gt;", ">").replace("&lt;", "<");
        results.push(EmbeddedResult { name: name.replace("&amp;", "&"), json });
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(results: &[(&str, &str)]) -> String {
        let mut page = b"<!DOCTYPE html><p>x</p>".to_vec();
        for (name, json) in results {
            embed(name, json.as_bytes(), &mut page).unwrap();
        }
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn names_and_results_survive() {
        let names = [("a \"b\" &lt; <script>", "{\"x\":\"é\"}"), ("", ""), ("2", "{}")];
        let read = embedded(&page(&names)).unwrap();
        let read: Vec<_> = read.iter().map(|r| (r.name.as_str(), r.json.as_str())).collect();
        assert_eq!(read, names);
        assert_eq!(embedded("{\"jobs\": []}").unwrap(), []);
        assert_eq!(embedded("<!doctype html><p>another page").unwrap(), []);
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let whole = page(&[("a", "{\"jobs\" : [1, 2, 3, 4, 5, 6, 7]}")]);
        for cut in whole.find(OPEN).unwrap() + OPEN.len()..whole.len() {
            assert!(embedded(&whole[..cut]).is_err(), "{cut}");
        }
        let start = whole.find(ENCODING).unwrap() + ENCODING.len();
        for at in start..whole.len() - CLOSE.len() {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            // The checksum of zlib notices other bytes, unless they are unused bits of base64.
            let result = embedded(std::str::from_utf8(&bytes).unwrap());
            assert!(result.is_err() || result.unwrap() == embedded(&whole).unwrap(), "{at}");
        }
    }
}
