//! What is wrong with an answer of a server.

/// Why bytes from a server are not an answer to a request. `Display` says what is wrong, and begins with the subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The answer does not begin as one of HTTP/1.
    #[error("the server does not answer in HTTP/1: its answer begins with \"{0}\"")]
    NotHttp(String),
    /// The head of the answer is longer than the limit.
    #[error("the head of the answer is longer than {0} bytes")]
    LongHead(usize),
    /// A line of the head is not a header.
    #[error("the answer has a header that HTTP does not allow: \"{0}\"")]
    BadHeader(String),
    /// The length of the body is not a number, or has two values.
    #[error("the answer has an invalid Content-Length")]
    BadLength,
    /// The body is encoded in a way that was not asked for.
    #[error("the answer has the unknown Transfer-Encoding \"{0}\"")]
    UnknownEncoding(String),
    /// The chunks of the body are malformed.
    #[error("the chunks of the answer are malformed")]
    BadChunk,
    /// More preliminary answers (1xx) than the limit.
    #[error("the server sent more than {0} preliminary answers (status 1xx)")]
    ManyInterim(u32),
    /// The server wants to speak another protocol (101).
    #[error("the server switched to another protocol (status 101), which fiord did not ask for")]
    Switched,
    /// The body is longer than the limit.
    #[error("the answer has more than the {limit} bytes that fiord asked for")]
    LongBody {
        /// Maximum number of bytes that the caller accepts.
        limit: u64,
    },
    /// The connection ended before the first byte of an answer.
    #[error("the server closed the connection without an answer")]
    NoAnswer,
    /// The connection ended in the head.
    #[error("the server closed the connection in the head of its answer")]
    CutHead,
    /// The connection ended in the body.
    #[error("the server closed the connection in the body of its answer, after {got} bytes{}", promised(.of))]
    CutBody {
        /// The bytes of the body that arrived.
        got: u64,
        /// How many the head promised.
        of: Option<u64>,
    },
}

fn promised(length: &Option<u64>) -> String {
    length.map_or_else(String::new, |length| format!(" of {length}"))
}
