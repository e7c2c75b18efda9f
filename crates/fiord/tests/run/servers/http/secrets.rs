//! Secrets of a job: none of the outputs, messages and files contains them.

use super::answers::{Act, Answers, with_body};
use crate::fiord::{Place, Ran};

const SECRET: &str = "S3cr3tKey+/9";

/// A server that stores nothing and answers every request.
fn server() -> Answers {
    Answers::start(|arrived| match arrived.line.starts_with("GET") {
        true => Act::Send(vec![with_body("200 OK", &[1; 4096])]),
        false => Act::Send(vec![b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()]),
    })
}

/// A job file with all secrets.
fn job_file(place: &Place, port: u16, value: &str) {
    place.write(
        "job.fio",
        format!(
            "[global]\nioengine=http\nhttp_mode=s3\nhttp_s3_keyid=ID\nhttp_host=127.0.0.1:{port}\nfilename=/b/x\nbs=4k\n\
             size=16k\nrw=read\nhttp_s3_key={value}\nhttp_s3_security_token={value}\nhttp_pass={value}\n[a]\n\
             http_swift_auth_token={value}\nhttp_s3_sse_customer_key={value}\n"
        ),
    );
}

/// Checks that neither the outputs nor the files below the place, except the job, contain the secret.
#[track_caller]
fn hidden(place: &Place, ran: &Ran, what: &str) {
    assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{what}: {ran:?}");
    let found = place.script(&format!("grep -rlF -e '{SECRET}' . | grep -v -e job.fio -e key$"));
    assert_eq!(found.out, "", "{what}");
}

#[test]
fn no_output_contains_a_secret() {
    let place = Place::new();
    let answers = server();
    job_file(&place, answers.port, SECRET);
    let ran = place.run("job.fio --output-format=normal,json+,terse --output=result").ok();
    hidden(&place, &ran, "all formats");
    let result = std::fs::read_to_string(place.path("result")).unwrap();
    assert!(result.contains("\"http_s3_key\" : \"***\""), "{result}");
    for options in [
        "--html=page.html",
        "--debug=all",
        "--http_verbose=2",
        "--showcmd",
        "--parse-only",
        "--series=series.json",
        "--write_lat_log=log",
        "--sizee=1",
        "--rw=raed",
    ] {
        let ran = place.run(&format!("job.fio {options}"));
        hidden(&place, &ran, options);
    }
    let shown = place.run("--showcmd job.fio").ok();
    assert!(shown.out.contains("--http_pass=\"***\""), "{}", shown.out);
    for command in [
        "check job.fio",
        "run --repeat=2 job.fio",
        "sweep job.fio --set iodepth=1,2",
        "check --format=json job.fio",
    ] {
        hidden(&place, &place.run(command), command);
    }
}

#[test]
fn secrets_come_from_files_and_the_environment() {
    let place = Place::new();
    place.write("key", format!("{SECRET}\n"));
    let answers = Answers::start(|arrived| {
        // The token is sent as it is.
        assert!(
            arrived.headers.contains(&format!("x-amz-security-token: {}", SECRET.to_lowercase()))
        );
        Act::Send(vec![with_body("200 OK", &[1; 4096])])
    });
    for value in ["@file:key", "env:FIORD_TEST_KEY", "${FIORD_TEST_KEY}"] {
        job_file(&place, answers.port, value);
        let mut command = place.command("job.fio --output-format=json");
        let ran = Ran::from(command.env("FIORD_TEST_KEY", SECRET).output().unwrap()).ok();
        hidden(&place, &ran, value);
    }
    let ran = place.run("job.fio --http_pass=env:NOPE_NOT_SET");
    hidden(&place, &ran, "a variable that is not set");
}

#[test]
fn messages_that_show_the_job_hide_its_secrets() {
    let place = Place::new();
    for wrong in [
        format!("ioengine=null\nhttp_s3_key={SECRET}"),
        format!("ioengine=http\nhttp_s3_kye={SECRET}"),
        format!("ioengine=http\nhttp_mode=s3\nhttp_s3_key={SECRET}\nfilename=/x"),
        // A slash would end the part of an address that has a password.
        format!("ioengine=http\nsize=nbd://me:{}@host/", SECRET.replace('/', "")),
    ] {
        place.write("job.fio", format!("[a]\nrw=read\n{wrong}\n"));
        let ran = place.run("job.fio");
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains("***"), "{}", ran.err);
        assert!(!ran.err.contains(&SECRET[..8]), "{}", ran.err);
        hidden(&place, &ran, &wrong);
    }
}
