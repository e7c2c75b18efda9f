//! Why a request failed, and what the user can do.

use fiord_formats::http::{HttpError, HttpReader, RefusalText};
use fiord_plan::HttpMode;
use fiord_types::Errno;

use crate::error::FailureCause;

/// A request that failed.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) errno: Errno,
    /// What happened, and the remedy. Its text is the end of a sentence about the request.
    pub(super) why: FailureCause,
    /// The server closed a connection that had been used before, instead of answering.
    pub(super) is_stale: bool,
    /// The connection failed, or the server is overloaded: the same request may succeed later.
    pub(super) is_passing: bool,
}

impl RequestFailure {
    pub(super) fn new(errno: Errno, why: impl Into<FailureCause>) -> RequestFailure {
        RequestFailure { errno, why: why.into(), is_stale: false, is_passing: false }
    }

    /// Marks a failure as one that may pass.
    pub(super) fn passing(self) -> RequestFailure {
        RequestFailure { is_passing: true, ..self }
    }

    /// The failure of a request whose answer is not valid HTTP.
    pub(super) fn of_answer(error: &HttpError, used: bool) -> RequestFailure {
        let (errno, help) = match error {
            HttpError::NoAnswer => (
                Errno::ECONNRESET,
                Some(
                    "To fix: check the server's log, and check `https` and the port in `http_host`",
                ),
            ),
            HttpError::CutHead | HttpError::CutBody { .. } => (
                Errno::ECONNRESET,
                Some("To fix: check the server's log, and the proxies between here and the server"),
            ),
            HttpError::NotHttp(_) => (
                Errno::EPROTO,
                Some(
                    "To fix: check the port in `http_host`, and `https`: the server may expect TLS",
                ),
            ),
            HttpError::LongBody { .. } => (
                Errno::EMSGSIZE,
                Some("To fix: check that the object was written with the `bs` of this job"),
            ),
            _ => (Errno::EPROTO, None),
        };
        let is_stale = used && *error == HttpError::NoAnswer;
        let is_passing = errno == Errno::ECONNRESET;
        let why = FailureCause { what: error.to_string(), help: help.map(String::from) };
        RequestFailure { errno, why, is_stale, is_passing }
    }

    /// The connection failed.
    pub(super) fn of_connection(errno: Errno, reader: &HttpReader, used: bool) -> RequestFailure {
        let begun = reader.has_begun();
        let place = match (begun, reader.status()) {
            (false, _) => "before an answer",
            (true, 0) => "in the head of the answer",
            (true, _) => "in the body of the answer",
        };
        let reset = matches!(errno, Errno::ECONNRESET | Errno::EPIPE);
        let (what, help) = match reset {
            true => (
                format!(
                    "the server reset the connection {place} ({} bytes of the body had arrived)",
                    reader.received()
                ),
                "To fix: check the server's log",
            ),
            false => (
                format!("the connection failed {place}: {errno}"),
                "To fix: check the network and the server",
            ),
        };
        let why = FailureCause::from(what).help(help);
        let errno = if reset { Errno::ECONNRESET } else { errno };
        RequestFailure { errno, why, is_stale: used && reset && !begun, is_passing: true }
    }

    /// The server refused the request.
    pub(super) fn of_refusal(reader: &HttpReader, body: &[u8], mode: HttpMode) -> RequestFailure {
        let status = reader.status();
        let refusal = RefusalText::read(body);
        let (errno, remedy) = match known_code(&refusal.code) {
            Some(known) => known,
            None => of_status(status, mode),
        };
        let mut what = format!("the server answered {status}");
        if !refusal.code.is_empty() {
            what.push(' ');
            what.push_str(&refusal.code);
        }
        if !refusal.message.is_empty() {
            what.push_str(": ");
            what.push_str(refusal.message.trim_end_matches('.'));
        }
        let place = reader.header("location").filter(|_| (300..400).contains(&status));
        let why = match place {
            Some(place) => {
                // The address may carry a signature.
                let place = place.split('?').next().unwrap_or_default();
                what.push_str(&format!(", and sends the client to {place}"));
                FailureCause::from(what).help("To fix: name that server as `http_host`")
            }
            None if remedy.is_empty() => what.into(),
            None => FailureCause::from(what).help(format!("To fix: {remedy}")),
        };
        let is_passing = matches!(status, 429 | 503) || errno == Errno::EBUSY;
        RequestFailure { errno, why, is_stale: false, is_passing }
    }
}

