//! `sprandom`, `spr_num_regions`, `spr_op`, `spr_cs`: their values, and the options that contradict
//! them.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    BA, FILENAME, FILL_DEVICE, NORANDOMMAP, NUMJOBS, OFFSET_INCREMENT, PERCENTAGE_RANDOM,
    RANDOM_DISTRIBUTION, RANDOM_GENERATOR, RW, SPR_CS, SPR_NUM_REGIONS, SPR_OP, SPRANDOM, ZONEMODE,
};
use fiord_types::{Bytes, Dir};

use crate::load::blocks;
use crate::model::{BlockSize, Distribution, End, FilePlan, Generator, Load, Mix, SpRandom, Step};
use crate::options::reading::Reading;

/// Reads the options. `None`: the job does not set `sprandom`.
pub(crate) fn sprandom(job: Reading) -> Option<SpRandom> {
    if !job.get(SPRANDOM) {
        return None;
    }
    let regions = job.get(SPR_NUM_REGIONS);
    if regions == 0 {
        let what = "`sprandom` needs at least one region";
        job.report(job.error(SPR_NUM_REGIONS, what).help("To fix: use 100, the default"));
    }
    let spare = job.get(SPR_OP);
    if spare <= 0.0 {
        let what = "`spr_op` must be above 0: without spare capacity no block is ever stale";
        job.report(
            job.error(SPR_OP, what)
                .help("To fix: write the drive's over-provisioning as a fraction: `spr_op=0.07`"),
        );
    }
    Some(SpRandom { regions, spare, late: job.get(SPR_CS) > Bytes::ZERO })
}

/// Refuses options that would leave the drive in a different state than the one `sprandom` is for.
pub(crate) fn combinations(job: Reading, load: &Load) {
    if load.sprandom.is_none() {
        return;
    }
    one_block_size(job, load);
    let wrong = |option: &'static OptionDef, what: &str, help: &str| {
        job.report(job.error(option, what).help(help));
    };
    if !load.random || !load.mix.has(Dir::Write) {
        wrong(SPRANDOM.def(), "`sprandom` is for random writes", "To fix: use `rw=randwrite`");
    }
    if job.is_set(RANDOM_GENERATOR) && load.generator != Generator::Lfsr {
        let help = "To fix: leave out `random_generator`: `sprandom` then uses `lfsr`";
        wrong(RANDOM_GENERATOR.def(), "`sprandom` requires `random_generator=lfsr`", help);
    }
    if job.is_set(NORANDOMMAP) && !job.get(NORANDOMMAP) {
        let help = "To fix: leave out `norandommap`: `sprandom` keeps track of what it wrote";
        wrong(NORANDOMMAP.def(), "`sprandom` requires `norandommap=1`", help);
    }
    if load.distribution != Distribution::Even {
        let what = "`sprandom` spreads its writes by itself";
        wrong(RANDOM_DISTRIBUTION.def(), what, "To fix: leave out `random_distribution`");
    }
    if load.mix.dirs().any(|dir| load.random_percent[dir] != 100) {
        let what = "`sprandom` has no sequential part";
        wrong(PERCENTAGE_RANDOM.def(), what, "To fix: leave out `percentage_random`");
    }
    if load.random && load.step != Step::None {
        wrong(
            RW.def(),
            "`sprandom` draws a new offset for every I/O",
            "To fix: leave out the number after the colon",
        );
    }
    if load.strided.is_some() || load.zoned.is_some() {
        let what = "`sprandom` writes the whole drive, in any order";
        wrong(ZONEMODE.def(), what, "To fix: leave out `zonemode`");
    }
    if job.get(FILL_DEVICE) {
        let what = "`sprandom` must know what it writes before it begins";
        wrong(FILL_DEVICE.def(), what, "To fix: name a block device, or give `size`");
    }
}

fn one_block_size(job: Reading, load: &Load) {
    let sizes = || load.mix.dirs().map(|dir| &load.blocks[dir]);
    let fixed = sizes().all(|size| matches!(size, BlockSize::Fixed(_)));
    if !fixed || sizes().any(|size| Some(size) != sizes().next()) {
        let what = "`sprandom` counts blocks, which must be of one size";
        let help = "To fix: write one size, such as `bs=4k`, ideally the drive's mapping unit";
        job.report(job.error(blocks::size_option(job), what).help(help));
    } else if blocks::off_grid(&load.align, &load.blocks, load.mix) {
        let what = "`sprandom` writes adjacent blocks, at multiples of their size";
        job.report(job.error(BA, what).help("To fix: leave out `blockalign`"));
    }
}

/// Warns of doubtful combinations.
pub(crate) fn oddities(job: Reading, load: &Load, instances: u32) {
    if load.sprandom.is_none() {
        return;
    }
    if matches!(load.mix, Mix::ReadWrite { .. }) {
        let what = "reads take a share of the blocks that `sprandom` would write: the drive does \
                    not reach its steady state";
        job.report(job.warning(RW, what).help("To fix: use `rw=randwrite`"));
    }
    if instances > 1 && !job.is_set(OFFSET_INCREMENT) && job.is_set(FILENAME) {
        let what = format!(
            "each of the {instances} jobs writes the whole drive in its own order, and \
             together they leave a different state"
        );
        let help = "To fix: use one job with a larger `iodepth`, or give each a part of the drive with \
                    `size` and `offset_increment`";
        job.report(job.warning(NUMJOBS, what).help(help));
    }
}

/// Turns off `time_based`: a job with `sprandom` ends when it has written everything.
pub(crate) fn end(load: &Load, end: &mut End) {
    end.time_based &= load.sprandom.is_none();
}

/// Bytes of one pass over the files of a job with `sprandom`; `None`: the job does not set it.
/// Refuses a drive cache (`spr_cs`) that is larger than a region.
pub(crate) fn bytes(job: Reading, load: &Load, files: &[FilePlan]) -> Option<u64> {
    let plan = load.sprandom?;
    let block = load.blocks[Dir::Write].min().max(1);
    let cache = job.get(SPR_CS).0;
    let mut sum = 0u64;
    for file in files {
        let bytes = plan.writes(file.len.0, block).saturating_mul(block.into());
        sum = sum.saturating_add(bytes);
        let region = bytes / u64::from(plan.regions.max(1));
        if cache > region {
            let path = file.path.display();
            let what = format!(
                "a cache of {cache} bytes is larger than a region of {path}, which has {region}"
            );
            let help = match bytes / cache {
                0 => "To fix: use a smaller `spr_cs`: the cache is larger than the whole drive"
                    .to_owned(),
                most => format!("To fix: use `spr_num_regions={most}` or fewer"),
            };
            job.report(job.error(SPR_CS, what).help(help));
        }
    }
    Some(sum)
}
