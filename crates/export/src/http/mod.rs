//! Metrics over HTTP: what a request gets. Sockets are in [`server`].
//!
//! ```
//! use fiord_export::http::answer;
//! use fiord_export::metrics::MetricsState;
//!
//! let state = MetricsState::new("fiord", ["a".to_owned()]);
//! let answer = answer(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", &state);
//! assert!(answer.bytes.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.has_metrics);
//! ```

pub mod server;

use crate::metrics::{ExpositionFormat, MetricsState};

/// Maximum length of a request that is read, bytes.
const MAX_REQUEST: usize = 8 << 10;

/// What `/` shows.
const INDEX: &str = "fiord serves metrics for Prometheus at /metrics\n";

/// The answer to a request.
#[derive(Debug)]
pub struct HttpAnswer {
    /// The whole response.
    pub bytes: Vec<u8>,
    /// The response contains the metrics.
    pub has_metrics: bool,
}

/// Whether the bytes received so far are a whole request, or more than a request may have.
fn is_complete(received: &[u8]) -> bool {
    received.len() >= MAX_REQUEST || received.windows(4).any(|end| end == b"\r\n\r\n")
}

/// The answer to a request: its first line and its header lines, with the empty line at their end.
#[must_use]
pub fn answer(request: &[u8], state: &MetricsState) -> HttpAnswer {
    let text = String::from_utf8_lossy(request);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return match request.len() >= MAX_REQUEST {
            true => plain("431 Request Header Fields Too Large", "The request is too long.\n", ""),
            false => plain("400 Bad Request", "The request is not complete.\n", ""),
        };
    };
    let (first, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return plain("400 Bad Request", "This is not an HTTP request.\n", "");
    };
    if !version.starts_with("HTTP/1.") {
        return plain("505 HTTP Version Not Supported", "This is HTTP/1.1.\n", "");
    }
    if method != "GET" && method != "HEAD" {
        let text = "Only GET and HEAD are allowed.\n";
        return plain("405 Method Not Allowed", text, "Allow: GET, HEAD\r\n");
    }
    let mut answer = match target.split('?').next() {
        Some("/metrics") => {
            let format = negotiated(&accepted(headers));
            HttpAnswer {
                bytes: response("200 OK", format.content_type(), "", &state.written(format)),
                has_metrics: method == "GET",
            }
        }
        Some("/") => plain("200 OK", INDEX, ""),
        _ => plain("404 Not Found", INDEX, ""),
    };
    if method == "HEAD"
        && let Some(end) = answer.bytes.windows(4).position(|end| end == b"\r\n\r\n")
    {
        answer.bytes.truncate(end + 4);
    }
    answer
}

fn plain(status: &str, text: &str, headers: &str) -> HttpAnswer {
    let bytes = response(status, "text/plain; charset=utf-8", headers, text.as_bytes());
    HttpAnswer { bytes, has_metrics: false }
}

fn response(status: &str, content_type: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{headers}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The values of all `Accept` headers, as one list.
fn accepted(headers: &str) -> String {
    let accept = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("accept").then(|| value.trim().to_owned())
    };
    headers.split("\r\n").filter_map(accept).collect::<Vec<_>>().join(",")
}

/// The format that the client likes best. Without one that is known here, the text format.
fn negotiated(accept: &str) -> ExpositionFormat {
    let mut best = (0.0, ExpositionFormat::Text);
    for choice in accept.split(',') {
        let mut parts = choice.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let has = |name: &str, value: &str| {
            parameters.iter().all(|(key, is)| *key != name || is.trim_matches('"') == value)
        };
        let format = match kind.as_str() {
            "application/vnd.google.protobuf"
                if has("proto", "io.prometheus.client.MetricFamily")
                    && has("encoding", "delimited") =>
            {
                ExpositionFormat::Protobuf
            }
            "application/openmetrics-text" => ExpositionFormat::OpenMetrics,
            "text/plain" => ExpositionFormat::Text,
            _ => continue,
        };
        let weight = parameters.iter().find(|(key, _)| *key == "q");
        let weight = weight.map_or(1.0, |(_, weight)| weight.parse::<f64>().unwrap_or(0.0));
        if weight > best.0 {
            best = (weight, format);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> MetricsState {
        MetricsState::new("fiord", ["a".to_owned()])
    }

    fn status(request: &str) -> String {
        let answer = answer(request.as_bytes(), &state());
        let text = String::from_utf8_lossy(&answer.bytes).into_owned();
        text.lines().next().unwrap().trim_start_matches("HTTP/1.1 ").to_owned()
    }

    #[test]
    fn every_request_gets_an_answer() {
        for (request, expected) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", "200 OK"),
            ("GET /metrics?name=a HTTP/1.0\r\nHost: a\r\n\r\n", "200 OK"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK"),
            ("GET / HTTP/1.1\r\n\r\n", "200 OK"),
            ("GET /etc/passwd HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics HTTP/2.0\r\n\r\n", "505 HTTP Version Not Supported"),
            ("GET /metrics\r\n\r\n", "400 Bad Request"),
            ("\r\n\r\n", "400 Bad Request"),
            ("GET /metrics HTTP/1.1\r\n", "400 Bad Request"),
            ("", "400 Bad Request"),
        ] {
            assert_eq!(status(request), expected, "{request:?}");
        }
        let long = format!("GET /{} HTTP/1.1", "a".repeat(MAX_REQUEST));
        assert_eq!(status(&long), "431 Request Header Fields Too Large");
        assert!(is_complete(long.as_bytes()));
    }

    #[test]
    fn a_head_request_gets_the_length_only() {
        let answer = answer(b"HEAD /metrics HTTP/1.1\r\n\r\n", &state());
        assert!(answer.bytes.ends_with(b"\r\n\r\n") && !answer.has_metrics);
    }

    /// The first two headers are those of Prometheus 2.42, without and with native histograms.
    #[test]
    fn the_client_chooses_the_format() {
        use ExpositionFormat::{OpenMetrics, Protobuf, Text};
        const NATIVE: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                              application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;\
                              q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, expected) in [
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            (NATIVE, Protobuf),
            ("application/vnd.google.protobuf;proto=other;encoding=delimited", Text),
            ("text/html,*/*;q=0.8", Text),
            ("text/plain;q=0.5,application/openmetrics-text;q=0.4", Text),
            ("", Text),
        ] {
            assert_eq!(negotiated(&accepted(&format!("accept: {accept}"))), expected, "{accept}");
        }
    }
}
