//! Signatures of requests to S3 (AWS signature version 4).

use sha2::{Digest as _, Sha256};

use super::{HttpMethod, UtcStamp};

/// The SHA-256 digest of an empty body, in hexadecimal digits.
pub const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The SHA-256 digest of a body, in hexadecimal digits.
#[must_use]
pub fn sha256_hex(body: &[u8]) -> [u8; 64] {
    hex(&Sha256::digest(body).into())
}

fn hex(digest: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

/// HMAC with SHA-256 (RFC 2104).
fn hmac(key: &[u8], data: &[u8]) -> [u8; 32] {
    let mut block = [0u8; 64];
    match key.len() {
        0..=64 => block[..key.len()].copy_from_slice(key),
        _ => block[..32].copy_from_slice(&Sha256::digest(key)),
    }
    let inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36)).chain_update(data);
    let outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

/// A key of S3, and where it is valid.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Key {
    /// The identifier of the key, which is not secret.
    pub id: String,
    pub secret: String,
    /// The region of the server.
    pub region: String,
}

impl std::fmt::Debug for S3Key {
    /// Shows no secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A request before it is signed.
#[derive(Debug, Clone, Copy)]
pub struct UnsignedRequest<'a> {
    pub method: HttpMethod,
    /// The encoded path.
    pub path: &'a [u8],
    /// The query without the question mark: encoded pairs `name=value`, sorted by name.
    pub query: &'a str,
    /// The headers that the signature covers, with names in lower case, sorted by name.
    pub headers: &'a [(&'a str, &'a str)],
    /// The digest of the body ([`sha256_hex`]).
    pub body_sha256: &'a str,
}

/// Signs requests with one key.
pub struct S3Signer {
    key: S3Key,
    /// The key of the day, and that day.
    day_key: [u8; 32],
    day: [u8; 8],
    /// Room for the text that is signed.
    text: Vec<u8>,
}

impl std::fmt::Debug for S3Signer {
    /// Shows no secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Signer").field("key", &self.key).finish_non_exhaustive()
    }
}

impl S3Signer {
    /// Prepares a key.
    #[must_use]
    pub const fn new(key: S3Key) -> S3Signer {
        S3Signer { key, day_key: [0; 32], day: [0; 8], text: Vec::new() }
    }

    /// The key that is valid on a day.
    fn day_key(&mut self, date: &str) -> [u8; 32] {
        if self.day != date.as_bytes() {
            let first = [b"AWS4", self.key.secret.as_bytes()].concat();
            let dated = hmac(&first, date.as_bytes());
            let regional = hmac(&dated, self.key.region.as_bytes());
            self.day_key = hmac(&hmac(&regional, b"s3"), b"aws4_request");
            self.day.copy_from_slice(date.as_bytes());
        }
        self.day_key
    }

    /// Appends the header `Authorization` with its line end to a request.
    pub fn authorize(&mut self, request: &UnsignedRequest, now: UtcStamp, to: &mut Vec<u8>) {
        let key = self.day_key(now.date());
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        for part in [request.method.word().as_bytes(), request.path, request.query.as_bytes()] {
            text.extend_from_slice(part);
            text.push(b'\n');
        }
        for (name, value) in request.headers {
            push_all(&mut text, &[name, ":", value.trim(), "\n"]);
        }
        text.push(b'\n');
        push_names(&mut text, request.headers);
        push_all(&mut text, &["\n", request.body_sha256]);
        let digest = sha256_hex(&text);
        text.clear();
        let region = self.key.region.as_str();
        let scope = [now.date(), "/", region, "/s3/aws4_request"];
        push_all(&mut text, &["AWS4-HMAC-SHA256\n", now.text(), "\n"]);
        push_all(&mut text, &scope);
        text.push(b'\n');
        text.extend_from_slice(&digest);
        let signature = hex(&hmac(&key, &text));
        push_all(to, &["Authorization: AWS4-HMAC-SHA256 Credential=", &self.key.id, "/"]);
        push_all(to, &scope);
        push_all(to, &[",SignedHeaders="]);
        push_names(to, request.headers);
        push_all(to, &[",Signature="]);
        to.extend_from_slice(&signature);
        to.extend_from_slice(b"\r\n");
        self.text = text;
    }
}

