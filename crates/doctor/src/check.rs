//! What one kind of finding is, what it is told from, and where it says so.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::spec::{JobSpec, Place};
use fiord_plan::{JobPlan, Plan};
use fiord_stat::finding::{Finding, Location, Severity, Unchecked};
use fiord_stat::report::{JobReport, JobShares, Report};
use fiord_stat::shares::TimeShares;

use crate::machine::{Machine, Unavailable};

/// One kind of finding: its texts, which are its page in `docs/findings/` too, and how it is told.
///
/// The texts are Markdown without headings; paragraphs are separated by an empty line.
pub struct Check {
    /// Its stable name, in kebab-case.
    pub id: &'static str,
    /// The worst it comes with.
    pub severity: Severity,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What is wrong with the number, for someone who meets it for the first time.
    pub about: &'static str,
    /// What it is seen by, and what keeps it silent.
    pub detection: &'static str,
    /// How large the effect can be, with an example that was measured and how.
    pub effect: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// Tells it from the job alone.
    pub lint: Option<fn(&Lint<'_>, &mut Findings)>,
    /// Tells it from the machine as it is before the run.
    pub before: Option<fn(&Before<'_>, &mut Findings)>,
    /// Tells it from the result.
    pub after: Option<fn(&After<'_>, &mut Findings)>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("id", &self.id).field("severity", &self.severity).finish()
    }
}

/// When a finding can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// From the job alone.
    Lint,
    /// With a look at the machine, before the run.
    Before,
    /// From the result.
    After,
}

impl Stage {
    /// In a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Stage::Lint => "from the job alone",
            Stage::Before => "before the run",
            Stage::After => "after the run",
        }
    }
}

impl Check {
    /// When it can be told.
    pub fn stages(&self) -> impl Iterator<Item = Stage> {
        let stages = [
            (Stage::Lint, self.lint.is_some()),
            (Stage::Before, self.before.is_some()),
            (Stage::After, self.after.is_some()),
        ];
        stages.into_iter().filter_map(|(stage, has)| has.then_some(stage))
    }

    /// Begins a finding about one job; told once for all instances of a section when `job` is the
    /// first of them.
    pub fn for_job(&self, job: &JobPlan, what: impl Into<String>) -> FindingBuilder {
        let mut told = self.for_run(what);
        told.finding.job = Some(job.identity.name.clone());
        told.section = Some(job.identity.section);
        told
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
        };
        FindingBuilder { finding, section: None, option: None, place: None, noted: false }
    }
}

/// A finding, and what in the job file it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingBuilder {
    /// The finding.
    pub finding: Finding,
    /// The job section that it is about, counted from 0 as the job specifications are.
    pub section: Option<usize>,
    /// The documented name of the option that it is about.
    pub option: Option<&'static str>,
    /// Where that option stands, or else the job; known once a stage is complete.
    pub place: Option<Place>,
    /// It repeats a warning of the reader or of the planner.
    pub noted: bool,
}

impl FindingBuilder {
    /// The evidence, with its numbers.
    #[must_use]
    pub fn evidence(mut self, evidence: impl Into<String>) -> FindingBuilder {
        self.finding.evidence = evidence.into();
        self
    }

    /// The exact option or command that mends it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> FindingBuilder {
        self.finding.remedy = remedy.into();
        self
    }

    /// Less bad than the worst of its kind.
    #[must_use]
    pub fn at_most(mut self, severity: Severity) -> FindingBuilder {
        self.finding.severity = self.finding.severity.min(severity);
        self
    }

    /// The option that it is about: `fiord check` points at it.
    #[must_use]
    pub fn option(mut self, name: &'static str) -> FindingBuilder {
        self.option = Some(name);
        self
    }
}

/// So many findings of one kind about one section are told.
const OF_A_KIND: usize = 64;

/// What a finding is about.
fn subject(finding: &Finding) -> (&str, Option<&str>, &str) {
    (&finding.id, finding.job.as_deref(), &finding.what)
}

