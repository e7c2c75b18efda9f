//! The workload of a job: directions, order, randomness, flushes.
//!
//! | question | module |
//! |---|---|
//! | how large are the blocks, and how are they aligned? | `blocks` |
//! | how are offsets distributed? | `distribution` |
//! | what do the buffers contain? | `content` |
//! | which commands carry out writes? | `forms` |
//! | which I/Os have which priority? | `priority` |
//! | which placement identifiers do writes have? | `placement` |
//! | how many ranges does a trim have? | `ranges` |
//! | with which seeds are random numbers generated? | `seeds` |
//! | how does a job age an SSD (`sprandom`)? | `sprandom` |
//! | how does a job use zones (`zonemode=zbd`)? | `zones` |

pub(crate) mod blocks;
pub(crate) mod content;
pub(crate) mod distribution;
pub(crate) mod forms;
pub(crate) mod placement;
pub(crate) mod priority;
pub(crate) mod ranges;
pub(crate) mod seeds;
pub(crate) mod sprandom;
pub(crate) mod zones;

use fiord_job::number;
use fiord_job::option::def::Unit;
use fiord_types::{Dir, PerDir};

use crate::model::{BlockSize, Distribution, Generator, Load, Mix, Sequencer, Step};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// `SYNC_FILE_RANGE_WAIT_BEFORE`, `_WRITE`, `_WAIT_AFTER` (`linux/fs.h`).
const SYNC_FLAGS: [(&str, u32); 3] = [("wait_before", 1), ("write", 2), ("wait_after", 4)];

/// Reads `rw` and the share of reads; `true`: random offsets.
pub(crate) fn mix(job: Reading) -> (Mix, bool) {
    let word = job.plain_word("rw");
    let random = word.starts_with("rand");
    let mix = match word.trim_start_matches("rand") {
        "write" => Mix::Write,
        "trim" => Mix::Trim,
        "rw" | "readwrite" => Mix::ReadWrite { read_percent: read_percent(job) },
        "trimwrite" => Mix::TrimWrite,
        _ => Mix::Read,
    };
    (mix, random)
}

/// The share of reads in per cent. Of `rwmixread` and `rwmixwrite` the later one counts.
fn read_percent(job: Reading) -> u8 {
    let percent = |name: &str| job.int(name).unwrap_or(50).clamp(0, 100) as u8;
    match (job.position("rwmixread"), job.position("rwmixwrite")) {
        (Some(r), Some(w)) if w > r => 100 - percent("rwmixwrite"),
        (None, Some(_)) => 100 - percent("rwmixwrite"),
        _ => percent("rwmixread"),
    }
}

fn step(job: Reading, random: bool, messages: &mut Messages) -> Step {
    let Some(text) = job.word("rw").and_then(|w| w.1) else { return Step::None };
    let unit = if random { Unit::Count } else { Unit::Bytes };
    let number = match number::integer(&text, unit, &job.spec.bases) {
        Ok(n) => n,
        Err(e) => {
            messages.push(job.error("rw", e.what));
            return Step::None;
        }
    };
    match (random, u32::try_from(number), i64::try_from(number)) {
        (false, Ok(0), _) => Step::None,
        (true, Ok(n), _) if n > 0 => Step::EveryNth(n),
        (false, _, Ok(n)) => Step::Skip(n),
        _ => {
            messages.push(
                job.error("rw", format!("value out of range: `{text}` after the colon"))
                    .help("To fix: write a number of I/Os for random kinds, a number of bytes for sequential ones"),
            );
            Step::None
        }
    }
}

fn random_percent(job: Reading) -> PerDir<u8> {
    job.ints("percentage_random").map(|v| v.unwrap_or(100).clamp(0, 100) as u8)
}

fn sync_file_range(job: Reading, messages: &mut Messages) -> Option<(u32, u32)> {
    job.set("sync_file_range")?;
    let words = job.words("sync_file_range");
    let flags = SYNC_FLAGS
        .iter()
        .filter(|(name, _)| words.iter().any(|(w, _)| w == name))
        .fold(0, |all, (_, flag)| all | flag);
    let number = words.iter().find_map(|(_, n)| n.as_deref());
    let every = match number.map(|n| number::integer(n, Unit::Count, &job.spec.bases)) {
        None => 1,
        Some(Ok(n)) if (1..=i128::from(u32::MAX)).contains(&n) => n as u32,
        Some(_) => {
            messages.push(
                job.error(
                    "sync_file_range",
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
pub(crate) fn load(job: Reading, blocks: &PerDir<BlockSize>, messages: &mut Messages) -> Load {
    let (mix, random) = mix(job);
    let every = |name: &str| job.count32(name).unwrap_or(0);
    // An invalid distribution is an error in a sequential job, too.
    let distribution = match (distribution::of_offsets(job, messages), random) {
        (distribution, true) => distribution,
        (_, false) => Distribution::Even,
    };
    let align = blocks::align(job, blocks);
    let ranges = job.count32("num_range").unwrap_or(1).max(1);
    Load {
        mix,
        random,
        random_percent: random_percent(job),
        step: step(job, random, messages),
        sequencer: match job.plain_word("rw_sequencer") {
            "identical" => Sequencer::Identical,
            _ => Sequencer::Sequential,
        },
        blocks: blocks.clone(),
        align,
        unaligned: job.flag("bs_unaligned"),
        // A map works only for blocks on a grid. An uneven distribution revisits some blocks before
        // it has visited all.
        no_map: job.flag("norandommap")
            || job.flag("write_zone_remainder") && zones::wanted(job)
            || blocks::off_grid(&align, blocks, mix)
            // A map would shorten ranges of several sizes where they meet blocks trimmed before.
            || ranges > 1 && !matches!(blocks[Dir::Trim], BlockSize::Fixed(_))
            || distribution != Distribution::Even,
        distribution,
        sprandom: sprandom::sprandom(job, messages),
        strided: distribution::strided(job, messages),
        zoned: zones::zoned(job, mix, messages),
        generator: match job.plain_word("random_generator") {
            "lfsr" => Generator::Lfsr,
            "tausworthe64" => Generator::Tausworthe64,
            _ => Generator::Tausworthe,
        },
        seed: 0,
        repeat: job.flag("randrepeat"),
        fsync: every("fsync"),
        fdatasync: every("fdatasync"),
        write_barrier: every("write_barrier"),
        sync_file_range: sync_file_range(job, messages),
        end_fsync: job.flag("end_fsync"),
        fsync_on_close: job.flag("fsync_on_close"),
        end_syncfs: job.flag("end_syncfs"),
        serialize_overlap: job.flag("serialize_overlap"),
        trim_ranges: ranges,
        priorities: None,
        placement: None,
        forms: Vec::new(),
    }
}
