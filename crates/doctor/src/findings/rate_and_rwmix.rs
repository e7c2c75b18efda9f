//! `rate-and-rwmix`: one rate for both directions together with an uneven mix.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{RATE, RATE_IOPS, RWMIXREAD, RWMIXWRITE};
use fiord_plan::{JobPlan, Mix, Rate};
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::setting::set;

pub(crate) const CHECK: Check = Check {
    id: "rate-and-rwmix",
    severity: Severity::Invalid,
    title: "rates that decide the mix instead of rwmixread",
    about: "`rate_iops=100` is a rate for each direction: 100 reads and 100 writes per second. If \
            both directions have a rate, the rates decide the mix, and `rwmixread=70` has no \
            effect. If only one has a rate (`rate_iops=,40`), the other runs at full speed, and \
            `rwmixread` has no effect either.",
    detection: "`rwmixread` (or `rwmixwrite`) is not 50, and a single number in `rate` or \
                `rate_iops` applies to both reads and writes; or the job sets `rwmixread` (or \
                `rwmixwrite`), and only one direction has a rate (suspect). The check is silent if each \
                direction has its own rate.",
    effect: "On a simulated device (`ioengine=sim`, `sim_latency=constant:100us`), `rwmixread=70` \
             with `rate_iops=100` gave 100 reads and 100 writes per second: a mix of 50 to 50, \
             and 200 IOPS in total. With `rate_iops=70,30`, it gave 70 and 30.",
    remedy: "set a rate for each direction: `rate_iops=READS,WRITES`.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    for job in known.sections() {
        let rates = [RATE_IOPS.def(), RATE.def()];
        let option = rates.into_iter().find(|option| typed_once(known, job, option));
        if let (Some(option), Some(finding)) = (option, finding(job)) {
            findings.report(finding.option(option));
        }
        let mixed =
            known.spec(job).is_some_and(|spec| spec.is_set(RWMIXREAD) || spec.is_set(RWMIXWRITE));
        findings.report_if(one_sided(job).filter(|_| mixed));
    }
}

/// Whether the job sets the option to one number for all directions.
fn typed_once(known: &Lint<'_>, job: &JobPlan, option: &'static OptionDef) -> bool {
    let setting = known.spec(job).and_then(|spec| spec.setting(option));
    let text = setting.and_then(|setting| setting.text.as_deref());
    text.is_some_and(|text| !text.contains(','))
}

fn finding(job: &JobPlan) -> Option<FindingBuilder> {
    let Mix::ReadWrite { read_percent } = job.load.mix else { return None };
    let (Some(reads), Some(writes)) = (job.pace.rate[Dir::Read], job.pace.rate[Dir::Write]) else {
        return None;
    };
    if read_percent == 50 || reads != writes {
        return None;
    }
    let name = &job.identity.name;
    let (option, rate, unit) = match reads {
        Rate::Ios(n) => (RATE_IOPS.def(), n, "I/Os"),
        Rate::Bytes(n) => (RATE.def(), n, "bytes"),
    };
    let share = |percent: u8| (rate * 2 * u64::from(percent) / 100).max(1);
    let (for_reads, for_writes) = (share(read_percent), share(100 - read_percent));
    let mut said = SaidNumbers::default();
    said.percent("reads_asked", f64::from(read_percent) / 100.0);
    let split = set(option, format!("{for_reads},{for_writes}"));
    let finding = CHECK
        .for_job(job, format!("job {name} asks for {read_percent} % reads and gets 50 %"))
        .evidence(format!(
            "{} is a rate for each direction: {} {unit} a second of reads and {rate} of writes",
            option.name,
            said.exact("rate", rate)
        ))
        .numbers(said)
        .remedy(format!("set {split} for the same total with that mix"))
        .settings([split]);
    Some(finding)
}

/// Reports a job of which only one direction has a rate.
fn one_sided(job: &JobPlan) -> Option<FindingBuilder> {
    let Mix::ReadWrite { read_percent } = job.load.mix else { return None };
    let shares = [read_percent, 100 - read_percent].map(u64::from);
    let rates = [job.pace.rate[Dir::Read], job.pace.rate[Dir::Write]];
    let (limited, rate) = match rates {
        [Some(rate), None] => (0, rate),
        [None, Some(rate)] => (1, rate),
        _ => return None,
    };
    let words = ["reads", "writes"];
    let (limited_word, free_word) = (words[limited], words[1 - limited]);
    let (option, rate, unit) = match rate {
        Rate::Ios(n) => (RATE_IOPS.def(), n, "I/Os"),
        Rate::Bytes(n) => (RATE.def(), n, "bytes"),
    };
    let other = rate.saturating_mul(shares[1 - limited]) / shares[limited].max(1);
    let pair = match limited {
        0 => [rate, other.max(1)],
        _ => [other.max(1), rate],
    };
    let name = &job.identity.name;
    let what = format!(
        "job {name} asks for {} % {limited_word}, and only its {limited_word} have a rate",
        shares[limited]
    );
    let mut said = SaidNumbers::default();
    let split = set(option, format!("{},{}", pair[0], pair[1]));
    let finding = CHECK
        .for_job(job, what)
        .evidence(format!(
            "{}: {} {unit} a second of {limited_word}; {free_word} run at full speed, and the mix has no effect",
            option.name,
            said.exact("rate", rate)
        ))
        .numbers(said)
        .remedy(format!("set {split} for that mix"))
        .settings([split])
        .option(option)
        .at_most(Severity::Suspect);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::found_once;

    #[test]
    fn reports_one_rate_and_an_uneven_mix_only() {
        let job = "--name=a --ioengine=sim --rw=randrw --size=1m";
        let found = found_once(
            &CHECK,
            &format!("{job} --rwmixread=70 --rate_iops=100"),
            &[
                &format!("{job} --rwmixread=70 --rate_iops=70,30"),
                &format!("{job} --rwmixread=50 --rate_iops=100"),
                &format!("{job} --rwmixread=70"),
                "--name=a --ioengine=sim --rw=randread --size=1m --rate_iops=100",
            ],
        );
        assert!(found.remedy.starts_with("set rate_iops=140,60"), "{found:?}");
    }

    #[test]
    fn a_rate_for_one_direction_leaves_the_other_unlimited() {
        let job = "--name=a --ioengine=sim --rw=randrw --size=1m";
        let found = found_once(
            &CHECK,
            &format!("{job} --rwmixwrite=95 --rate_iops=,40"),
            &[
                &format!("{job} --rate_iops=,40"),
                &format!("{job} --rwmixwrite=95 --rate_iops=2,40"),
                "--name=a --ioengine=sim --rw=randwrite --size=1m --rate_iops=,40",
            ],
        );
        assert_eq!(found.what, "job a asks for 95 % writes, and only its writes have a rate");
        assert_eq!(found.remedy, "set rate_iops=2,40 for that mix");
        assert_eq!(found.severity, Severity::Suspect);
    }
}
