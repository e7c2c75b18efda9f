//! Block sizes: `bs`, `bsrange`, `bssplit`, `bs_is_seq_rand`, `ba`.

use fiord_job::number;
use fiord_job::option::def::{OptionDef, Unit};
use fiord_job::option::table::{
    BA, BS, BS_IS_SEQ_RAND, BSRANGE, BSSPLIT, NORANDOMMAP, PERCENTAGE_RANDOM, RW,
};
use fiord_types::{Dir, PerDir};

use super::mix;
use crate::model::{BlockSize, Generator, Load, Mix, SeqRandSizes};
use crate::options::reading::Reading;

/// The default of `bs` in bytes.
const DEFAULT: u32 = 4096;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The block sizes of a job. `bssplit` takes precedence over `bsrange`, and `bsrange` over `bs`,
/// regardless of their order.
pub(crate) fn sizes(job: Reading) -> PerDir<BlockSize> {
    let typed = typed(job);
    let Some(both) = seq_rand(job, &typed) else { return typed };
    let (_, random) = mix(job);
    let percent = job.get(PERCENTAGE_RANDOM);
    let nth = job.get(RW).suffix;
    let nth = nth.and_then(|n| number::integer(&n, Unit::Count, &job.spec.bases).ok());
    let some_sequential = nth.is_some_and(|n| n > 1);
    PerDir::from_fn(|dir| match percent[dir].unwrap_or(100) {
        _ if !random => both.sequential.clone(),
        0 => both.sequential.clone(),
        100 if !some_sequential => both.random.clone(),
        _ if both.sequential == both.random => both.random.clone(),
        _ => BlockSize::SeqRand(both.clone()),
    })
}

/// The sizes of sequential and random I/Os (`bs_is_seq_rand`): those that are typed for reads and for writes.
pub(crate) fn seq_rand(job: Reading, typed: &PerDir<BlockSize>) -> Option<Box<SeqRandSizes>> {
    job.get(BS_IS_SEQ_RAND).then(|| {
        let (sequential, random) = (typed[Dir::Read].clone(), typed[Dir::Write].clone());
        Box::new(SeqRandSizes { sequential, random })
    })
}

/// The block sizes as typed for reads, writes and trims.
pub(crate) fn typed(job: Reading) -> PerDir<BlockSize> {
    let plain = job.get(BS);
    let ranges = job.get(BSRANGE).unwrap_or_default();
    let splits = job.get(BSSPLIT).unwrap_or_default();
    PerDir::from_fn(|dir| {
        if !splits[dir].is_empty() {
            return of_split(job, &splits[dir]);
        }
        if let Some(range) = ranges[dir] {
            let min = fit(job, BSRANGE.def(), range.low());
            let max = match range.low() == range.high() {
                true => min,
                false => largest(job, (min, range.high())),
            };
            return if min == max { BlockSize::Fixed(min) } else { BlockSize::Range { min, max } };
        }
        let bytes = plain[dir].map_or(DEFAULT.into(), |bytes| bytes.0);
        BlockSize::Fixed(fit(job, BS.def(), bytes))
    })
}

/// The option that sets the block sizes of a job.
pub(crate) fn size_option(job: Reading) -> &'static OptionDef {
    let others = [BSSPLIT.def(), BSRANGE.def()];
    others.into_iter().find(|option| job.is_set(*option)).unwrap_or(BS.def())
}

fn of_split(job: Reading, split: &[(u64, u8)]) -> BlockSize {
    let used: Vec<(u32, u8)> = split
        .iter()
        .filter(|(_, share)| *share > 0 || split.len() == 1)
        .map(|(bytes, share)| (fit(job, BSSPLIT.def(), *bytes), *share))
        .collect();
    match used.as_slice() {
        [] => BlockSize::Fixed(DEFAULT),
        [(bytes, _)] => BlockSize::Fixed(*bytes),
        _ => BlockSize::Split(used),
    }
}

