//! `existing-names`: `filecreate` opens files that exist.

use fiord_job::option::table::{LOOPS, TIME_BASED, UNLINK_EACH_LOOP};
use fiord_plan::{JobPlan, NameCall};
use fiord_stat::finding::Severity;

use crate::check::{Before, Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::setting::set;

pub(crate) const CHECK: Check = Check {
    id: "existing-names",
    severity: Severity::Invalid,
    title: "files existed, and filecreate opened them instead of creating them",
    about: "As in fio, `filecreate` creates a file only if it does not exist. Otherwise the call only opens it: \
            the file system changes nothing, and the rate is that of a search in memory. This happens if an \
            earlier run left the files, and in the second and later passes over them (`loops`, \
            `time_based`).",
    detection: "A job with `filecreate` works on its files, not on a tree (`tree_items`, where an existing name is \
                an error); and some of the names exist before the run, or the job makes several passes and does \
                not remove the files between them (`unlink_each_loop`). If there are many names, the check \
                looks at a sample.",
    effect: "10,000 files on ext4: 4,000 to 140,000 calls per second create files, 260,000 to 590,000 open those that \
             exist (three runs each on a busy machine).",
    remedy: "remove the files before each run, for example with a job with `ioengine=filedelete` in the same \
             directory, or with `unlink=1`; for several passes, set `unlink_each_loop=1`. Set \
             `ignore_findings=existing-names` if you want to measure the opening of files.",
    lint: Some(lint),
    before: Some(before),
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.sections().filter_map(repeated));
}

/// The finding for a job that goes over its names several times.
fn repeated(job: &JobPlan) -> Option<FindingBuilder> {
    if !creates_files(job) || job.target.unlink_each_loop {
        return None;
    }
    let end = &job.end;
    let (option, why) = match end.time_based && end.runtime.is_some() {
        true => {
            (TIME_BASED.def(), "time_based repeats the pass until runtime has passed".to_owned())
        }
        false if end.loops > 1 => {
            (LOOPS.def(), format!("loops={} makes as many passes", end.loops))
        }
        false => return None,
    };
    let name = &job.identity.name;
    let unlink = set(UNLINK_EACH_LOOP, 1);
    let finding = CHECK
        .for_job(
            job,
            format!("job {name} creates its files in the first pass and then only opens them"),
        )
        .evidence(why)
        .remedy(format!("set {unlink}, or make one pass over more files (nrfiles)"))
        .settings([unlink])
        .option(option);
    Some(finding)
}

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    for job in known.sections().filter(|job| creates_files(job)) {
        let section = job.identity.section;
        let instances = known.plan.jobs.iter().filter(|job| job.identity.section == section);
        let files = instances.flat_map(|job| &job.target.files);
        let states: Vec<_> = files.filter_map(|file| known.machine.files.get(&file.path)).collect();
        let existing = states.iter().filter(|state| state.facts.is_ok()).count();
        if existing == 0 {
            continue;
        }
        let what =
            format!("job {} opens files that exist and does not create them", job.identity.name);
        let mut said = SaidNumbers::default();
        let some = said.count("existing", existing as f64);
        let all = said.count("names", states.len() as f64);
        let finding = CHECK
            .for_job(job, what)
            .evidence(format!("{some} of {all} names existed before the run"))
            .numbers(said)
            .remedy("remove the files before the run, for example by a job with ioengine=filedelete or unlink=1");
        findings.report(finding);
    }
}

/// Whether a job creates files under its own names, which may exist.
fn creates_files(job: &JobPlan) -> bool {
    job.engine
        .names()
        .is_some_and(|names| names.call == NameCall::CreateFile && names.tree.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{before, found_once, plan, scratch};

    #[test]
    fn reports_later_passes() {
        let job = "--name=a --nrfiles=4 --filesize=4k --ioengine=filecreate";
        let found = found_once(
            &CHECK,
            &format!("{job} --loops=3"),
            &[
                job,
                &format!("{job} --loops=3 --unlink_each_loop=1"),
                &format!("{job} --ioengine=filestat --loops=3"),
                &format!("{job} --runtime=3"),
                "--name=a --ioengine=filecreate --tree_items=4 --filename=t --loops=2",
            ],
        );
        assert_eq!(found.evidence, "loops=3 makes as many passes");
        let timed = crate::tests::fixture::lint(&CHECK, &format!("{job} --time_based --runtime=3"));
        assert_eq!(timed.len(), 1);
    }

    #[test]
    fn reports_files_of_an_earlier_run() {
        let path = scratch();
        let job = format!(
            "--name=a --filesize=4k --filename={0}:{0}-new --ioengine=filecreate",
            path.display()
        );
        assert!(before(&CHECK, &plan(&job).0).is_empty());
        std::fs::write(&path, "").unwrap();
        let found = before(&CHECK, &plan(&job).0);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].evidence, "1 of 2 names existed before the run");
    }
}
