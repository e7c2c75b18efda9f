//! The options of `http`.

use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

pub use fiord_job::option::table::object::{HttpMode, HttpReads};
use fiord_types::{Bytes, Secret};

use super::EndpointPlan;

/// The options of a job with `ioengine=http`. The addresses are the paths of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPlan {
    /// The servers, and the patience of the job.
    pub endpoint: EndpointPlan,
    /// `http_host`, then `http_endpoints`; at least one. Requests go to them in turn.
    pub servers: Vec<HttpServer>,
    /// `http_mode`: the type of server.
    pub mode: HttpMode,
    pub tls: HttpTls,
    pub user: Option<String>,
    /// `http_pass`.
    pub password: Secret,
    /// The options of S3.
    pub s3: S3Plan,
    /// `http_swift_auth_token`.
    pub swift_token: Secret,
    /// `http_object_mode=range`: a file is an object, which is read in ranges. Otherwise each block is an object.
    pub ranged: bool,
    /// `http_read`: the request that a read sends.
    pub reads: HttpReads,
    /// `http_list_keys`: the maximum number of names that one list returns.
    pub list_keys: NonZeroU32,
    pub retries: RetryLimit,
    /// `http_verbose`: what the job prints.
    pub verbose: HttpVerbosity,
}

impl HttpPlan {
    /// The size of the parts in which longer objects are uploaded. `None`: with one request.
    #[must_use]
    pub fn part_size(&self) -> Option<Bytes> {
        self.s3.part_size.filter(|_| self.mode == HttpMode::S3)
    }
}

/// How many times a request is sent again at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RetryLimit(pub u32);

/// An object server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpServer {
    /// The name and the port as the user wrote them, for the header `Host`.
    pub host: String,
    /// The name or the address, without brackets.
    pub name: String,
    pub port: NonZeroU16,
}

/// `http_verbose`: what a job prints of its requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HttpVerbosity {
    /// Nothing.
    Quiet,
    Heads,
    /// The heads, and the lengths of bodies.
    Lengths,
}

/// `https`: how connections are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpTls {
    /// Connections are not protected.
    Off,
    /// With TLS, without checking the server.
    Insecure,
    /// With TLS. The server's certificate must be signed by an authority.
    Checked {
        /// `http_ca_file`: the file with the authorities. `None`: those of the machine.
        authorities: Option<PathBuf>,
    },
}

/// The options of S3.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct S3Plan {
    /// `http_s3_keyid`. Empty: requests are not signed.
    pub key_id: String,
    pub key: Secret,
    /// `http_s3_security_token`. Empty: none.
    pub token: Secret,
    pub region: String,
    /// `http_s3_storage_class`. Empty: the server chooses.
    pub storage_class: String,
    /// `http_s3_sse_customer_key`. Empty: none.
    pub customer_key: Secret,
    /// `http_s3_sse_customer_algorithm`.
    pub customer_algorithm: String,
    /// `http_s3_part_size`: longer objects are uploaded in parts of this size. `None`: with one request.
    pub part_size: Option<Bytes>,
}
