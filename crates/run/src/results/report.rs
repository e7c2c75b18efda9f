//! Turns the results of the workers into the report.

use fiord_plan::{FilePlan, IoPrio, JobPlan, Plan, Unified};
use fiord_stat::job::{JobData, JobSettings, assemble};
use fiord_stat::report::{
    self, ClockReport, CoreBandwidth, Extras, GeneratorReport, GroupReport, JobShares, Report,
    SCHEMA,
};
use fiord_stat::shares::TimeShares;
use fiord_sys::clock::TimeSource;
use fiord_sys::{clock, host};
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use super::{slices, specification};
use crate::error::{self, JobError};
use crate::job::steady::SteadyMember;
use crate::job::timebase::Timebase;
use crate::monitor::{DeviceActivity, Disks, style};
use crate::shared::Shared;
use crate::worker_result::WorkerResult;
use crate::zones::Counts;

/// The facts that the report needs about the run as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportContext<'a> {
    pub plan: &'a Plan,
    pub version: &'a str,
    /// Time since the run began.
    pub elapsed: Nanos,
    /// Offset of local time from UTC, seconds.
    pub utc_offset_s: i32,
    pub timebase: &'a Timebase,
}

/// The facts that the report needs about one job, apart from its worker's results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobFacts<'a> {
    pub pid: u32,
    /// When the job began, ms of the wall clock or of the clock in `job_start_clock_id`.
    pub start_ms: u64,
    /// The error that ended the job.
    pub error: Option<&'a JobError>,
    pub eta_s: Option<u64>,
    pub steady: Option<&'a SteadyMember>,
}

/// The data of a job. `worker`: its results at its end or so far; `None` if it has none.
pub(crate) fn data(
    context: &ReportContext<'_>,
    index: usize,
    facts: &JobFacts<'_>,
    worker: Option<&WorkerResult>,
) -> JobData {
    let mut data = blank(context, index, facts);
    if let Some(worker) = worker {
        data.recorder.clone_from(&worker.recorder);
        data.samples.clone_from(&worker.samples);
        data.windows.clone_from(&worker.windows);
        data.shares = worker.shares;
        data.delays = worker.delays;
        data.latency_depth = worker.hooks.depth.unwrap_or(context.plan.jobs[index].depth.depth);
        data.user = worker.usage.user;
        data.system = worker.usage.system;
        data.ctx = worker.usage.switches();
        data.majf = worker.usage.major_faults;
        data.minf = worker.usage.minor_faults;
        let zones = worker.hooks.zones;
        data.zone_resets = resets(context, index, zones);
        data.nothing_to_read = zones.map_or(0, |counts| counts.nothing_to_read);
        data.zone_commands = zones.map_or(0, |counts| counts.commands);
        data.engine.clone_from(&worker.engine);
        data.hooks.clone_from(&worker.hooks.report);
        if let Some(results) = &mut data.hooks.verify {
            let job = &context.plan.jobs[index];
            results.coverage.required = job.reporting.verify_complete;
            results.state_sizes(|path| size_of(&job.target.files, path));
        }
        set_survived(&mut data, worker.survived.as_ref());
        set_runtime(&mut data, worker.runtime);
        if !context.plan.jobs[index].engine.def().does_io {
            // As in fio, cycles have latencies and no rate.
            data.dir_runtime = PerDir::all(Nanos::ZERO);
        }
        set_read_back(&mut data, &context.plan.jobs[index], worker);
    }
    data
}

/// Reports an error that the job survived, unless another one ended the job.
fn set_survived(data: &mut JobData, survived: Option<&JobError>) {
    if let Some(error) = survived.filter(|_| !data.failed) {
        data.error = Some(error.reported_errno());
        data.error_site = Some(error.site());
    }
}

/// Sets the results of a job that hangs: the bytes and I/Os that it published last. Only its thread has its
/// latencies.
pub(crate) fn set_so_far(data: &mut JobData, job: &JobPlan, shared: &Shared) {
    data.latency_depth = job.depth.depth;
    let totals = shared.live.totals();
    for (dir, row) in data.recorder.dirs.iter_mut() {
        (row.bytes, row.ios) = (totals.bytes[dir], totals.ios[dir]);
        row.issued = totals.ios[dir];
    }
    let began = shared.control.measured_since();
    let ran = began.map_or(0, |began| clock::monotonic().saturating_sub(began));
    set_runtime(data, Nanos(ran));
}

