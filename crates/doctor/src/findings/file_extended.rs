//! `file-extended`: a job that only reads makes someone's file longer.

use fiord_job::option::table::SIZE;
use fiord_plan::FilePlan;
use fiord_stat::finding::Severity;
use fiord_types::Bytes;

use crate::check::{Check, CollectedFindings, Lint};

pub(crate) const CHECK: Check = Check {
    id: "file-extended",
    severity: Severity::Note,
    title: "a read job that makes an existing file longer",
    about: "The job only reads, but `size` is larger than an existing file, so the layout appends \
            the missing bytes before the run. fio does so silently. If the file holds data that \
            someone needs, the run has changed it.",
    detection: "The job only reads, its file exists and is shorter than the job needs, and \
                nothing shows that fiord or fio created the file: fiord marks files that it \
                creates under a name that the job states (extended attribute `user.fiord`), and \
                takes files with generated names (`job.N.M`) for fio's own. With `--readonly`, \
                and in system directories such as `/etc`, fiord refuses such a job.",
    effect: "A file `notes` of 6 bytes, read with `--rw=read --size=8k --filename=notes`, has \
             8192 bytes afterwards; the first 6 bytes are unchanged.",
    remedy: "use `--readonly`, which refuses to change any file; or leave out `size` to read the \
             file as it is; or use another `filename`; or set `ignore_findings=file-extended` if \
             the file may grow.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

/// Maximum number of files that the evidence names. It counts the others.
const NAMED: usize = 3;

pub(crate) fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    for job in known.sections() {
        let section = job.identity.section;
        let instances = known.plan.jobs.iter().filter(|job| job.identity.section == section);
        let files =
            instances.flat_map(|job| &job.target.files).filter(|file| file.extends > Bytes::ZERO);
        let files: Vec<&FilePlan> = files.collect();
        if files.is_empty() {
            continue;
        }
        let bytes: Bytes = files.iter().map(|file| file.extends).sum();
        let what = match files.as_slice() {
            [file] => format!("only reads, and makes the file {} longer", file.path.display()),
            files => format!("only reads, and makes {} existing files longer", files.len()),
        };
        let list = files
            .iter()
            .take(NAMED)
            .map(|file| format!("{} bytes are added to {}", file.extends, file.path.display()));
        let mut evidence = list.collect::<Vec<_>>().join(", ");
        if files.len() > NAMED {
            evidence += &format!(", and so on: {bytes} bytes in {} files", files.len());
        }
        let finding = CHECK
            .for_job(job, format!("job {} {what}", job.identity.name))
            .evidence(evidence)
            .remedy("use --readonly to change no file, or leave out size to read the file as it is")
            .option(SIZE);
        findings.report(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{found_once, scratch};

    #[test]
    fn reports_a_file_of_others_that_grows() {
        let path = scratch();
        std::fs::write(&path, "notes\n").unwrap();
        let read = format!("--name=a --rw=read --filename={}", path.display());
        let found = found_once(
            &CHECK,
            &format!("{read} --size=8k"),
            &[
                &format!("{read} --bs=1 --size=6"),
                &format!("{read} --size=8k --rw=write"),
                &format!("{read}-new --size=8k"),
                "--name=a --rw=read --size=8k",
            ],
        );
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found.evidence, format!("8186 bytes are added to {}", path.display()));
    }
}
