//! Attributes of an I/O: priority, placement and kind of write command, for jobs that set any of
//! them.

use fiord_plan::{Load, Placement, PlacementSelect, Priorities, PriorityShare};
use fiord_types::Dir;

use super::write_commands::WriteCommandMix;

use crate::rng::{Purpose, Rng};
use crate::{Io, IoAttributes};

/// Draws the attributes of a job's I/Os.
#[derive(Debug, Clone)]
pub(super) struct AttributeSource {
    priorities: Option<Priorities>,
    priority_rng: Rng,
    placement: Option<Placement>,
    placement_rng: Rng,
    /// Position of the last placement identifier used, per file.
    placed: Box<[u16]>,
    commands: Option<WriteCommandMix>,
}

impl AttributeSource {
    /// The attributes of a load; `None` if all I/Os are [`IoAttributes::PLAIN`].
    pub(super) fn new(load: &Load) -> Option<Box<Self>> {
        any(load).then(|| {
            Box::new(AttributeSource {
                priorities: load.priorities.clone(),
                priority_rng: Rng::new(load.seed, Purpose::Priority, 0),
                placed: vec![0; load.placement.as_ref().map_or(0, |p| p.ids.len())].into(),
                placement: load.placement.clone(),
                placement_rng: Rng::new(load.seed, Purpose::Placement, 0),
                commands: WriteCommandMix::new(load),
            })
        })
    }

    /// Draws the attributes of an I/O.
    #[inline(never)]
    pub(super) fn of(&mut self, io: &Io) -> IoAttributes {
        let mut attributes = IoAttributes::PLAIN;
        if let Some(priorities) = &self.priorities {
            let shares = &priorities.shares[io.dir];
            attributes.priority = drawn(shares, io, &mut self.priority_rng);
        }
        if io.dir == Dir::Write {
            attributes.placement = self.place(io);
            if let Some(commands) = &mut self.commands {
                attributes.command = commands.draw();
            }
        }
        attributes
    }

    /// Placement of a write: a position in the file's list of identifiers, counted from 1; 0: no
    /// placement.
    fn place(&mut self, io: &Io) -> u16 {
        let Some(placement) = &self.placement else { return 0 };
        let file = io.file.get();
        let count = placement.ids.get(file).map_or(0, |ids| ids.len() as u16);
        match &placement.select {
            _ if count == 0 => 0,
            PlacementSelect::RoundRobin => {
                let last = &mut self.placed[file];
                *last = if *last >= count { 1 } else { *last + 1 };
                *last
            }
            PlacementSelect::Random => self.placement_rng.below(u64::from(count)) as u16 + 1,
            PlacementSelect::Scheme(ranges) => {
                let of = ranges.iter().find(|r| (r.start..r.end).contains(&io.offset));
                of.map_or(0, |range| range.placement)
            }
        }
    }
}

/// Whether any I/O of the load has attributes.
pub(super) fn any(load: &Load) -> bool {
    load.priorities.is_some() || load.placement.is_some() || !load.write_commands.is_empty()
}

