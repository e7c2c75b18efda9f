//! Servers that do not answer, and libraries that this machine lacks.

use std::cell::Cell;
use std::path::Path;

use fiord_job::load::Memory as NoFiles;
use fiord_types::{Bytes, Errno};

use super::*;
use crate::model::*;

/// Servers of which `good` answers.
#[derive(Debug)]
struct Servers {
    about: EndpointSubject,
    asked: Cell<u32>,
}

impl Endpoints for Servers {
    fn ask(
        &self,
        _engine: &EnginePlan,
        address: &Path,
    ) -> Result<Option<EndpointFacts>, EndpointError> {
        self.asked.set(self.asked.get() + 1);
        if address == Path::new("nbd://good") {
            return Ok(Some(EndpointFacts::fixed(Bytes::from_mib(8))));
        }
        Err(EndpointError {
            what: "nothing listens".into(),
            help: Some("To fix: start it".into()),
            errno: Some(Errno::ECONNREFUSED),
            about: self.about,
        })
    }
}

const GOOD: &str = "--name=good --ioengine=nbd --uri=nbd://good --rw=read";
const BAD: &str = "--name=bad --ioengine=nbd --uri=nbd://bad --rw=randwrite --offset=50% --verify=crc32c --numjobs=3";

/// The plan of both jobs, and how often a server was asked.
fn planned(about: EndpointSubject) -> (Result<Resolved, Vec<Diagnostic>>, u32) {
    let line = format!("{BAD} {GOOD}");
    let args: Vec<String> = line.split_whitespace().map(String::from).collect();
    let invocation = fiord_job::invocation(&args, &mut NoFiles::default()).unwrap();
    let servers = Servers { about, asked: Cell::new(0) };
    let options = PlanOptions { endpoints: Some(&servers), ..PlanOptions::of(&invocation) };
    (resolve(&invocation.jobs, options, &Fake::empty()), servers.asked.get())
}

#[test]
fn a_job_whose_server_does_not_answer_is_planned_to_fail_alone() {
    for about in [EndpointSubject::Target, EndpointSubject::Server, EndpointSubject::Library] {
        let (resolved, asked) = planned(about);
        let Resolved { plan, warnings, unavailable } = resolved.unwrap();
        // One question for all instances: each may wait for the whole timeout.
        assert_eq!(asked, 2, "{about:?}");
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(unavailable.len(), 1, "{unavailable:?}");
        assert_eq!(unavailable[0].what, "job `bad`: nothing listens");
        let (bad, good) = plan.jobs.split_at(3);
        for job in bad {
            let why = job.unavailable.as_deref().unwrap();
            assert_eq!((why.what.as_str(), why.about), ("nothing listens", about));
            assert!(job.target.files.is_empty());
        }
        assert_eq!(bad.iter().map(|job| job.identity.instance).collect::<Vec<_>>(), [0, 2, 1]);
        assert_eq!(good[0].unavailable, None);
        assert_eq!(good[0].target.files[0].len, Bytes::from_mib(8));
    }
}

#[test]
fn wrong_properties_and_policies_refuse_the_run() {
    for about in [EndpointSubject::Property, EndpointSubject::Policy] {
        let errors = planned(about).0.unwrap_err();
        assert_eq!((errors.len(), errors[0].what.as_str()), (1, "job `bad`: nothing listens"));
    }
}
