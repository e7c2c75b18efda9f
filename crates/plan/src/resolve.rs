//! Resolves job specifications to a plan. `checks` has the combinations that are refused and belong to no directory.

mod checks;

use std::path::Path;

use fiord_job::Invocation;
use fiord_job::command::{DEFAULT_MAX_JOBS, TriggerOptions};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{DESCRIPTION, NUMJOBS, READ_IOLOG, UNLINK, UNLINK_EACH_LOOP};
use fiord_job::spec::{JobSpec, Setting};
use fiord_types::{Bytes, Dir, JobIndex, PerDir, RunNumber};

use crate::engine::{activity, depth, libblkio, names, net, rules, scsi};
use crate::files::filename::Naming;
use crate::files::instance::JobInstance;
use crate::files::share::{self, HostShare};
use crate::files::sizes::Wanted;
use crate::files::usage::{self, Access, Usage};
use crate::files::{layouts, list, open, tree};
use crate::load::placement::PlacementOptions;
use crate::load::{
    blocks, content, distribution, priority, ranges, seeds, sprandom, write_commands, zones,
};
use crate::machine::cpus::SectionCpus;
use crate::machine::facts::Facts;
use crate::machine::process;
use crate::machine::survey::Survey;
use crate::measure::groups::{self, Groups};
use crate::measure::{block_errors, log, record, reporting, specification};
use crate::model::{
    BlockSize, Endpoints, EnginePlan, FilePlan, Identity, JobPlan, Load, Mix, OpenPlan, Plan,
    Process, Start, WriteCommand,
};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use crate::options::{programs, verification};
use crate::replay::Traces;
use crate::schedule::{end, pace, start, trigger};
use crate::unused::UnusedOptions;
use crate::{engine, files, load, replay, verify};

/// Options of the command line that apply to the whole run.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions<'a> {
    /// The global settings, for the reports.
    pub globals: &'a [Setting],
    /// `--readonly`: refuse jobs that change data.
    pub readonly: bool,
    /// `--no-exec`: refuse jobs that run programs or load code. A server sets it for jobs of others.
    pub no_exec: bool,
    /// `--max-jobs`: the largest number of job instances, if it is above the default limit.
    pub max_jobs: Option<u32>,
    /// `--parse-only`: as in fio, a job need not say how large its files are.
    pub parse_only: bool,
    /// `--aux-path`: the directory of files about the state of runs. `None`: the current directory.
    pub aux_path: Option<&'a Path>,
    /// `--trigger-file` and similar options. `None`: no trigger.
    pub trigger: Option<&'a TriggerOptions>,
    /// Connects to targets that no file on this machine stands for. `None`: their sizes are unknown.
    pub endpoints: Option<&'a dyn Endpoints>,
    /// The address of the client that sent the jobs. It begins the names of files in `directory` (`unique_filename`).
    pub client: Option<&'a str>,
    /// `--hosts-data=split`: the part of each file that this host uses. `None`: the whole file.
    pub share: Option<HostShare>,
    /// The ends of jobs with `peer` are known: the jobs run on many hosts.
    pub linked: bool,
    /// The number of the run on many hosts, by which the ends of connections between them know each other.
    pub run: Option<RunNumber>,
}

impl<'a> PlanOptions<'a> {
    #[must_use]
    pub fn of(invocation: &'a Invocation) -> Self {
        PlanOptions {
            globals: &invocation.globals,
            readonly: invocation.general.readonly,
            no_exec: invocation.general.no_exec,
            max_jobs: invocation.general.max_jobs,
            parse_only: invocation.general.parse_only,
            aux_path: invocation.general.aux_path.as_deref().map(Path::new),
            trigger: Some(&invocation.general.trigger),
            endpoints: None,
            client: None,
            share: None,
            linked: false,
            run: None,
        }
    }
}

/// A plan and the warnings about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub plan: Plan,
    /// Warnings: doubtful settings that are not errors.
    pub warnings: Vec<Diagnostic>,
    /// Errors that end their job when it starts, while the others run ([`JobPlan::unavailable`]).
    pub unavailable: Vec<Diagnostic>,
}

