//! What an I/O carries beside its place: drawn here for jobs that ask for any of it.

use fiord_plan::{Dir, Load, Priorities, PriorityShare};

use crate::rng::{Purpose, Rng};
use crate::{Io, Tag};

/// Sets the tags of a job's I/Os.
#[derive(Debug, Clone)]
pub struct Tags {
    priorities: Option<Priorities>,
    priority_rng: Rng,
}

impl Tags {
    /// Of a job; `None` where all I/Os are [`Tag::PLAIN`].
    pub fn new(load: &Load) -> Option<Box<Self>> {
        any(load).then(|| {
            Box::new(Tags {
                priorities: load.priorities.clone(),
                priority_rng: Rng::new(load.seed, Purpose::Priority, 0),
            })
        })
    }

    /// The tag of an I/O.
    #[inline(never)]
    pub fn of(&mut self, io: &Io) -> Tag {
        let mut tag = Tag::PLAIN;
        if let Some(priorities) = &self.priorities {
            let shares = priorities.shares.get(io.dir as usize).map_or(&[][..], |s| s);
            tag.priority = drawn(shares, io, &mut self.priority_rng);
        }
        tag
    }
}

/// Whether a job's I/Os carry anything.
pub fn any(load: &Load) -> bool {
    load.priorities.is_some()
}

/// The share that an I/O falls in, by one draw.
fn drawn(shares: &[PriorityShare], io: &Io, rng: &mut Rng) -> u8 {
    if shares.is_empty() || io.dir == Dir::Trim {
        return 0;
    }
    let mut at = rng.below(100);
    for share in shares.iter().filter(|s| s.block.is_none_or(|b| b == io.len)) {
        let percent = u64::from(share.percent);
        if at < percent {
            return share.priority;
        }
        at -= percent;
    }
    0
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, IoPrio, JobPlan};

    use super::*;

    fn io(dir: Dir, len: u32) -> Io {
        Io { dir, file: 0, offset: 0, len, tag: Tag::PLAIN }
    }

    fn tags(shares: [Vec<PriorityShare>; 2]) -> Box<Tags> {
        let mut load = JobPlan::plain(EnginePlan::Null, 1 << 20).load;
        let values = vec![IoPrio { class: 1, level: 0, hint: 0 }; 3];
        load.priorities = Some(Priorities { values, shares });
        Tags::new(&load).unwrap()
    }

    fn count(tags: &mut Tags, io: Io) -> [u32; 4] {
        let mut counts = [0; 4];
        for _ in 0..100_000 {
            counts[usize::from(tags.of(&io).priority)] += 1;
        }
        counts
    }

    #[test]
    fn shares_hold_by_direction_and_size() {
        let share = |block, percent, priority| PriorityShare { block, percent, priority };
        let reads = vec![share(None, 30, 1)];
        let writes = vec![share(Some(4096), 20, 2), share(Some(4096), 5, 3)];
        let mut tags = tags([reads, writes]);
        let read = count(&mut tags, io(Dir::Read, 512));
        // Five standard deviations of a binomial with n = 100 000, p = 0.3 are 725.
        assert!(read[1].abs_diff(30_000) < 725 && read[0] + read[1] == 100_000, "{read:?}");
        let write = count(&mut tags, io(Dir::Write, 4096));
        assert!(write[2].abs_diff(20_000) < 725 && write[3].abs_diff(5_000) < 725, "{write:?}");
        assert_eq!(count(&mut tags, io(Dir::Write, 8192)), [100_000, 0, 0, 0]);
        assert_eq!(count(&mut tags, io(Dir::Trim, 4096)), [100_000, 0, 0, 0]);
    }

    #[test]
    fn all_or_the_same_again() {
        let share = PriorityShare { block: None, percent: 100, priority: 1 };
        let mut always = tags([vec![share], vec![]]);
        assert_eq!(count(&mut always, io(Dir::Read, 1))[1], 100_000);
        let half = PriorityShare { percent: 50, ..share };
        let (mut a, mut b) = (tags([vec![half], vec![]]), tags([vec![half], vec![]]));
        assert!((0..1000).all(|_| a.of(&io(Dir::Read, 1)) == b.of(&io(Dir::Read, 1))));
    }
}