/// Errno and remedy for a code of S3.
fn known_code(code: &str) -> Option<(Errno, &'static str)> {
    Some(match code {
        "SignatureDoesNotMatch" => (
            Errno::EACCES,
            "check `http_s3_key`: it is not the key of `http_s3_keyid`. Behind a proxy, check that it passes the header \
             `Host` on",
        ),
        "InvalidAccessKeyId" => {
            (Errno::EACCES, "check `http_s3_keyid`: the server does not know it")
        }
        "ExpiredToken" | "TokenRefreshRequired" => (
            Errno::EACCES,
            "request new temporary keys, and set `http_s3_key`, `http_s3_keyid` and `http_s3_security_token`",
        ),
        "InvalidToken" => {
            (Errno::EACCES, "check `http_s3_security_token`: it belongs to the temporary key")
        }
        "RequestTimeTooSkewed" => {
            (Errno::EACCES, "set the clock of this machine, or that of the server")
        }
        "AuthorizationHeaderMalformed" => {
            (Errno::EACCES, "check `http_s3_region`: a signature is valid in one region")
        }
        "AccessDenied" => (Errno::EACCES, "give the key the right to do this in the bucket"),
        "NoSuchBucket" => (
            Errno::ENOENT,
            "create the bucket, or check the first part of `filename`, which names it",
        ),
        "NoSuchKey" => (Errno::ENOENT, MISSING),
        "NoSuchUpload" => (
            Errno::ENOENT,
            "look for a program or a rule of the bucket that removes unfinished uploads, or a longer `endpoint_timeout`",
        ),
        "EntityTooSmall" => {
            (Errno::EINVAL, "set a larger `http_s3_part_size`: most servers want at least 5m")
        }
        "EntityTooLarge" => (Errno::EFBIG, "use a smaller `bs`"),
        "QuotaExceeded" | "XMinioStorageFull" => {
            (Errno::ENOSPC, "delete objects, or raise the quota")
        }
        "SlowDown" | "ServiceUnavailable" | "RequestLimitExceeded" => (Errno::EBUSY, THROTTLED),
        _ => return None,
    })
}

const MISSING: &str = "write the objects first, with the same `bs`, `size` and `http_object_mode`";
const THROTTLED: &str = "use a smaller `iodepth`, `numjobs` or `rate_iops`: the server is overloaded or limits requests";

/// Errno and remedy for a status.
const fn of_status(status: u16, mode: HttpMode) -> (Errno, &'static str) {
    match (status, mode) {
        (400, _) => (Errno::EINVAL, ""),
        (401 | 403, HttpMode::Webdav) => {
            (Errno::EACCES, "check `http_user` and `http_pass`; fiord knows the scheme Basic only")
        }
        (401 | 403, HttpMode::S3) => {
            (Errno::EACCES, "check `http_s3_keyid`, `http_s3_key` and the rights of the key")
        }
        (401 | 403, HttpMode::Swift) => {
            (Errno::EACCES, "request a new token, and set `http_swift_auth_token`; a token expires")
        }
        (404 | 410, _) => (Errno::ENOENT, MISSING),
        (405, _) => (
            Errno::EOPNOTSUPP,
            "check `http_mode` and `filename`, and that the server permits this method",
        ),
        (408, _) => (Errno::ETIMEDOUT, ""),
        (409, _) => (Errno::ENOENT, "create the directory or container that `filename` names"),
        (413, _) => (Errno::EFBIG, "use a smaller `bs`, or raise the server's limit for bodies"),
        (416, _) => (Errno::EINVAL, "use a smaller `size`: the object ends before this range"),
        (422, _) => (
            Errno::EIO,
            "check the server's log and the network: the server did not receive the bytes that fiord sent",
        ),
        (429 | 503, _) => (Errno::EBUSY, THROTTLED),
        (507, _) => (Errno::ENOSPC, "free space on the server"),
        (500..=599, _) => (Errno::EIO, "check the server's log"),
        _ => (Errno::EIO, ""),
    }
}

