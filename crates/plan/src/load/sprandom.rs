//! `sprandom`, `spr_num_regions`, `spr_op`, `spr_cs`: their values, and the options that contradict
//! them.

use fiord_types::Dir;

use crate::model::{BlockSize, Distribution, End, FilePlan, Generator, Load, Mix, SpRandom, Step};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Options that only refine `sprandom`.
const DETAILS: [&str; 3] = ["spr_num_regions", "spr_op", "spr_cs"];

/// Reads the options. `None`: the job does not set `sprandom`.
pub(crate) fn sprandom(job: Reading, messages: &mut Messages) -> Option<SpRandom> {
    if !job.flag("sprandom") {
        for name in DETAILS.into_iter().filter(|name| job.is_set(name)) {
            let what = format!("`{name}` has no effect without `sprandom`");
            messages.push(job.no_effect(name, what).help("To fix: add `sprandom=1`"));
        }
        return None;
    }
    let regions = job.count32("spr_num_regions").unwrap_or(100);
    if regions == 0 {
        let what = "`sprandom` needs at least one region";
        messages.push(job.error("spr_num_regions", what).help("To fix: use 100, the default"));
    }
    let spare = job.floats("spr_op").first().copied().unwrap_or(0.15);
    if spare <= 0.0 {
        let what = "`spr_op` must be above 0: without spare capacity no block is ever stale";
        messages.push(
            job.error("spr_op", what)
                .help("To fix: write the drive's over-provisioning as a fraction: `spr_op=0.07`"),
        );
    }
    Some(SpRandom { regions, spare, late: job.count("spr_cs").unwrap_or(0) > 0 })
}

/// Refuses options that would leave the drive in a different state than the one `sprandom` is for.
pub(crate) fn combinations(job: Reading, load: &Load, messages: &mut Messages) {
    if load.sprandom.is_none() {
        return;
    }
    one_block_size(job, load, messages);
    let mut wrong = |name: &str, what: &str, help: &str| {
        messages.push(job.error(name, what).help(help));
    };
    if !load.random || !load.mix.has(Dir::Write) {
        wrong("sprandom", "`sprandom` is for random writes", "To fix: use `rw=randwrite`");
    }
    if job.is_set("random_generator") && load.generator != Generator::Lfsr {
        let help = "To fix: leave out `random_generator`: `sprandom` then uses `lfsr`";
        wrong("random_generator", "`sprandom` requires `random_generator=lfsr`", help);
    }
    if job.is_set("norandommap") && !job.flag("norandommap") {
        let help = "To fix: leave out `norandommap`: `sprandom` keeps track of what it wrote";
        wrong("norandommap", "`sprandom` requires `norandommap=1`", help);
    }
    if load.distribution != Distribution::Even {
        let what = "`sprandom` spreads its writes by itself";
        wrong("random_distribution", what, "To fix: leave out `random_distribution`");
    }
    if load.mix.dirs().any(|dir| load.random_percent[dir] != 100) {
        let what = "`sprandom` has no sequential part";
        wrong("percentage_random", what, "To fix: leave out `percentage_random`");
    }
    if load.random && load.step != Step::None {
        wrong(
            "rw",
            "`sprandom` draws a new offset for every I/O",
            "To fix: leave out the number after the colon",
        );
    }
    if load.strided.is_some() || load.zoned.is_some() {
        let what = "`sprandom` writes the whole drive, in any order";
        wrong("zonemode", what, "To fix: leave out `zonemode`");
    }
    if job.flag("fill_device") {
        let what = "`sprandom` must know what it writes before it begins";
        wrong("fill_device", what, "To fix: name a block device, or give `size`");
    }
}

fn one_block_size(job: Reading, load: &Load, messages: &mut Messages) {
    let sizes = || load.mix.dirs().map(|dir| &load.blocks[dir]);
    let fixed = sizes().all(|size| matches!(size, BlockSize::Fixed(_)));
    if !fixed || sizes().any(|size| Some(size) != sizes().next()) {
        let name = ["bssplit", "bsrange"].into_iter().find(|name| job.is_set(name)).unwrap_or("bs");
        let what = "`sprandom` counts blocks, which must be of one size";
        let help = "To fix: write one size, such as `bs=4k`, ideally the drive's mapping unit";
        messages.push(job.error(name, what).help(help));
    } else if super::blocks::off_grid(&load.align, &load.blocks, load.mix) {
        let what = "`sprandom` writes adjacent blocks, at multiples of their size";
        messages.push(job.error("ba", what).help("To fix: leave out `blockalign`"));
    }
}

/// Warns of doubtful combinations.
pub(crate) fn oddities(job: Reading, load: &Load, instances: u32, messages: &mut Messages) {
    if load.sprandom.is_none() {
        return;
    }
    if matches!(load.mix, Mix::ReadWrite { .. }) {
        let what = "reads take a share of the blocks that `sprandom` would write: the drive does \
                    not reach its steady state";
        messages.push(job.warning("rw", what).help("To fix: use `rw=randwrite`"));
    }
    if job.is_set("io_size") {
        let what = "`io_size` has no effect: `sprandom` writes what the drive has room for";
        messages.push(
            job.no_effect("io_size", what)
                .help("To fix: use `runtime` or `number_ios` to end it early"),
        );
    }
    if job.flag("time_based") && job.time("runtime") > 0 {
        let what = "`time_based` has no effect: `sprandom` ends when the drive is written";
        messages.push(job.no_effect("time_based", what));
    }
    if instances > 1 && !job.is_set("offset_increment") && job.is_set("filename") {
        let what = format!(
            "each of the {instances} jobs writes the whole drive in its own order, and \
             together they leave a different state"
        );
        let help = "To fix: use one job with a larger `iodepth`, or give each a part of the drive with \
                    `size` and `offset_increment`";
        messages.push(job.warning("numjobs", what).help(help));
    }
}

/// Turns off `time_based`: a job with `sprandom` ends when it has written everything.
pub(crate) fn end(load: &Load, end: &mut End) {
    end.time_based &= load.sprandom.is_none();
}

/// Bytes of one pass over the files of a job with `sprandom`; `None`: the job does not set it.
/// Refuses a drive cache (`spr_cs`) that is larger than a region.
pub(crate) fn bytes(
    job: Reading,
    load: &Load,
    files: &[FilePlan],
    messages: &mut Messages,
) -> Option<u64> {
    let plan = load.sprandom?;
    let block = load.blocks[Dir::Write].min().max(1);
    let cache = job.count("spr_cs").unwrap_or(0);
    let mut sum = 0u64;
    for file in files {
        let bytes = plan.writes(file.len, block).saturating_mul(block.into());
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
            messages.push(job.error("spr_cs", what).help(help));
        }
    }
    Some(sum)
}
