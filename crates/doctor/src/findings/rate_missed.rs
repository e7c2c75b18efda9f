//! `rate-missed`: a rate or a CPU load that was asked for and not reached.

use fiord_job::option::table::activity::CPULOAD;
use fiord_job::option::table::{RATE, RATE_IOPS};
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_stat::report::DirReport;
use fiord_sys::cpu::CpuSet;
use fiord_types::{Nanos, plural};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::cpu_quota::{self, throttled_groups};
use crate::evidence::crowd::cpu_shares;
use crate::evidence::direction::words;
use crate::evidence::rate::{MissedRate, missed, slower};

/// Share of `cpuload` from which on a job reached its load.
const REACHED: f64 = 0.95;
/// CPU time that the start and the end of a job can cost.
const ENDS: Nanos = Nanos::from_millis(2);
/// Shares of CPU time from which on stolen time and other programs are a cause.
const CAUSE: f64 = 0.01;

pub(crate) const CHECK: Check = Check {
    id: "rate-missed",
    severity: Severity::Suspect,
    title: "the run did not reach the rate or the CPU load that the job asks for",
    about: "A job with `rate` or `rate_iops` measures how the device behaves under a given load. \
            If the run does not reach that load, its latencies are those of a device that is \
            always busy: its queue grows for as long as the run lasts. \
            A `cpuio` job that gets less CPU time than `cpuload` stands for a weaker load than the \
            one under which the other jobs are meant to run.",
    detection: "The rate of a direction is below 99 % of the sum of the rates of its jobs, by \
                more than the two I/Os that the start and the end of each job can cost, and with \
                `rate_process=poisson` by more than chance explains. The check is silent if \
                something else slows the job on purpose (`thinktime`, `flow`, `latency_target`), and for jobs that are \
                reported together and that their sizes end, because they may end at different times.\n\n\
                `cpuio`: the CPU time of the job is below 95 % of `cpuload`, by more than 2 ms. The \
                evidence says what kept it from the CPUs that it may use: the load that all `cpuio` \
                jobs on them ask for, time that the hypervisor gave to other virtual machines, \
                other programs in user mode, and control groups that used up their quota.",
    effect: "On a simulated device with 10,000 IOPS at depth 1 (`sim_latency=constant:100us`), \
             `rate_iops=20000` reached 10,000. After 10 s, the 99th percentile of the latency \
             from the intended start was 4.9 s, while each I/O still took 100 us. Beside a compiler, two `cpuio` jobs \
             with `cpuload=80` on one CPU used 45.6 % of it each.",
    remedy: "set a rate that the device can reach, or allow more I/Os in flight (`iodepth`, \
             `numjobs`). For `cpuio`, use free CPUs (`cpus_allowed`), or a lower `cpuload`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries() {
        if !entry.report.failed && entry.jobs.iter().all(|job| only_rate(job)) {
            entry.report.dirs.iter().for_each(|row| findings.report_if(finding(&entry, row)));
        }
    }
    for entry in known.all_entries() {
        if !entry.report.failed {
            findings.report_if(missed_load(known, &entry));
        }
    }
}

/// Returns the finding if a printed job on `cpuio` got less CPU time than its load asks for.
fn missed_load(known: &After<'_>, entry: &Entry<'_>) -> Option<FindingBuilder> {
    let loads = entry.jobs.iter().map(|job| Some(job.engine.cpu_load()?.load_percent.get()));
    // Jobs that are printed together may have run for different times, so the lowest load counts.
    let asked = f64::from(loads.collect::<Option<Vec<u8>>>()?.into_iter().min()?);
    let report = entry.report;
    let used = report.usr_cpu + report.sys_cpu;
    let missing = (asked - used) / 100.0 * report.runtime.0 as f64;
    if used >= asked * REACHED || missing <= ENDS.0 as f64 * entry.jobs.len() as f64 {
        return None;
    }
    let (causes, remedy) = causes(known, entry);
    let each = if entry.jobs.len() > 1 { " each" } else { "" };
    let mut said = SaidNumbers::default();
    let got = said.percent("share", used / asked);
    let finding = CHECK
        .for_entry(entry, format!("{} got {got} of the CPU time asked for", entry.subject()))
        .numbers(said)
        .evidence(format!("{used:.1} % of a CPU{each} instead of cpuload={asked:.0}; {causes}"))
        .remedy(remedy)
        .option(CPULOAD);
    Some(finding)
}

