//! `drive-letter`: the colon in `F:/file` separates two files.

use fiord_job::option::table::{DIRECTORY, FILENAME};
use fiord_stat::finding::Severity;

use crate::check::{Check, CollectedFindings, Lint};
use crate::evidence::setting::set;

pub(crate) const CHECK: Check = Check {
    id: "drive-letter",
    severity: Severity::Invalid,
    title: "a colon that looks like part of a path separates two files",
    about: "A colon separates names in `filename` and `directory`. `F:/fiofile` therefore names \
            two files: `F` in the current directory, and `/fiofile`; neither is the intended one. \
            `F:\\file`, with a backslash, can only be meant as a drive letter, and fiord rejects \
            it with an error.",
    detection: "A name of one letter is followed by a name that begins with a slash. The check is \
                silent for `F\\:/file`, where the colon is part of the name.",
    effect: "The run measures another device: with fio 3.42, `filename=F:/fiofile` in a directory \
             on the system disk creates a file `F` there and sends half of its I/O to it.",
    remedy: "write `F\\:/file`: a backslash before a colon makes the colon part of the name.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    for job in known.sections() {
        let Some(spec) = known.spec(job) else { continue };
        for option in [FILENAME, DIRECTORY] {
            let name = option.name();
            let text = spec.setting(option).and_then(|setting| setting.text.as_deref());
            let Some((drive, next)) = text.and_then(split_drive) else { continue };
            let whole = set(option, format!("{drive}\\:{next}"));
            let finding = CHECK
                .for_job(job, format!("{name} names two files, {drive} and {next}"))
                .evidence(format!("the colon after {drive} separates them"))
                .remedy(format!("write {whole} for one name with a colon in it"))
                .settings([whole])
                .option(option);
            findings.report(finding);
        }
    }
}

/// Returns the first name of one letter, and the name after it if that begins with a slash.
fn split_drive(text: &str) -> Option<(&str, &str)> {
    let mut names = text.split(':').peekable();
    let mut whole = true;
    while let Some(name) = names.next() {
        let next = names.peek()?;
        let letter = name.len() == 1 && name.bytes().all(|b| b.is_ascii_alphabetic());
        if whole && letter && next.starts_with('/') {
            return Some((name, next));
        }
        whole = !name.ends_with('\\');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::found_once;

    #[test]
    fn reports_a_letter_before_a_path() {
        let found = found_once(
            &CHECK,
            "--name=a --rw=read --size=1m --filename=F:/tmp/fiord-drive",
            &[
                r"--name=a --rw=read --size=1m --filename=F\:/tmp/fiord-drive",
                "--name=a --rw=read --size=1m --filename=a:b",
                "--name=a --rw=read --size=1m --filename=/tmp/fiord-a:/tmp/fiord-b",
            ],
        );
        assert_eq!(found.what, "filename names two files, F and /tmp/fiord-drive");
        assert_eq!(split_drive(r"x\:F:/a"), None);
    }
}