/// Zones that the job reset; `None` if it neither writes nor trims, or uses no zones.
fn resets(context: &ReportContext<'_>, index: usize, zones: Option<Counts>) -> Option<u64> {
    let mix = context.plan.jobs[index].load.mix;
    zones.filter(|_| mix.changes_data()).map(|counts| counts.resets)
}

/// Sets the run time in whole milliseconds: at least 1 if the job did any I/O.
fn set_runtime(data: &mut JobData, ran: Nanos) {
    let did = data.recorder.totals().map(|(_, ios)| ios > 0);
    let any = did.values().any(|did| *did) || data.recorder.sync_issued > 0;
    let runtime = Nanos::from_millis(ran.as_millis().max(u64::from(any)));
    data.runtime = runtime;
    data.dir_runtime = did.map(|active| if active { runtime } else { Nanos::ZERO });
}

/// The size of the file that has this path, as text.
fn size_of(files: &[FilePlan], path: &str) -> Option<Bytes> {
    let file = files.iter().find(|file| file.path.to_string_lossy() == path)?;
    let known = [file.size_now, file.size_needed, Some(file.end())];
    known.into_iter().flatten().max().filter(|size| *size > Bytes::ZERO)
}

/// Divides the run time of a job that reads its writes back (`verify`): as in fio, that time counts for reads, and the
/// rest for the directions of the job. Reads while the job writes take all of the time.
fn set_read_back(data: &mut JobData, job: &JobPlan, worker: &WorkerResult) {
    let Some(verify) = &job.verify else { return };
    let run_time = worker.runtime;
    let load = run_time.saturating_sub(worker.hooks.read_back);
    for (dir, time) in data.dir_runtime.iter_mut().filter(|(_, time)| **time > Nanos::ZERO) {
        let spent = match dir {
            Dir::Read if job.load.mix.has(Dir::Read) || worker.hooks.reads_between => run_time,
            Dir::Read if verify.pass.reads_back() => worker.hooks.read_back,
            _ => load,
        };
        *time = Nanos::from_millis(spent.as_millis().max(1));
    }
}

fn blank(context: &ReportContext<'_>, index: usize, facts: &JobFacts<'_>) -> JobData {
    let job = &context.plan.jobs[index];
    JobData {
        settings: settings(job),
        members: 1,
        pid: facts.pid,
        start: Nanos::from_millis(facts.start_ms),
        error: facts.error.map(JobError::reported_errno),
        error_site: facts.error.map(JobError::site),
        failed: facts.error.is_some(),
        eta: facts.eta_s.map(Nanos::from_secs),
        elapsed: Nanos::from_secs(context.elapsed.as_secs() + 1),
        virtual_time: job.engine.def().virtual_time && !job.engine.is_real_time(),
        steady_state: facts.steady.map(SteadyMember::report),
        ..JobData::default()
    }
}

/// The settings of a job that the report shows.
fn settings(job: &JobPlan) -> JobSettings {
    let (record, goal) = (&job.record, job.pace.latency_target);
    JobSettings {
        name: job.identity.name.clone(),
        group_id: job.identity.group,
        group_reporting: job.reporting.group,
        description: job.identity.description.clone(),
        options: job.identity.options.clone(),
        continue_on_error: job.reporting.continue_on_error.any(),
        percentiles: record.percentiles.clone(),
        percentile_decimals: record.percentile_decimals,
        // Latencies that are not measured have no percentiles.
        slat_percentiles: record.slat && record.slat_percentiles,
        clat_percentiles: record.clat && record.clat_percentiles,
        lat_percentiles: record.lat && record.lat_percentiles,
        unified: match job.reporting.unified {
            Unified::None => report::Unified::Separate,
            Unified::Mixed => report::Unified::Mixed,
            Unified::Both => report::Unified::Both,
        },
        style: style(&job.reporting),
        ioprio: job.process.ioprio.map_or(0, IoPrio::bits),
        stats: job.reporting.stats,
        latency_target: goal.map_or(Nanos::ZERO, |goal| goal.target),
        latency_percentile: goal.map_or(100.0, |goal| f64::from(goal.share_ppm) / 10_000.0),
        latency_window: goal
            .map_or(Nanos::ZERO, |goal| Nanos::from_micros(goal.window.as_micros())),
    }
}