/// Returns what kept a job from its CPUs, in words, and the remedy.
fn causes(known: &After<'_>, entry: &Entry<'_>) -> (String, String) {
    let (then, now) = (&known.before.surroundings, &known.after.surroundings);
    let cpus = then.cpus_of_all(entry.jobs.iter().copied());
    let one = cpus.iter().count() == 1;
    let own = format!("CPU{} {cpus}", if one { "" } else { "s" });
    let mut causes = Vec::new();
    let mut remedy = None;
    for group in throttled_groups(then, now) {
        causes.push(format!(
            "the control group {} had to wait for CPU time {} time{}, {} ms in all; it has {}",
            group.name(),
            group.times(),
            plural(group.times()),
            group.waited().as_millis(),
            group.quota()
        ));
        remedy = Some(cpu_quota::REMEDY.to_owned());
    }
    if let Some(shares) = cpu_shares(then, now, &cpus) {
        let what = [
            (shares.stolen, "was given to other virtual machines (steal)"),
            (shares.others, "went to other programs in user mode"),
        ];
        let large = what.iter().filter(|(share, _)| *share >= CAUSE);
        causes
            .extend(large.map(|(share, what)| {
                format!("{:.0} % of the time of {own} {what}", share * 100.0)
            }));
        if causes.is_empty() {
            causes.push(format!(
                "{own} {} idle for {:.0} % of the time",
                if one { "was" } else { "were" },
                shares.idle * 100.0
            ));
        }
    }
    let asked = load_on(known, &cpus);
    let room = cpus.iter().count() as f64;
    if asked > room {
        causes.insert(
            0,
            format!("the cpuio jobs on {own} ask for {:.0} % of one CPU", asked * 100.0),
        );
        let fits = "let the jobs use more CPUs (cpus_allowed, numjobs), or set a lower cpuload";
        remedy = Some(fits.to_owned());
    }
    if causes.is_empty() {
        causes.push("the run was too short to see what used the CPUs".to_owned());
    }
    let free = "run on CPUs that nothing else uses (cpus_allowed; `top` shows the other programs)";
    (causes.join("; "), remedy.unwrap_or_else(|| free.to_owned()))
}

/// Returns the load of the `cpuio` jobs that may use no other CPUs than `cpus`, in CPUs.
fn load_on(known: &After<'_>, cpus: &CpuSet) -> f64 {
    let machine = &known.before.surroundings;
    let within = |job: &&JobPlan| {
        let own = machine.cpus_of(job);
        !own.is_empty() && own.iter().all(|cpu| cpus.contains(cpu))
    };
    let jobs = known.plan.jobs.iter().filter(within);
    jobs.filter_map(|job| Some(f64::from(job.engine.cpu_load()?.load_percent.get()) / 100.0)).sum()
}

/// Returns whether nothing but the rate slows the job.
fn only_rate(job: &JobPlan) -> bool {
    let pace = &job.pace;
    pace.think.is_none() && pace.flow.is_none() && pace.latency_target.is_none()
}

