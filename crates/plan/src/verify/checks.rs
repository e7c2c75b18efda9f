//! Combinations of options that cannot be verified, or that would lose data.

use std::path::Path;

use fiord_formats::verify::header::HeaderLayout;
use fiord_formats::verify::interval;
use fiord_job::option::table::{
    DO_VERIFY, VERIFY, VERIFY_INTERVAL, VERIFY_OFFSET, VERIFY_ONLY, VERIFY_PATTERN,
};
use fiord_job::option::value::PatternPart;

use super::options::blocks;
use crate::load::blocks::size_option;
use crate::machine::survey::Survey;
use crate::model::{JobPlan, VerifyMethod, VerifyPass, VerifyPattern, VerifyPlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

pub(super) fn check(
    job: Reading,
    plan: &JobPlan,
    verify: &VerifyPlan,
    survey: &mut Survey,
    messages: &mut Messages,
) {
    room_for_header(job, plan, verify, messages);
    if let Some(pattern) = &verify.pattern {
        pattern_fits(job, plan, pattern, survey, messages);
    }
    if verify.pass == VerifyPass::Only && job.is_set(DO_VERIFY) && !job.get(DO_VERIFY) {
        messages.push(
            job.error(
                VERIFY_ONLY,
                "`verify_only` and `do_verify=0` leave the job without anything to do",
            )
            .help("To fix: leave one of them out"),
        );
    }
}

/// Refuses intervals that are shorter than their header and digest, and places of the header where
/// bytes would be lost.
fn room_for_header(job: Reading, plan: &JobPlan, verify: &VerifyPlan, messages: &mut Messages) {
    let VerifyMethod::Fio(method) = verify.method else {
        return whole_sectors(job, plan, verify, messages);
    };
    if !method.has_header() {
        return;
    }
    let shortest = u64::from(blocks(plan).min());
    let interval = verify.interval.map_or(shortest, |interval| interval.0);
    let needed = interval::header_and_digest(HeaderLayout::Current, method) as u64;
    if interval < needed {
        let option = match job.is_set(VERIFY_INTERVAL) && shortest >= needed {
            true => VERIFY_INTERVAL.def(),
            false => size_option(job),
        };
        messages.push(
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
    let offset = verify.header_offset.0;
    let last = interval - needed;
    if offset > 0 && !(needed..=last).contains(&offset) {
        let help = match needed <= last {
            true => format!("To fix: use an offset from {needed} to {last}"),
            false => format!("To fix: use intervals of at least {} bytes", 2 * needed),
        };
        messages.push(
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

/// Refuses writes with `verify=fiord` that do not consist of whole sectors.
fn whole_sectors(job: Reading, plan: &JobPlan, verify: &VerifyPlan, messages: &mut Messages) {
    let Some(sector) = verify.interval.map(|sector| sector.0) else { return };
    let granule = super::tracking::granule(plan);
    if plan.load.unaligned || !granule.is_multiple_of(sector) {
        messages.push(
            job.error(
                VERIFY,
                format!("`verify=fiord` needs writes of whole sectors of {sector} bytes"),
            )
            .help(format!("To fix: use block sizes and offsets that are multiples of {sector}")),
        );
    }
}

/// Refuses patterns that are longer than a block, because their rest would never be written.
fn pattern_fits(
    job: Reading,
    plan: &JobPlan,
    pattern: &VerifyPattern,
    survey: &mut Survey,
    messages: &mut Messages,
) {
    let length = |part: &PatternPart| match part {
        PatternPart::Bytes(bytes) => bytes.len() as u64,
        PatternPart::Offset => 8,
        PatternPart::File(name) => survey.look(Path::new(name)).map_or(0, |file| file.size),
    };
    let bytes = pattern.parts.iter().map(length).fold(0, u64::saturating_add);
    let block = u64::from(blocks(plan).max());
    if bytes > block {
        messages.push(
            job.error(
                VERIFY_PATTERN,
                format!("the pattern of {bytes} bytes is longer than the block of {block} bytes"),
            )
            .help("To fix: shorten the pattern, or use a larger block size"),
        );
    }
}
