//! Engines that do no I/O, and the options that have no effect on their jobs.

use std::borrow::Cow;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};

use fiord_job::option::def::{Category, OptionDef, Scope};
use fiord_job::option::table::activity::{
    ARGUMENTS, CPUCHUNKS, CPULOAD, CPUMODE, GRACE_TIME, PROGRAM, STD_REDIRECT,
};
use fiord_job::option::table::{CREATE_ONLY, IOENGINE, NUMBER_IOS, RAMP_SIZE, RUNTIME};
use fiord_job::spec::JobSpec;
use fiord_types::Nanos;

use crate::model::{CpuioPlan, EnginePlan, ExecPlan, JobPlan};
use crate::options::reading::Reading;

/// Whether an option has no effect on a job that does no I/O.
pub(crate) fn is_about_io(option: &OptionDef) -> bool {
    if option == NUMBER_IOS.def() || option == CREATE_ONLY.def() || option == IOENGINE.def() {
        return false;
    }
    match option.category {
        Category::Target
        | Category::IoType
        | Category::BlockSize
        | Category::Buffers
        | Category::IoSize
        | Category::Depth
        | Category::Rate
        | Category::Replay
        | Category::Verify
        | Category::SteadyState => true,
        // An option of one engine is not permitted with another.
        Category::Engine => option.scope == Scope::Job,
        Category::Time => option == RAMP_SIZE.def(),
        Category::Units
        | Category::Job
        | Category::Process
        | Category::Results
        | Category::Errors
        | Category::Profile => false,
    }
}

/// The job as it is planned: if its engine does no I/O, without the options that are about I/O.
pub(crate) fn planned(spec: &JobSpec) -> Cow<'_, JobSpec> {
    if spec.engine().does_io {
        return Cow::Borrowed(spec);
    }
    let mut spec = spec.clone();
    spec.settings.retain(|setting| !is_about_io(setting.def));
    Cow::Owned(spec)
}

/// Reads the options of `cpuio`.
pub(crate) fn cpuio(job: Reading) -> CpuioPlan {
    let load = job.get(CPULOAD).unwrap_or(0);
    if load == 0 {
        let why = match job.is_set(CPULOAD) {
            true => "`cpuload=0` asks for no load",
            false => "cpu thread needs rate (cpuload=)",
        };
        let help = "To fix: set the share of CPU time in per cent, such as `cpuload=50`";
        job.report(job.error(CPULOAD, why).help(help));
    }
    if load > 100 {
        let what = format!("`cpuload={load}` is read as 100: a job loads one CPU");
        let help = "To fix: write `cpuload=100`, and load several CPUs with `numjobs`";
        job.report(job.adjusted(CPULOAD, what).help(help));
    }
    let chunk = job.get(CPUCHUNKS);
    if chunk == Nanos::ZERO {
        let what = "`cpuchunks=0` makes cycles without CPU time";
        job.report(job.error(CPUCHUNKS, what).help(
            "To fix: write the CPU time of a cycle in microseconds, such as `cpuchunks=50000` (the \
             default)",
        ));
    }
    let load_percent = NonZeroU8::new(load.clamp(1, 100) as u8).unwrap_or(NonZeroU8::MIN);
    CpuioPlan { load_percent, chunk, mode: job.get(CPUMODE) }
}

/// Reads the options of `exec`. The files for the output depend on the instance.
pub(crate) fn exec(job: Reading) -> ExecPlan {
    let program = job.get(PROGRAM).unwrap_or_default();
    if program.is_empty() {
        let what = "no program is defined, it is mandatory to define one (program=)";
        let help = "To fix: name the program, such as `program=/usr/bin/iostat`";
        job.report(job.error(PROGRAM, what).help(help));
    }
    let arguments = job.get(ARGUMENTS).unwrap_or_default();
    let arguments = arguments
        .replace("%r", &job.get(RUNTIME).as_secs().to_string())
        .replace("%n", &job.spec.name);
    ExecPlan {
        program,
        arguments: arguments.split_whitespace().map(String::from).collect(),
        grace: job.get(GRACE_TIME),
        output: None,
    }
}

/// The files for the output of an instance's program.
fn output(name: &str, instance: u32, directory: &Path) -> (PathBuf, PathBuf) {
    // A job may be called `read/seq`, but its files are in the same directory as the others.
    let name = name.replace('/', "_");
    let stem = match instance {
        0 => name,
        // Two programs must not write to one file.
        n => format!("{name}.{n}"),
    };
    let path = |stream| match directory == Path::new(".") {
        // Show the path without `./`, as a user would type it.
        true => PathBuf::from(format!("{stem}.{stream}")),
        false => directory.join(format!("{stem}.{stream}")),
    };
    (path("stdout"), path("stderr"))
}

/// Sets what follows from the engine of a job that does no I/O, and warns if the job does not end.
pub(crate) fn finish(job: Reading, plan: &mut JobPlan, aux_path: &Path) {
    let instance = plan.identity.instance;
    if let EnginePlan::Exec(exec) = &mut plan.engine {
        let redirects = job.get(STD_REDIRECT);
        exec.output = redirects.then(|| output(&plan.identity.name, instance, aux_path));
    }
    let Some(options) = plan.engine.cpu_load() else { return };
    plan.pace.cpu_load = Some(options.load_percent).filter(|load| load.get() < 100);
    let end = &plan.end;
    if end.runtime.is_none() && end.ios.is_none() && !end.with_io && instance == 0 {
        let what = "the job burns CPU time until the run is interrupted: it sets no `runtime`";
        let help = "To fix: set `runtime`, or `exit_on_io_done=1` beside jobs that do I/O";
        job.report(job.warning(RUNTIME, what).help(help));
    }
}
