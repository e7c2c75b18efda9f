//! What the options of verification mean together, and their defaults.

use fiord_formats::verify::interval;
use fiord_formats::verify::method::Method;
use fiord_job::option::table::nvme::{VERIFY_MODE, VerifyMode};
use fiord_job::option::table::{
    DO_VERIFY, EXPERIMENTAL_VERIFY, TRIM_BACKLOG, TRIM_BACKLOG_BATCH, TRIM_PERCENTAGE,
    TRIM_VERIFY_ZERO, VERIFY, VERIFY_ASYNC, VERIFY_ASYNC_CPUS, VERIFY_BACKLOG,
    VERIFY_BACKLOG_BATCH, VERIFY_DUMP, VERIFY_FATAL, VERIFY_HEADER_SEED, VERIFY_INTERVAL,
    VERIFY_OFFSET, VERIFY_ONLY, VERIFY_PATTERN, VERIFY_PATTERN_INTERVAL, VERIFY_POLICY,
    VERIFY_STATE_LOAD, VERIFY_STATE_SAVE, VERIFY_WRITE_SEQUENCE, Verify,
};
use fiord_types::{Bytes, Dir};

use super::{checks, tracking};
use crate::machine::survey::Survey;
use crate::model::{
    Backlog, BlockSize, FileKind, JobPlan, Mix, Step, VerifyMethod, VerifyPass, VerifyPattern,
    VerifyPlan, VerifyTrims,
};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// The length in bytes of a sector of `verify=fiord`, unless a device has longer ones.
const SECTOR: u32 = 512;

/// What a job verifies, and how. `plan` is complete but for this. `None`: the job verifies nothing.
pub(crate) fn verify(
    job: Reading,
    plan: &JobPlan,
    survey: &mut Survey,
    messages: &mut Messages,
) -> Option<VerifyPlan> {
    let pattern = pattern(job);
    let method = method(job, pattern.as_ref())?;
    let pass = pass(job, plan.load.mix)?;
    let overlaps = tracking::rewrites(plan);
    let verify = VerifyPlan {
        method,
        interval: interval(job, method, plan, survey),
        header_offset: job.get(VERIFY_OFFSET).unwrap_or(Bytes::ZERO),
        pattern,
        checks_seed: checks_seed(job, plan, pass, overlaps),
        checks_number: checks_number(job, plan, pass, overlaps),
        pass,
        tracking: tracking::of_job(plan),
        backlog: backlog(job),
        trims: trims(job),
        threads: job.get(VERIFY_ASYNC),
        cpus: job.get(VERIFY_ASYNC_CPUS).unwrap_or_default(),
        fatal: job.get(VERIFY_FATAL),
        dump: job.get(VERIFY_DUMP),
        policy: job.get(VERIFY_POLICY),
        saves_state: job.get(VERIFY_STATE_SAVE) && pass != VerifyPass::Reads,
        loads_state: job.get(VERIFY_STATE_LOAD),
        compares_on_device: job.get(VERIFY_MODE) == VerifyMode::Compare,
    };
    checks::check(job, plan, &verify, survey, messages);
    Some(verify)
}

fn pattern(job: Reading) -> Option<VerifyPattern> {
    let parts = job.get(VERIFY_PATTERN).filter(|parts| !parts.is_empty())?;
    let interval =
        Some(job.get(VERIFY_PATTERN_INTERVAL)).filter(|interval| *interval > Bytes::ZERO);
    Some(VerifyPattern { parts, interval })
}

/// The method of a job. A pattern alone implies a header with it.
fn method(job: Reading, pattern: Option<&VerifyPattern>) -> Option<VerifyMethod> {
    Some(VerifyMethod::Fio(match job.get(VERIFY) {
        Verify::None => return pattern.map(|_| VerifyMethod::Fio(Method::PatternHdr)),
        Verify::Fiord => return Some(VerifyMethod::Fiord),
        Verify::Md5 => Method::Md5,
        Verify::Crc64 => Method::Crc64,
        Verify::Crc32 => Method::Crc32,
        Verify::Crc32c => Method::Crc32c,
        Verify::Crc16 => Method::Crc16,
        Verify::Crc7 => Method::Crc7,
        Verify::Sha1 => Method::Sha1,
        Verify::Sha256 => Method::Sha256,
        Verify::Sha512 => Method::Sha512,
        Verify::Sha3224 => Method::Sha3224,
        Verify::Sha3256 => Method::Sha3256,
        Verify::Sha3384 => Method::Sha3384,
        Verify::Sha3512 => Method::Sha3512,
        Verify::Xxhash => Method::Xxhash,
        Verify::Meta => Method::Meta,
        Verify::Pattern => Method::Pattern,
        Verify::PatternHdr => Method::PatternHdr,
        Verify::Null => Method::Null,
    }))
}

