//! Options of `http`.

use crate::option::declare::*;

const HTTP: &[&str] = &["http"];

words! {
    /// The words of `https`.
    pub enum Https {
        Off = new("off", "plain HTTP"),
        On = new("on", "HTTPS"),
        Insecure = new("insecure", "HTTPS, without checking the server's certificate"),
    }

    /// The words of `http_mode`.
    pub enum HttpMode {
        Webdav = new("webdav", "WebDAV"),
        S3 = new("s3", "S3"),
        Swift = new("swift", "OpenStack Swift"),
    }

    /// The words of `http_object_mode`.
    pub enum HttpObjectMode {
        Block = new("block", "one object per block"),
        Range = new("range", "one object per file, read in ranges"),
    }

    /// The words of `http_read`.
    pub enum HttpReads {
        Get = new("get", "GET, which returns the object"),
        Head = new("head", "HEAD, which returns what the server knows about the object"),
        List = new("list", "a list of objects (ListObjectsV2 of S3)"),
    }
}

options! {
    Category::Engine;

    /// Whether the connection is encrypted. With `on`, an authority that this machine trusts must have signed the server's
    /// certificate (see `http_ca_file`).
    pub const HTTPS: Opt<Https> = option("https", one_of(), "https=on")
        .of(HTTP)
        .default("off");

    /// The host name or address of the server, and a port after a colon if it is not 80 (or 443 with `https`). For S3 it
    /// may begin with the name of the bucket; otherwise the bucket is the first part of `filename`. `filename` begins with
    /// a slash.
    pub const HTTP_HOST: Opt<String> = option("http_host", TEXT, "http_host=s3.example.org")
        .of(HTTP)
        .default("localhost");

    /// The user name for a WebDAV server, which fiord sends with every request (scheme Basic).
    pub const HTTP_USER: Opt<Option<String>> = option("http_user", TEXT, "http_user=bench")
        .of(HTTP);

    /// The password for a WebDAV server. Reports do not contain it. `@file:PATH` reads it from a file, `env:NAME` from the
    /// environment.
    pub const HTTP_PASS: Opt<Option<String>> = option("http_pass", TEXT, "http_pass=secret")
        .of(HTTP)
        .secret();

    /// The secret access key for S3. Reports do not contain it. `@file:PATH` reads it from a file, `env:NAME` from the
    /// environment.
    pub const HTTP_S3_KEY: Opt<String> = option("http_s3_key", TEXT, "http_s3_key=secret")
        .of(HTTP)
        .secret()
        .default("");

    /// The access key ID for S3. Without a key and an ID, requests are not signed.
    pub const HTTP_S3_KEYID: Opt<String> = option("http_s3_keyid", TEXT, "http_s3_keyid=bench")
        .of(HTTP)
        .default("");

    /// The session token for temporary S3 keys. Reports do not contain it. `@file:PATH` reads it from a file, `env:NAME`
    /// from the environment.
    pub const HTTP_S3_SECURITY_TOKEN: Opt<String> =
        option("http_s3_security_token", TEXT, "http_s3_security_token=token")
            .of(HTTP)
            .secret()
            .default("");

    /// The authentication token for Swift. Reports do not contain it. `@file:PATH` reads it from a file, `env:NAME` from the
    /// environment.
    pub const HTTP_SWIFT_AUTH_TOKEN: Opt<String> =
        option("http_swift_auth_token", TEXT, "http_swift_auth_token=token")
            .of(HTTP)
            .secret()
            .default("");

    /// The region of S3.
    pub const HTTP_S3_REGION: Opt<String> =
        option("http_s3_region", TEXT, "http_s3_region=eu-central-1")
            .of(HTTP)
            .default("us-east-1");

    /// The key with which the S3 server encrypts the objects, 32 characters for AES256. Reports do not contain it.
    /// `@file:PATH` reads it from a file, `env:NAME` from the environment.
    pub const HTTP_S3_SSE_CUSTOMER_KEY: Opt<String> =
        option("http_s3_sse_customer_key", TEXT, "http_s3_sse_customer_key=secret")
            .of(HTTP)
            .secret()
            .default("");

    /// The cipher with which the S3 server encrypts the objects.
    pub const HTTP_S3_SSE_CUSTOMER_ALGORITHM: Opt<String> =
        option("http_s3_sse_customer_algorithm", TEXT, "http_s3_sse_customer_algorithm=AES256")
            .of(HTTP)
            .default("AES256");

    /// The S3 storage class of the objects.
    pub const HTTP_S3_STORAGE_CLASS: Opt<String> =
        option("http_s3_storage_class", TEXT, "http_s3_storage_class=STANDARD")
            .of(HTTP)
            .default("STANDARD");

    /// Uploads an object that is longer than this in parts of this size (the last one may be shorter), which follow each
    /// other: one request begins the upload, one sends each part, and one completes the object. The latency of the I/O is
    /// that of the object; the report also has the latencies of parts. An upload that fails, or that the end of the job
    /// interrupts, is removed from the server. Many servers want parts of at least 5 MiB. 0: an object is uploaded with one
    /// request.
    pub const HTTP_S3_PART_SIZE: Opt<Bytes> =
        option("http_s3_part_size", BYTES, "http_s3_part_size=8m")
            .of(HTTP)
            .under("http_mode")
            .default("0")
            .since("fiord");

    /// The type of server.
    pub const HTTP_MODE: Opt<HttpMode> = option("http_mode", one_of(), "http_mode=s3")
        .of(HTTP)
        .default("webdav");

    /// Prints the heads of all requests and answers to standard error (1), and also the lengths of bodies (2). Secrets are
    /// replaced by `***`.
    pub const HTTP_VERBOSE: Opt<u32> = option("http_verbose", COUNT, "http_verbose=1")
        .of(HTTP)
        .default("0");

    /// How files map to objects. With `block`, each block is an object named `FILENAME_OFFSET_LENGTH`. With `range`, each
    /// file is an object; a read returns a range of it, a write replaces it by one block, and a trim deletes it.
    pub const HTTP_OBJECT_MODE: Opt<HttpObjectMode> =
        option("http_object_mode", one_of(), "http_object_mode=range")
            .of(HTTP)
            .default("block")
            .since("3.42");

    /// A file with certificates of authorities in PEM format, which `https=on` trusts instead of those of this machine.
    pub const HTTP_CA_FILE: Opt<Option<String>> =
        option("http_ca_file", TEXT, "http_ca_file=/etc/ssl/private-ca.pem")
            .of(HTTP)
            .under("https")
            .since("fiord");

    /// More servers with the same objects, separated by commas, each like `http_host`. Requests go to `http_host` and these
    /// in turn.
    pub const HTTP_ENDPOINTS: Opt<Option<String>> =
        option("http_endpoints", TEXT, "http_endpoints=10.0.0.2:9000,10.0.0.3:9000")
            .of(HTTP)
            .under("http_host")
            .since("fiord");

    /// The request that a read sends. With `head` and `list`, no data arrives, and the report counts each request with
    /// the block size, as for engines on names. `list` asks for the names that begin with `filename`, without its first
    /// part, which is the bucket; each request returns the first `http_list_keys` of them. It needs `http_mode=s3`. A trim
    /// deletes the object.
    pub const HTTP_READ: Opt<HttpReads> = option("http_read", one_of(), "http_read=head")
        .of(HTTP)
        .default("get")
        .since("fiord");

    /// The most names that one list returns. S3 returns no more than 1000.
    pub const HTTP_LIST_KEYS: Opt<u32> = option("http_list_keys", int(1, 1000), "http_list_keys=100")
        .of(HTTP)
        .under("http_read")
        .default("1000")
        .since("fiord");

    /// How many times a request is sent again after its connection failed, or after the answer 429 or 503. The first pause
    /// is 100 ms, and each one is twice as long as the one before, up to 5 s. The latency of the I/O contains the pauses and
    /// all its requests. The report counts retries.
    pub const HTTP_RETRIES: Opt<u32> = option("http_retries", int(0, 10), "http_retries=3")
        .of(HTTP)
        .default("0")
        .since("fiord");
}
