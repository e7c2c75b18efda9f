//! Turns ops into requests: names of objects, headers, signatures.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use fiord_formats::http::{
    EMPTY_SHA256, HttpMethod, S3Key, S3Signer, UnsignedRequest, UtcStamp, base64_of,
    basic_credentials, encode_path, encode_query, md5, sha256_hex, start_request,
};
use fiord_plan::{HttpMode, HttpPlan, HttpReads, S3Plan};

use crate::{Op, OpKind};

/// Headers whose values are secrets or derived from them, in lower case.
pub(super) const SECRET_HEADERS: &[&str] = &[
    "authorization",
    "x-amz-security-token",
    "x-amz-server-side-encryption-customer-key",
    "x-auth-token",
];

/// Maximum number of headers that a signature covers.
const MAX_SIGNED: usize = 10;

/// What a request asks the server to do with objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectCall {
    /// Return an object, or a range of it.
    Get,
    /// Return what is known about an object.
    Head,
    /// Return names of objects.
    List,
    /// Store an object.
    Put,
    /// Remove an object.
    Delete,
    /// Begin to upload an object in parts.
    CreateUpload,
    /// Store a part of an object.
    PutPart,
    /// Make an object of the parts that were uploaded.
    CompleteUpload,
    /// Remove the parts that were uploaded.
    AbortUpload,
}

impl ObjectCall {
    pub(super) const fn method(self) -> HttpMethod {
        match self {
            ObjectCall::Get | ObjectCall::List => HttpMethod::Get,
            ObjectCall::Head => HttpMethod::Head,
            ObjectCall::Put | ObjectCall::PutPart => HttpMethod::Put,
            ObjectCall::Delete | ObjectCall::AbortUpload => HttpMethod::Delete,
            ObjectCall::CreateUpload | ObjectCall::CompleteUpload => HttpMethod::Post,
        }
    }

    /// Whether the request removes something, so that its absence is a success.
    pub(super) const fn removes(self) -> bool {
        matches!(self, ObjectCall::Delete | ObjectCall::AbortUpload)
    }

    /// Whether S3 needs the customer's key for the request.
    const fn needs_customer_key(self) -> bool {
        use ObjectCall::{CreateUpload, Get, Head, Put, PutPart};
        matches!(self, Get | Head | Put | CreateUpload | PutPart)
    }

    /// Whether the request chooses the storage class of an object.
    const fn stores(self) -> bool {
        matches!(self, ObjectCall::Put | ObjectCall::CreateUpload)
    }

    /// Whether a buffer of the job has the body of the request or of its answer.
    pub(super) const fn moves_data(self) -> bool {
        matches!(self, ObjectCall::Get | ObjectCall::Put)
    }
}

/// A list of the objects whose names begin with that of a file.
struct ObjectList {
    /// The path of the bucket.
    bucket: String,
    query: String,
}

impl ObjectList {
    /// `path`: that of a file. Its first part is the bucket.
    fn new(path: &str, keys: u32) -> ObjectList {
        let (bucket, prefix) = match path.get(1..).and_then(|rest| rest.split_once('/')) {
            Some((bucket, prefix)) => (format!("/{bucket}"), prefix),
            None => (path.to_owned(), ""),
        };
        let mut query = format!("list-type=2&max-keys={keys}");
        if !prefix.is_empty() {
            query.push_str("&prefix=");
            query.push_str(&encode_query(prefix.as_bytes()));
        }
        ObjectList { bucket, query }
    }
}

/// A request for an op.
#[derive(Clone, Copy)]
pub(super) struct ObjectRequest<'a> {
    pub(super) op: &'a Op,
    pub(super) call: ObjectCall,
    /// The query of a request of an upload. Empty for others.
    pub(super) query: &'a str,
    /// What the request sends.
    pub(super) body: &'a [u8],
}

/// Writes the requests of a job.
pub(super) struct RequestWriter {
    /// The encoded path of each file.
    paths: Vec<String>,
    /// Objects are read in ranges, and their names are those of the files.
    ranged: bool,
    /// What reads ask for.
    reads: HttpReads,
    /// The list of each file. Empty unless reads ask for lists.
    lists: Vec<ObjectList>,
    access: ObjectAccess,
    /// The second of the last request, and its text.
    second: u64,
    stamp: UtcStamp,
    target: Vec<u8>,
    range: String,
    digest: [u8; 64],
}

