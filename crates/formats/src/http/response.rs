//! Answers: where the head and the body of an answer begin and end.

use super::chunked::{ChunkStep, Chunks};
use super::{HttpError, HttpMethod};

/// Maximum length of the head of an answer, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// Maximum number of preliminary answers (1xx) before the answer.
const MAX_INTERIM: u32 = 16;

/// Maximum length of the body of an answer that refuses a request, in bytes.
const MAX_REFUSAL: u64 = 1 << 20;

/// How much of wrong bytes an error shows.
const SHOWN: usize = 40;

/// What follows in an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum HttpEvent<'a> {
    /// The input is used up.
    More,
    /// The head is complete: [`HttpReader::status`] and the other methods describe it.
    Head,
    /// Bytes of the body.
    Body(&'a [u8]),
    /// The answer is complete. Bytes that follow belong to no answer.
    Complete,
}

/// Reads one answer after the other from the bytes of a connection.
///
/// The reader uses memory for one head, of at most 64 KiB. An error is final: the connection is of no more use.
#[derive(Debug, Clone)]
pub struct HttpReader {
    state: ReaderState,
    head: Vec<u8>,
    interim: u32,
    method: HttpMethod,
    /// The longest body of an answer that grants the request.
    limit: u64,
    status: u16,
    length: Option<u64>,
    range: Option<(u64, u64)>,
    closes: bool,
    received: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ReaderState {
    Head,
    /// A body; number of bytes that are left.
    Counted(u64),
    Chunked(Chunks),
    /// The body ends with the connection.
    UntilClose,
    Complete,
}

impl Default for HttpReader {
    fn default() -> Self {
        HttpReader::new()
    }
}

impl HttpReader {
    /// A reader that waits for [`HttpReader::begin`].
    #[must_use]
    pub const fn new() -> HttpReader {
        HttpReader {
            state: ReaderState::Complete,
            head: Vec::new(),
            interim: 0,
            method: HttpMethod::Get,
            limit: 0,
            status: 0,
            length: None,
            range: None,
            closes: false,
            received: 0,
        }
    }

    /// Expects the answer to a request. `limit`: the most bytes that the body of an answer with a status from 200 to
    /// 299 may have. The body of another answer may have that many or 1 MiB.
    pub fn begin(&mut self, method: HttpMethod, limit: u64) {
        self.state = ReaderState::Head;
        self.head.clear();
        self.interim = 0;
        self.method = method;
        self.limit = limit;
        self.status = 0;
        self.received = 0;
    }

    /// The status of the answer; 0 before its head is complete.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Whether the server granted the request.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// The length of the body that the head declares (for HEAD: of the body that GET would return).
    #[must_use]
    pub const fn declared_length(&self) -> Option<u64> {
        self.length
    }

    /// The first and the last byte of the part of the object that the body is (`Content-Range`).
    #[must_use]
    pub const fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// Whether the server closes the connection after this answer.
    #[must_use]
    pub const fn closes(&self) -> bool {
        self.closes
    }

    /// How many bytes of the body have arrived.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Whether the answer has begun.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.status != 0 || !self.head.is_empty()
    }

    /// The value of a header of a complete head. `name` is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.head).ok()?;
        let mut pairs = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        pairs.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The head of the answer, for a person.
    #[must_use]
    pub fn head_text(&self) -> String {
        String::from_utf8_lossy(&self.head).into_owned()
    }

    /// How many bytes of the body follow in the connection without anything in between, so that they can be received
    /// where they belong; [`HttpReader::took`] tells the reader. 0 if the body is not of that kind.
    #[must_use]
    pub const fn plain_bytes(&self) -> u64 {
        match self.state {
            ReaderState::Counted(left) => left,
            _ => 0,
        }
    }

    /// The caller received `bytes` of the [`HttpReader::plain_bytes`].
    ///
    /// # Panics
    /// If there are fewer of them.
    pub fn took(&mut self, bytes: u64) {
        let left = self.plain_bytes().checked_sub(bytes).expect("more bytes than the body has");
        if bytes > 0 {
            self.state = ReaderState::Counted(left);
            self.received += bytes;
        }
    }

