//! `compressible-data`: writes that storage can make smaller than they look.

use fiord_job::option::table::{
    BUFFER_PATTERN, REFILL_BUFFERS, SCRAMBLE_BUFFERS, VERIFY, VERIFY_PATTERN, ZERO_BUFFERS,
};
use fiord_plan::{ContentPlan, JobPlan};
use fiord_stat::finding::Severity;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::setting::{leave_out, set};

pub(crate) const CHECK: Check = Check {
    id: "compressible-data",
    severity: Severity::Suspect,
    title: "writes of zeros, patterns or repeated blocks",
    about: "Arrays, controllers and file systems skip zeros, compress patterns and store equal \
            blocks once. Writes of such data are faster than writes of real data, and later reads \
            return data that was never stored.",
    detection: "A job writes with `zero_buffers`, with a `buffer_pattern` or `verify_pattern`, or with \
                `scramble_buffers=0`, which writes the same random block again and again. The \
                check is silent for the default contents and for `refill_buffers`, which neither \
                compress nor repeat, and for `buffer_compress_percentage` and \
                `dedupe_percentage`, which state how much the storage can save (fiord honours \
                them without `refill_buffers`, which fio needs).",
    effect: "On a pool that compresses, zeros are not stored at all (see `docs/contents.md`). Of \
             64 MiB written with `zero_buffers=1`, zstd level 1 left 0.003 %; of the default \
             contents, it left everything.",
    remedy: "use the default contents (leave out `zero_buffers` and `buffer_pattern`) or \
             `refill_buffers`; or set `buffer_compress_percentage` if the real data compresses.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    known.sections().for_each(|job| findings.report_if(finding(job)));
}

fn finding(job: &JobPlan) -> Option<FindingBuilder> {
    if !job.engine.def().moves_data || !job.load.writes_data() {
        return None;
    }
    const PATTERN: &str = "a pattern compresses to almost nothing";
    let verify = job.verify.as_ref().filter(|verify| verify.fills());
    let (what, why, option) = match &job.content {
        _ if verify.is_some_and(|verify| verify.pattern.is_some()) => {
            ("one pattern", PATTERN, VERIFY_PATTERN.def())
        }
        // The bytes of verification neither compress nor repeat.
        _ if verify.is_some() => return None,
        ContentPlan::Zero => ("only zeros", "zeros need not be stored", ZERO_BUFFERS.def()),
        ContentPlan::Pattern(_) => ("one pattern", PATTERN, BUFFER_PATTERN.def()),
        ContentPlan::Fixed => {
            let why = "each buffer is filled once and written repeatedly; storage that deduplicates \
                       keeps equal blocks once";
            ("the same blocks repeatedly", why, SCRAMBLE_BUFFERS.def())
        }
        ContentPlan::Scramble | ContentPlan::Refill | ContentPlan::Shaped(_) => return None,
    };
    let name = &job.identity.name;
    let (remedy, settings) = match job.content {
        _ if verify.is_some_and(|verify| verify.method.needs_pattern()) => {
            let settings = vec![set(VERIFY, "crc32c"), leave_out(VERIFY_PATTERN)];
            let remedy = "use verify=crc32c without verify_pattern, so that each block gets its own random bytes";
            (remedy.to_owned(), settings)
        }
        _ if verify.is_some() => (
            "leave out verify_pattern, so that each block gets its own random bytes".to_owned(),
            vec![leave_out(VERIFY_PATTERN)],
        ),
        ContentPlan::Fixed => {
            let scramble = set(SCRAMBLE_BUFFERS, 1);
            (format!("set {scramble} (the default), or refill_buffers"), vec![scramble])
        }
        _ => {
            let settings = vec![set(REFILL_BUFFERS, 1), leave_out(option)];
            (format!("use refill_buffers instead of {}", option.name), settings)
        }
    };
    let finding = CHECK
        .for_job(job, format!("job {name} writes {what}"))
        .evidence(why)
        .remedy(remedy)
        .settings(settings)
        .option(option);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{found_once, lint};

    #[test]
    fn reports_contents_that_storage_can_skip() {
        let job = "--name=a --filename=f --rw=write --size=1m";
        found_once(
            &CHECK,
            &format!("{job} --zero_buffers=1"),
            &[
                job,
                &format!("{job} --refill_buffers=1"),
                &format!("{job} --buffer_compress_percentage=50"),
                "--name=a --filename=f --rw=read --size=1m --zero_buffers=1",
                "--name=a --ioengine=null --rw=write --size=1m --zero_buffers=1",
            ],
        );
        assert_eq!(lint(&CHECK, &format!("{job} --buffer_pattern=0xab")).len(), 1);
        assert_eq!(lint(&CHECK, &format!("{job} --verify=crc32c --verify_pattern=0xab")).len(), 1);
        assert_eq!(lint(&CHECK, &format!("{job} --verify=crc32c --scramble_buffers=0")).len(), 0);
        assert_eq!(lint(&CHECK, &format!("{job} --scramble_buffers=0")).len(), 1);
    }
}
