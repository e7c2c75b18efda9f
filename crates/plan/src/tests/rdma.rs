//! The peer of `rdma`.

use super::*;
use crate::model::*;

fn line(rest: &str) -> String {
    format!("--name=a --ioengine=rdma --size=1m {rest}")
}

fn addresses(rest: &str) -> Vec<String> {
    let jobs = jobs(&Fake::empty(), &line(rest));
    jobs.iter().map(|job| job.target.files[0].path.display().to_string()).collect()
}

fn plan(rest: &str) -> RdmaPlan {
    match job(&Fake::empty(), &line(rest)).engine {
        EnginePlan::Rdma(plan) => plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_job_that_writes_connects_and_the_job_that_reads_waits() {
    let client = "--rw=write --hostname=h --port=80";
    assert_eq!(addresses(client), ["h:80"]);
    assert_eq!(addresses(&format!("{client} --numjobs=2")), ["h:80", "h:81"]);
    assert_eq!(addresses("--rw=write --hostname=fd09::1 --port=80"), ["[fd09::1]:80"]);
    assert_eq!(addresses("--rw=read --port=80"), ["0.0.0.0:80"]);
    assert_eq!(addresses("--rw=read --port=80 --bindname=10.0.0.1"), ["10.0.0.1:80"]);
    let plain = plan(client);
    assert_eq!((plain.waits, plain.verb, plain.bind), (false, Verb::Write, None));
    let all = plan(&format!("{client} --verb=recv --bindname=10.0.0.1"));
    assert_eq!((all.verb, all.bind.as_deref()), (Verb::Recv, Some("10.0.0.1")));
    assert!(plan("--rw=read --port=80").waits);
}

#[test]
fn what_a_connection_cannot_do_is_refused() {
    let client = "--hostname=h --port=80";
    for (job, what) in [
        ("--rw=write --port=80".to_owned(), "connect with no host to connect to"),
        ("--rw=write --hostname=h".to_owned(), "network IO requires port"),
        (format!("--rw=write {client} --nrfiles=2"), "has one connection"),
        (format!("--rw=write {client} --filename=a:b"), "has one connection"),
        (format!("--rw=write {client} --iodepth=513"), "at most 512 I/Os in flight"),
        (format!("--rw=randwrite {client}"), "network IO can't be random"),
        (format!("--rw=rw {client}"), "either sends or receives"),
        (format!("--rw=write {client} --verify=crc32c"), "cannot verify"),
    ] {
        let errors = run(&Fake::empty(), &line(&job)).unwrap_err();
        assert!(errors.iter().any(|error| error.what.contains(what)), "{job}: {errors:?}");
    }
}

#[test]
fn rates_are_in_bytes() {
    assert_eq!(job(&Fake::empty(), &line("--rw=read --port=80")).reporting.unit_base, 0);
}
