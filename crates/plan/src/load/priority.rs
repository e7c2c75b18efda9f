//! Priorities of single I/Os: `cmdprio_percentage`, `cmdprio_bssplit` and related options.

use fiord_job::number;
use fiord_job::option::def::Unit;
use fiord_job::option::table::priority;
use fiord_job::option::value::ValueError;
use fiord_types::{Dir, PerDir};

use crate::model::{BlockSize, EnginePlan, IoPrio, Load, Priorities, PriorityShare};
use crate::options::reading::Reading;

/// Real time (`IOPRIO_CLASS_RT`): the default class.
const REAL_TIME: u8 = 1;
/// The directions whose I/Os can have a priority.
const DIRS: [Dir; 2] = [Dir::Read, Dir::Write];

/// Reads the priorities of single I/Os. `None`: all I/Os have the priority of the job.
pub(crate) fn priorities(job: Reading, load: &Load, engine: &EnginePlan) -> Option<Priorities> {
    let percent = job.get(priority::CMDPRIO_PERCENTAGE);
    let split = job.get(priority::CMDPRIO_BSSPLIT);
    let named = match (&percent, &split) {
        (Some(_), Some(_)) => {
            job.report(
                job.error(
                    priority::CMDPRIO_BSSPLIT,
                    "cmdprio_percentage and cmdprio_bssplit options are mutually exclusive",
                )
                .help("To fix: leave one of them out"),
            );
            return None;
        }
        (Some(_), None) => priority::CMDPRIO_PERCENTAGE.def(),
        (None, Some(_)) => priority::CMDPRIO_BSSPLIT.def(),
        (None, None) => return None,
    };
    if !engine.def().priorities {
        job.report(
            job.error(named, "this engine cannot give single I/Os a priority")
                .help("To fix: use `ioengine=io_uring` or `ioengine=libaio`, or `prioclass` and `prio` for the whole job"),
        );
        return None;
    }
    let usual = usual(job);
    let mut table = Table::default();
    match split {
        Some(text) => table.split(job, &text, usual),
        None => {
            for dir in DIRS {
                let share = percent.and_then(|percent| percent[dir]).unwrap_or(0);
                table.add(dir, None, share, usual[dir]);
            }
        }
    }
    let mut made = Priorities { values: table.values, shares: table.shares };
    for (dir, shares) in made.shares.iter_mut() {
        if load.mix.has(dir) {
            sizes_exist(job, shares, &load.blocks[dir]);
        } else {
            shares.clear();
        }
    }
    made.shares.values().any(|s| !s.is_empty()).then_some(made)
}

/// The priority of an I/O if an entry names none.
fn usual(job: Reading) -> PerDir<IoPrio> {
    let class = job.get(priority::CMDPRIO_CLASS).unwrap_or_default();
    let level = job.get(priority::CMDPRIO).unwrap_or_default();
    let hint = job.get(priority::CMDPRIO_HINT).unwrap_or_default();
    PerDir::from_fn(|dir| IoPrio {
        class: class[dir].unwrap_or(REAL_TIME),
        level: level[dir].unwrap_or(0),
        hint: hint[dir].unwrap_or(0),
    })
}

/// The priorities found so far.
#[derive(Default)]
struct Table {
    values: Vec<IoPrio>,
    shares: PerDir<Vec<PriorityShare>>,
}

