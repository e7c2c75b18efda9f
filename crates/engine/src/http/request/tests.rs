use fiord_plan::model::EndpointPlan;
use fiord_plan::{HttpServer, HttpTls, IoAttributes, RetryLimit};
use fiord_types::{FileIndex, Nanos, Secret};

use super::*;

fn plan(mode: HttpMode) -> HttpPlan {
    HttpPlan {
        endpoint: EndpointPlan { address: None, server: None, timeout: Nanos(1) },
        servers: vec![HttpServer {
            host: "h:1".into(),
            name: "h".into(),
            port: std::num::NonZeroU16::MIN,
        }],
        mode,
        tls: HttpTls::Off,
        user: None,
        password: Secret::default(),
        s3: S3Plan { region: "us-east-1".into(), ..S3Plan::default() },
        swift_token: Secret::new("TOKEN"),
        ranged: false,
        reads: HttpReads::Get,
        list_keys: std::num::NonZeroU32::MIN,
        retries: RetryLimit(0),
        verbose: fiord_plan::HttpVerbosity::Quiet,
    }
}

fn written(plan: &HttpPlan, kind: OpKind, body: &[u8]) -> String {
    let mut writer = RequestWriter::new(plan, &["/b/k y".into()]);
    let op = Op {
        kind,
        file: FileIndex(0),
        offset: 8192,
        len: 4096,
        at: 0,
        attributes: IoAttributes::PLAIN,
    };
    let mut head = Vec::new();
    let request = ObjectRequest { op: &op, call: writer.call(&op), query: "", body };
    writer.write(request, "h:1", &mut head);
    String::from_utf8(head).unwrap()
}

#[test]
fn a_block_is_an_object_with_its_place_in_the_name() {
    let mut plan = plan(HttpMode::Webdav);
    assert_eq!(
        written(&plan, OpKind::Read, b""),
        "GET /b/k%20y_8192_4096 HTTP/1.1\r\nHost: h:1\r\n\r\n"
    );
    assert_eq!(
        written(&plan, OpKind::Trim, b""),
        "DELETE /b/k%20y_8192_4096 HTTP/1.1\r\nHost: h:1\r\n\r\n"
    );
    plan.user = Some("me".into());
    let put = written(&plan, OpKind::Write, b"abc");
    assert_eq!(
        put,
        "PUT /b/k%20y_8192_4096 HTTP/1.1\r\nHost: h:1\r\nContent-Length: 3\r\nAuthorization: Basic bWU6\r\n\r\n"
    );
}

#[test]
fn a_file_is_an_object_that_is_read_in_ranges() {
    let plan = HttpPlan { ranged: true, ..plan(HttpMode::Webdav) };
    let get = written(&plan, OpKind::Read, b"");
    assert_eq!(get, "GET /b/k%20y HTTP/1.1\r\nHost: h:1\r\nRange: bytes=8192-12287\r\n\r\n");
    assert!(written(&plan, OpKind::Write, b"abc").starts_with("PUT /b/k%20y HTTP/1.1\r\n"));
}

#[test]
fn reads_may_ask_for_heads_and_for_lists() {
    let head = HttpPlan { reads: HttpReads::Head, ..plan(HttpMode::Webdav) };
    assert!(written(&head, OpKind::Read, b"").starts_with("HEAD /b/k%20y_8192_4096 HTTP/1.1\r\n"));
    assert!(written(&head, OpKind::Write, b"").starts_with("PUT /b/k%20y_8192_4096 "));
    let mut list = HttpPlan { reads: HttpReads::List, ranged: true, ..plan(HttpMode::S3) };
    let start = "GET /b?list-type=2&max-keys=1&prefix=k%20y HTTP/1.1\r\n";
    assert!(written(&list, OpKind::Read, b"").starts_with(start));
    assert!(written(&list, OpKind::Trim, b"").starts_with("DELETE /b/k%20y HTTP/1.1\r\n"));
    list.s3.customer_key = Secret::new("0123456789abcdef0123456789abcdef");
    assert!(!written(&list, OpKind::Read, b"").contains("customer"));
    let whole = ObjectList::new("/b", 7);
    assert_eq!((whole.bucket.as_str(), whole.query.as_str()), ("/b", "list-type=2&max-keys=7"));
    assert_eq!(ObjectList::new("/b/k/e", 7).query, "list-type=2&max-keys=7&prefix=k%2Fe");
}

#[test]
fn swift_has_a_token_and_the_digest_of_the_body() {
    let put = written(&plan(HttpMode::Swift), OpKind::Write, b"");
    assert!(
        put.ends_with("X-Auth-Token: TOKEN\r\nETag: d41d8cd98f00b204e9800998ecf8427e\r\n\r\n"),
        "{put}"
    );
    assert!(
        written(&plan(HttpMode::Swift), OpKind::Read, b"").ends_with("X-Auth-Token: TOKEN\r\n\r\n")
    );
}

#[test]
fn requests_to_s3_are_signed_with_the_headers_of_the_job() {
    let mut plan = plan(HttpMode::S3);
    assert!(!written(&plan, OpKind::Read, b"").contains("Authorization"));
    plan.s3 = S3Plan {
        key_id: "ID".into(),
        key: Secret::new("KEY"),
        token: Secret::new("TOKEN"),
        storage_class: "GLACIER".into(),
        customer_key: Secret::new("0123456789abcdef0123456789abcdef"),
        customer_algorithm: "AES256".into(),
        ..plan.s3
    };
    let put = written(&plan, OpKind::Write, b"abc");
    // The digests of the key are those that fio sends.
    for line in [
        "x-amz-content-sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "x-amz-server-side-encryption-customer-key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
        "x-amz-server-side-encryption-customer-key-md5: hRasmdxgYDKV3nvbahU1MA==",
        "x-amz-security-token: TOKEN",
        "x-amz-storage-class: GLACIER",
    ] {
        assert!(put.contains(&format!("\r\n{line}\r\n")), "{put}");
    }
    let signed = "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-server-side-encryption-customer-algorithm;\
                  x-amz-server-side-encryption-customer-key;x-amz-server-side-encryption-customer-key-md5;\
                  x-amz-security-token;x-amz-storage-class,Signature=";
    assert!(put.contains(signed), "{put}");
    assert!(!put.contains("KEY"), "{put}");
    let delete = written(&plan, OpKind::Trim, b"");
    assert!(
        delete.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"),
        "{delete}"
    );
}
