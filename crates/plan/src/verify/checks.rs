//! Combinations of options that cannot be verified, or that would lose data.

use std::path::Path;

use fiord_formats::verify::header::HeaderLayout;
use fiord_formats::verify::interval;
use fiord_formats::verify::method::Method;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::object::HTTP_READ;
use fiord_job::option::table::sim::SIM_STORE;
use fiord_job::option::table::{
    DO_VERIFY, VERIFY, VERIFY_ASYNC_CPUS, VERIFY_INTERVAL, VERIFY_OFFSET, VERIFY_ONLY,
    VERIFY_PATTERN,
};
use fiord_job::option::value::PatternPart;
use fiord_types::{Bytes, Dir};

use super::{commands, tracking};
use crate::load::blocks::size_option;
use crate::machine::cpus;
use crate::machine::survey::Survey;
use crate::model::{HttpReads, JobPlan, VerifyMethod, VerifyPass, VerifyPattern, VerifyPlan};
use crate::options::reading::Reading;

/// Refuses what a job cannot verify. `verify` is its verification, if it has one.
pub(super) fn check(job: Reading, plan: &JobPlan, verify: &VerifyPlan, survey: &mut Survey) {
    match verify.method {
        VerifyMethod::Fio(method) if method.has_header() => {
            room_for_header(job, plan, verify, method);
        }
        VerifyMethod::Fio(_) => {}
        VerifyMethod::Fiord => whole_sectors(job, plan, verify),
    }
    match &verify.pattern {
        // The rest of a long `buffer_pattern` is left out, with a warning.
        Some(_) if !job.is_set(VERIFY_PATTERN) => {}
        Some(pattern) => pattern_fits(job, plan, pattern, survey),
        None => needs_pattern(job, verify),
    }
    commands::check(job, plan, verify);
    if plan.engine.simulated().is_some()
        && verify.checks()
        && job.is_set(SIM_STORE)
        && !job.get(SIM_STORE)
    {
        let error = job.error(SIM_STORE, "`sim_store=0` stores no data that `verify` could check");
        job.report(error.help("To fix: leave out `sim_store=0`, or set `do_verify=0`"));
    }
    reads_return_data(job, plan, verify);
    cpus::refuse_offline(job, VERIFY_ASYNC_CPUS, &verify.cpus, survey.facts);
    if job.get(VERIFY_ONLY) && verify.pass == VerifyPass::Only && !job.get(DO_VERIFY) {
        job.report(
            job.error(
                VERIFY_ONLY,
                "`verify_only` and `do_verify=0` leave the job without anything to do",
            )
            .help("To fix: leave one of them out"),
        );
    }
}

/// Refuses `verify` for a job whose engine moves no data.
pub(super) fn no_data(job: Reading, plan: &JobPlan) {
    let option = if job.is_set(VERIFY) { VERIFY.def() } else { VERIFY_PATTERN.def() };
    let name = plan.engine.def().name;
    let what = format!("`ioengine={name}` moves no data: there is nothing to verify");
    job.report(job.error(option, what).help(format!("To fix: leave out `{}`", option.name)));
}

/// Refuses `verify_only` for a job that verifies nothing: it promises that the job writes nothing.
pub(super) fn only_verifies(job: Reading) {
    if job.get(VERIFY_ONLY) {
        job.report(
            job.error(VERIFY_ONLY, "`verify_only` needs `verify`: there is nothing to check")
                .help("To fix: add the `verify` of the job that wrote the data"),
        );
    }
}

/// Refuses intervals that are shorter than their header and digest, and places of the header where
/// bytes would be lost.
fn room_for_header(job: Reading, plan: &JobPlan, verify: &VerifyPlan, method: Method) {
    let dir = if plan.load.mix.has(Dir::Write) { Dir::Write } else { Dir::Read };
    let block = u64::from(plan.load.blocks[dir].min());
    let interval = verify.interval.map_or(block, |interval| interval.0.min(block));
    let needed = interval::header_and_digest(HeaderLayout::Current, method) as u64;
    if interval < needed {
        let option: &OptionDef = match job.is_set(VERIFY_INTERVAL) && block >= needed {
            true => VERIFY_INTERVAL.def(),
            false => size_option(job),
        };
        job.report(
            job.error(
                option,
                format!(
                    "an interval of {interval} bytes has no room for the header and digest of \
                     `verify`, which take {needed} bytes"
                ),
            )
            .help("To fix: use a larger block size or `verify_interval`, or a shorter digest"),
        );
        return;
    }
    let Bytes(offset) = verify.header_offset;
    let last = interval - needed;
    if offset > 0 && !(needed..=last).contains(&offset) {
        let help = match needed <= last {
            true => format!("To fix: use an offset from {needed} to {last}"),
            false => format!("To fix: use intervals of at least {} bytes", 2 * needed),
        };
        job.report(
            job.error(
                VERIFY_OFFSET,
                format!(
                    "the header and digest of {needed} bytes do not fit at offset {offset} of an \
                     interval of {interval} bytes"
                ),
            )
            .help(help),
        );
    }
}

/// Refuses reads that return no data.
fn reads_return_data(job: Reading, plan: &JobPlan, verify: &VerifyPlan) {
    if verify.checks() && plan.engine.http().is_some_and(|http| http.reads != HttpReads::Get) {
        let what = "the reads of `verify` need `http_read=get`: others return no data";
        let error = job.error(HTTP_READ, what);
        job.report(error.help("To fix: leave out `http_read`, or set `do_verify=0`"));
    }
}

/// Refuses writes with `verify=fiord` that do not consist of whole sectors.
fn whole_sectors(job: Reading, plan: &JobPlan, verify: &VerifyPlan) {
    let Some(sector) = verify.interval else { return };
    let granule = tracking::granule(plan);
    if plan.load.unaligned || !granule.is_multiple_of(sector) {
        job.report(
            job.error(
                VERIFY,
                format!("`verify=fiord` needs blocks of whole sectors of {sector} bytes"),
            )
            .help(format!("To fix: use block sizes and offsets that are multiples of {sector}")),
        );
    }
}

/// Refuses methods that compare a pattern if the job has none.
fn needs_pattern(job: Reading, verify: &VerifyPlan) {
    if verify.method.needs_pattern() {
        job.report(
            job.error(VERIFY, "this method compares blocks with a pattern, and the job has none")
                .help("To fix: add `verify_pattern`, or use another method"),
        );
    }
}

/// Refuses patterns that are longer than a block, because their rest would never be written.
fn pattern_fits(job: Reading, plan: &JobPlan, pattern: &VerifyPattern, survey: &mut Survey) {
    let length = |part: &PatternPart| match part {
        PatternPart::Bytes(bytes) => bytes.len() as u64,
        PatternPart::Offset => 8,
        PatternPart::File(name) => survey.look(Path::new(name)).map_or(0, |file| file.size),
    };
    let bytes = pattern.parts.iter().map(length).fold(0, u64::saturating_add);
    let block = u64::from(plan.load.blocks[Dir::Write].max());
    if bytes > block {
        job.report(
            job.error(
                VERIFY_PATTERN,
                format!("the pattern of {bytes} bytes is longer than the block of {block} bytes"),
            )
            .help("To fix: shorten the pattern, or use a larger block size"),
        );
    }
}