/// What was found, and what could not be looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    told: Vec<FindingBuilder>,
    unchecked: Vec<Unchecked>,
    /// What an earlier stage may have told and this one has counted and found sound.
    refuted: Vec<Finding>,
}

impl Findings {
    /// Takes a finding.
    pub fn report(&mut self, told: FindingBuilder) {
        self.told.push(told);
    }

    /// Takes a finding where there is one.
    pub fn report_if(&mut self, told: Option<FindingBuilder>) {
        self.told.extend(told);
    }

    /// Takes back what an earlier stage has told with these words, of the same job: what it feared
    /// has been counted since, and is not there.
    pub fn refute(&mut self, told: FindingBuilder) {
        self.refuted.push(told.finding);
    }

    /// Remembers that a finding could not be looked for: told once, however often it is said.
    pub fn unavailable(&mut self, check: &Check, unavailable: &Unavailable) {
        let new = Unchecked { id: check.id.into(), why: unavailable.0.clone() };
        if !self.unchecked.contains(&new) {
            self.unchecked.push(new);
        }
    }

    /// The evidence where there is some; else remembers the unavailable.
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

    /// Adds what another stage found; what was told before is not told again.
    pub fn join(&mut self, later: Findings) {
        if !later.refuted.is_empty() {
            let sound: HashSet<_> = later.refuted.iter().map(subject).collect();
            self.told.retain(|told| !sound.contains(&subject(&told.finding)));
        }
        let known = |told: &FindingBuilder| {
            (told.finding.id.clone(), told.finding.job.clone(), told.finding.what.clone())
        };
        let mut places: HashMap<_, usize> =
            self.told.iter().enumerate().map(|(n, told)| (known(told), n)).collect();
        for told in later.told {
            // The later one knows more: it has seen the result.
            match places.get(&known(&told)) {
                Some(&n) => self.told[n] = told,
                None => {
                    places.insert(known(&told), self.told.len());
                    self.told.push(told);
                }
            }
        }
        for unavailable in later.unchecked {
            if !self.unchecked.contains(&unavailable) {
                self.unchecked.push(unavailable);
            }
        }
    }

    /// Takes out the guess that was made before a run where its result was counted since.
    #[must_use]
    pub fn without_guess(mut self, guess: &str, counted: &str) -> Findings {
        if self.unchecked.iter().all(|unavailable| unavailable.id != counted) {
            self.told.retain(|told| told.finding.id != guess);
        }
        self
    }

    /// Looks up where in the job files the findings point.
    #[must_use]
    pub(crate) fn placed(mut self, specs: &[JobSpec]) -> Findings {
        for told in &mut self.told {
            if let (None, Some(spec)) = (&told.place, told.section.and_then(|s| specs.get(s))) {
                let setting = told.option.and_then(|option| spec.setting(option));
                told.place = Some(setting.map_or(&spec.place, |setting| &setting.place).clone());
            }
            told.finding.option = told.option.map(str::to_owned);
            told.finding.location = told.place.as_ref().map(location);
        }
        self
    }

    /// Takes out the notes about a place that a finding of greater weight is about.
    #[must_use]
    pub(crate) fn without_echoes(mut self) -> Findings {
        let weighty: Vec<Place> =
            self.told.iter().filter(|t| !t.noted).filter_map(|t| t.place.clone()).collect();
        let same = |a: &Place, b: &Place| Arc::ptr_eq(&a.source, &b.source) && a.span == b.span;
        let echo = |told: &FindingBuilder| {
            let place = told.place.as_ref().filter(|_| told.noted);
            place.is_some_and(|place| weighty.iter().any(|other| same(place, other)))
        };
        self.told.retain(|told| !echo(told));
        self
    }

    /// Takes out what the jobs ask not to be told (`ignore_findings`), and sorts: worst first.
    #[must_use]
    pub fn settled(mut self, plan: &Plan) -> Findings {
        self.told.retain(|told| !ignored(plan, &told.finding.id, told.finding.job.as_deref()));
        self.unchecked.retain(|unavailable| !ignored(plan, &unavailable.id, None));
        self.told.sort_by_key(|told| std::cmp::Reverse(told.finding.severity));
        self.without_repetitions();
        self
    }