/// Draws the priority of an I/O from its shares, with one draw.
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
    use fiord_plan::{EnginePlan, IoPrio, JobPlan, SchemeRange};
    use fiord_types::{FileIndex, PerDir};

    use super::*;

    fn io(dir: Dir, len: u32) -> Io {
        Io { dir, file: FileIndex(0), offset: 0, len, attributes: IoAttributes::PLAIN }
    }

    fn attributes([reads, writes]: [Vec<PriorityShare>; 2]) -> Box<AttributeSource> {
        let mut load = JobPlan::plain(EnginePlan::Null, 1 << 20).load;
        let values = vec![IoPrio { class: 1, level: 0, hint: 0 }; 3];
        let shares = PerDir::new(reads, writes, vec![]);
        load.priorities = Some(Priorities { values, shares });
        AttributeSource::new(&load).unwrap()
    }

    fn count(attributes: &mut AttributeSource, io: Io) -> [u32; 4] {
        let mut counts = [0; 4];
        for _ in 0..100_000 {
            counts[usize::from(attributes.of(&io).priority)] += 1;
        }
        counts
    }

    #[test]
    fn shares_hold_by_direction_and_size() {
        let share = |block, percent, priority| PriorityShare { block, percent, priority };
        let reads = vec![share(None, 30, 1)];
        let writes = vec![share(Some(4096), 20, 2), share(Some(4096), 5, 3)];
        let mut attributes = attributes([reads, writes]);
        let read = count(&mut attributes, io(Dir::Read, 512));
        // Five standard deviations of a binomial with n = 100 000, p = 0.3 are 725.
        assert!(read[1].abs_diff(30_000) < 725 && read[0] + read[1] == 100_000, "{read:?}");
        let write = count(&mut attributes, io(Dir::Write, 4096));
        assert!(write[2].abs_diff(20_000) < 725 && write[3].abs_diff(5_000) < 725, "{write:?}");
        assert_eq!(count(&mut attributes, io(Dir::Write, 8192)), [100_000, 0, 0, 0]);
        assert_eq!(count(&mut attributes, io(Dir::Trim, 4096)), [100_000, 0, 0, 0]);
    }

    fn placed(select: PlacementSelect, ids: Vec<Vec<u16>>) -> Box<AttributeSource> {
        let mut load = JobPlan::plain(EnginePlan::Null, 1 << 20).load;
        load.placement = Some(Placement { by: fiord_plan::PlacementKind::Fdp, ids, select });
        AttributeSource::new(&load).unwrap()
    }

    #[test]
    fn writes_go_round_the_identifiers_of_their_file() {
        let mut attributes = placed(PlacementSelect::RoundRobin, vec![vec![5, 6, 7], vec![9]]);
        let write = |file| Io { file, ..io(Dir::Write, 4096) };
        let mut of = |io: Io| attributes.of(&io).placement;
        let found = [
            of(write(FileIndex(0))),
            of(write(FileIndex(0))),
            of(write(FileIndex(1))),
            of(write(FileIndex(0))),
            of(write(FileIndex(0))),
        ];
        assert_eq!(found, [1, 2, 1, 3, 1]);
        assert_eq!(
            (of(write(FileIndex(1))), of(io(Dir::Read, 1)), of(io(Dir::Trim, 1))),
            (1, 0, 0)
        );
    }

    #[test]
    fn random_identifiers_are_even() {
        let mut attributes = placed(PlacementSelect::Random, vec![vec![1; 5]]);
        let mut seen = [0u32; 6];
        (0..50_000).for_each(|_| seen[attributes.of(&io(Dir::Write, 1)).placement as usize] += 1);
        // Five standard deviations of a binomial with n = 50 000, p = 0.2 are 447.
        assert!(seen[0] == 0 && seen[1..].iter().all(|n| n.abs_diff(10_000) < 447), "{seen:?}");
    }

    #[test]
    fn a_scheme_goes_by_the_offset() {
        let range = |start, end, placement| SchemeRange { start, end, placement };
        let scheme = vec![range(0, 100, 2), range(50, 200, 1)];
        let mut attributes = placed(PlacementSelect::Scheme(scheme), vec![vec![0, 1]]);
        let mut at = |offset| attributes.of(&Io { offset, ..io(Dir::Write, 1) }).placement;
        assert_eq!([at(0), at(99), at(100), at(199), at(200)], [2, 2, 1, 1, 0]);
    }

    #[test]
    fn a_full_share_is_always_drawn_and_draws_repeat() {
        let share = PriorityShare { block: None, percent: 100, priority: 1 };
        let mut always = attributes([vec![share], vec![]]);
        assert_eq!(count(&mut always, io(Dir::Read, 1))[1], 100_000);
        let half = PriorityShare { percent: 50, ..share };
        let (mut a, mut b) = (attributes([vec![half], vec![]]), attributes([vec![half], vec![]]));
        assert!((0..1000).all(|_| a.of(&io(Dir::Read, 1)) == b.of(&io(Dir::Read, 1))));
    }
}