fn push_all(to: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| to.extend_from_slice(part.as_bytes()));
}

fn push_names(to: &mut Vec<u8>, headers: &[(&str, &str)]) {
    for (at, (name, _)) in headers.iter().enumerate() {
        push_all(to, &[if at > 0 { ";" } else { "" }, name]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the examples in AWS's documentation of the signature.
    fn signer() -> S3Signer {
        S3Signer::new(S3Key {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            region: "us-east-1".to_owned(),
        })
    }

    fn signature(request: &UnsignedRequest) -> String {
        let mut header = Vec::new();
        let now = UtcStamp::of_unix_seconds(1_369_353_600);
        signer().authorize(request, now, &mut header);
        let header = String::from_utf8(header).unwrap();
        header.trim_end().rsplit_once("Signature=").unwrap().1.to_owned()
    }

    const HOST: (&str, &str) = ("host", "examplebucket.s3.amazonaws.com");
    const DATE: (&str, &str) = ("x-amz-date", "20130524T000000Z");
    const EMPTY: (&str, &str) = ("x-amz-content-sha256", EMPTY_SHA256);

    #[test]
    fn the_examples_of_aws_have_their_signatures() {
        let get = UnsignedRequest {
            method: HttpMethod::Get,
            path: b"/test.txt",
            query: "",
            headers: &[HOST, ("range", "bytes=0-9"), EMPTY, DATE],
            body_sha256: EMPTY_SHA256,
        };
        let expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
        assert_eq!(signature(&get), expected);
        let body = sha256_hex(b"Welcome to Amazon S3.");
        let body = std::str::from_utf8(&body).unwrap();
        let put = UnsignedRequest {
            method: HttpMethod::Put,
            path: b"/test%24file.text",
            query: "",
            headers: &[
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                HOST,
                ("x-amz-content-sha256", body),
                DATE,
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ],
            body_sha256: body,
        };
        let expected = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd";
        assert_eq!(signature(&put), expected);
        let list = UnsignedRequest {
            method: HttpMethod::Get,
            path: b"/",
            query: "max-keys=2&prefix=J",
            headers: &[HOST, EMPTY, DATE],
            body_sha256: EMPTY_SHA256,
        };
        let expected = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert_eq!(signature(&list), expected);
    }

    #[test]
    fn the_digests_are_those_of_the_standards() {
        assert_eq!(std::str::from_utf8(&sha256_hex(b"")).unwrap(), EMPTY_SHA256);
        // RFC 4231, test cases 2 and 6.
        let short = hex(&hmac(b"Jefe", b"what do ya want for nothing?"));
        assert_eq!(&short[..16], b"5bdcc146bf60754e");
        let long =
            hex(&hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"));
        assert_eq!(&long[..16], b"60e431591ee0b67f");
    }

    #[test]
    fn a_signature_shows_no_secret_and_follows_the_day() {
        let mut signer = signer();
        assert!(!format!("{signer:?}").contains("wJalr"));
        let request = UnsignedRequest {
            method: HttpMethod::Delete,
            path: b"/a",
            query: "",
            headers: &[HOST],
            body_sha256: EMPTY_SHA256,
        };
        let mut sign = |seconds| {
            let mut header = Vec::new();
            signer.authorize(&request, UtcStamp::of_unix_seconds(seconds), &mut header);
            String::from_utf8(header).unwrap()
        };
        let (first, next) = (sign(0), sign(86_400));
        assert!(first.contains("/19700101/us-east-1/s3/aws4_request,SignedHeaders=host,"));
        assert!(next.contains("/19700102/") && sign(0) == first);
        assert!(!first.contains("wJalr"));
    }
}
