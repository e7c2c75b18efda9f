//! Requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a request asks the server to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// Return an object, or a part of it.
    Get,
    /// Return what is known about an object.
    Head,
    /// Store an object.
    Put,
    /// Begin or end something, such as an upload in parts.
    Post,
    /// Remove an object.
    Delete,
}

impl HttpMethod {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            HttpMethod::Get => "GET",
            HttpMethod::Head => "HEAD",
            HttpMethod::Put => "PUT",
            HttpMethod::Post => "POST",
            HttpMethod::Delete => "DELETE",
        }
    }
}

/// Writes the first line of a request and the header `Host`. The caller adds headers, each with `\r\n`, and an empty
/// line. `target` is a path that is encoded ([`super::encode_path`]), with the query.
pub fn start_request(to: &mut Vec<u8>, method: HttpMethod, target: &[u8], host: &str) {
    to.extend_from_slice(method.word().as_bytes());
    to.push(b' ');
    to.extend_from_slice(target);
    to.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    to.extend_from_slice(host.as_bytes());
    to.extend_from_slice(b"\r\n");
}

/// Data as base64 with padding.
#[must_use]
pub fn base64_of(data: &[u8]) -> String {
    STANDARD.encode(data)
}

/// The value of the header `Authorization` for a user with a password (RFC 7617).
#[must_use]
pub fn basic_credentials(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_line_and_a_host() {
        let mut bytes = Vec::new();
        start_request(&mut bytes, HttpMethod::Get, b"/a_0_4096", "localhost:80");
        assert_eq!(bytes, b"GET /a_0_4096 HTTP/1.1\r\nHost: localhost:80\r\n");
    }

    #[test]
    fn credentials_are_those_of_the_standard() {
        let value = basic_credentials("Aladdin", "open sesame");
        assert_eq!(value, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