fn fit(job: Reading, option: &'static OptionDef, bytes: u64) -> u32 {
    if bytes == 0 {
        job.report(
            job.error(option, "a block size of 0 moves no data").help("To fix: write `bs=4k`"),
        );
        return DEFAULT;
    }
    u32::try_from(bytes).unwrap_or_else(|_| {
        let part = part_of(bytes);
        let what = format!(
            "blocks of {bytes} bytes are split into {} I/Os of {part} bytes each: an I/O must be smaller than 4 GiB",
            bytes.div_ceil(part.into())
        );
        job.report(job.adjusted(option, what));
        part
    })
}

/// The largest equal parts of a block of more than 4 GiB that an I/O can have.
fn part_of(bytes: u64) -> u32 {
    /// Maximum size of a part in bytes.
    const MAX_PART: u64 = 1 << 31;
    /// Numbers of parts that are tried: a block can have 16 EiB.
    const ATTEMPTS: usize = 4096;
    let few = bytes.div_ceil(MAX_PART);
    let whole =
        |parts: &u64| bytes.is_multiple_of(*parts) && (bytes / parts).is_multiple_of(SECTOR);
    let parts = (few..few.saturating_mul(4)).take(ATTEMPTS).find(whole);
    parts.map_or(MAX_PART, |parts| bytes / parts) as u32
}

/// The largest block of a range that begins at `min`.
fn largest(job: Reading, (min, max): (u32, u64)) -> u32 {
    u32::try_from(max).unwrap_or_else(|_| {
        let largest = u32::MAX - u32::MAX % min.max(1);
        let what = format!(
            "the largest block is {largest} bytes instead of {max}: an I/O must be smaller than 4 GiB"
        );
        job.report(job.adjusted(BSRANGE, what));
        largest
    })
}

/// Reads `ba`, the alignment of random offsets in bytes; by default the smallest block size.
pub(crate) fn align(job: Reading, blocks: &PerDir<BlockSize>) -> PerDir<u64> {
    let set = job.get(BA).unwrap_or_default();
    PerDir::from_fn(|dir| match set[dir] {
        Some(align) if align.0 > 0 => align.0,
        _ => u64::from(blocks[dir].min()),
    })
}

/// Whether the alignment of a direction that the job uses differs from the direction's smallest
/// block size.
pub(crate) fn off_grid(align: &PerDir<u64>, blocks: &PerDir<BlockSize>, mix: Mix) -> bool {
    mix.dirs().any(|dir| align[dir] != u64::from(blocks[dir].min()))
}

/// Checks alignment and block sizes.
pub(crate) fn check(job: Reading, load: &Load) {
    warn_off_grid(job, load);
}

/// Warns of an alignment other than the block size, which turns off the map of random blocks.
fn warn_off_grid(job: Reading, load: &Load) {
    let traced = matches!(load.mix, Mix::Trace { .. });
    if load.random
        && !traced
        && !job.get(NORANDOMMAP)
        && off_grid(&load.align, &load.blocks, load.mix)
    {
        job.report(job.warning(
            BA,
            match load.generator {
                Generator::Lfsr => "blockalign= is not the block size: blocks overlap, or leave gaps",
                Generator::Tausworthe | Generator::Tausworthe64 => {
                    "any use of blockalign= turns off randommap: some blocks are chosen twice, others never"
                }
            },
        ));
    }
}

/// The smallest block size in bytes of the directions that a job uses.
pub(crate) fn smallest(blocks: &PerDir<BlockSize>, mix: Mix) -> u32 {
    of_used(blocks, mix).map(BlockSize::min).min().unwrap_or(DEFAULT).max(1)
}

fn of_used(blocks: &PerDir<BlockSize>, mix: Mix) -> impl Iterator<Item = &BlockSize> {
    mix.dirs().map(move |d| &blocks[d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_blocks_of_any_size_are_found_at_once() {
        assert_eq!(part_of(1 << 32), 1 << 31);
        assert_eq!(part_of(3 << 32), 1 << 31);
        assert_eq!(part_of(u64::MAX), 1 << 31);
    }
}
