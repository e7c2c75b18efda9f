//! The definition of a check, the data that it examines, and the findings that it reports.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::spec::{JobSpec, Place};
use fiord_plan::{JobPlan, Plan};
use fiord_stat::claim::{Claim, ClaimedExtent, ClaimedNumber, ClaimedSetting};
use fiord_stat::finding::{Finding, Location, Severity, Unchecked};
use fiord_stat::hosts::HostsReport;
use fiord_stat::report::{JobReport, JobShares, Report};
use fiord_stat::shares::StageShares;

use crate::machine::{Machine, Unavailable};

/// One kind of finding: its texts, which also make up its page in `docs/findings/`, and the functions
/// that detect it.
///
/// The texts are Markdown without headings. An empty line separates paragraphs.
pub struct Check {
    /// The stable id, in kebab-case.
    pub id: &'static str,
    /// The maximum severity.
    pub severity: Severity,
    /// The title, in a few words.
    pub title: &'static str,
    /// Explains what is wrong with the result, to a reader who does not know the problem.
    pub about: &'static str,
    /// Explains how fiord detects it, and when the check is silent.
    pub detection: &'static str,
    /// States how large the effect can be, with a measured example.
    pub effect: &'static str,
    /// Explains what to do. The page adds `To fix:`, so this starts with a verb in lower case.
    pub remedy: &'static str,
    /// Detects it from the job alone.
    pub lint: Option<fn(&Lint<'_>, &mut CollectedFindings)>,
    /// Detects it from the job and the machine before the run.
    pub before: Option<fn(&Before<'_>, &mut CollectedFindings)>,
    /// Detects it from the result.
    pub after: Option<fn(&After<'_>, &mut CollectedFindings)>,
    /// Detects it from the results of many hosts.
    pub hosts: Option<fn(&HostsReport, &mut CollectedFindings)>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("id", &self.id).field("severity", &self.severity).finish()
    }
}

/// When a check can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStage {
    /// With the job alone.
    Lint,
    /// Before the run, with the job and the machine.
    Before,
    /// After the run, with the result.
    After,
    /// After a run on many hosts, with the results of all.
    Hosts,
}

impl CheckStage {
    /// Returns the stage as part of a sentence: `before the run`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            CheckStage::Lint => "from the job alone",
            CheckStage::Before => "before the run",
            CheckStage::After => "after the run",
            CheckStage::Hosts => "after a run on many hosts",
        }
    }
}

impl Check {
    /// Returns the stages in which this check runs.
    pub fn stages(&self) -> impl Iterator<Item = CheckStage> {
        let stages = [
            (CheckStage::Lint, self.lint.is_some()),
            (CheckStage::Before, self.before.is_some()),
            (CheckStage::After, self.after.is_some()),
            (CheckStage::Hosts, self.hosts.is_some()),
        ];
        stages.into_iter().filter_map(|(stage, has)| has.then_some(stage))
    }

    /// Begins a finding about one job. To report it once for all instances of a job section, pass the
    /// first instance (see [`Lint::sections`]).
    pub fn for_job(&self, job: &JobPlan, what: impl Into<String>) -> FindingBuilder {
        let mut finding = self.for_run(what);
        finding.finding.job = Some(job.identity.name.clone());
        finding.section = Some(job.identity.section);
        finding
    }

    /// Begins a finding about a printed job, which may cover jobs of several sections.
    pub fn for_entry(&self, entry: &Entry<'_>, what: impl Into<String>) -> FindingBuilder {
        let names = entry.names();
        let several = names.len() > 1;
        self.for_job(entry.jobs[0], what).jobs(names.into_iter().filter(|_| several))
    }

    /// Begins a finding about the whole run.
    pub fn for_run(&self, what: impl Into<String>) -> FindingBuilder {
        let finding = Finding {
            id: self.id.into(),
            severity: self.severity,
            job: None,
            what: what.into(),
            evidence: String::new(),
            remedy: String::new(),
            option: None,
            location: None,
            claim: Claim::default(),
        };
        FindingBuilder { finding, section: None, option: None, place: None, noted: false }
    }
}

/// A finding under construction, and the place in the job file that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingBuilder {
    pub finding: Finding,
    /// The index of the job section that it is about, as in [`fiord_plan::Identity::section`].
    pub section: Option<usize>,
    /// The option that the finding is about.
    pub option: Option<&'static OptionDef>,
    /// The place of that option, or else of the job. `Findings::placed` sets it.
    pub place: Option<Place>,
    /// Whether the finding repeats a warning of the reader or of the planner.
    pub noted: bool,
}

