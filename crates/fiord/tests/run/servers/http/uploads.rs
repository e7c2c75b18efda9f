//! Uploads in parts (`http_s3_part_size`), with moto and boto3, and on a server that fails on purpose.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::super::Service;
use super::answers::{Act, Answers, Arrived, refusal, with_body};
use super::moto::Moto;
use crate::fiord::{Place, Ran, end, signal, under_way, work};

const CREATED: &str =
    "<InitiateMultipartUploadResult><UploadId>u/1%2F</UploadId></InitiateMultipartUploadResult>";
/// What a run prints that ends with Ctrl-C.
const TERMINATED: &str = "fiord: terminating on signal 2";

const COMPLETE: &str = "<CompleteMultipartUploadResult/>";

/// How many uploads the server keeps.
fn unfinished(moto: &Moto, place: &Place) -> Vec<u8> {
    let lines = "print(len(s3.list_multipart_uploads(Bucket='bucket').get('Uploads', [])))";
    moto.python(place, lines)
}

fn count(ran: &Ran, key: &str) -> u64 {
    ran.json()["jobs"][0]["fiord"]["requests"][key].as_u64().unwrap()
}

#[test]
fn another_client_reads_what_was_uploaded_in_parts() {
    let place = Place::new();
    let Some(moto) = Moto::start(&place) else { return };
    let job = format!("--name=j {} --bs=11m --size=22m --output-format=json", moto.job());
    let upload = "--http_s3_part_size=5m --iodepth=2";
    let ran = place.run(&format!("{job} --rw=write {upload} --buffer_pattern=0x01234567")).ok();
    let lines = "import hashlib\nfor at in (0, 11 << 20):\n  o = s3.get_object(Bucket='bucket', Key=f'k/e.y_{at}_{11 << 20}')\n  \
                 print(o['ETag'][-3:], o['Body'].read() == bytes.fromhex('01234567') * (11 << 18))";
    assert_eq!(String::from_utf8(moto.python(&place, lines)).unwrap(), "-3\" True\n-3\" True\n");
    assert_eq!(unfinished(&moto, &place), b"0\n");
    // The report has the latencies of objects and of their parts.
    let json = ran.json();
    let (part, object) =
        (&json["jobs"][0]["fiord"]["requests"]["part_ns"], &json["jobs"][0]["write"]["clat_ns"]);
    assert_eq!((part["N"].as_u64(), object["N"].as_u64()), (Some(6), Some(2)), "{ran:?}");
    assert!(part["mean"].as_f64().unwrap() * 3.0 < object["mean"].as_f64().unwrap() * 1.07);
    assert_eq!((count(&ran, "sent"), count(&ran, "aborted_uploads")), (10, 0));
    // Objects that are not longer than a part have one request, and other jobs read all of them.
    let options = "--rw=randwrite --verify=crc32c --http_s3_part_size=6m";
    let ran = place.run(&format!("{job} {options}")).ok();
    assert_eq!(count(&ran, "sent"), 2 * 4 + 2, "{ran:?}");
    let normal = job.replace("--output-format=json", "");
    let text = place.run(&format!("{normal} --rw=write {upload}")).ok().out;
    assert!(text.contains("; 6 parts (usec): min="), "{text}");
}

#[test]
fn a_job_that_ends_leaves_no_upload_behind() {
    let place = Place::new();
    let Some(moto) = Moto::start(&place) else { return };
    let job = format!("--name=j {} --rw=write --output-format=json", moto.job());
    // The server refuses the object because its parts are small.
    let ran = place.run(&format!("{job} --bs=3m --size=3m --http_s3_part_size=1m"));
    assert_eq!((ran.status, count(&ran, "aborted_uploads")), (Some(1), 1), "{ran:?}");
    assert!(ran.err.contains("EntityTooSmall"), "{}", ran.err);
    assert!(ran.err.contains("To fix: set a larger `http_s3_part_size`"), "{}", ran.err);
    assert_eq!(unfinished(&moto, &place), b"0\n");
    let long = format!(
        "{job} --bs=64m --size=256m --iodepth=4 --http_s3_part_size=5m --time_based --runtime="
    );
    place.run(&format!("{long}1")).ok();
    assert_eq!(unfinished(&moto, &place), b"0\n");
    let child = place.start(&format!("{long}100"));
    under_way(&child);
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "INT");
    let ran = end(child, Duration::from_secs(60));
    assert_eq!(ran.err.trim(), TERMINATED, "{ran:?}");
    assert!(count(&ran, "sent") > 4, "{ran:?}");
    assert_eq!(unfinished(&moto, &place), b"0\n");
}

