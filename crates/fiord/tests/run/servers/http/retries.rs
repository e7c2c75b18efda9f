//! `http_retries` and `http_read` on a server that fails now and then.

use std::sync::atomic::Ordering;

use super::answers::{Act, Answers, Arrived, refusal, with_body};
use crate::fiord::{Place, Ran, work};

const SUCCESS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// A server that fails the first request and every third one after it.
fn failing(act: impl Fn() -> Act + Send + Sync + 'static) -> Answers {
    Answers::start(move |arrived| match arrived.number % 3 {
        0 => act(),
        _ => good(arrived),
    })
}

fn good(arrived: &Arrived) -> Act {
    match arrived.line.starts_with("GET") {
        true => Act::Send(vec![with_body("200 OK", &[1; 4096])]),
        false => Act::Send(vec![SUCCESS.into()]),
    }
}

/// Runs a job of four I/Os.
fn run(answers: &Answers, options: &str) -> Ran {
    Place::new().run(&format!("--output-format=json --name=j {} {options}", answers.job()))
}

fn count(ran: &Ran, key: &str) -> u64 {
    ran.json()["jobs"][0]["fiord"]["requests"][key].as_u64().unwrap()
}

#[test]
fn requests_are_sent_again_after_refusals_and_lost_connections() {
    for rw in ["read", "write", "trim"] {
        for depth in [1, 3] {
            let half = with_body("200 OK", &[1; 4096])[..30].to_vec();
            let busy = || refusal("503 Slow Down", "SlowDown", "x");
            let cut = move || Act::SendAndClose(half.clone());
            for (name, answers) in [("busy", failing(busy)), ("cut", failing(cut))] {
                let ran = run(&answers, &format!("--rw={rw} --http_retries=6 --iodepth={depth}"));
                let ran = ran.ok();
                let dir = ["read", "write", "trim"].iter().position(|word| *word == rw).unwrap();
                assert_eq!(work(&ran.json())[0].2[dir].1, 4, "{name} {rw} {depth}: {ran:?}");
                let retries = count(&ran, "retries");
                assert!(retries >= 2, "{name} {rw} {depth}: {ran:?}");
                assert_eq!(count(&ran, "sent"), 4 + retries, "{ran:?}");
                let throttled = if name == "busy" { retries } else { 0 };
                assert_eq!(count(&ran, "throttled"), throttled, "{ran:?}");
                // The first I/O waited for its pause.
                let longest = ran.json()["jobs"][0][rw]["clat_ns"]["max"].as_u64().unwrap();
                assert!(longest >= 100_000_000, "{longest}");
            }
        }
    }
}

#[test]
fn retries_end_and_only_failures_that_may_pass_have_them() {
    let answers = Answers::start(|_| refusal("503 Slow Down", "SlowDown", "x"));
    let ran = run(&answers, "--rw=read --http_retries=2");
    assert_eq!(
        (ran.status, count(&ran, "sent"), count(&ran, "retries")),
        (Some(1), 3, 2),
        "{ran:?}"
    );
    assert!(ran.err.contains("the server answered 503 SlowDown"), "{}", ran.err);
    for options in ["", "--http_retries=0"] {
        let ran = run(&answers, &format!("--rw=read {options}"));
        assert_eq!((ran.status, count(&ran, "sent"), count(&ran, "retries")), (Some(1), 1, 0));
    }
    for (status, code) in [("404 Not Found", "NoSuchKey"), ("403 Forbidden", "AccessDenied")] {
        let answers = Answers::start(move |_| refusal(status, code, "x"));
        let ran = run(&answers, "--rw=read --http_retries=5");
        assert_eq!((ran.status, count(&ran, "retries")), (Some(1), 0), "{ran:?}");
    }
    let normal = Place::new();
    let line = format!(
        "--name=j {} --rw=read --http_retries=6",
        failing(|| refusal("503 x", "", "")).job()
    );
    let ran = normal.run(&line).ok();
    assert!(
        ran.out.contains("answers to slow down;") && ran.out.contains(" retries"),
        "{}",
        ran.out
    );
}

#[test]
fn heads_have_no_body_and_lists_must_be_lists() {
    // Whatever length a head declares, no byte follows.
    let answers = Answers::start(|arrived| match arrived.line.starts_with("HEAD /b/x_") {
        true => Act::Send(vec![b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n".to_vec()]),
        false => refusal("405 Method Not Allowed", "", "x"),
    });
    let ran = run(&answers, "--rw=randread --http_read=head --iodepth=2").ok();
    assert_eq!(work(&ran.json())[0].2[0].1, 4, "{ran:?}");
    assert_eq!(answers.connections.load(Ordering::Relaxed), 2, "{ran:?}");
    assert!(ran.json()["jobs"][0]["read"]["clat_ns"]["percentile"]["99.000000"].as_u64().is_some());
    let list = "<ListBucketResult><Contents><Key>a</Key></Contents><Contents/></ListBucketResult>";
    let answers = Answers::start(move |arrived| {
        let start = "GET /b?list-type=2&max-keys=7&prefix=x HTTP/1.1";
        assert_eq!(arrived.line, start);
        let bytes = with_body("200 OK", list.as_bytes());
        Act::Send(bytes.chunks(11).map(<[u8]>::to_vec).collect())
    });
    let ran = run(&answers, "--rw=read --http_read=list --http_list_keys=7").ok();
    assert_eq!((work(&ran.json())[0].2[0].1, count(&ran, "listed")), (4, 4), "{ran:?}");
    let answers = Answers::start(|_| Act::Send(vec![with_body("200 OK", b"<html/>")]));
    let ran = run(&answers, "--rw=read --http_read=list");
    assert_eq!((ran.status, work(&ran.json())[0].1), (Some(1), 5), "{ran:?}");
    assert!(
        ran.err.contains("GET http://127.0.0.1:") && ran.err.contains("/b?list-type=2"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("something other than a list") && ran.err.contains("To fix: "),
        "{}",
        ran.err
    );
    // WebDAV has no lists, and what returns no data cannot be verified.
    for (options, text) in [
        ("--http_mode=webdav --http_read=list", "`http_read=list` needs S3"),
        ("--http_read=head --verify=crc32c", "`http_read=get`"),
    ] {
        let ran = run(&answers, &format!("--rw=read {options}"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains(text) && ran.err.contains("To fix: "), "{}", ran.err);
    }
}