/// Which I/Os are verified. `None`: a job that only trims has nothing to verify.
fn pass(job: Reading, mix: Mix) -> Option<VerifyPass> {
    match mix {
        Mix::Trim => None,
        Mix::Read => Some(VerifyPass::Reads),
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
    let blocks = blocks(plan);
    let configured = job.get(VERIFY_INTERVAL).and_then(|interval| u32::try_from(interval.0).ok());
    Some(Bytes(u64::from(interval::length(configured, blocks.min(), blocks.max()))))
}

/// The sizes of the I/Os that have headers.
pub(super) fn blocks(plan: &JobPlan) -> &BlockSize {
    let dir = if plan.load.mix.has(Dir::Write) { Dir::Write } else { Dir::Read };
    &plan.load.blocks[dir]
}

/// The sector of `verify=fiord` in bytes: the longest logical block of the job's devices.
fn sector(plan: &JobPlan, survey: &mut Survey) -> u32 {
    let devices = plan.target.files.iter().filter(|file| file.kind == FileKind::Block);
    let blocks = devices.filter_map(|file| survey.facts.logical_block(&file.path));
    blocks.max().unwrap_or(SECTOR).max(SECTOR)
}

/// Whether the seed of each header must be that of the write. fio's defaults.
fn checks_seed(job: Reading, plan: &JobPlan, pass: VerifyPass, overlaps: bool) -> bool {
    if job.is_set(VERIFY_HEADER_SEED) {
        return job.get(VERIFY_HEADER_SEED);
    }
    let repeats = matches!(pass, VerifyPass::Reads | VerifyPass::Only);
    let resets = plan.load.zoned.is_some_and(|zoned| zoned.resets.is_some());
    let backlog = backlog(job).is_some();
    !(repeats || resets || backlog || overlaps)
}

/// Whether the number of each header must be that of the write. fio's defaults.
fn checks_number(job: Reading, plan: &JobPlan, pass: VerifyPass, overlaps: bool) -> bool {
    let load = &plan.load;
    let varied = !matches!(load.blocks[Dir::Write], BlockSize::Fixed(_)) || load.unaligned;
    if varied || plan.end.time_based || pass == VerifyPass::Reads {
        return false;
    }
    if job.is_set(VERIFY_WRITE_SEQUENCE) {
        return job.get(VERIFY_WRITE_SEQUENCE);
    }
    let concurrent = plan.load.random && plan.load.no_map && plan.depth.depth > 1;
    let regenerates = job.get(EXPERIMENTAL_VERIFY) && overlaps;
    !(pass == VerifyPass::Only || concurrent || regenerates)
}

fn backlog(job: Reading) -> Option<Backlog> {
    let writes = job.get(VERIFY_BACKLOG).filter(|writes| *writes > 0)?;
    let all = u32::try_from(writes).unwrap_or(u32::MAX);
    let batch = job.get(VERIFY_BACKLOG_BATCH).filter(|batch| *batch > 0).unwrap_or(all);
    Some(Backlog { writes, batch })
}

/// The trims of a job: percentage and backlog are both needed.
fn trims(job: Reading) -> Option<VerifyTrims> {
    let percent = Some(job.get(TRIM_PERCENTAGE)).filter(|percent| *percent > 0)?;
    let backlog = job.get(TRIM_BACKLOG).filter(|backlog| *backlog > 0)?;
    let all = u32::try_from(backlog).unwrap_or(u32::MAX);
    let batch = job.get(TRIM_BACKLOG_BATCH).filter(|batch| *batch > 0).unwrap_or(all);
    Some(VerifyTrims { percent, backlog, batch, must_read_zero: job.get(TRIM_VERIFY_ZERO) })
}

/// Whether the offsets of a job skip blocks (`rw=write:4k`) or groups of them (`rw=randwrite:8`).
pub(super) fn has_step(plan: &JobPlan) -> bool {
    plan.load.step != Step::None
}
