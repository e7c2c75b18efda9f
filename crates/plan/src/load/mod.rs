//! The workload of a job: directions, order, randomness, flushes.
//!
//! | question | module |
//! |---|---|
//! | how large are the blocks, and how are they aligned? | `blocks` |
//! | how are offsets distributed? | `distribution` |
//! | what do the buffers contain? | `content` |
//! | which commands carry out writes? | `write_commands` |
//! | which I/Os have which priority? | `priority` |
//! | which placement identifiers do writes have? | `placement` |
//! | how many ranges does a trim have? | `ranges` |
//! | with which seeds are random numbers generated? | `seeds` |
//! | how does a job age an SSD (`sprandom`)? | `sprandom` |
//! | how does a job use zones (`zonemode=zbd`)? | `zones` |

pub(crate) mod blocks;
pub(crate) mod content;
pub(crate) mod distribution;
pub(crate) mod placement;
pub(crate) mod priority;
pub(crate) mod ranges;
pub(crate) mod seeds;
pub(crate) mod sprandom;
pub(crate) mod write_commands;
pub(crate) mod zones;

use fiord_job::number;
use fiord_job::option::def::Unit;
use fiord_job::option::table::{
    BS_UNALIGNED, END_FSYNC, END_SYNCFS, FDATASYNC, FSYNC, FSYNC_ON_CLOSE, KB_BASE, NORANDOMMAP,
    NUM_RANGE, PERCENTAGE_RANDOM, RANDOM_GENERATOR, RANDREPEAT, RW, RW_SEQUENCER, RWMIXREAD,
    RWMIXWRITE, Rw, SERIALIZE_OVERLAP, SYNC_FILE_RANGE, SyncFileRange, WRITE_BARRIER,
    WRITE_ZONE_REMAINDER,
};
use fiord_job::option::value::Bases;
use fiord_types::{Dir, PerDir};

use crate::model::{BlockSize, Distribution, Generator, Load, Mix, Step};
use crate::options::reading::Reading;

/// Reads `rw` and the share of reads; `true`: random offsets.
pub(crate) fn mix(job: Reading) -> (Mix, bool) {
    let word = job.get(RW).word;
    let mix = match word {
        Rw::Read | Rw::RandRead => Mix::Read,
        Rw::Write | Rw::RandWrite => Mix::Write,
        Rw::Trim | Rw::RandTrim => Mix::Trim,
        Rw::Rw | Rw::RandRw => Mix::ReadWrite { read_percent: read_percent(job) },
        Rw::TrimWrite | Rw::RandTrimWrite => Mix::TrimWrite,
    };
    let random = matches!(
        word,
        Rw::RandRead | Rw::RandWrite | Rw::RandTrim | Rw::RandRw | Rw::RandTrimWrite
    );
    (mix, random)
}

/// The share of reads in per cent. Of `rwmixread` and `rwmixwrite` the later one counts.
fn read_percent(job: Reading) -> u8 {
    match (job.position(RWMIXREAD), job.position(RWMIXWRITE)) {
        (Some(r), Some(w)) if w > r => 100 - job.get(RWMIXWRITE),
        (None, Some(_)) => 100 - job.get(RWMIXWRITE),
        _ => job.get(RWMIXREAD),
    }
}

fn step(job: Reading, random: bool) -> Step {
    let Some(text) = job.get(RW).suffix else { return Step::None };
    let unit = if random { Unit::Count } else { Unit::Bytes };
    // As sizes, the number has the bases that were set before it.
    let later = job.position(KB_BASE) > job.position(RW);
    let bases = if later { Bases::default() } else { job.spec.bases };
    let number = match number::integer(&text, unit, &bases) {
        Ok(n) => n,
        Err(e) => {
            job.report(job.error(RW, e.what));
            return Step::None;
        }
    };
    match (random, u32::try_from(number), i64::try_from(number)) {
        (false, Ok(0), _) => Step::None,
        (true, Ok(n), _) if n > 0 => Step::EveryNth(n),
        (false, _, Ok(n)) => Step::Skip(n),
        _ => {
            job.report(
                job.error(RW, format!("value out of range: `{text}` after the colon"))
                    .help("To fix: write a number of I/Os for random kinds, a number of bytes for sequential ones"),
            );
            Step::None
        }
    }
}