/// How the server knows the user.
enum ObjectAccess {
    /// WebDAV, with the value of `Authorization` if the job has a user.
    Webdav(Option<String>),
    Swift(String),
    S3(Box<S3Access>),
}

/// What requests to S3 need.
struct S3Access {
    /// `None`: the requests are not signed.
    signer: Option<S3Signer>,
    token: String,
    storage_class: String,
    customer: Option<CustomerKey>,
}

/// A key with which the server encrypts objects.
struct CustomerKey {
    algorithm: String,
    key: String,
    md5: String,
}

impl S3Access {
    fn new(plan: &S3Plan) -> S3Access {
        let key = S3Key {
            id: plan.key_id.clone(),
            secret: plan.key.expose().to_owned(),
            region: plan.region.clone(),
        };
        let customer = plan.customer_key.expose().as_bytes();
        S3Access {
            signer: (!key.id.is_empty()).then(|| S3Signer::new(key)),
            token: plan.token.expose().to_owned(),
            storage_class: plan.storage_class.clone(),
            customer: (!customer.is_empty()).then(|| CustomerKey {
                algorithm: plan.customer_algorithm.clone(),
                key: base64_of(customer),
                md5: base64_of(&md5(customer)),
            }),
        }
    }
}

impl RequestWriter {
    pub(super) fn new(plan: &HttpPlan, files: &[PathBuf]) -> RequestWriter {
        let paths = files.iter().map(|path| encode_path(path.as_os_str().as_encoded_bytes()));
        let paths: Vec<_> = paths.collect();
        let listed = if plan.reads == HttpReads::List { &paths[..] } else { &[] };
        RequestWriter {
            lists: listed.iter().map(|path| ObjectList::new(path, plan.list_keys.get())).collect(),
            paths,
            ranged: plan.ranged,
            reads: plan.reads,
            access: match plan.mode {
                HttpMode::Webdav => {
                    let user = plan.user.as_ref();
                    ObjectAccess::Webdav(
                        user.map(|user| basic_credentials(user, plan.password.expose())),
                    )
                }
                HttpMode::Swift => ObjectAccess::Swift(plan.swift_token.expose().to_owned()),
                HttpMode::S3 => ObjectAccess::S3(Box::new(S3Access::new(&plan.s3))),
            },
            second: 0,
            stamp: UtcStamp::of_unix_seconds(0),
            target: Vec::new(),
            range: String::new(),
            digest: [b'0'; 64],
        }
    }

    /// What an op asks the server to do.
    pub(super) const fn call(&self, op: &Op) -> ObjectCall {
        match (op.kind, self.reads) {
            (OpKind::Read, HttpReads::Get) => ObjectCall::Get,
            (OpKind::Read, HttpReads::Head) => ObjectCall::Head,
            (OpKind::Read, HttpReads::List) => ObjectCall::List,
            (OpKind::Trim, _) => ObjectCall::Delete,
            _ => ObjectCall::Put,
        }
    }

    /// Whether an op reads a part of an object.
    pub(super) fn is_range(&self, op: &Op) -> bool {
        self.ranged && self.call(op) == ObjectCall::Get
    }

    /// The list that an op asks for, if it asks for one.
    fn list(&self, op: &Op) -> Option<&ObjectList> {
        let lists = if op.kind == OpKind::Read { &self.lists[..] } else { &[] };
        lists.get(op.file.0 as usize)
    }

    /// The encoded path of the object of an op, and the query of a list.
    pub(super) fn path(&self, op: &Op) -> String {
        if let Some(list) = self.list(op) {
            return format!("{}?{}", list.bucket, list.query);
        }
        let path = self.paths.get(op.file.0 as usize).map_or("/", String::as_str);
        match self.ranged {
            true => path.to_owned(),
            false => format!("{path}_{}_{}", op.offset, op.len),
        }
    }

