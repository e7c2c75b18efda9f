//! The contents of write buffers.

use std::path::Path;

use fiord_job::option::handle::Opt;
use fiord_job::option::table::{
    BUFFER_COMPRESS_CHUNK, BUFFER_COMPRESS_PERCENTAGE, BUFFER_CRC, BUFFER_PATTERN, DEDUPE_GLOBAL,
    DEDUPE_MODE, DEDUPE_PERCENTAGE, DEDUPE_WORKING_SET_PERCENTAGE, DedupeMode, REFILL_BUFFERS,
    SCRAMBLE_BUFFERS, VERIFY, VERIFY_PATTERN, Verify, ZERO_BUFFERS,
};
use fiord_job::option::value::PatternPart;
use fiord_types::{Bytes, Dir, PerDir};

use crate::machine::facts::FoundKind;
use crate::machine::survey::Survey;
use crate::model::{BlockSize, Compress, ContentPlan, Dedupe, JobPlan, Mix, Shape};
use crate::options::reading::Reading;

/// The block size in bytes at which storage systems look for duplicates.
const BLOCK: u64 = 4096;

/// Chooses the contents. Compressible and duplicate contents take precedence over a pattern, a
/// pattern over zeros, zeros over refilling, and refilling over scrambling.
pub(crate) fn content(job: Reading, blocks: &PerDir<BlockSize>, mix: Mix) -> ContentPlan {
    let unchecked = unchecked_pattern(job);
    let pattern = unchecked.or(job.get(BUFFER_PATTERN)).unwrap_or_default();
    if mix.has(Dir::Write) {
        longer_than_a_block(job, &pattern, blocks[Dir::Write].max());
    }
    let compress = match job.get(BUFFER_COMPRESS_PERCENTAGE).unwrap_or(0) {
        0 => None,
        percent => {
            let chunk = job.get(BUFFER_COMPRESS_CHUNK);
            Some(Compress { percent, chunk, pattern: pattern.clone() })
        }
    };
    let plain = compress.is_none() && !pattern.is_empty();
    let dedupe = match job.get(DEDUPE_PERCENTAGE).unwrap_or(0) {
        0 => None,
        _ if plain => None,
        share => {
            let set = job.get(DEDUPE_WORKING_SET_PERCENTAGE);
            let working_set = (job.get(DEDUPE_MODE) == DedupeMode::WorkingSet).then_some(set);
            room_for_working_set(job, share, working_set);
            let global = job.get(DEDUPE_GLOBAL);
            Some(Dedupe { percent: share, working_set, global, blocks: 0 })
        }
    };
    if compress.is_some() || dedupe.is_some() {
        ContentPlan::Shaped(Shape { compress, dedupe })
    } else if plain {
        ContentPlan::Pattern(pattern)
    } else if job.get(ZERO_BUFFERS) {
        ContentPlan::Zero
    } else if job.get(REFILL_BUFFERS) {
        ContentPlan::Refill
    } else if job.get(SCRAMBLE_BUFFERS) {
        ContentPlan::Scramble
    } else {
        ContentPlan::Fixed
    }
}

/// The pattern with which `verify_pattern` fills the writes of a job that checks nothing
/// (`verify=null`, `verify=0`).
fn unchecked_pattern(job: Reading) -> Option<Vec<PatternPart>> {
    let unchecked = matches!(job.explicit(VERIFY), Some(Verify::None | Verify::Null));
    job.get(VERIFY_PATTERN).filter(|parts| unchecked && !parts.is_empty())
}

/// Reads `buffer_crc`.
pub(crate) fn crc(job: Reading, blocks: &PerDir<BlockSize>, mix: Mix) -> bool {
    /// Four bytes of CRC-32C, and at least one byte that it covers.
    const MIN_BLOCK: u32 = 5;
    let wanted = job.get(BUFFER_CRC) && mix.has(Dir::Write);
    let least = blocks[Dir::Write].min();
    if wanted && least < MIN_BLOCK {
        job.report(
            job.error(BUFFER_CRC, format!("a block of {least} bytes has no room for its CRC"))
                .help(format!(
                    "To fix: use blocks of {MIN_BLOCK} bytes or more, or leave out `buffer_crc`"
                )),
        );
    }
    wanted
}