fn random_percent(job: Reading) -> PerDir<u8> {
    job.get(PERCENTAGE_RANDOM).map(|percent| percent.unwrap_or(100))
}

fn sync_file_range(job: Reading) -> Option<(u32, u32)> {
    let words = job.get(SYNC_FILE_RANGE)?;
    // `SYNC_FILE_RANGE_WAIT_BEFORE`, `_WRITE`, `_WAIT_AFTER` (`linux/fs.h`).
    let flags = words.iter().fold(0, |all, item| match item.word {
        SyncFileRange::WaitBefore => all | 1,
        SyncFileRange::Write => all | 2,
        SyncFileRange::WaitAfter => all | 4,
    });
    let number = words.iter().find_map(|item| item.suffix.as_deref());
    let every = match number.map(|n| number::integer(n, Unit::Count, &job.spec.bases)) {
        None => 1,
        Some(Ok(n)) if (1..=i128::from(u32::MAX)).contains(&n) => n as u32,
        Some(_) => {
            job.report(
                job.error(
                    SYNC_FILE_RANGE,
                    "the number of writes after the colon must be 1 or more",
                )
                .help("To fix: write `sync_file_range=write:8`"),
            );
            1
        }
    };
    (flags != 0).then_some((every, flags))
}

/// Reads the workload of one section. Its seed is 0 here: it depends on the instance.
pub(crate) fn load(job: Reading, blocks: &PerDir<BlockSize>) -> Load {
    let (mix, random) = mix(job);
    // An invalid distribution is an error in a sequential job, too.
    let distribution = match (distribution::of_offsets(job), random) {
        (distribution, true) => distribution,
        (_, false) => Distribution::Even,
    };
    let align = blocks::align(job, blocks);
    let ranges = job.get(NUM_RANGE).max(1);
    let generator = job.get(RANDOM_GENERATOR);
    Load {
        mix,
        random,
        random_percent: random_percent(job),
        step: step(job, random),
        sequencer: job.get(RW_SEQUENCER),
        blocks: blocks.clone(),
        seq_rand: blocks::seq_rand(job, &blocks::typed(job)),
        align,
        unaligned: job.get(BS_UNALIGNED),
        // A map works only for blocks on a grid. An uneven distribution revisits some blocks before
        // it has visited all. The order of `lfsr` needs no map.
        no_map: job.get(NORANDOMMAP) && generator != Generator::Lfsr
            || job.get(WRITE_ZONE_REMAINDER) && zones::wanted(job)
            || blocks::off_grid(&align, blocks, mix)
            // A map would shorten ranges of several sizes where they meet blocks trimmed before.
            || ranges > 1 && !matches!(blocks[Dir::Trim], BlockSize::Fixed(_))
            || distribution != Distribution::Even,
        distribution,
        sprandom: sprandom::sprandom(job),
        strided: distribution::strided(job),
        zoned: zones::zoned(job, mix),
        generator,
        seed: 0,
        repeat: job.get(RANDREPEAT),
        fsync: job.get(FSYNC),
        fdatasync: job.get(FDATASYNC),
        write_barrier: job.get(WRITE_BARRIER),
        sync_file_range: sync_file_range(job),
        end_fsync: job.get(END_FSYNC),
        fsync_on_close: job.get(FSYNC_ON_CLOSE),
        end_syncfs: job.get(END_SYNCFS),
        // The trim of a pair must end before its write begins.
        serialize_overlap: job.get(SERIALIZE_OVERLAP) || mix == Mix::TrimWrite,
        trim_ranges: ranges,
        priorities: None,
        placement: None,
        uses_buffers: job.spec.engine().access.uses_buffers(),
        write_commands: Vec::new(),
    }
}
