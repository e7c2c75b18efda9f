//! The job language end to end, on files in memory.

use crate::load::Memory;
use crate::option::value::{Amount, Value};
use crate::{Invocation, invocation};

fn args(list: &[&str]) -> Vec<String> {
    list.iter().map(|a| a.to_string()).collect()
}

fn job(text: &str) -> Invocation {
    invocation(&args(&["job.fio"]), &mut Memory::job(text)).expect("a right job file")
}

fn command(list: &[&str]) -> Invocation {
    invocation(&args(list), &mut Memory::default()).expect("a right command line")
}

#[test]
fn a_global_section_counts_for_the_jobs_below_it() {
    let run = job("[global]\nbs=8k\nioengine=null\n[one]\n[global]\nbs=16k\n[two]\nsize=1m\n");
    assert_eq!(run.jobs.len(), 2);
    assert_eq!(run.jobs[0].ints("bs").unwrap()[0], Some(8192));
    assert_eq!(run.jobs[1].ints("bs").unwrap()[0], Some(16384));
    assert_eq!(run.jobs[1].amount("size"), Some(Amount::Bytes(1 << 20)));
    assert_eq!(run.jobs[1].value("ioengine"), Some(Value::Word("null", None)));
    assert_eq!(run.globals.len(), 3);
}

#[test]
fn options_before_the_first_name_are_global() {
    let run = command(&["--bs=4k", "--name=a", "--rw=randread:8", "-name", "b", "--bs", "8k"]);
    assert_eq!(run.jobs.len(), 2);
    assert_eq!(run.jobs[0].word("rw"), Some(("randread", Some("8".into()))));
    assert_eq!(run.jobs[1].ints("bs").unwrap(), [Some(8192); 3]);
    assert_eq!(run.jobs[0].setting("name").unwrap().text.as_deref(), Some("a"));
}

#[test]
fn what_was_not_set_has_its_default() {
    let run = job("[a]\nsize=1m\n");
    assert_eq!(run.jobs[0].int("iodepth"), Some(1));
    assert!(!run.jobs[0].flag("direct"));
    assert!(!run.jobs[0].flag("time_based"));
    assert_eq!(run.jobs[0].value("filename"), None);
}
