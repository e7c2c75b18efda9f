//! How a job knows which of its writes each block contains.

use fiord_formats::verify::header::HeaderLayout;
use fiord_formats::verify::interval::header_and_digest;
use fiord_formats::verify::method::Method;
use fiord_job::option::value::PatternPart;
use fiord_types::{Bytes, Dir, common_divisor};

use crate::model::{
    BlockSize, Distribution, FilePlan, FileService, JobPlan, Mix, Step, Tracking, VerifyMethod,
    VerifyPlan,
};

/// The capacities of all zones of a device are multiples of this many bytes.
const ZONE_UNIT: Bytes = Bytes(4096);

/// Whether a job may write a block more than once in a loop.
pub(super) fn rewrites(plan: &JobPlan) -> bool {
    let load = &plan.load;
    let region = plan.target.region();
    let at_random = load.random
        && (load.no_map
            || load.distribution != Distribution::Even
            || load.random_percent[Dir::Write] < 100);
    // A file with a large share of the I/O starts over.
    let skewed =
        plan.target.files.len() > 1 && matches!(plan.target.service, FileService::Skewed(_));
    at_random
        || skewed
        || load.step != Step::None && !has_holes_once(plan)
        || load.sprandom.is_some()
        || plan.end.bytes > region
}

/// Whether a job skips bytes after each of its blocks and goes through its files once.
fn has_holes_once(plan: &JobPlan) -> bool {
    let (load, end) = (&plan.load, &plan.end);
    let one_way = load.mix.dirs().count() == 1;
    let Some(block) = load_block(plan).filter(|_| one_way && !load.random) else { return false };
    let files = &plan.target.files;
    let Step::Skip(skip @ 1..) = load.step else { return false };
    // A file that ends within a hole starts over, unless it is longer than the region.
    let stride = block.0.saturating_add(skip.unsigned_abs());
    let stops = |file: &FilePlan| {
        let last = file.len.0.saturating_sub(1) / stride * stride;
        let goes_on = file.size_now.max(file.size_needed).is_some_and(|size| size > file.len);
        goes_on || last.saturating_add(block.0) >= file.len.0
    };
    files.iter().all(stops)
        && !(end.sized || end.time_based || end.loops > 1)
        && plan.target.is_pass(end.bytes, block)
}

/// Whether a loop may end within a pass over the files, so that another loop, or the rest of this one, begins again
/// with blocks that it has written.
fn laps_differ(plan: &JobPlan) -> bool {
    let block = match plan.load.blocks[Dir::Write] {
        BlockSize::Fixed(bytes) => Bytes::from(bytes.max(1)),
        _ => return true,
    };
    let whole = |sum: Bytes, len: Bytes| sum.saturating_add(len.round_down(block));
    let pass = plan.target.files.iter().fold(Bytes::ZERO, |sum, file| whole(sum, file.len));
    let region = plan.target.region();
    let ends_within = plan.end.bytes != pass || region != pass || plan.end.ios.is_some();
    plan.end.bytes > pass || plan.end.loops > 1 && ends_within
}

/// The number of writes of a loop, for a job with one block size whose files consist of whole blocks. `None` if it is
/// not known.
pub(super) fn writes_of_loop(plan: &JobPlan) -> Option<u64> {
    let dir = if plan.load.mix.has(Dir::Write) { Dir::Write } else { Dir::Read };
    let BlockSize::Fixed(bytes) = plan.load.blocks[dir] else { return None };
    let mixed = plan.load.mix.has(Dir::Write) && plan.load.mix.has(Dir::Read);
    let files = plan.target.files.iter();
    let blocks = files.fold(0u64, |sum, file| sum.saturating_add(file.len.0 / u64::from(bytes)));
    (!mixed && plan.end.ios.is_none()).then_some(blocks)
}

/// Whether I/Os have any length, at any offset. Those of a trace do.
fn is_unaligned(plan: &JobPlan) -> bool {
    plan.load.unaligned || plan.replay.is_some()
}

/// The tracking of a job that needs a map, whatever it writes.
pub(super) fn with_map(plan: &JobPlan) -> Tracking {
    match is_unaligned(plan) {
        true => Tracking::Records,
        false => Tracking::Map { granule: granule(plan) },
    }
}

/// The tracking of a job that has its target for itself. `trims`: it trims a part of what it writes.
pub(super) fn of_job(plan: &JobPlan, trims: bool) -> Tracking {
    let load = &plan.load;
    if is_unaligned(plan) {
        return Tracking::Records;
    }
    let varied = load.mix.dirs().any(|dir| !matches!(load.blocks[dir], BlockSize::Fixed(_)));
    let differing = load.mix.dirs().any(|dir| load.blocks[dir] != load.blocks[Dir::Write]);
    let rated = matches!(load.mix, Mix::ReadWrite { .. })
        && plan.pace.rate.values().any(|rate| rate.is_some());
    let depends = load.mix == Mix::TrimWrite
        || trims
        || load.strided.is_some()
        || load.zoned.is_some()
        || rated
        || load.random && differing && load.mix.has(Dir::Write);
    if depends || varied || rewrites(plan) || laps_differ(plan) {
        return Tracking::Map { granule: granule(plan) };
    }
    Tracking::Replay
}