/// Resolves every size, file, group, unit and default of the jobs.
///
/// Creates, opens and changes nothing: it learns about the machine only through `facts`.
///
/// # Errors
/// Everything that makes the run impossible. Each error points at the setting that causes it. The
/// caller must not start any job then.
pub fn resolve(
    specs: &[JobSpec],
    options: PlanOptions,
    facts: &dyn Facts,
) -> Result<Resolved, Vec<Diagnostic>> {
    let messages = Messages::default();
    let written = Reading::of_all(specs, &messages);
    let planned: Vec<_> = specs.iter().map(activity::planned).collect();
    let jobs: Vec<Reading> = planned.iter().map(|spec| Reading::new(spec, &messages)).collect();
    let groups = groups::number(&jobs);
    let waits = start::waits(&jobs);
    if options.no_exec {
        programs::refuse(&written, options.trigger, &messages);
    }
    if !options.linked {
        net::refuse_peers(&jobs);
    }
    let counts = instances(&jobs, options);
    if messages.error_count() > 0 {
        return Err(messages.errors.take());
    }
    let mut run = Resolver {
        options,
        survey: Survey::new(facts, options.endpoints).assuming_sizes(options.parse_only),
        messages: &messages,
        fresh: seeds::fresh(facts),
        unused: UnusedOptions::default(),
    };
    let mut plans: Vec<JobPlan> = Vec::with_capacity(counts.iter().map(|c| *c as usize).sum());
    let mut first = Vec::with_capacity(jobs.len());
    for (section, job) in jobs.iter().enumerate() {
        let wait_for = waits[section]
            .map(|w: usize| (first[w]..first[w] + counts[w] as usize).map(JobIndex).collect())
            .unwrap_or_default();
        first.push(plans.len());
        let place = Section {
            section,
            written: written[section],
            instances: counts[section],
            groups: groups[section],
            start: start::start(*job, groups[section], wait_for),
        };
        run.section(*job, place, &mut plans);
    }
    run.unused.report(&written, &messages);
    zones::write_ranges(&jobs, &plans);
    verify::files_exist(&jobs, &plans);
    let aux_path = options.aux_path.unwrap_or(Path::new("."));
    if let Some(options) = options.trigger {
        trigger::check(options, &plans, aux_path, facts, &messages);
    }
    verify::load_states(&jobs, &mut plans, aux_path, facts);
    log::refuse_mixed(&jobs, &plans);
    replay::refuse_logs_on_targets(&jobs, &plans);
    verify::refuse_shared(&jobs, &plans);
    verify::refuse_changed(&jobs, &plans);
    verify::share_journals(&jobs, &mut plans);
    if messages.error_count() > 0 {
        return Err(messages.errors.take());
    }
    let mut warnings = messages.warnings.take();
    warnings.extend(specification::unused(&jobs, &plans));
    layouts::share(&mut plans);
    libblkio::share(&mut plans);
    content::count_blocks(&mut plans);
    verify::share_targets(&mut plans);
    verify::store_checked_files(&mut plans);
    let plan = Plan { jobs: plans, global_options: reporting::listed(options.globals.iter()) };
    Ok(Resolved { plan, warnings, unavailable: messages.unavailable.take() })
}

/// Resolves the jobs of an invocation. The warnings of the job-file reader come before those of
/// [`resolve`].
///
/// # Errors
/// Options that fiord does not support, the errors of [`resolve`], and with `--warnings-fatal` every
/// warning.
pub fn resolve_invocation(
    invocation: &Invocation,
    facts: &dyn Facts,
) -> Result<Resolved, Vec<Diagnostic>> {
    resolve_connected(invocation, None, facts)
}

/// Resolves the jobs of an invocation as [`resolve_invocation`] does. `endpoints` connects to targets that no file on
/// this machine stands for, to learn their sizes.
///
/// # Errors
/// Errors of [`resolve_invocation`], and targets that do not answer.
pub fn resolve_connected(
    invocation: &Invocation,
    endpoints: Option<&dyn Endpoints>,
    facts: &dyn Facts,
) -> Result<Resolved, Vec<Diagnostic>> {
    resolve_with(invocation, PlanOptions { endpoints, ..PlanOptions::of(invocation) }, facts)
}