impl FindingBuilder {
    /// Sets the evidence: the numbers that show the problem.
    #[must_use]
    pub fn evidence(mut self, evidence: impl Into<String>) -> FindingBuilder {
        self.finding.evidence = evidence.into();
        self
    }

    /// Sets the remedy: the exact option or command, starting with a verb in lower case. Text output adds
    /// `To fix:` (see [`Finding::to_fix`]).
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> FindingBuilder {
        self.finding.remedy = remedy.into();
        self
    }

    /// Sets the names of the jobs that the finding is about, each once.
    #[must_use]
    pub fn jobs<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> FindingBuilder {
        let jobs = &mut self.finding.claim.jobs;
        for name in names {
            if jobs.iter().all(|known| known != name) {
                jobs.push(name.to_owned());
            }
        }
        self
    }

    /// Adds bytes that the finding is about.
    #[must_use]
    pub fn extent(mut self, extent: ClaimedExtent) -> FindingBuilder {
        self.finding.claim.extents.push(extent);
        self
    }

    /// Adds the numbers that the sentences state.
    #[must_use]
    pub fn numbers(mut self, said: impl IntoIterator<Item = ClaimedNumber>) -> FindingBuilder {
        self.finding.claim.numbers.extend(said);
        self
    }

    /// Sets the options that the first alternative of the remedy names.
    #[must_use]
    pub fn settings(
        mut self,
        settings: impl IntoIterator<Item = ClaimedSetting>,
    ) -> FindingBuilder {
        self.finding.claim.settings = settings.into_iter().collect();
        self
    }

    /// Caps the severity.
    #[must_use]
    pub fn at_most(mut self, severity: Severity) -> FindingBuilder {
        self.finding.severity = self.finding.severity.min(severity);
        self
    }

    /// Sets the option that the finding is about. `fiord check` points at it.
    #[must_use]
    pub fn option(mut self, option: impl Into<&'static OptionDef>) -> FindingBuilder {
        self.option = Some(option.into());
        self
    }
}

/// Maximum number of findings of one kind about one section.
const MAX_OF_A_KIND: usize = 64;

/// Returns what identifies a finding: its id, its job and its sentence.
fn subject(finding: &Finding) -> (&str, Option<&str>, &str) {
    (&finding.id, finding.job.as_deref(), &finding.what)
}

/// Findings, and the checks that could not run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CollectedFindings {
    found: Vec<FindingBuilder>,
    unchecked: Vec<Unchecked>,
    /// Findings that an earlier stage may have reported and that this stage has disproved.
    refuted: Vec<Finding>,
}

impl CollectedFindings {
    /// Adds a finding.
    pub fn report(&mut self, finding: FindingBuilder) {
        self.found.push(finding);
    }

    /// Adds findings.
    pub fn report_all(&mut self, findings: impl IntoIterator<Item = FindingBuilder>) {
        self.found.extend(findings);
    }

    /// Adds a finding, if there is one.
    pub fn report_if(&mut self, finding: Option<FindingBuilder>) {
        self.found.extend(finding);
    }

    /// Withdraws a finding of an earlier stage that has the same id, job and sentence, because a
    /// measurement has disproved it.
    pub fn refute(&mut self, finding: FindingBuilder) {
        self.refuted.push(finding.finding);
    }

    /// Adds the findings that a measurement has confirmed, and withdraws those of the earlier stage that it has not.
    pub fn replace(&mut self, ahead: Vec<FindingBuilder>, now: Vec<FindingBuilder>) {
        let confirmed: HashSet<_> = now.iter().map(|one| subject(&one.finding)).collect();
        let (_, wrong): (Vec<_>, Vec<_>) =
            ahead.into_iter().partition(|one| confirmed.contains(&subject(&one.finding)));
        self.refuted.extend(wrong.into_iter().map(|one| one.finding));
        self.found.extend(now);
    }

    /// Records that a check could not run, and why. Repeated calls add one entry.
    pub fn unavailable(&mut self, check: &Check, unavailable: &Unavailable) {
        let new = Unchecked { id: check.id.into(), why: unavailable.0.clone() };
        if !self.unchecked.contains(&new) {
            self.unchecked.push(new);
        }
    }