/// The whole report.
pub(crate) fn report(
    context: &ReportContext<'_>,
    jobs: Vec<JobData>,
    disks: &Disks,
    devices: &DeviceActivity,
) -> Report {
    let devices = devices.report(&jobs);
    let slices = slices::tables(context.plan, &jobs);
    let courses = jobs.iter().map(|job| job.samples.without_latencies()).collect();
    let generator = generator(context.plan, &jobs);
    let (jobs, groups) = assemble(jobs, &error::words);
    let per_core = per_core(context.plan, &groups);
    let spec = specification::against(context.plan, &jobs);
    Report {
        schema: SCHEMA,
        version: context.version.to_owned(),
        written: Nanos::from_millis(Nanos(host::wall_time()).as_millis()),
        utc_offset_s: context.utc_offset_s,
        global_options: context.plan.global_options.clone(),
        jobs,
        groups,
        disks: disks.report(),
        extras: Extras {
            clock: clock_report(context),
            generator,
            per_core,
            slices,
            spec,
            devices,
            ..Extras::default()
        },
        courses,
    }
}

/// How the threads spent their time: all together, and by group and job name. `None` without samples.
fn generator(plan: &Plan, jobs: &[JobData]) -> Option<GeneratorReport> {
    if plan.jobs.iter().all(|job| job.engine.def().virtual_time) {
        let engine = plan.jobs.first().map_or("", |job| job.engine.def().name);
        let why_none = Some(format!("ioengine={engine} runs on virtual time, not on CPU time"));
        return Some(GeneratorReport { why_none, ..GeneratorReport::default() });
    }
    let mut parts: Vec<Namesakes> = Vec::new();
    for job in jobs {
        let Some(shares) = job.shares else { continue };
        let (group_id, name) = (job.settings.group_id, job.settings.name.as_str());
        let weighed = (shares, job.runtime);
        match parts.iter_mut().find(|part| part.group_id == group_id && part.name == name) {
            Some(part) => part.shares.push(weighed),
            None => parts.push(Namesakes { group_id, name, shares: vec![weighed] }),
        }
    }
    let all: Vec<_> = parts.iter().flat_map(|part| part.shares.iter().copied()).collect();
    let one = |part: &Namesakes| {
        let shares = TimeShares::weighed(&part.shares)?.summarise();
        Some(JobShares { group_id: part.group_id, name: part.name.to_owned(), shares })
    };
    let shares = Some(TimeShares::weighed(&all)?.summarise());
    let jobs = parts.iter().filter_map(one).collect();
    Some(GeneratorReport { shares, jobs, ..GeneratorReport::default() })
}

/// The jobs with one name in a group: sampled shares and run time of each.
struct Namesakes<'a> {
    group_id: u32,
    name: &'a str,
    shares: Vec<(TimeShares, Nanos)>,
}

/// The bandwidth per core of each group in which a job sets `core_bandwidth`.
fn per_core(plan: &Plan, groups: &[GroupReport]) -> Vec<CoreBandwidth> {
    let wanted = |group: &&GroupReport| {
        let mut jobs = plan.jobs.iter();
        jobs.any(|job| job.reporting.per_core && job.identity.group == group.id)
    };
    let mut wanted = groups.iter().filter(wanted).peekable();
    if wanted.peek().is_none() {
        return Vec::new();
    }
    let cores = fiord_sys::cpu::cores();
    let one = |group: &GroupReport| {
        let bw: Bytes = group.dirs.iter().map(|dir| dir.agg_bw).sum();
        let bw_per_core = bw.0 as f64 / cores as f64;
        CoreBandwidth { group_id: group.id, cores, bw, bw_per_core }
    };
    wanted.map(one).collect()
}

/// The clock of the first job. The report does not show different clocks of other jobs.
fn clock_report(context: &ReportContext<'_>) -> Option<ClockReport> {
    let job = context.plan.jobs.first()?;
    let clock = context.timebase.clock(job).ok()?.0;
    let resolution = match (clock.source(), clock.hertz()) {
        (TimeSource::GetTimeOfDay, _) => 1000.0,
        (_, Some(hertz)) => 1e9 / hertz.max(1) as f64,
        _ => 1.0,
    };
    Some(ClockReport {
        source: clock.source().word().to_owned(),
        cost_ns: clock.read_cost_ps() as f64 / 1000.0,
        resolution_ns: resolution,
    })
}

/// The name of a job in messages.
pub(crate) fn name(plan: &Plan, index: usize) -> &str {
    plan.jobs.get(index).map_or("", |job| &job.identity.name)
}