/// Resolves the jobs of an invocation as [`resolve_invocation`] does, with these options.
///
/// # Errors
/// Errors of [`resolve_connected`].
pub fn resolve_with(
    invocation: &Invocation,
    options: PlanOptions,
    facts: &dyn Facts,
) -> Result<Resolved, Vec<Diagnostic>> {
    let unsupported: Vec<Diagnostic> =
        invocation.jobs.iter().flat_map(fiord_job::unsupported::unsupported).collect();
    if !unsupported.is_empty() {
        return Err(unsupported);
    }
    let mut resolved = resolve(&invocation.jobs, options, facts)?;
    let messages = Messages::default();
    let jobs = Reading::of_all(&invocation.jobs, &messages);
    let verifying = verify::refuse_records(&jobs, &resolved.plan.jobs);
    if !verifying.is_empty() {
        return Err(verifying);
    }
    if invocation.general.warnings_fatal && !resolved.warnings.is_empty() {
        return Err(resolved.warnings);
    }
    resolved.warnings.splice(0..0, invocation.warnings.iter().cloned());
    Ok(resolved)
}

/// The number of instances (`numjobs`) of every section. Refuses 0 and a sum above the limit.
fn instances(jobs: &[Reading], options: PlanOptions) -> Vec<u32> {
    // As in fio, a lower number changes nothing.
    let most = options.max_jobs.unwrap_or(0).max(DEFAULT_MAX_JOBS);
    let mut sum = 0u64;
    jobs.iter()
        .map(|job| {
            let count = job.get(NUMJOBS);
            if count == 0 {
                job.report(
                    job.error(NUMJOBS, "`numjobs=0` starts no job")
                        .help("To fix: write 1 or more, or leave the job out"),
                );
            }
            let before = sum;
            sum += u64::from(count);
            if sum > u64::from(most) && before <= u64::from(most) {
                job.report(
                    job.error(NUMJOBS, format!("maximum number of jobs reached: {most}"))
                        .help("To fix: use fewer jobs, or raise the limit with --max-jobs"),
                );
            }
            count
        })
        .collect()
}

/// The numbers and the start of a section.
struct Section<'a> {
    section: usize,
    /// The job with all of its options, also those that have no effect.
    written: Reading<'a>,
    instances: u32,
    groups: Groups,
    start: Start,
}

/// The state while sections are resolved one after the other.
struct Resolver<'a> {
    options: PlanOptions<'a>,
    survey: Survey<'a>,
    messages: &'a Messages,
    fresh: u64,
    unused: UnusedOptions,
}

/// The parts of a plan that all instances of a section share.
struct Common<'a> {
    job: Reading<'a>,
    /// The job with all of its options.
    written: Reading<'a>,
    /// `read_iolog`.
    traces: Option<Traces>,
    template: JobPlan,
    wanted: Wanted,
    naming: Naming,
    cpus: Option<SectionCpus>,
    usage: Usage,
    placement: Option<PlacementOptions>,
    base: u64,
    block: u32,
}

impl Common<'_> {
    /// The files of an instance that follows no trace; none if the instance cannot run. Completes the tree of `engine`, if
    /// it works on one.
    fn files(&self, number: u32, engine: &mut EnginePlan, survey: &mut Survey) -> Vec<FilePlan> {
        let paths = engine::addresses(self.job, engine, &self.naming, number, survey);
        if self.job.messages.obstacle.borrow().is_some() {
            return Vec::new();
        }
        survey.expect(paths.len());
        let instance = JobInstance {
            job: self.job,
            number,
            instances: self.template.identity.instances,
            load: &self.template.load,
            wanted: &self.wanted,
            usage: self.usage,
        };
        match engine.tree_mut() {
            Some(tree) => tree::file(instance, tree, paths, survey),
            None => list::plan(instance, paths, survey),
        }
    }
}