/// Returns the finding if a direction of a printed job did not reach its rate.
fn finding(entry: &Entry<'_>, row: &DirReport) -> Option<FindingBuilder> {
    let MissedRate { achieved, target, ios } = missed(entry, row)?;
    let word = words(row.kind);
    let unit = if ios { "IOPS" } else { "bytes/s" };
    let mut said = SaidNumbers::default();
    let share = said.percent("share", achieved / target);
    let (achieved, target) = (said.count("reached", achieved), said.count("asked", target));
    let slower = slower(entry);
    let less = slower.as_ref().map_or_else(
        || format!("a rate below {achieved}"),
        |slower| format!("a rate below {achieved} ({slower})"),
    );
    let finding = CHECK
        .for_entry(entry, format!("{} reached {share} of the rate of {word}", entry.subject()))
        .evidence(format!("{achieved} of {target} {unit} asked for"))
        .remedy(format!("set {less}, or allow more I/Os in flight (iodepth, numjobs)"))
        .settings(slower)
        .numbers(said)
        .option(if ios { RATE_IOPS.def() } else { RATE.def() });
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::finding::Finding;
    use fiord_stat::report::{DirKind, JobReport, Report};
    use fiord_sys::conditions::{CpuQuota, CpuTime};

    use super::*;
    use crate::evidence::crowd::ticks;
    use crate::machine::Machine;
    use crate::tests::fixture::{after, found_after, plan, row};

    fn reported(line: &str, iops: f64) -> usize {
        after(&CHECK, line, &|report| report.dirs = vec![row(DirKind::Read, iops, 10)]).len()
    }

    #[test]
    fn reports_rates_below_99_per_cent() {
        let job = "--name=a --ioengine=sim --rw=randread --size=1m --rate_iops=1000";
        assert_eq!(reported(job, 700.0), 1);
        assert_eq!(reported(job, 995.0), 0);
        assert_eq!(reported(&format!("{job} --thinktime=1ms"), 700.0), 0);
        assert_eq!(reported("--name=a --ioengine=sim --rw=randread --size=1m", 700.0), 0);
        // A deviation of 5 in 100 is normal for a Poisson process.
        let poisson = "--name=a --ioengine=sim --rw=randread --size=1m --rate_process=poisson";
        assert_eq!(reported(&format!("{poisson} --rate_iops=10"), 9.5), 0);
    }

    /// The counters of the kernel during a run of 10 s on CPU 0 of two.
    struct Used {
        user: u64,
        own: u64,
        stolen: u64,
        idle: u64,
    }

    /// Returns the findings about jobs of which each used `percent` of a CPU.
    fn reported_load(line: &str, percent: f64, cpu: &Used) -> Vec<Finding> {
        let (plan, _) = plan(line);
        let (mut then, mut now) = (Machine::default(), Machine::default());
        then.surroundings.allowed = CpuSet::from_mask(3);
        let other = CpuTime { idle: ticks(1000), total: ticks(1000), ..CpuTime::default() };
        let own = CpuTime {
            user: ticks(cpu.user),
            stolen: ticks(cpu.stolen),
            idle: ticks(cpu.idle),
            total: ticks(1000),
        };
        then.surroundings.moment.cpu = Some(CpuTime::default());
        then.surroundings.moment.cpus = vec![(0, CpuTime::default()), (1, CpuTime::default())];
        now.surroundings.at = Nanos::from_secs(10);
        now.surroundings.own_user = ticks(cpu.own);
        now.surroundings.moment.cpu = Some(own.and(other));
        now.surroundings.moment.cpus = vec![(0, own), (1, other)];
        let job = |job: &JobPlan| JobReport {
            name: job.identity.name.clone(),
            members: 1,
            runtime: Nanos::from_secs(10),
            usr_cpu: percent,
            ..JobReport::default()
        };
        let jobs = plan.jobs.iter().map(job).collect();
        let report = Report { jobs, ..Report::default() };
        found_after(&CHECK, &After { plan: &plan, before: &then, after: &now, report: &report })
    }

    const LOAD: &str = "--name=a --ioengine=cpuio --runtime=10 --cpus_allowed=0 --cpuload=80";

    #[test]
    fn reports_what_took_the_cpu_from_a_load() {
        let used = Used { user: 990, own: 600, stolen: 0, idle: 0 };
        let found = reported_load(LOAD, 60.0, &used);
        assert_eq!(found[0].what, "job a got 75 % of the CPU time asked for");
        let evidence = "60.0 % of a CPU instead of cpuload=80; \
                        39 % of the time of CPU 0 went to other programs in user mode";
        assert_eq!(found[0].evidence, evidence);
        let used = Used { user: 600, own: 600, stolen: 390, idle: 0 };
        let found = reported_load(LOAD, 60.0, &used);
        let evidence = "39 % of the time of CPU 0 was given to other virtual machines (steal)";
        assert!(found[0].evidence.ends_with(evidence), "{found:?}");
        // Nothing explains it: the numbers say so.
        let used = Used { user: 600, own: 600, stolen: 0, idle: 390 };
        let found = reported_load(LOAD, 60.0, &used);
        assert!(found[0].evidence.ends_with("CPU 0 was idle for 39 % of the time"), "{found:?}");
    }

    #[test]
    fn reports_loads_that_one_cpu_cannot_hold() {
        let used = Used { user: 990, own: 980, stolen: 0, idle: 0 };
        let found = reported_load(&format!("{LOAD} --numjobs=2"), 49.0, &used);
        assert_eq!(found.len(), 2, "{found:?}");
        let evidence = "the cpuio jobs on CPU 0 ask for 160 % of one CPU";
        assert!(found[0].evidence.contains(evidence), "{found:?}");
        assert!(found[0].remedy.starts_with("let the jobs use more CPUs"), "{found:?}");
        // Two CPUs hold them, and so does one CPU a lower load.
        let two = LOAD.replace("cpus_allowed=0", "cpus_allowed=0,1");
        let found = reported_load(&format!("{two} --numjobs=2"), 49.0, &used);
        assert!(!found[0].evidence.contains("ask for"), "{found:?}");
    }

    #[test]
    fn loads_that_were_reached_are_no_finding() {
        let free = Used { user: 800, own: 800, stolen: 0, idle: 200 };
        assert_eq!(reported_load(LOAD, 79.0, &free), [], "free CPUs");
        let full = LOAD.replace("=80", "=100");
        assert_eq!(reported_load(&full, 99.2, &free), [], "an idle CPU");
        let several = format!("{} --numjobs=3", LOAD.replace("=80", "=30"));
        assert_eq!(reported_load(&several, 29.9, &free), [], "several jobs share a CPU");
        let busy = Used { user: 1000, own: 800, stolen: 0, idle: 0 };
        assert_eq!(reported_load(LOAD, 78.0, &busy), [], "other programs that leave enough");
        let short = "--name=a --ioengine=cpuio --cpuload=1 --runtime=10";
        assert_eq!(reported_load(short, 0.99, &free), [], "a small load");
    }

    #[test]
    fn quotas_of_control_groups_are_evidence() {
        let (plan, _) = plan(LOAD);
        let (mut then, mut now) = (Machine::default(), Machine::default());
        let quota = |throttled| CpuQuota {
            group: "/bench".into(),
            quota: Some(Nanos::from_millis(50)),
            period: Nanos::from_millis(100),
            throttled,
            throttled_time: Nanos::from_millis(30).saturating_mul(throttled),
        };
        then.surroundings.moment.quotas.cpu = vec![quota(0)];
        now.surroundings.moment.quotas.cpu = vec![quota(100)];
        let job = JobReport {
            name: "a".into(),
            members: 1,
            runtime: Nanos::from_secs(10),
            usr_cpu: 50.0,
            ..JobReport::default()
        };
        let mut report = Report { jobs: vec![job], ..Report::default() };
        let found = |report: &Report| {
            found_after(&CHECK, &After { plan: &plan, before: &then, after: &now, report })
        };
        let finding = &found(&report)[0];
        let evidence =
            "the control group /bench had to wait for CPU time 100 times, 3000 ms in all";
        assert!(finding.evidence.contains(evidence), "{finding:?}");
        assert_eq!(finding.remedy, cpu_quota::REMEDY);
        report.jobs[0].failed = true;
        assert_eq!(found(&report), []);
    }
}