impl Table {
    fn add(&mut self, dir: Dir, block: Option<u32>, percent: u8, value: IoPrio) -> bool {
        if percent == 0 {
            return true;
        }
        let index = self.values.iter().position(|v| *v == value).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        });
        let Ok(priority) = u8::try_from(index + 1) else { return false };
        self.shares[dir].push(PriorityShare { block, percent, priority });
        true
    }

    /// Parses `cmdprio_bssplit`, such as `4k/10:64k/5/2/4,8k/20`: reads, then writes. Ignores a
    /// list for trims.
    fn split(&mut self, job: Reading, text: &str, usual: PerDir<IoPrio>) {
        let lists: Vec<&str> = text.split(',').collect();
        for (i, dir) in DIRS.into_iter().enumerate() {
            let list = lists.get(i).or(lists.last()).copied().unwrap_or("");
            for entry in list.split(':').filter(|e| !e.trim().is_empty()) {
                match entry_of(entry, usual[dir], job) {
                    Err(wrong) => job.report(
                        job.error(priority::CMDPRIO_BSSPLIT, format!("`{entry}`: {}", wrong.what))
                            .help(
                                "To fix: write `SIZE/PERCENT`, `SIZE/PERCENT/CLASS/LEVEL` or \
                             `SIZE/PERCENT/CLASS/LEVEL/HINT`",
                            ),
                    ),
                    Ok((_, 0, _)) => job.report(job.no_effect(
                        priority::CMDPRIO_BSSPLIT,
                        format!("`{entry}` has a share of 0, so it gives no I/O a priority"),
                    )),
                    Ok((size, percent, value)) => {
                        if !self.add(dir, Some(size), percent, value) {
                            job.report(job.error(
                                priority::CMDPRIO_BSSPLIT,
                                "there are more than 255 priorities",
                            ));
                            return;
                        }
                    }
                }
            }
            self.sums(job, dir);
        }
    }

    /// Checks that the shares of one size add up to at most 100 per cent.
    fn sums(&self, job: Reading, dir: Dir) {
        let all = &self.shares[dir];
        for share in all {
            let same = all.iter().filter(|s| s.block == share.block);
            let sum: u32 = same.map(|s| u32::from(s.percent)).sum();
            if sum > 100 {
                let size = share.block.unwrap_or(0);
                job.report(
                    job.error(
                        priority::CMDPRIO_BSSPLIT,
                        format!("the shares of blocks of {size} bytes add up to {sum} per cent"),
                    )
                    .help("To fix: write shares that add up to 100 or less"),
                );
            }
        }
    }
}

/// Parses one entry: size in bytes, share in per cent, and priority.
fn entry_of(entry: &str, usual: IoPrio, job: Reading) -> Result<(u32, u8, IoPrio), ValueError> {
    let parts: Vec<&str> = entry.split('/').map(str::trim).collect();
    let bounded = |text: &str, what: &str, low: i128, high: i128| {
        let n = number::integer(text, Unit::Count, &job.spec.bases)?;
        match (low..=high).contains(&n) {
            true => Ok(n),
            false => Err(ValueError::new(format!("the {what} is not from {low} to {high}"))),
        }
    };
    let size = number::integer(parts[0], Unit::Bytes, &job.spec.bases)?;
    let size = u32::try_from(size).ok().filter(|s| *s > 0);
    let size = size.ok_or_else(|| ValueError::new("this is not a block size"))?;
    let percent = match parts.get(1) {
        None | Some(&"") => 0,
        Some(text) => bounded(text, "share in per cent", 0, 100)? as u8,
    };
    let value = match parts.len() {
        1 | 2 => usual,
        4 | 5 => IoPrio {
            class: bounded(parts[2], "class", 1, 3)? as u8,
            level: bounded(parts[3], "level", 0, 7)? as u8,
            hint: parts.get(4).map_or(Ok(0), |t| bounded(t, "hint", 0, 1023))? as u16,
        },
        3 => return Err(ValueError::new("a class needs a level")),
        _ => return Err(ValueError::new("there are too many slashes")),
    };
    Ok((size, percent, value))
}

/// Warns of sizes that no I/O of the job has.
fn sizes_exist(job: Reading, shares: &[PriorityShare], blocks: &BlockSize) {
    for size in shares.iter().filter_map(|s| s.block) {
        if !occurs(blocks, size) {
            job.report(
                job.no_effect(
                    priority::CMDPRIO_BSSPLIT,
                    format!(
                        "no I/O of the job has {size} bytes, so this entry gives no I/O a priority"
                    ),
                )
                .help("To fix: name sizes that `bs` or `bssplit` have"),
            );
        }
    }
}

/// Whether I/Os can have a size.
fn occurs(blocks: &BlockSize, size: u32) -> bool {
    match blocks {
        BlockSize::Fixed(block) => *block == size,
        BlockSize::Range { min, max } => (*min..=*max).contains(&size),
        BlockSize::Split(all) => all.iter().any(|(block, _)| *block == size),
        BlockSize::SeqRand(both) => occurs(&both.sequential, size) || occurs(&both.random, size),
    }
}