impl Resolver<'_> {
    /// Appends the instances of one section in fio's order: the first, then the others in
    /// descending order.
    fn section(&mut self, job: Reading<'_>, place: Section<'_>, plans: &mut Vec<JobPlan>) {
        let others = (1..place.instances).rev();
        let common = self.common(job, place);
        for instance in std::iter::once(0).chain(others) {
            if self.messages.error_count() > 0 && instance > 0 {
                return;
            }
            let plan = self.instance(&common, instance, plans.len());
            plans.push(plan);
        }
    }

    fn common<'j>(&mut self, job: Reading<'j>, place: Section<'j>) -> Common<'j> {
        let Self { options, survey, .. } = self;
        let engine = engine::of_run(job, options.readonly, options.run, survey);
        let traces = replay::traces(job, place.instances, survey, options.readonly);
        let (blocks, mut load) = blocks_and_load(job, traces.as_ref());
        load.priorities = priority::priorities(job, &load, &engine);
        let placement = PlacementOptions::read(job, &load, &engine, survey);
        load.write_commands = write_commands(job, &engine);
        let block = blocks::smallest(&blocks, load.mix);
        let content = content::content(job, &blocks, load.mix);
        let crc = content::crc(job, &blocks, load.mix);
        let open = open::open(job, load.mix, options.readonly);
        let base = seeds::base(job, self.fresh);
        checks::size_holds_block(job, block);
        checks::atomic_writes(job, &engine, &open);
        load_combinations(job, &load, &engine, place.instances, options.share);
        content::pattern_files(job, survey);
        let naming = Naming::read(job, options.client, survey);
        let open = OpenPlan { generated: naming.is_generated() && traces.is_none(), ..open };
        let usage = usage(job, &engine, &load, &open, options.readonly);
        checks::read_only_run(job, usage);
        Common {
            job,
            written: place.written,
            traces,
            wanted: Wanted::read(job, u64::from(block), base).of_host(options.share),
            naming,
            cpus: SectionCpus::read(job, survey.facts),
            usage,
            placement,
            base,
            block,
            template: JobPlan {
                identity: identity(place.written, &place),
                depth: depth::depth(job, &engine),
                pace: pace::pace(job, &load),
                process: process(job, &engine, survey.facts),
                engine,
                start: place.start,
                end: end::end(job),
                target: files::target(job, open, usage.layout),
                load,
                content,
                crc,
                verify: None,
                informs_maps: false,
                journal: None,
                replay: None,
                iolog: replay::iolog(job),
                record: record::record(job),
                log: None,
                reporting: reporting::reporting(job),
                unavailable: None,
            },
        }
    }

    fn instance(&mut self, common: &Common, instance: u32, index: usize) -> JobPlan {
        let Common { job, usage, block, .. } = common;
        let survey = &mut self.survey;
        let aux_path = self.options.aux_path.unwrap_or(Path::new("."));
        let mut engine = common.template.engine.clone();
        let trace = common.traces.as_ref().map(|traces| traces.of(instance));
        let (planned, replayed) = match trace {
            Some(trace) => {
                let (files, plan) = replay::files(*job, trace, *usage, survey);
                (files, Some(plan))
            }
            // A message says what is wrong with the trace.
            None if job.get(READ_IOLOG).is_some() => (Vec::new(), None),
            None if !usage.engine.does_io => (Vec::new(), None),
            None => (common.files(instance, &mut engine, survey), None),
        };
        let mut plan = JobPlan { engine, ..common.template.clone() };
        plan.identity.instance = instance;
        plan.identity.index = JobIndex(index);
        // Only the first clone waits. The others come after it and so wait too.
        plan.start.stonewall &= instance == 0;
        if let Some(why) = self.messages.obstacle.take() {
            // Nothing is known about its targets, so that nothing else of it can be planned or checked.
            plan.unavailable = Some(Box::new(why));
            return plan;
        }
        if trace.is_none() {
            checks::room(*job, planned.iter().map(|f| f.len), *block);
        }
        distribution::fits(*job, &common.template.load, &planned);
        rules::check_files(*job, &mut plan, &planned, survey);
        plan.load.seed = seeds::mix(common.base, index as u64);
        plan.process.cpus = common.cpus.as_ref().map(|c| c.of(index));
        plan.end.bytes = Bytes(
            sprandom::bytes(*job, &plan.load, &planned)
                .unwrap_or_else(|| end::bytes(*job, &planned, *block)),
        );
        sprandom::end(&plan.load, &mut plan.end);
        plan.target.service = ranges::turns(plan.target.service, plan.load.trim_ranges);
        plan.target.open_files = files::open_files(*job, planned.len());
        plan.load.placement = match &common.placement {
            Some(options) => options.of(*job, &planned, survey),
            None => None,
        };
        plan.target.files = planned;
        files::close_created(&mut plan, *block);
        plan.replay = replayed;
        if let Some(trace) = trace {
            replay::finish(*job, trace, &mut plan);
        }
        plan.verify = verify::verify(*job, &plan, survey);
        // As in fio, the data of an earlier run is verified once.
        plan.end.time_based &= !plan.only_verifies();
        plan.journal = verify::journal(*job, &plan);
        names::check(*job, &plan);
        block_errors::check(*job, &plan);
        activity::finish(*job, &mut plan, aux_path);
        plan.log = log::log(*job, plan.identity.index, survey.facts);
        if instance == 0 {
            self.unused.check(common.written, &plan);
        }
        plan
    }
}