/// Refuses patterns from files that are missing, empty or not readable, before the layout starts.
pub(crate) fn pattern_files(job: Reading, survey: &mut Survey) {
    for option in [BUFFER_PATTERN, VERIFY_PATTERN] {
        files_of(job, option, survey);
    }
}

fn files_of(job: Reading, option: Opt<Option<Vec<PatternPart>>>, survey: &mut Survey) {
    for part in job.get(option).unwrap_or_default() {
        let PatternPart::File(name) = part else { continue };
        let wrong = match survey.look(Path::new(&name)) {
            Ok(found) if found.kind != FoundKind::Regular => "is not a regular file".to_owned(),
            Ok(found) if !found.readable => "is not readable".to_owned(),
            Ok(found) if found.size == 0 => "is empty".to_owned(),
            Ok(_) => continue,
            Err(unseen) => format!("cannot be read: {}", unseen.text),
        };
        job.report(
            job.error(option, format!("the pattern's file `{name}` {wrong}"))
                .help("To fix: put a text in double quotes, the name of a file in single quotes"),
        );
    }
}

/// Warns of a pattern that is longer than a block, because the job never writes its rest. Patterns
/// from files are cut without a warning, as documented.
fn longer_than_a_block(job: Reading, pattern: &[PatternPart], block: u32) {
    let bytes: usize = pattern
        .iter()
        .map(|part| match part {
            PatternPart::Bytes(bytes) => bytes.len(),
            PatternPart::Offset => 8,
            PatternPart::File(_) => 0,
        })
        .sum();
    if bytes > block as usize {
        job.report(
            job.warning(
                BUFFER_PATTERN,
                format!(
                    "the pattern is longer than a block: of its {bytes} bytes only the first \
                     {block} are ever written"
                ),
            )
            .help("To fix: shorten the pattern, or use a larger `bs`"),
        );
    }
}

/// Checks that working set and duplicates together are at most all blocks: the first copy of a
/// block in the working set is not a duplicate.
fn room_for_working_set(job: Reading, share: u8, set: Option<u8>) {
    match set {
        Some(0) => job.report(
            job.error(DEDUPE_WORKING_SET_PERCENTAGE, "a working set of 0 % has no block to repeat")
                .help("To fix: use 1 to 99, or `dedupe_mode=repeat`"),
        ),
        Some(set) if u32::from(set) + u32::from(share) > 100 => job.report(
            job.error(
                DEDUPE_PERCENTAGE,
                format!(
                    "{share} % of duplicates cannot be reached: {set} % of the blocks are the working set, and the \
                     first write of each of them is not a duplicate"
                ),
            )
            .help(format!("To fix: use at most {}, or a smaller working set", 100 - set.min(100))),
        ),
        _ => {}
    }
}

/// Sets the number of blocks of each job that repeats blocks, when files and sizes are known.
pub(crate) fn count_blocks(jobs: &mut [JobPlan]) {
    let shared = jobs.iter().filter(|job| dedupe_of(job).is_some_and(|d| d.global));
    let shared = shared.fold(0u64, |sum, job| sum.saturating_add(blocks(job)));
    for job in jobs {
        let own = blocks(job);
        if let ContentPlan::Shaped(Shape { dedupe: Some(dedupe), .. }) = &mut job.content {
            dedupe.blocks = if dedupe.global { shared } else { own };
        }
    }
}

fn dedupe_of(job: &JobPlan) -> Option<&Dedupe> {
    match &job.content {
        ContentPlan::Shaped(Shape { dedupe, .. }) => dedupe.as_ref(),
        _ => None,
    }
}

/// The largest number of blocks that a job can write: those of its regions, or of its work if that
/// is less.
fn blocks(job: &JobPlan) -> u64 {
    let region = job.target.region();
    let work = match job.end.ios {
        _ if job.end.time_based => Bytes::MAX,
        Some(ios) => Bytes::from(job.load.blocks[Dir::Write].max()).saturating_mul(ios),
        None => job.end.bytes.saturating_mul(job.end.loops),
    };
    (region.min(work) / Bytes(BLOCK)).max(1)
}