    /// Of findings of one kind about one job, which may have very many files, keeps the first ones; the last of
    /// these says how many there are.
    fn without_repetitions(&mut self) {
        if self.told.len() <= OF_A_KIND {
            return;
        }
        let mut counts: HashMap<_, usize> = HashMap::new();
        let kind =
            |told: &FindingBuilder| (told.finding.id.clone(), told.finding.severity, told.section);
        for told in &self.told {
            *counts.entry(kind(told)).or_default() += 1;
        }
        let mut kept: HashMap<_, usize> = HashMap::new();
        self.told.retain_mut(|told| {
            let all = counts.get(&kind(told)).copied().unwrap_or(0);
            let n = kept.entry(kind(told)).or_default();
            *n += 1;
            if *n == OF_A_KIND && all > OF_A_KIND {
                let more = all - OF_A_KIND;
                told.finding.evidence.push_str(&format!(" ({more} more findings of this kind)"));
            }
            *n <= OF_A_KIND
        });
    }

    /// What was found, with what it is about.
    pub fn told(&self) -> &[FindingBuilder] {
        &self.told
    }

    /// What was found.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.told.iter().map(|told| &told.finding)
    }

    /// What could not be looked for.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The worst of what was found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings().map(|finding| finding.severity).max()
    }
}

/// Whether the job, or for the run every job, wants to hear nothing of it.
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

/// What a lint knows.
#[derive(Debug, Clone, Copy)]
pub struct Lint<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// What was typed, in the order of [`fiord_plan::Identity::section`]; empty where a plan was
    /// made otherwise.
    pub specs: &'a [JobSpec],
    /// The warnings of the reader and of the planner.
    pub notes: &'a [Diagnostic],
}

impl<'a> Lint<'a> {
    /// One job of each section: the first instance. What is true of one is true of all.
    pub fn sections(&self) -> impl Iterator<Item = &'a JobPlan> {
        sections(self.plan)
    }

    /// What was typed for a job.
    pub fn spec(&self, job: &JobPlan) -> Option<&'a JobSpec> {
        self.specs.get(job.identity.section)
    }
}

/// What is known before the run.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// The machine.
    pub machine: &'a Machine,
}

impl<'a> Before<'a> {
    /// One job of each section.
    pub fn sections(&self) -> impl Iterator<Item = &'a JobPlan> {
        sections(self.plan)
    }
}

/// What is known after the run.
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// The machine before the run.
    pub before: &'a Machine,
    /// The machine after it.
    pub after: &'a Machine,
    /// What was measured.
    pub report: &'a Report,
}

/// A printed job and the jobs that are in it: several where `group_reporting` merges them.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// What was measured.
    pub report: &'a JobReport,
    /// The jobs, never none.
    pub jobs: Vec<&'a JobPlan>,
}

impl<'a> After<'a> {
    /// What the threads of a printed job spent their time on, where it was sampled.
    pub fn shares(&self, entry: &Entry<'_>) -> Option<&'a TimeShares> {
        let report = entry.report;
        let mut jobs = self.report.extras.generator.as_ref()?.jobs.iter();
        let own = |job: &&JobShares| job.group_id == report.group_id && job.name == report.name;
        jobs.find(own).map(|job| &job.shares)
    }

    /// The printed jobs with their plans.
    pub fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut plans = self.plan.jobs.iter().filter(|job| job.reporting.stats);
        for report in &self.report.jobs {
            let jobs: Vec<_> = plans.by_ref().take(report.members.max(1) as usize).collect();
            if !jobs.is_empty() {
                entries.push(Entry { report, jobs });
            }
        }
        entries
    }
}

fn sections(plan: &Plan) -> impl Iterator<Item = &JobPlan> {
    plan.jobs.iter().filter(|job| job.identity.instance == 0)
}