    /// Returns the evidence. If it is unavailable, records that the check could not run.
    pub fn available<'e, T>(
        &mut self,
        check: &Check,
        evidence: &'e Result<T, Unavailable>,
    ) -> Option<&'e T> {
        match evidence {
            Ok(evidence) => Some(evidence),
            Err(unavailable) => {
                self.unavailable(check, unavailable);
                None
            }
        }
    }

    /// Adds the findings of a later stage. They replace equal findings of this stage, and withdraw those
    /// that the later stage has disproved.
    pub fn join(&mut self, later: CollectedFindings) {
        if !later.refuted.is_empty() {
            let sound: HashSet<_> = later.refuted.iter().map(subject).collect();
            self.found.retain(|finding| !sound.contains(&subject(&finding.finding)));
        }
        let known = |finding: &FindingBuilder| {
            (finding.finding.id.clone(), finding.finding.job.clone(), finding.finding.what.clone())
        };
        let mut places: HashMap<_, usize> =
            self.found.iter().enumerate().map(|(n, finding)| (known(finding), n)).collect();
        for finding in later.found {
            // The later finding has more evidence: that of the result.
            match places.get(&known(&finding)) {
                Some(&n) => self.found[n] = finding,
                None => {
                    places.insert(known(&finding), self.found.len());
                    self.found.push(finding);
                }
            }
        }
        for unavailable in later.unchecked {
            if !self.unchecked.contains(&unavailable) {
                self.unchecked.push(unavailable);
            }
        }
    }

    /// Removes the findings with the id `guess`, which are estimates from before a run, if the check
    /// `counted` could measure the result.
    #[must_use]
    pub fn without_guess(mut self, guess: &str, counted: &str) -> CollectedFindings {
        if self.unchecked.iter().all(|unavailable| unavailable.id != counted) {
            self.found.retain(|finding| finding.finding.id != guess);
        }
        self
    }

    /// Sets the places in the job files that the findings point to.
    #[must_use]
    pub(crate) fn placed(mut self, specs: &[JobSpec]) -> CollectedFindings {
        for finding in &mut self.found {
            if let (None, Some(spec)) = (&finding.place, finding.section.and_then(|s| specs.get(s)))
            {
                let setting = finding.option.and_then(|option| spec.setting(option));
                finding.place = Some(setting.map_or(&spec.place, |setting| &setting.place).clone());
            }
            finding.finding.option = finding.option.map(|option| option.name.to_owned());
            finding.finding.location = finding.place.as_ref().map(location);
        }
        self
    }

    /// Removes repeated warnings about a place that another finding is about.
    #[must_use]
    pub(crate) fn without_echoes(mut self) -> CollectedFindings {
        let weighty: Vec<Place> =
            self.found.iter().filter(|t| !t.noted).filter_map(|t| t.place.clone()).collect();
        let same = |a: &Place, b: &Place| Arc::ptr_eq(&a.source, &b.source) && a.span == b.span;
        let echo = |finding: &FindingBuilder| {
            let place = finding.place.as_ref().filter(|_| finding.noted);
            place.is_some_and(|place| weighty.iter().any(|other| same(place, other)))
        };
        self.found.retain(|finding| !echo(finding));
        self
    }

    /// Removes the findings that the jobs ignore (`ignore_findings`), sorts the others by severity, worst
    /// first, and limits the number of findings of one kind.
    #[must_use]
    pub fn settled(self, plan: &Plan) -> CollectedFindings {
        self.without(|id, job| ignored(plan, id, job))
    }

    /// Removes the findings for which `ignored` holds (called with the id and the job), sorts and limits the others.
    #[must_use]
    pub(crate) fn without(
        mut self,
        ignored: impl Fn(&str, Option<&str>) -> bool,
    ) -> CollectedFindings {
        self.found.retain(|finding| !ignored(&finding.finding.id, finding.finding.job.as_deref()));
        self.unchecked.retain(|unavailable| !ignored(&unavailable.id, None));
        self.found.sort_by_key(|finding| finding.finding.rank());
        self.without_repetitions();
        self
    }

    /// Limits the findings of one kind about one job section, which can have very many files. The last
    /// one that is kept states how many more there are.
    fn without_repetitions(&mut self) {
        if self.found.len() <= MAX_OF_A_KIND {
            return;
        }
        let mut counts: HashMap<_, usize> = HashMap::new();
        let kind = |finding: &FindingBuilder| {
            (finding.finding.id.clone(), finding.finding.severity, finding.section)
        };
        for finding in &self.found {
            *counts.entry(kind(finding)).or_default() += 1;
        }
        let mut kept: HashMap<_, usize> = HashMap::new();
        self.found.retain_mut(|finding| {
            let all = counts.get(&kind(finding)).copied().unwrap_or(0);
            let n = kept.entry(kind(finding)).or_default();
            *n += 1;
            if *n == MAX_OF_A_KIND && all > MAX_OF_A_KIND {
                let more = all - MAX_OF_A_KIND;
                finding.finding.evidence.push_str(&format!(" ({more} more findings of this kind)"));
            }
            *n <= MAX_OF_A_KIND
        });
    }

    /// Returns the findings with their places.
    #[must_use]
    pub fn all(&self) -> &[FindingBuilder] {
        &self.found
    }

    /// Returns the findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.found.iter().map(|finding| &finding.finding)
    }

    /// Returns the checks that could not run.
    #[must_use]
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// Returns whether there are no findings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the highest severity of the findings.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings().map(|finding| finding.severity).max()
    }
}

