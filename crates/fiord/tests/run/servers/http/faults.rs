//! A server that refuses, fails, stalls or lies: the job fails with a message, and other jobs continue.

use std::sync::atomic::Ordering;

use super::super::body::unanswered;
use super::answers::{Act, Answers, refusal, with_body};
use crate::fiord::{Place, Ran, work};

/// A job beside it, which uses no server.
const OTHER: &str = "--name=other --ioengine=null --rw=read --bs=4k --size=4m";

const SUCCESS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Runs a job on the server, beside another one.
fn run(place: &Place, answers: &Answers, options: &str) -> Ran {
    place.run(&format!("--output-format=json --name=j {} {options} {OTHER}", answers.job()))
}

/// Runs a job that must fail with this errno and these texts in its message.
#[track_caller]
fn fails(answers: &Answers, options: &str, errno: i64, texts: &[&str]) {
    let place = Place::new();
    let ran = run(&place, answers, options);
    let jobs = work(&ran.json());
    assert_eq!((ran.status, jobs[0].1, jobs[1].1), (Some(1), errno, 0), "{ran:?}");
    assert_eq!(jobs[1].2[0].1, 1024, "{ran:?}");
    for text in texts {
        assert!(ran.err.contains(text), "`{text}` is not in: {}", ran.err);
    }
    let all = format!("{}{}", ran.out, ran.err);
    assert!(!all.contains("S3cr3tKey"), "{all}");
}

#[test]
fn refusals_name_the_request_the_status_and_the_remedy() {
    const EACCES: i64 = 13;
    for (status, code, errno, remedy) in [
        ("403 Forbidden", "SignatureDoesNotMatch", EACCES, "To fix: check `http_s3_key`"),
        ("403 Forbidden", "InvalidAccessKeyId", EACCES, "To fix: check `http_s3_keyid`"),
        ("400 Bad Request", "ExpiredToken", EACCES, "To fix: request new temporary keys"),
        ("404 Not Found", "NoSuchBucket", 2, "To fix: create the bucket"),
        ("404 Not Found", "NoSuchKey", 2, "To fix: write the objects first"),
        ("503 Slow Down", "SlowDown", 16, "To fix: use a smaller `iodepth`"),
        ("507 Insufficient Storage", "", 28, "To fix: free space on the server"),
        ("500 Oops", "InternalError", 5, "To fix: check the server's log"),
    ] {
        let answers = Answers::start(move |_| refusal(status, code, "because"));
        let answered = format!("the server answered {}", &status[..3]);
        let url = format!("GET http://127.0.0.1:{}/b/x_0_4096: {answered}", answers.port);
        fails(&answers, "--rw=read", errno, &[&url, code, "because", remedy]);
    }
}

#[test]
fn a_refusal_leaves_the_connection_usable() {
    let answers = Answers::start(|arrived| match arrived.number % 2 {
        0 => refusal("404 Not Found", "NoSuchKey", "gone"),
        _ => Act::Send(vec![with_body("200 OK", &[7; 4096])]),
    });
    let place = Place::new();
    let ran = run(&place, &answers, "--rw=read --continue_on_error=read");
    assert_eq!(answers.connections.load(Ordering::Relaxed), 1, "{ran:?}");
    // Half of the reads failed, and count as I/Os without bytes.
    assert_eq!(work(&ran.json())[0].2[0], (8192, 4), "{ran:?}");
}