    /// Writes the head of a request into an empty buffer.
    pub(super) fn write(&mut self, request: ObjectRequest<'_>, host: &str, to: &mut Vec<u8>) {
        let ObjectRequest { op, call, body, .. } = request;
        let method = call.method();
        let mut target = std::mem::take(&mut self.target);
        target.clear();
        let path_length = self.write_target(&request, &mut target);
        start_request(to, method, &target, host);
        if matches!(method, HttpMethod::Put | HttpMethod::Post) {
            to.extend_from_slice(b"Content-Length:");
            push_number(to, b' ', body.len() as u64);
            to.extend_from_slice(b"\r\n");
        }
        if self.is_range(op) {
            use std::fmt::Write as _;
            self.range.clear();
            let last = (op.offset + u64::from(op.len)).saturating_sub(1);
            // Writing to a string cannot fail.
            let _ = write!(self.range, "bytes={}-{last}", op.offset);
            push_header(to, "Range", &self.range);
        }
        if let ObjectAccess::S3(_) = self.access {
            self.tick();
        }
        match &mut self.access {
            ObjectAccess::Webdav(Some(credentials)) => {
                push_header(to, "Authorization", credentials)
            }
            ObjectAccess::Webdav(None) => {}
            ObjectAccess::Swift(token) => {
                push_header(to, "X-Auth-Token", token);
                if method == HttpMethod::Put {
                    // The server compares it with what it has received.
                    let digest = md5(body).map(|byte| format!("{byte:02x}")).concat();
                    push_header(to, "ETag", &digest);
                }
            }
            ObjectAccess::S3(access) => {
                let (path, query) = target.split_at(path_length);
                let query = std::str::from_utf8(query).unwrap_or_default();
                let query = query.trim_start_matches('?');
                let signed = SignedCall { call, path, query, host };
                access.write(signed, body, (self.stamp, &mut self.digest), to);
            }
        }
        to.extend_from_slice(b"\r\n");
        self.target = target;
    }

    /// Writes the path and the query of a request. Returns the length of the path.
    fn write_target(&self, request: &ObjectRequest<'_>, target: &mut Vec<u8>) -> usize {
        let op = request.op;
        if let Some(list) = self.list(op) {
            target.extend_from_slice(list.bucket.as_bytes());
            target.push(b'?');
            target.extend_from_slice(list.query.as_bytes());
            return list.bucket.len();
        }
        if let Some(path) = self.paths.get(op.file.0 as usize) {
            target.extend_from_slice(path.as_bytes());
        }
        if !self.ranged {
            push_number(target, b'_', op.offset);
            push_number(target, b'_', u64::from(op.len));
        }
        let path_length = target.len();
        if !request.query.is_empty() {
            target.push(b'?');
            target.extend_from_slice(request.query.as_bytes());
        }
        path_length
    }

    /// Reads the clock.
    fn tick(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        if now != self.second {
            (self.second, self.stamp) = (now, UtcStamp::of_unix_seconds(now));
        }
    }
}

/// What the headers of S3 depend on.
struct SignedCall<'a> {
    call: ObjectCall,
    path: &'a [u8],
    query: &'a str,
    host: &'a str,
}

impl S3Access {
    /// Writes the headers of S3.
    fn write(
        &mut self,
        SignedCall { call, path, query, host }: SignedCall<'_>,
        body: &[u8],
        (stamp, digest): (UtcStamp, &mut [u8; 64]),
        to: &mut Vec<u8>,
    ) {
        let body_sha256 = match body {
            [] => EMPTY_SHA256,
            _ => {
                *digest = sha256_hex(body);
                std::str::from_utf8(digest).unwrap_or(EMPTY_SHA256)
            }
        };
        // Sorted by name, and the first one is in the request already.
        let mut headers = [("", ""); MAX_SIGNED];
        let mut count = 0;
        let mut add = |name: &'static str, value| {
            headers[count] = (name, value);
            count += 1;
        };
        let signs = self.signer.is_some();
        add("host", host);
        if signs {
            add("x-amz-content-sha256", body_sha256);
            add("x-amz-date", stamp.text());
        }
        if let Some(customer) = self.customer.as_ref().filter(|_| call.needs_customer_key()) {
            add("x-amz-server-side-encryption-customer-algorithm", &customer.algorithm);
            add("x-amz-server-side-encryption-customer-key", &customer.key);
            add("x-amz-server-side-encryption-customer-key-md5", &customer.md5);
        }
        if signs && !self.token.is_empty() {
            add("x-amz-security-token", &self.token);
        }
        if call.stores() && !self.storage_class.is_empty() {
            add("x-amz-storage-class", &self.storage_class);
        }
        let headers = &headers[..count];
        headers[1..].iter().for_each(|(name, value)| push_header(to, name, value));
        if let Some(signer) = &mut self.signer {
            let method = call.method();
            let request = UnsignedRequest { method, path, query, headers, body_sha256 };
            signer.authorize(&request, stamp, to);
        }
    }
}

fn push_header(to: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        to.extend_from_slice(part.as_bytes());
    }
}

/// Appends a character and a number, without an allocation.
fn push_number(to: &mut Vec<u8>, before: u8, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to.push(before);
    to.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests;
