//! Options of `http`.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

const HTTP: &[&str] = &["http"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "https",
        Kind::words(&[
            Word::later("off", "plain HTTP"),
            Word::later("on", "HTTPS"),
            Word::later("insecure", "HTTPS, without checking the server's certificate"),
        ]),
        "Whether the connection is encrypted.",
        "https=on",
    )
    .of(HTTP)
    .default("off")
    .later(),
    option("http_host", Kind::Text, "The host name of the server.", "http_host=s3.example.org")
        .of(HTTP)
        .default("localhost")
        .later(),
    option("http_user", Kind::Text, "The user name for the server.", "http_user=bench")
        .of(HTTP)
        .later(),
    option("http_pass", Kind::Text, "The password for the server.", "http_pass=secret")
        .of(HTTP)
        .later(),
    option("http_s3_key", Kind::Text, "The secret access key for S3.", "http_s3_key=secret")
        .of(HTTP)
        .default("")
        .later(),
    option("http_s3_keyid", Kind::Text, "The access key ID for S3.", "http_s3_keyid=bench")
        .of(HTTP)
        .default("")
        .later(),
    option(
        "http_s3_security_token",
        Kind::Text,
        "The session token for temporary S3 keys.",
        "http_s3_security_token=token",
    )
    .of(HTTP)
    .default("")
    .later(),
    option(
        "http_swift_auth_token",
        Kind::Text,
        "The authentication token for Swift.",
        "http_swift_auth_token=token",
    )
    .of(HTTP)
    .default("")
    .later(),
    option("http_s3_region", Kind::Text, "The region of S3.", "http_s3_region=eu-central-1")
        .of(HTTP)
        .default("us-east-1")
        .later(),
    option(
        "http_s3_sse_customer_key",
        Kind::Text,
        "The key with which the S3 server encrypts the objects.",
        "http_s3_sse_customer_key=secret",
    )
    .of(HTTP)
    .default("")
    .later(),
    option(
        "http_s3_sse_customer_algorithm",
        Kind::Text,
        "The cipher with which the S3 server encrypts the objects.",
        "http_s3_sse_customer_algorithm=AES256",
    )
    .of(HTTP)
    .default("AES256")
    .later(),
    option(
        "http_s3_storage_class",
        Kind::Text,
        "The S3 storage class of the objects.",
        "http_s3_storage_class=STANDARD",
    )
    .of(HTTP)
    .default("STANDARD")
    .later(),
    option(
        "http_mode",
        Kind::words(&[
            Word::later("webdav", "WebDAV"),
            Word::later("s3", "S3"),
            Word::later("swift", "OpenStack Swift"),
        ]),
        "The type of server.",
        "http_mode=s3",
    )
    .of(HTTP)
    .default("webdav")
    .later(),
    option(
        "http_verbose",
        Kind::COUNT,
        "Prints the requests (1), or the requests and the bytes of the connection (2).",
        "http_verbose=1",
    )
    .of(HTTP)
    .default("0")
    .later(),
    option(
        "http_object_mode",
        Kind::words(&[
            Word::later("block", "one object per block"),
            Word::later("range", "one object per file, read in ranges"),
        ]),
        "How files map to objects.",
        "http_object_mode=range",
    )
    .of(HTTP)
    .default("block")
    .since("3.42")
    .later(),
];
