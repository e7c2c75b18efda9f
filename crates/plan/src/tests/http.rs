//! The servers and the objects of `http`.

use std::path::Path;

use fiord_types::Bytes;

use super::*;
use crate::model::*;

fn line(rest: &str) -> String {
    format!("--name=a --ioengine=http --size=1m {rest}")
}

fn plan(rest: &str) -> HttpPlan {
    match job(&Fake::empty(), &line(rest)).engine {
        EnginePlan::Http(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_servers_have_the_port_of_their_protocol() {
    let ports = |rest: &str| -> Vec<(String, u16)> {
        plan(rest).servers.into_iter().map(|server| (server.name, server.port.get())).collect()
    };
    assert_eq!(ports("--filename=/a"), [("localhost".into(), 80)]);
    assert_eq!(ports("--filename=/a --https=on --http_host=h"), [("h".into(), 443)]);
    let three = ports("--filename=/a --http_host=h:1 --http_endpoints=i,[::1]:2");
    assert_eq!(three, [("h".into(), 1), ("i".into(), 80), ("::1".into(), 2)]);
    assert_eq!(
        plan("--filename=/a --http_host=h:1 --http_endpoints=i").endpoint.server.as_deref(),
        Some("h:1, i")
    );
}

#[test]
fn objects_have_the_names_of_files_and_no_size_of_their_own() {
    let jobs = jobs(&Fake::empty(), &line("--filename=/b/x:/b/y --http_object_mode=range"));
    let paths: Vec<&Path> = jobs[0].target.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(paths, [Path::new("/b/x"), Path::new("/b/y")]);
    assert!(jobs[0].target.files.iter().all(|file| file.kind == FileKind::Endpoint));
    assert!(jobs[0].engine.http().is_some_and(|http| http.ranged));
}

#[test]
fn secrets_are_not_in_the_debug_text_of_a_plan() {
    let options = "--filename=/a --http_mode=s3 --http_s3_keyid=ID --http_s3_key=S3cr3t --http_s3_security_token=S3cr3t \
                   --http_pass=S3cr3t --http_s3_sse_customer_key=S3cr3t --http_swift_auth_token=S3cr3t";
    let plan = plan(options);
    assert_eq!((plan.s3.key.expose(), plan.password.expose()), ("S3cr3t", "S3cr3t"));
    assert!(!format!("{plan:?}").contains("S3cr3t"));
}

#[test]
fn lists_need_s3_and_reads_without_data_cannot_be_verified() {
    let errors = |rest: &str| -> String {
        let errors = run(&Fake::empty(), &line(rest)).err().unwrap_or_default();
        errors.iter().map(|error| error.what.as_str()).collect()
    };
    assert!(errors("--filename=/a --rw=read --http_read=list").contains("needs S3"));
    assert_eq!(errors("--filename=/a --rw=read --http_read=head"), "");
    assert!(errors("--filename=/a --rw=read --http_read=head --verify=md5").contains("`verify`"));
    assert_eq!(errors("--filename=/a --rw=write --verify=md5 --do_verify=0"), "");
    let list = plan("--filename=/a --http_mode=s3 --rw=read --http_read=list --http_list_keys=9");
    assert_eq!(
        (list.reads, list.list_keys.get(), list.retries),
        (HttpReads::List, 9, RetryLimit(0))
    );
    assert_eq!(
        errors("--filename=/a --http_mode=s3 --rw=write --bs=1m --http_s3_part_size=105"),
        ""
    );
    let many = errors("--filename=/a --http_mode=s3 --rw=write --bs=1m --http_s3_part_size=104");
    assert!(many.contains("has 10083 parts of 104 bytes"), "{many}");
    assert_eq!(plan("--filename=/a --http_mode=s3 --http_s3_part_size=0").part_size(), None);
    assert_eq!(
        plan("--filename=/a --http_mode=s3 --http_s3_part_size=5m").part_size(),
        Some(Bytes(5 << 20))
    );
    assert_eq!(plan("--filename=/a --http_retries=3").retries, RetryLimit(3));
}