/// How a job uses its files.
fn usage(job: Reading, engine: &EnginePlan, load: &Load, open: &OpenPlan, readonly: bool) -> Usage {
    let does_io = engine::that_does_the_io(job, engine);
    let block = blocks::smallest(&load.blocks, load.mix);
    Usage {
        mix: load.mix,
        changes: open::changes_files(load.mix, engine.def().access),
        trims: load.mix.has(Dir::Trim) || verification::trims_writes(job, load.mix),
        trims_files: engine.trims_files(),
        engine: does_io,
        target: rules::target(does_io),
        largest: load.blocks.values().map(|block| block.max()).max().unwrap_or(0),
        stated: usage::stated(job),
        access: Access::of(job, open, block),
        layout: open::layout(job),
        readonly,
        generated: open.generated,
        unlinks: job.get(UNLINK) || job.get(UNLINK_EACH_LOOP),
    }
}

/// Refuses loads that cannot be, and warns of odd ones.
fn load_combinations(
    job: Reading,
    load: &Load,
    engine: &EnginePlan,
    instances: u32,
    share: Option<HostShare>,
) {
    share::check(job, engine, share);
    checks::directions(job, load.mix, engine);
    blocks::check(job, load);
    rules::check_options(job, engine, load);
    zones::combinations(job, load, engine);
    sprandom::combinations(job, load);
    sprandom::oddities(job, load, instances);
    ranges::check(job, engine, load);
    rules::check_load(job, engine, load);
}

/// The attributes of the job's threads, and the memory of its buffers.
fn process(job: Reading, engine: &EnginePlan, facts: &dyn Facts) -> Process {
    let process = process::process(job, facts);
    libblkio::process(job, engine, process)
}

/// The commands that carry out the writes of a job.
fn write_commands(job: Reading, engine: &EnginePlan) -> Vec<(WriteCommand, u8)> {
    scsi::write_commands(engine).unwrap_or_else(|| write_commands::write_commands(job))
}

/// The block sizes and the load of a job.
fn blocks_and_load(job: Reading, traces: Option<&Traces>) -> (PerDir<BlockSize>, Load) {
    let mut blocks = match traces {
        Some(traces) => traces.blocks(),
        None => blocks::sizes(job),
    };
    if load::mix(job).0 == Mix::TrimWrite {
        // Each write fills the block that was trimmed before it.
        blocks[Dir::Write] = blocks[Dir::Trim].clone();
    }
    let mut load = load::load(job, &blocks);
    if let Some(traces) = traces {
        load.mix = traces.mix();
    }
    (blocks, load)
}

fn identity(job: Reading, place: &Section) -> Identity {
    Identity {
        name: job.spec.name.clone(),
        description: job.get(DESCRIPTION),
        section: place.section,
        instance: 0,
        instances: place.instances,
        index: JobIndex(0),
        group: place.groups.group,
        stonewall_group: place.groups.stonewall_group,
        options: reporting::listed(job.spec.settings.iter().filter(|s| !s.global)),
    }
}