/// Calls `divides` for sizes whose common divisor divides all sizes.
fn divide_sizes(blocks: &BlockSize, divides: &mut dyn FnMut(Bytes)) {
    match blocks {
        BlockSize::Fixed(bytes) => divides((*bytes).into()),
        // Sizes are multiples of the smallest one.
        BlockSize::Range { min, .. } => divides((*min).into()),
        BlockSize::Split(list) => {
            list.iter().for_each(|(bytes, _)| divides((*bytes).into()));
        }
        BlockSize::SeqRand(both) => {
            divide_sizes(&both.sequential, divides);
            divide_sizes(&both.random, divides);
        }
    }
}

/// The largest number of bytes that divides every offset and length of the job's writes and trims, or of the reads of a
/// job that only reads.
pub(super) fn granule(plan: &JobPlan) -> Bytes {
    let load = &plan.load;
    let mut divisor = Bytes::ZERO;
    let mut divides = |bytes: Bytes| divisor = common_divisor(divisor, bytes);
    let changes = load.mix.changes_data();
    for dir in load.mix.dirs().filter(|dir| *dir != Dir::Read || !changes) {
        divide_sizes(&load.blocks[dir], &mut divides);
        if load.random {
            divides(Bytes(load.align[dir]));
        }
    }
    if let Step::Skip(bytes) = load.step {
        divides(Bytes(bytes.unsigned_abs()));
    }
    if let Some(strided) = load.strided {
        divides(strided.transfer);
        divides(strided.range);
    }
    for file in &plan.target.files {
        divides(file.offset);
        if let Some(zones) = file.zones {
            // Each zone begins with a write.
            divides(zones.size);
            if load.zoned.is_some_and(|zoned| zoned.remainders) {
                // The last write ends at the capacity, which only the run learns from a device.
                divides(zones.emulated.unwrap_or(ZONE_UNIT));
            }
        }
    }
    divisor.max(Bytes(1))
}

/// Plans for writes that continue at any sector, because the device reports there its write pointer after an error
/// (`recover_zbd_write_error`). Blocks with a header then begin at any sector, so each write needs a record.
pub(super) fn expect_recovery(plan: &mut JobPlan) {
    let recovers = plan.load.zoned.is_some_and(|zoned| zoned.recover);
    let granule = granule(plan);
    let Some(verify) = plan.verify.as_mut().filter(|verify| recovers && verify.pass.writes())
    else {
        return;
    };
    verify.tracking = match (verify.method, verify.interval) {
        (VerifyMethod::Fiord, Some(sector)) => {
            Tracking::Map { granule: common_divisor(granule, sector) }
        }
        _ => Tracking::Records,
    };
}

/// Bytes of the largest granule of a map that has the writes of a job.
pub(super) fn granule_of_map(plan: &JobPlan) -> Bytes {
    let own = granule(plan);
    match plan.verify.as_ref().map(|verify| verify.tracking) {
        Some(Tracking::Map { granule }) => common_divisor(own, granule),
        _ => own,
    }
}

/// Completes the plan of a job with a map. What is left of a block after a part was overwritten must have headers of its
/// own, and its place in the pattern must be known. If that is not possible, the job keeps a record of each write.
pub(super) fn choose_records(plan: &mut JobPlan) {
    let Some(verify) = &plan.verify else { return };
    let (Tracking::Map { granule }, VerifyMethod::Fio(method)) = (verify.tracking, verify.method)
    else {
        return;
    };
    let mut interval = verify.interval;
    if method.has_header() {
        interval = interval.map(|interval| common_divisor(interval, granule));
    }
    let fits = has_room(method, interval, verify) && pattern_fits(plan, verify);
    if let Some(verify) = &mut plan.verify {
        match fits {
            true => verify.interval = interval,
            false => verify.tracking = Tracking::Records,
        }
    }
}

/// Whether intervals of this length have room for their headers.
fn has_room(method: Method, interval: Option<Bytes>, verify: &VerifyPlan) -> bool {
    let needed = header_and_digest(HeaderLayout::Current, method) as u64;
    let room = match verify.header_offset.0 {
        0 => needed,
        offset => offset.saturating_add(needed),
    };
    !method.has_header() || interval.is_none_or(|interval| interval.0 >= room)
}

/// Whether the pattern of each granule is known without the start of the write that contains it.
fn pattern_fits(plan: &JobPlan, verify: &VerifyPlan) -> bool {
    let Tracking::Map { granule } = verify.tracking else { return true };
    let compares = match verify.method {
        VerifyMethod::Fio(method) => method.compares_pattern(),
        VerifyMethod::Fiord => false,
    };
    let Some(pattern) = verify.pattern.as_ref().filter(|_| compares) else { return true };
    let one_size = load_block(plan).is_some_and(|block| block == granule);
    let restarts = pattern.interval.is_some_and(|every| granule.0.is_multiple_of(every.0.max(1)));
    let length = pattern.parts.iter().try_fold(0, |sum, part| match part {
        PatternPart::Bytes(bytes) => Some(sum + bytes.len() as u64),
        PatternPart::Offset | PatternPart::File(_) => None,
    });
    one_size || restarts || length.is_some_and(|length| granule.0.is_multiple_of(length.max(1)))
}

/// The length of all writes, or reads of a job that only reads, if it is one.
fn load_block(plan: &JobPlan) -> Option<Bytes> {
    let dir = if plan.load.mix.has(Dir::Write) { Dir::Write } else { Dir::Read };
    match plan.load.blocks[dir] {
        BlockSize::Fixed(bytes) => Some(Bytes(u64::from(bytes))),
        _ => None,
    }
}