/// A server that accepts uploads, but for what `other` answers, and the lines of the requests that arrived.
fn uploads(
    other: impl Fn(&Arrived) -> Option<Act> + Send + Sync + 'static,
) -> (Answers, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let arrived_lines = lines.clone();
    let answers = Answers::start(move |arrived| {
        let line = arrived.line.trim_end_matches(" HTTP/1.1");
        arrived_lines.lock().unwrap().push(line.to_owned());
        other(arrived).unwrap_or_else(|| good(line))
    });
    (answers, lines)
}

fn good(line: &str) -> Act {
    Act::Send(vec![match line {
        _ if line.ends_with("?uploads=") => with_body("200 OK", CREATED.as_bytes()),
        _ if line.starts_with("POST") => with_body("200 OK", COMPLETE.as_bytes()),
        _ if line.starts_with("DELETE") => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        _ => b"HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 0\r\n\r\n".to_vec(),
    }])
}

/// Runs a job that writes one object in three parts.
fn run(answers: &Answers, options: &str) -> Ran {
    let options = format!("--rw=write --size=4k --http_s3_part_size=1500 {options}");
    Place::new().run(&format!("--output-format=json --name=j {} {options}", answers.job()))
}

const ID: &str = "uploadId=u%2F1%252F";

#[test]
fn the_requests_of_an_upload_follow_each_other() {
    for depth in [1, 2] {
        let (answers, lines) = uploads(|_| None);
        let ran = run(&answers, &format!("--iodepth={depth}")).ok();
        assert_eq!(work(&ran.json())[0].2[1], (4096, 1), "{ran:?}");
        let part = |number: u32| format!("PUT /b/x_0_4096?partNumber={number}&{ID}");
        let complete = format!("POST /b/x_0_4096?{ID}");
        let expected = ["POST /b/x_0_4096?uploads=".into(), part(1), part(2), part(3), complete];
        assert_eq!(*lines.lock().unwrap(), expected);
    }
}

#[test]
fn an_upload_that_fails_is_removed() {
    let error = "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>because</Message></Error>";
    type Answer = fn(&Arrived, &str) -> Option<Act>;
    let of_complete: Answer = |arrived, error| {
        let is_complete = arrived.line.starts_with("POST") && arrived.line.contains("uploadId");
        is_complete.then(|| Act::Send(vec![with_body("200 OK", format!("  \n{error}").as_bytes())]))
    };
    let of_part: Answer = |arrived, _| {
        let is_second = arrived.line.contains("partNumber=2");
        is_second.then(|| refusal("500 Oops", "InternalError", "because"))
    };
    let no_tag: Answer = |arrived, _| {
        let is_part = arrived.line.contains("partNumber=1");
        is_part.then(|| Act::Send(vec![with_body("200 OK", b"")]))
    };
    let cut: Answer = |arrived, _| {
        arrived.line.contains("partNumber=3").then(|| Act::SendAndReset(b"HTTP/1.1 200 ".to_vec()))
    };
    let stall: Answer = |arrived, _| arrived.line.contains("partNumber=3").then_some(Act::Stall);
    for (answer, errno, message) in [
        (of_complete, 5, "uploadId=u%2F1%252F: the server answered 200 InternalError: because"),
        (of_part, 5, "partNumber=2&uploadId=u%2F1%252F: the server answered 500 InternalError"),
        (no_tag, 71, "the server's answer has no header `ETag`. To fix: "),
        (cut, 104, "the server reset the connection in the head of the answer"),
        (stall, 110, "no answer to the write of 4096 bytes at offset 0 within 1 s. To fix: "),
    ] {
        for depth in [1, 4] {
            let (answers, lines) = uploads(move |arrived| answer(arrived, error));
            let ran = run(&answers, &format!("--endpoint_timeout=1 --iodepth={depth}"));
            assert_eq!((ran.status, work(&ran.json())[0].1), (Some(1), errno), "{ran:?}");
            assert!(ran.err.contains(message), "`{message}` is not in: {}", ran.err);
            assert_eq!(count(&ran, "aborted_uploads"), 1, "{ran:?}");
            let last = lines.lock().unwrap().last().cloned().unwrap();
            assert_eq!(last, format!("DELETE /b/x_0_4096?{ID}"), "{message}");
        }
    }
}