/// Returns whether the job ignores findings with this id. A finding about the whole run is ignored if
/// every job ignores it.
fn ignored(plan: &Plan, id: &str, job: Option<&str>) -> bool {
    let ignores = |job: &JobPlan| job.reporting.ignore_findings.iter().any(|known| known == id);
    match job {
        Some(name) => plan.jobs.iter().any(|job| job.identity.name == name && ignores(job)),
        None => !plan.jobs.is_empty() && plan.jobs.iter().all(ignores),
    }
}

fn location(place: &Place) -> Location {
    let (line, column) = place.line_column();
    Location { file: place.source.name.clone(), line, column }
}

/// Input of the checks that need only the job.
#[derive(Debug, Clone, Copy)]
pub struct Lint<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The options as written, indexed by [`fiord_plan::Identity::section`]; empty if the plan was not
    /// made from a command line or job file.
    pub specs: &'a [JobSpec],
    /// The warnings of the reader and of the planner.
    pub notes: &'a [Diagnostic],
}

impl<'a> Lint<'a> {
    /// Returns the first instance of each job section. The other instances have the same options.
    pub fn sections(&self) -> impl Iterator<Item = &'a JobPlan> {
        sections(self.plan)
    }

    /// Returns the options of a job as written.
    #[must_use]
    pub fn spec(&self, job: &JobPlan) -> Option<&'a JobSpec> {
        self.specs.get(job.identity.section)
    }
}

/// Input of the checks that run before the run.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The machine before the run.
    pub machine: &'a Machine,
}

impl<'a> Before<'a> {
    /// Returns the first instance of each job section.
    pub fn sections(&self) -> impl Iterator<Item = &'a JobPlan> {
        sections(self.plan)
    }
}

/// Input of the checks that run after the run.
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The machine before the run.
    pub before: &'a Machine,
    /// The machine after the run.
    pub after: &'a Machine,
    /// The result of the run.
    pub report: &'a Report,
}

/// A printed job and the jobs that it covers: several if `group_reporting` merges them.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The result of the printed job.
    pub report: &'a JobReport,
    /// The jobs. Never empty.
    pub jobs: Vec<&'a JobPlan>,
}

impl Entry<'_> {
    /// Names the job in a sentence, or the jobs of several sections: `job a`, `jobs a and b together`.
    #[must_use]
    pub fn subject(&self) -> String {
        match self.names().as_slice() {
            [] | [_] => format!("job {}", self.report.name),
            [one, other] => format!("jobs {one} and {other} together"),
            [one, other, more @ ..] => {
                format!("jobs {one}, {other} and {} more together", more.len())
            }
        }
    }

    /// Whether all jobs have the same options.
    #[must_use]
    pub fn is_one_section(&self) -> bool {
        self.names().len() <= 1
    }

    /// Returns the names of the sections of the jobs.
    fn names(&self) -> Vec<&str> {
        let mut jobs = self.jobs.clone();
        // The instances of a section follow each other.
        jobs.dedup_by_key(|job| job.identity.section);
        jobs.iter().map(|job| job.identity.name.as_str()).collect()
    }
}

impl<'a> After<'a> {
    /// Returns how the threads of a printed job spent their time, if it was sampled.
    #[must_use]
    pub fn shares(&self, entry: &Entry<'_>) -> Option<&'a StageShares> {
        let report = entry.report;
        let mut jobs = self.report.extras.generator.as_ref()?.jobs.iter();
        let own = |job: &&JobShares| job.group_id == report.group_id && job.name == report.name;
        jobs.find(own).map(|job| &job.shares)
    }

    /// Returns the printed jobs that did I/O, with the jobs that they cover.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries = self.all_entries();
        entries.retain(|entry| entry.jobs[0].engine.def().does_io);
        entries
    }

    /// Returns all printed jobs, also those that did no I/O, with the jobs that they cover.
    #[must_use]
    pub fn all_entries(&self) -> Vec<Entry<'a>> {
        let mut plans = self.plan.jobs.iter().filter(|job| job.reporting.stats);
        let entry = |report: &'a JobReport| {
            let jobs: Vec<_> = plans.by_ref().take(report.members.max(1) as usize).collect();
            (!jobs.is_empty()).then_some(Entry { report, jobs })
        };
        self.report.jobs.iter().filter_map(entry).collect()
    }
}

fn sections(plan: &Plan) -> impl Iterator<Item = &JobPlan> {
    plan.jobs.iter().filter(|job| job.identity.instance == 0)
}