#[cfg(test)]
mod tests {
    use fiord_formats::http::{HttpEvent, HttpMethod};

    use super::*;

    fn refused(head: &str, body: &str, mode: HttpMode) -> RequestFailure {
        let mut reader = HttpReader::new();
        reader.begin(HttpMethod::Get, 4096);
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
        assert_eq!(reader.next(&mut head.as_bytes()), Ok(HttpEvent::Head));
        RequestFailure::of_refusal(&reader, body.as_bytes(), mode)
    }

    #[test]
    fn a_refusal_names_the_status_the_message_and_the_remedy() {
        let body =
            "<Error><Code>SignatureDoesNotMatch</Code><Message>Check your key.</Message></Error>";
        let failure = refused("403 Forbidden", body, HttpMode::S3);
        assert_eq!(failure.errno, Errno::EACCES);
        let start = "the server answered 403 SignatureDoesNotMatch: Check your key. To fix: check `http_s3_key`";
        assert!(failure.why.to_string().starts_with(start), "{}", failure.why);
        let failure = refused("404 Not Found", "<html></html>", HttpMode::Webdav);
        assert_eq!((failure.errno, failure.is_stale), (Errno::ENOENT, false));
        assert_eq!(failure.why.what, "the server answered 404");
        assert!(failure.why.help.unwrap().starts_with("To fix: write the objects first"));
        let failure = refused("401 Unauthorized", "", HttpMode::Swift);
        assert!(failure.why.to_string().contains("`http_swift_auth_token`"), "{}", failure.why);
    }

    #[test]
    fn only_failures_that_may_pass_are_tried_again() {
        assert!(refused("503 Slow Down", "", HttpMode::S3).is_passing);
        assert!(refused("429 Too Many Requests", "", HttpMode::Webdav).is_passing);
        for lasting in ["403 Forbidden", "404 Not Found", "500 Oops", "507 Insufficient Storage"] {
            assert!(!refused(lasting, "", HttpMode::S3).is_passing, "{lasting}");
        }
        let reader = HttpReader::new();
        assert!(RequestFailure::of_connection(Errno::ECONNRESET, &reader, false).is_passing);
        assert!(RequestFailure::of_answer(&HttpError::CutHead, false).is_passing);
        assert!(!RequestFailure::of_answer(&HttpError::BadChunk, false).is_passing);
    }

    #[test]
    fn a_redirect_names_the_other_server_without_its_query() {
        let head = "307 Temporary Redirect\r\nLocation: https://other.example/a?sig=secret";
        let failure = refused(head, "", HttpMode::S3);
        let why = failure.why.to_string();
        assert!(why.contains("https://other.example/a. To fix:"), "{why}");
    }

    #[test]
    fn a_connection_that_was_used_may_be_stale() {
        let mut reader = HttpReader::new();
        reader.begin(HttpMethod::Get, 4096);
        assert!(RequestFailure::of_connection(Errno::EPIPE, &reader, true).is_stale);
        assert!(!RequestFailure::of_connection(Errno::EPIPE, &reader, false).is_stale);
        assert!(RequestFailure::of_answer(&HttpError::NoAnswer, true).is_stale);
        assert!(!RequestFailure::of_answer(&HttpError::CutHead, true).is_stale);
        let _ = reader.next(&mut &b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"[..]);
        let failure = RequestFailure::of_connection(Errno::ECONNRESET, &reader, true);
        assert!(failure.why.what.contains("in the body of the answer") && !failure.is_stale);
    }
}