#[test]
fn an_upload_that_stays_on_the_server_is_in_the_message() {
    let (answers, _) = uploads(|arrived| match &arrived.line {
        line if line.contains("partNumber=2") => Some(refusal("507 Full", "", "x")),
        line if line.starts_with("DELETE") => Some(refusal("403 No", "AccessDenied", "no")),
        _ => None,
    });
    let ran = run(&answers, "");
    assert_eq!((work(&ran.json())[0].1, count(&ran, "aborted_uploads")), (28, 0), "{ran:?}");
    let text = "may keep the parts of an upload, because the request to remove them failed: the server answered 403";
    assert!(ran.err.contains("the server answered 507") && ran.err.contains(text), "{}", ran.err);
    // An invalid answer to the first request is an error, and nothing is to be removed.
    let (answers, lines) = uploads(|arrived| {
        let is_first = arrived.line.contains("?uploads=");
        is_first.then(|| Act::Send(vec![with_body("200 OK", b"<html/>")]))
    });
    let ran = run(&answers, "");
    assert_eq!(work(&ran.json())[0].1, 71, "{ran:?}");
    assert!(ran.err.contains("the server's answer names no upload. To fix: "), "{}", ran.err);
    assert_eq!(lines.lock().unwrap().len(), 1);
}

#[test]
fn requests_of_uploads_are_sent_again_if_the_job_says_so() {
    // Each request fails once: first the server is busy, then the answer within a success is an error.
    let seen = Mutex::new(std::collections::HashSet::new());
    let (answers, lines) = uploads(move |arrived| {
        let is_new = seen.lock().unwrap().insert(arrived.line.clone());
        let is_end = arrived.line.starts_with("POST") && arrived.line.contains("uploadId");
        let error = b"<Error><Code>SlowDown</Code><Message>x</Message></Error>";
        match (is_new, is_end) {
            (true, true) => Some(Act::Send(vec![with_body("200 OK", error)])),
            (true, false) => Some(refusal("503 Slow Down", "SlowDown", "x")),
            _ => None,
        }
    });
    let ran = run(&answers, "--http_retries=1").ok();
    assert_eq!((count(&ran, "retries"), lines.lock().unwrap().len()), (5, 10), "{ran:?}");
    // The latency of a part has its pause.
    let shortest = ran.json()["jobs"][0]["fiord"]["requests"]["part_ns"]["min"].as_u64().unwrap();
    assert!(shortest >= 100_000_000, "{shortest}");
}

#[test]
fn ctrl_c_removes_uploads_that_the_server_does_not_answer() {
    for (stalled, deletes, message) in [
        ("partNumber=2", true, ""),
        // The server does not tell what to remove.
        ("?uploads=", false, "may keep the parts of an upload"),
    ] {
        let (answers, lines) =
            uploads(move |arrived| arrived.line.contains(stalled).then_some(Act::Stall));
        let place = Place::new();
        let line =
            format!("--name=j {} --rw=write --http_s3_part_size=1500 --iodepth=4", answers.job());
        let child = place.start(&line);
        while lines.lock().unwrap().iter().filter(|line| line.contains(stalled)).count() < 4 {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(&child, "INT");
        let ran = end(child, Duration::from_secs(20));
        let lines = lines.lock().unwrap();
        let removed = lines.iter().filter(|line| line.starts_with("DELETE")).count();
        assert_eq!(removed, if deletes { 4 } else { 0 }, "{ran:?}");
        assert!(ran.err.contains(message), "{ran:?}");
        assert_eq!(ran.err.trim() == TERMINATED, message.is_empty(), "{ran:?}");
    }
}
