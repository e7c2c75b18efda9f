//! What the options of verification mean together, and their defaults.

use fiord_formats::verify::interval;
use fiord_formats::verify::method::Method;
use fiord_job::option::table::nvme::{VERIFY_MODE, VerifyMode};
use fiord_job::option::table::{
    DO_VERIFY, VERIFY_ASYNC, VERIFY_ASYNC_CPUS, VERIFY_BACKLOG, VERIFY_BACKLOG_BATCH, VERIFY_DUMP,
    VERIFY_FATAL, VERIFY_INTERVAL, VERIFY_OFFSET, VERIFY_ONLY, VERIFY_POLICY, VERIFY_STATE_LOAD,
    VERIFY_STATE_SAVE,
};
use fiord_job::option::value::PatternPart;
use fiord_types::{Bytes, Dir};

use super::commands::{self, Share};
use super::{checks, headers, journal, tracking};
use crate::machine::survey::Survey;
use crate::model::{
    Backlog, ContentPlan, EnginePlan, FileKind, JobPlan, Mix, VerifyMethod, VerifyPass,
    VerifyPattern, VerifyPlan,
};
use crate::options::reading::Reading;
use crate::options::verification::{method, pattern, trims};

/// The length in bytes of a sector of `verify=fiord`, unless a device has longer ones.
const SECTOR: u32 = 512;

/// What a job verifies, and how. `plan` is complete but for this. `None`: the job verifies nothing.
pub(crate) fn verify(job: Reading, plan: &JobPlan, survey: &mut Survey) -> Option<VerifyPlan> {
    let Some(method) = method(job) else {
        checks::only_verifies(job);
        return None;
    };
    if !plan.load.uses_buffers {
        checks::no_data(job, plan);
        return None;
    }
    let pass = pass(job, plan.load.mix)?;
    // As in fio, a job whose engine moves no data issues its reads and checks nothing.
    let has_data = plan.engine != EnginePlan::Null;
    let method = if has_data { method } else { VerifyMethod::Fio(Method::Null) };
    let (mut method, mut pattern) = (method, body_pattern(job, plan, method));
    let backlog = backlog(job);
    let zeroes = commands::zeroes(plan);
    if zeroes == Some(Share::All) && pass == VerifyPass::Only && has_data {
        // Every block is known, without what a run remembers.
        method = VerifyMethod::Fio(Method::Pattern);
        pattern = Some(VerifyPattern { parts: vec![PatternPart::Bytes(vec![0])], interval: None });
    }
    let verify = VerifyPlan {
        method,
        interval: interval(job, method, plan, survey),
        header_offset: job.get(VERIFY_OFFSET).unwrap_or(Bytes::ZERO),
        pattern,
        checks_seed: headers::check_seed(job, plan, pass, backlog.as_ref()),
        checks_number: headers::check_number(job, plan, pass),
        pass,
        tracking: match needs_map(plan, method, backlog.as_ref()) || zeroes.is_some() {
            true => tracking::with_map(plan),
            false => tracking::of_job(plan, trims(job).is_some()),
        },
        backlog,
        zeroes: zeroes.is_some(),
        trims: trims(job),
        threads: job.get(VERIFY_ASYNC),
        cpus: job.get(VERIFY_ASYNC_CPUS).unwrap_or_default(),
        durable_writes: journal::writes_durably(job, plan),
        fatal: job.get(VERIFY_FATAL),
        dump: job.get(VERIFY_DUMP),
        policy: job.get(VERIFY_POLICY),
        saves_state: job.get(VERIFY_STATE_SAVE) && pass != VerifyPass::Reads,
        // Known when the whole run is.
        overwritten: None,
        state: None,
        compares_on_device: job.get(VERIFY_MODE) == VerifyMode::Compare,
    };
    checks::check(job, plan, &verify, survey);
    Some(verify)
}

/// Whether a job needs a map, even if it writes each block once in a loop: it reads back after `runtime` what it has
/// written in several loops, or opens the files of its backlog one after another.
fn needs_map(plan: &JobPlan, method: VerifyMethod, backlog: Option<&Backlog>) -> bool {
    let opens_files = (plan.target.open_files as usize) < plan.target.files.len();
    method == VerifyMethod::Fiord && plan.end.time_based || backlog.is_some() && opens_files
}

/// The pattern of the blocks below their headers: `verify_pattern`, or else `buffer_pattern`. Methods that compare the
/// pattern need `verify_pattern`: fio writes another one with them.
fn body_pattern(job: Reading, plan: &JobPlan, method: VerifyMethod) -> Option<VerifyPattern> {
    let has_digest = |method: Method| method.has_header() && !method.compares_pattern();
    let has_digest = matches!(method, VerifyMethod::Fio(method) if has_digest(method));
    pattern(job).or(match &plan.content {
        ContentPlan::Pattern(parts) if has_digest => {
            Some(VerifyPattern { parts: parts.clone(), interval: None })
        }
        _ => None,
    })
}

/// Which I/Os are verified. `None`: a job that only trims has nothing to verify.
fn pass(job: Reading, mix: Mix) -> Option<VerifyPass> {
    match mix {
        Mix::Trim | Mix::Trace { reads: false, writes: false, .. } => None,
        // The job stops at the last write of the state.
        Mix::Read if job.get(VERIFY_STATE_LOAD) => Some(VerifyPass::Only),
        Mix::Read | Mix::Trace { writes: false, .. } => Some(VerifyPass::Reads),
        _ if job.get(VERIFY_ONLY) => Some(VerifyPass::Only),
        _ if !job.get(DO_VERIFY) => Some(VerifyPass::WritesOnly),
        _ => Some(VerifyPass::AfterWrites),
    }
}

/// The distance between headers. `None`: each write is one interval.
fn interval(
    job: Reading,
    method: VerifyMethod,
    plan: &JobPlan,
    survey: &mut Survey,
) -> Option<Bytes> {
    if method == VerifyMethod::Fiord {
        return Some(Bytes(u64::from(sector(plan, survey))));
    }
    if plan.load.unaligned {
        return None;
    }
    // A job that only reads has the interval of the job that writes with its options.
    let blocks = &plan.load.blocks[Dir::Write];
    let configured = job.get(VERIFY_INTERVAL).and_then(|interval| u32::try_from(interval.0).ok());
    Some(Bytes(u64::from(interval::length(configured, blocks.min(), blocks.max()))))
}

/// The sector of `verify=fiord` in bytes: the longest logical block of the job's devices.
fn sector(plan: &JobPlan, survey: &mut Survey) -> u32 {
    let devices = plan.target.files.iter().filter(|file| file.kind == FileKind::Block);
    let blocks = devices.filter_map(|file| survey.facts.logical_block(&file.path));
    blocks.max().unwrap_or(SECTOR).max(SECTOR)
}

fn backlog(job: Reading) -> Option<Backlog> {
    let writes = job.get(VERIFY_BACKLOG).filter(|writes| *writes > 0)?;
    let all = u32::try_from(writes).unwrap_or(u32::MAX);
    let batch = job.get(VERIFY_BACKLOG_BATCH).filter(|batch| *batch > 0).unwrap_or(all);
    Some(Backlog { writes, batch })
}