#[test]
fn answers_that_are_cut_reset_or_wrong_are_errors() {
    const ECONNRESET: i64 = 104;
    const EPROTO: i64 = 71;
    let half = with_body("200 OK", &[1; 4096])[..2000].to_vec();
    let cut = half.clone();
    let answers = Answers::start(move |_| Act::SendAndClose(cut.clone()));
    let text = "the server closed the connection in the body of its answer, after 19";
    fails(&answers, "--rw=read", ECONNRESET, &[text, "of 4096", "To fix: "]);
    let answers = Answers::start(move |_| Act::SendAndReset(half.clone()));
    let text = "the server reset the connection in the body of the answer (19";
    fails(&answers, "--rw=read", ECONNRESET, &[text, "To fix: "]);
    let answers = Answers::start(|_| Act::SendAndClose(Vec::new()));
    fails(&answers, "--rw=write", ECONNRESET, &["without an answer", "To fix: "]);
    let answers = Answers::start(|_| Act::Send(vec![b"220 mail.example ESMTP\r\n".to_vec()]));
    fails(
        &answers,
        "--rw=read",
        EPROTO,
        &["does not answer in HTTP/1", "220 mail.example", "To fix: "],
    );
    let answers = Answers::start(|_| Act::Send(vec![with_body("200 OK", &[1; 5000])]));
    fails(&answers, "--rw=read", 90, &["more than the 4096 bytes", "To fix: "]);
    let answers = Answers::start(|_| Act::Send(vec![with_body("200 OK", &[1; 100])]));
    fails(&answers, "--rw=read", 5, &["with 100 bytes instead of 4096", "To fix: "]);
    let answers = Answers::start(|_| Act::Send(vec![with_body("200 OK", &[1; 4096])]));
    let text = "the server answered 200 with the whole object instead of bytes 0 to 4095";
    fails(&answers, "--rw=read --http_object_mode=range", 5, &[text, "To fix: "]);
}

#[test]
fn a_server_that_stalls_ends_its_job_after_the_timeout() {
    for depth in ["1", "4"] {
        let answers = Answers::start(|_| Act::Stall);
        let options = format!("--rw=read --endpoint_timeout=1 --iodepth={depth}");
        fails(
            &answers,
            &options,
            110,
            &["no answer to the read of 4096 bytes at offset", "within 1 s. To fix: "],
        );
    }
    // The other requests continue while one waits.
    let answers = Answers::start(|arrived| match arrived.line.contains("/b/x_0_") {
        true => Act::Stall,
        false => Act::Send(vec![with_body("200 OK", &[1; 4096])]),
    });
    let options = "--rw=read --endpoint_timeout=1 --iodepth=2 --time_based --runtime=60";
    fails(
        &answers,
        options,
        110,
        &["/b/x_0_4096: no answer to the read of 4096 bytes at offset 0"],
    );
}

#[test]
fn a_server_that_stalls_before_the_end_of_the_run_time_gets_its_whole_timeout() {
    let answers = Answers::start(|arrived| match arrived.number < 100 {
        true => Act::Send(vec![with_body("200 OK", &[1; 4096])]),
        false => Act::Stall,
    });
    let place = Place::new();
    let options = "--rw=read --iodepth=8 --time_based --runtime=1 --endpoint_timeout=4";
    let ran = run(&place, &answers, options);
    let json = ran.json();
    assert_eq!((ran.status, work(&json)[0].1), (Some(1), 110), "{ran:?}");
    assert_eq!(unanswered(&json, 4_000_000_000), 8, "{ran:?}");
}

