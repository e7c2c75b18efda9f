use proptest::prelude::*;

use super::*;
use crate::diagnostic::Diagnostic;
use crate::load::Memory;
use crate::option::table::object::{HTTP_PASS, HTTP_S3_KEY};

fn job(text: &str) -> Result<crate::command::Invocation, Vec<Diagnostic>> {
    let mut loader = Memory::job(text);
    loader.variables.push(("KEY".into(), "S3cr3t".into()));
    loader.variables.push(("@file:/key".into(), "S3cr3t\n".into()));
    crate::command::invocation(&["job.fio".to_owned()], &mut loader)
}

#[test]
fn a_secret_comes_from_the_text_the_environment_or_a_file() {
    for value in ["S3cr3t", "${KEY}", "env:KEY", "@file:/key"] {
        let run = job(&format!("[a]\nioengine=http\nhttp_pass={value}\n")).unwrap();
        assert_eq!(run.jobs[0].get(HTTP_PASS).as_deref(), Some("S3cr3t"), "{value}");
        let setting = run.jobs[0].setting(HTTP_PASS).unwrap();
        let expected = if value.contains(':') { value } else { MASK };
        assert_eq!(setting.shown_text().as_deref(), Some(expected));
    }
}

fn messages(text: &str) -> String {
    let failure = job(text).unwrap_err();
    failure.iter().map(|error: &Diagnostic| error.render(false)).collect()
}

#[test]
fn a_secret_that_is_missing_is_an_error() {
    let text = messages("[a]\nioengine=http\nhttp_s3_key=env:NOPE\n");
    assert!(text.contains("the environment variable NOPE is not set"), "{text}");
    let text = messages("[a]\nioengine=http\nhttp_s3_key=@file:/nope\n");
    assert!(text.contains("cannot read the secret in `/nope`"), "{text}");
}

#[test]
fn messages_show_no_secret() {
    for wrong in [
        // The option belongs to another engine, is misspelt, or stands next to the error.
        "ioengine=null\nhttp_s3_key=S3cr3t",
        "ioengine=http\nhttp_s3_kye=S3cr3t",
        "ioengine=http\nhttp_pasword=S3cr3t x",
        "ioengine=http\nsize=nbd://me:S3cr3t@host/",
        "ioengine=http\nhttp_mode=//me%S3cr3t@host/",
    ] {
        let text = messages(&format!("[a]\n{wrong}\n"));
        assert!(!text.contains("S3cr3t") && text.contains(MASK), "{text}");
    }
    let args =
        ["--name=a", "--ioengine=http", "--http_pass=S3cr3t 1", "--sizee=4k"].map(String::from);
    let failure = crate::command::invocation(&args, &mut Memory::default()).unwrap_err();
    let text: String = failure.iter().map(|error| error.render(false)).collect();
    assert!(!text.contains("S3cr3t") && text.contains("--sizee=4k"), "{text}");
}

#[test]
fn marks_stay_below_their_text() {
    let line = "--http_pass=S3cr3t --size=x --uri=nbd://u:S3cr3t@h/";
    let masked = Masked::source(line, true);
    assert_eq!(masked.text, "--http_pass=*** --size=x --uri=nbd://u:***@h/");
    let part = |from: &str| {
        let start = line.find(from).unwrap();
        masked.text[masked.range(&(start..start + from.len()))].to_owned()
    };
    assert_eq!(part("--size=x"), "--size=x");
    assert_eq!(part("S3cr3t"), MASK);
    assert_eq!(part("--http_pass=S3cr3t"), "--http_pass=***");
    assert_eq!(part("--uri=nbd://u:S3cr3t@h/"), "--uri=nbd://u:***@h/");
}

#[test]
fn names_of_secrets_are_known() {
    assert!(HTTP_S3_KEY.def().secret && is_secret_name("http_s3_key"));
    assert!(
        !is_secret_name("http_s3_keyid") && !is_secret_name("size") && is_secret_name("s3_secret")
    );
    assert_eq!(without_passwords("/plain//path@2"), "/plain//path@2");
    assert_eq!(without_passwords("iscsi\\://u%p@h/x"), "iscsi\\://u%***@h/x");
}

proptest! {
    #[test]
    fn any_text_can_be_masked(text in "[-a-z_=/:@% \n\u{e4}]{0,60}", from in 0usize..60, len in 0usize..60) {
        let _ = in_sentence(text.clone());
        for is_command_line in [false, true] {
            let masked = Masked::source(&text, is_command_line);
            let start = from.min(text.len());
            let end = (start + len).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                let range = masked.range(&(start..end));
                prop_assert!(range.start <= range.end && masked.text.get(range).is_some());
            }
        }
    }
}
