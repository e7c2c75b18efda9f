//! What `http_verbose` prints: the heads of requests and answers, without secrets.

use std::io::Write;

use fiord_formats::http::HttpReader;
use fiord_plan::HttpVerbosity;

use super::request::SECRET_HEADERS;

/// Prints the head of a request, and the length of its body if that is wanted.
#[cold]
pub(super) fn sent(head: &[u8], body: usize, verbose: HttpVerbosity) {
    // The request that completes an upload has its body in the same buffer.
    let end = head.windows(4).position(|four| four == b"\r\n\r\n").map_or(head.len(), |at| at + 4);
    let (head, more) = head.split_at(end);
    let mut text = masked(&String::from_utf8_lossy(head), "> ");
    let body = body + more.len();
    if verbose == HttpVerbosity::Lengths && body > 0 {
        text.push_str(&format!("> ({body} bytes)\n"));
    }
    print(&text);
}

/// Prints the head of an answer.
#[cold]
pub(super) fn received(reader: &HttpReader) {
    print(&masked(&reader.head_text(), "< "));
}

/// The lines of a head with the values of secret headers replaced.
fn masked(head: &str, mark: &str) -> String {
    let mut text = String::new();
    for line in head.lines() {
        let name = line.split(':').next().unwrap_or_default();
        let secret = SECRET_HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
        let line = if secret { format!("{name}: ***") } else { line.to_owned() };
        text.push_str(&format!("{mark}{line}\n"));
    }
    text
}

/// Writes to standard error. If standard error is closed, the text is lost and the job continues.
fn print(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_headers_are_not_printed() {
        let head = "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic abc\r\nX-AMZ-Security-Token: t\r\n\r\n";
        let shown = masked(head, "> ");
        assert_eq!(
            shown,
            "> GET / HTTP/1.1\n> Host: h\n> Authorization: ***\n> X-AMZ-Security-Token: ***\n> \n"
        );
    }
}