    /// Takes the next part of the answer from the input.
    ///
    /// # Errors
    /// The bytes are not an answer, or are an answer that exceeds a limit.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<HttpEvent<'a>, HttpError> {
        match &mut self.state {
            ReaderState::Complete => Ok(HttpEvent::Complete),
            ReaderState::Head => self.read_head(input),
            ReaderState::Counted(0) => {
                self.state = ReaderState::Complete;
                Ok(HttpEvent::Complete)
            }
            _ if input.is_empty() => Ok(HttpEvent::More),
            ReaderState::Counted(left) => {
                let room = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(room);
                *left -= data.len() as u64;
                *input = rest;
                self.received += data.len() as u64;
                Ok(HttpEvent::Body(data))
            }
            ReaderState::UntilClose => {
                let data = std::mem::take(input);
                self.body(data)
            }
            ReaderState::Chunked(chunks) => match chunks.next(input)? {
                ChunkStep::More => Ok(HttpEvent::More),
                ChunkStep::Data(data) => self.body(data),
                ChunkStep::End => {
                    self.state = ReaderState::Complete;
                    Ok(HttpEvent::Complete)
                }
            },
        }
    }

    /// The connection ended. Ok if that completes the answer.
    ///
    /// # Errors
    /// The answer is not complete.
    pub fn end(&mut self) -> Result<(), HttpError> {
        match self.state {
            ReaderState::Complete | ReaderState::Counted(0) => Ok(()),
            ReaderState::UntilClose => {
                self.state = ReaderState::Complete;
                Ok(())
            }
            ReaderState::Head if self.head.is_empty() => Err(HttpError::NoAnswer),
            ReaderState::Head => Err(HttpError::CutHead),
            ReaderState::Counted(_) => {
                Err(HttpError::CutBody { got: self.received, of: self.length })
            }
            ReaderState::Chunked(_) => Err(HttpError::CutBody { got: self.received, of: None }),
        }
    }

    /// Maximum number of bytes of the body of this answer.
    fn limit(&self) -> u64 {
        if self.is_success() { self.limit } else { self.limit.max(MAX_REFUSAL) }
    }

    fn body<'a>(&mut self, data: &'a [u8]) -> Result<HttpEvent<'a>, HttpError> {
        self.received += data.len() as u64;
        match self.limit() {
            limit if self.received > limit => Err(HttpError::LongBody { limit }),
            _ => Ok(HttpEvent::Body(data)),
        }
    }

    /// Collects the lines of the head up to an empty one.
    fn read_head<'a>(&mut self, input: &mut &'a [u8]) -> Result<HttpEvent<'a>, HttpError> {
        while !input.is_empty() {
            let end = memchr::memchr(b'\n', input).map_or(input.len(), |at| at + 1);
            let (line, rest) = input.split_at(end);
            *input = rest;
            if self.head.len() + line.len() > MAX_HEAD {
                return Err(HttpError::LongHead(MAX_HEAD));
            }
            self.head.extend_from_slice(line);
            const START: &[u8] = b"HTTP/1.";
            let common = START.len().min(self.head.len());
            if self.head[..common] != START[..common] {
                return Err(HttpError::NotHttp(shown(&self.head)));
            }
            if !(self.head.ends_with(b"\n\r\n") || self.head.ends_with(b"\n\n")) {
                continue;
            }
            let head = std::mem::take(&mut self.head);
            let parsed = self.parse(&head);
            self.head = head;
            if parsed? {
                return Ok(HttpEvent::Head);
            }
            self.head.clear();
        }
        Ok(HttpEvent::More)
    }

    /// Reads a head. Returns whether it is that of the answer, not of a preliminary one.
    fn parse(&mut self, head: &[u8]) -> Result<bool, HttpError> {
        let mut lines = head.split(|byte| *byte == b'\n').map(|line| match line {
            [line @ .., b'\r'] => line,
            line => line,
        });
        let first = lines.next().unwrap_or_default();
        let status = status_of(first).ok_or_else(|| HttpError::NotHttp(shown(first)))?;
        (self.length, self.range) = (None, None);
        self.closes = first.starts_with(b"HTTP/1.0");
        let mut chunked = false;
        for line in lines.filter(|line| !line.is_empty()) {
            let bad = || HttpError::BadHeader(shown(line));
            let colon = memchr::memchr(b':', line).ok_or_else(bad)?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.is_empty() || name.iter().any(|byte| !byte.is_ascii_graphic()) {
                return Err(bad());
            }
            if name.eq_ignore_ascii_case(b"content-length") {
                let length = number(value).ok_or(HttpError::BadLength)?;
                if self.length.is_some_and(|other| other != length) {
                    return Err(HttpError::BadLength);
                }
                self.length = Some(length);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                if chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(HttpError::UnknownEncoding(shown(value)));
                }
                chunked = true;
            } else if name.eq_ignore_ascii_case(b"connection") {
                self.connection(value);
            } else if name.eq_ignore_ascii_case(b"content-range") {
                self.range = range_of(value);
            }
        }
        match status {
            101 => return Err(HttpError::Switched),
            100..200 => {
                self.interim += 1;
                return match self.interim {
                    ..=MAX_INTERIM => Ok(false),
                    _ => Err(HttpError::ManyInterim(MAX_INTERIM)),
                };
            }
            _ => self.status = status,
        }
        self.state = self.body_state(chunked)?;
        Ok(true)
    }

    fn connection(&mut self, value: &[u8]) {
        for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if word.eq_ignore_ascii_case(b"close") {
                self.closes = true;
            } else if word.eq_ignore_ascii_case(b"keep-alive") {
                self.closes = false;
            }
        }
    }

    /// Where the body ends (RFC 9112, section 6.3).
    fn body_state(&mut self, chunked: bool) -> Result<ReaderState, HttpError> {
        if self.method == HttpMethod::Head || matches!(self.status, 204 | 304) {
            return Ok(ReaderState::Counted(0));
        }
        if chunked {
            // With both headers, one of them was put in by an attacker or a broken proxy.
            self.closes |= self.length.take().is_some();
            return Ok(ReaderState::Chunked(Chunks::new()));
        }
        match (self.length, self.limit()) {
            (Some(length), limit) if length > limit => Err(HttpError::LongBody { limit }),
            (Some(length), _) => Ok(ReaderState::Counted(length)),
            (None, _) => {
                self.closes = true;
                Ok(ReaderState::UntilClose)
            }
        }
    }
}

/// The status in the first line of a head.
fn status_of(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let (minor, rest) = rest.split_first()?;
    let (digits, after) = rest.strip_prefix(b" ")?.split_at_checked(3)?;
    let ends = matches!(after.first(), None | Some(b' '));
    let status = u16::try_from(number(digits)?).ok()?;
    (minor.is_ascii_digit() && ends && (100..=599).contains(&status)).then_some(status)
}

/// A number of digits only.
fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

/// The first and the last byte in `bytes 0-4095/65536`.
fn range_of(value: &[u8]) -> Option<(u64, u64)> {
    let rest = value.strip_prefix(b"bytes ")?;
    let range = rest.split(|byte| *byte == b'/').next()?;
    let dash = memchr::memchr(b'-', range)?;
    let (first, last) = (number(&range[..dash])?, number(&range[dash + 1..])?);
    (first <= last).then_some((first, last))
}

/// The beginning of bytes from a server, for a message.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    text.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests;