#[test]
fn answers_in_pieces_in_chunks_and_without_keep_alive_are_read() {
    let chunked: Vec<u8> = [
        &b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n"[..],
        &[3; 1024],
        b"\r\nc00\r\n",
        &[3; 3072],
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let plain = with_body("200 OK", &[3; 4096]);
    let until_close = [&b"HTTP/1.0 200 OK\r\n\r\n"[..], &[3; 4096]].concat();
    for (kind, bytes) in [chunked, plain, until_close].into_iter().enumerate() {
        let answers = Answers::start(move |_| match kind {
            2 => Act::SendAndClose(bytes.clone()),
            _ => Act::Send(bytes.chunks(700).map(<[u8]>::to_vec).collect()),
        });
        for depth in [1, 3] {
            let place = Place::new();
            let verify = "--verify=pattern --verify_pattern=0x03";
            let ran = run(&place, &answers, &format!("--rw=read --iodepth={depth} {verify}")).ok();
            assert_eq!(work(&ran.json())[0].2[0].1, 4, "{ran:?}");
        }
        let connections = answers.connections.load(Ordering::Relaxed);
        assert_eq!(connections, if kind == 2 { 8 } else { 4 }, "kind {kind}");
    }
}

#[test]
fn a_connection_that_the_server_gave_up_is_made_again_once() {
    // Each connection carries two requests, and is closed instead of an answer to the third.
    let answers = Answers::start(|arrived| match arrived.number % 3 {
        2 => Act::SendAndClose(Vec::new()),
        _ => Act::Send(vec![SUCCESS.into()]),
    });
    let place = Place::new();
    let ran = run(&place, &answers, "--rw=write").ok();
    assert_eq!(work(&ran.json())[0].2[1].1, 4, "{ran:?}");
    assert!(answers.connections.load(Ordering::Relaxed) >= 2);
}

#[test]
fn wrong_options_are_refused_before_the_run() {
    let place = Place::new();
    for (options, text) in [
        ("--filename=x", "begins with a slash"),
        ("--filename=/x --http_host=http://h/", "`http://h/` is not a host"),
        ("--filename=/x --http_host=h:99999", "is not a host with a port"),
        ("--filename=/x --http_mode=swift", "`http_mode=swift` needs a token"),
        (
            "--filename=/x --http_mode=s3 --http_s3_keyid=a",
            "`http_s3_keyid` is set, and `http_s3_key` is not",
        ),
        ("--filename=/x --https=on --http_ca_file=/nope", "`/nope`"),
        ("--filename=/x --http_host=host.invalid", "cannot look up the host `host.invalid`"),
    ] {
        let ran =
            place.run(&format!("--name=j --ioengine=http --rw=read --bs=4k --size=4k {options}"));
        assert_eq!(ran.status, Some(1), "{options}");
        assert!(ran.err.contains(text) && ran.err.contains("To fix: "), "{options}: {}", ran.err);
    }
}

#[test]
fn reports_count_requests_and_name_servers_that_distort_results() {
    let place = Place::new();
    let run = |answers: &Answers, options: &str| {
        let options = format!("{options} --size=256k --rw=write");
        (run(&place, answers, &options).ok().json(), run(&place, answers, &options).out)
    };
    let has = |text: &str, finding: &str| text.contains(&format!("\"{finding}\""));
    // Each answer ends its connection.
    let bytes = SUCCESS.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let answers = Answers::start(move |_| Act::SendAndClose(bytes.clone().into()));
    let (json, text) = run(&answers, "");
    let requests = &json["jobs"][0]["fiord"]["requests"];
    assert_eq!((requests["sent"].as_u64(), requests["reconnects"].as_u64()), (Some(64), Some(63)));
    let times = &requests["first_byte_ns"];
    assert_eq!(times["N"].as_u64(), Some(64));
    let mean = json["jobs"][0]["write"]["clat_ns"]["mean"].as_f64().unwrap();
    let first = times["mean"].as_f64().unwrap();
    assert!(first > 0.0 && first <= mean * 1.5, "{first} {mean}");
    assert!(has(&text, "connection-per-request") && !has(&text, "server-throttling"), "{text}");
    // Every second answer asks to slow down.
    let answers = Answers::start(|arrived| match arrived.number % 2 {
        0 => refusal("503 Slow Down", "SlowDown", "x"),
        _ => Act::Send(vec![SUCCESS.into()]),
    });
    let options = format!("--output-format=json --name=j {} --size=256k --rw=write", answers.job());
    let ran = place.run(&format!("{options} --continue_on_error=write"));
    assert_eq!(
        ran.json()["jobs"][0]["fiord"]["requests"]["throttled"].as_u64(),
        Some(32),
        "{ran:?}"
    );
    assert!(has(&ran.out, "server-throttling") && !has(&ran.out, "connection-per-request"));
    // A server without either.
    let answers = Answers::start(|_| Act::Send(vec![SUCCESS.into()]));
    let (_, text) = run(&answers, "--iodepth=4");
    assert!(!has(&text, "server-throttling") && !has(&text, "connection-per-request"), "{text}");
    let normal = place.run(&format!("--name=j {} --rw=write", answers.job())).ok();
    assert!(normal.out.contains("fiord: 4 requests; first byte (usec): min="), "{}", normal.out);
}
