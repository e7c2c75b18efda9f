//! Options of `http`.

use crate::option::declare::*;

const HTTP: &[&str] = &["http"];

words! {
    /// The words of `https`.
    pub enum Https {
        Off = later("off", "plain HTTP"),
        On = later("on", "HTTPS"),
        Insecure = later("insecure", "HTTPS, without checking the server's certificate"),
    }

    /// The words of `http_mode`.
    pub enum HttpMode {
        Webdav = later("webdav", "WebDAV"),
        S3 = later("s3", "S3"),
        Swift = later("swift", "OpenStack Swift"),
    }

    /// The words of `http_object_mode`.
    pub enum HttpObjectMode {
        Block = later("block", "one object per block"),
        Range = later("range", "one object per file, read in ranges"),
    }
}

options! {
    Category::Engine;

    /// Whether the connection is encrypted.
    pub const HTTPS: Opt<Https> = option("https", one_of(), "https=on")
        .of(HTTP)
        .default("off")
        .later();

    /// The host name of the server.
    pub const HTTP_HOST: Opt<String> = option("http_host", TEXT, "http_host=s3.example.org")
        .of(HTTP)
        .default("localhost")
        .later();

    /// The user name for the server.
    pub const HTTP_USER: Opt<Option<String>> = option("http_user", TEXT, "http_user=bench")
        .of(HTTP)
        .later();

    /// The password for the server.
    pub const HTTP_PASS: Opt<Option<String>> = option("http_pass", TEXT, "http_pass=secret")
        .of(HTTP)
        .later();

    /// The secret access key for S3.
    pub const HTTP_S3_KEY: Opt<String> = option("http_s3_key", TEXT, "http_s3_key=secret")
        .of(HTTP)
        .default("")
        .later();

    /// The access key ID for S3.
    pub const HTTP_S3_KEYID: Opt<String> = option("http_s3_keyid", TEXT, "http_s3_keyid=bench")
        .of(HTTP)
        .default("")
        .later();

    /// The session token for temporary S3 keys.
    pub const HTTP_S3_SECURITY_TOKEN: Opt<String> =
        option("http_s3_security_token", TEXT, "http_s3_security_token=token")
            .of(HTTP)
            .default("")
            .later();

    /// The authentication token for Swift.
    pub const HTTP_SWIFT_AUTH_TOKEN: Opt<String> =
        option("http_swift_auth_token", TEXT, "http_swift_auth_token=token")
            .of(HTTP)
            .default("")
            .later();

    /// The region of S3.
    pub const HTTP_S3_REGION: Opt<String> =
        option("http_s3_region", TEXT, "http_s3_region=eu-central-1")
            .of(HTTP)
            .default("us-east-1")
            .later();

    /// The key with which the S3 server encrypts the objects.
    pub const HTTP_S3_SSE_CUSTOMER_KEY: Opt<String> =
        option("http_s3_sse_customer_key", TEXT, "http_s3_sse_customer_key=secret")
            .of(HTTP)
            .default("")
            .later();

    /// The cipher with which the S3 server encrypts the objects.
    pub const HTTP_S3_SSE_CUSTOMER_ALGORITHM: Opt<String> =
        option("http_s3_sse_customer_algorithm", TEXT, "http_s3_sse_customer_algorithm=AES256")
            .of(HTTP)
            .default("AES256")
            .later();

    /// The S3 storage class of the objects.
    pub const HTTP_S3_STORAGE_CLASS: Opt<String> =
        option("http_s3_storage_class", TEXT, "http_s3_storage_class=STANDARD")
            .of(HTTP)
            .default("STANDARD")
            .later();

    /// The type of server.
    pub const HTTP_MODE: Opt<HttpMode> = option("http_mode", one_of(), "http_mode=s3")
        .of(HTTP)
        .default("webdav")
        .later();

    /// Prints the requests (1), or the requests and the bytes of the connection (2).
    pub const HTTP_VERBOSE: Opt<u32> = option("http_verbose", COUNT, "http_verbose=1")
        .of(HTTP)
        .default("0")
        .later();

    /// How files map to objects.
    pub const HTTP_OBJECT_MODE: Opt<HttpObjectMode> =
        option("http_object_mode", one_of(), "http_object_mode=range")
            .of(HTTP)
            .default("block")
            .since("3.42")
            .later();
}
