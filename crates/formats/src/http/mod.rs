//! HTTP/1.1 as a client speaks it, without I/O: requests become bytes, and bytes become responses.
//!
//! | question | module |
//! |---|---|
//! | what does a request look like | `request` |
//! | what did the server answer, and where does the answer end | `response` |
//! | how is a body divided into chunks | `chunked` |
//! | what is wrong with an answer | `error` |
//! | which characters of a path are encoded | `path` |
//! | how is a request to S3 signed | `sign` |
//! | how many names does a list of objects have | `list` |
//! | what time is it in UTC | `stamp` |
//! | why did S3 refuse a request | `refusal` |
//! | what does S3 answer when an object is uploaded in parts | `upload` |
//!
//! ```
//! use fiord_formats::http::{HttpEvent, HttpMethod, HttpReader};
//!
//! let mut reader = HttpReader::new();
//! reader.begin(HttpMethod::Get, 1024);
//! let mut input = &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..];
//! assert_eq!(reader.next(&mut input)?, HttpEvent::Head);
//! assert_eq!(reader.status(), 200);
//! assert_eq!(reader.next(&mut input)?, HttpEvent::Body(b"hello"));
//! assert_eq!(reader.next(&mut input)?, HttpEvent::Complete);
//! # Ok::<(), fiord_formats::http::HttpError>(())
//! ```

mod chunked;
mod error;
mod list;
mod path;
mod refusal;
mod request;
mod response;
mod sign;
mod stamp;
mod upload;

pub use error::HttpError;
pub use list::ListScan;
pub use path::{encode_path, encode_query, encode_text};
pub use refusal::RefusalText;
pub use request::{HttpMethod, base64_of, basic_credentials, start_request};
pub use response::{HttpEvent, HttpReader};
pub use sign::{EMPTY_SHA256, S3Key, S3Signer, UnsignedRequest, sha256_hex};
pub use stamp::UtcStamp;
pub use upload::{MAX_PARTS, PartList, UploadEnd, upload_id};

/// The MD5 digest of data, as servers want it for customer keys of S3 and for `etag` of Swift.
#[must_use]
pub fn md5(data: &[u8]) -> [u8; 16] {
    crate::verify::md5_digest(data)
}
