use std::sync::atomic::{AtomicBool, AtomicU8};

use proptest::prelude::*;

use super::super::GENERATIONS;
use super::*;
use crate::rng::{Purpose, Rng};

const GRANULE: u64 = 512;

/// What a test does to the map. Offsets and lengths are in granules.
#[derive(Debug, Clone)]
enum Step {
    Claim {
        at: u64,
        count: u64,
    },
    /// Settles one of the claims.
    Settle {
        which: usize,
        how: Settle,
    },
    Snapshot {
        at: u64,
        count: u64,
    },
    Run {
        at: u64,
        most: u64,
    },
}

#[derive(Debug, Clone)]
enum Settle {
    Complete(u8),
    Next,
    Trim,
    Abandon,
    Release,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..200u64, prop_oneof![0..4u64, 0..90u64]);
    let settle = prop_oneof![
        4 => (1..=WriteValue::COUNT).prop_map(Settle::Complete),
        3 => Just(Settle::Next),
        1 => Just(Settle::Trim),
        1 => Just(Settle::Abandon),
        2 => Just(Settle::Release),
    ];
    let step = prop_oneof![
        4 => range().prop_map(|(at, count)| Step::Claim { at, count }),
        4 => (0..8usize, settle).prop_map(|(which, how)| Step::Settle { which, how }),
        1 => range().prop_map(|(at, count)| Step::Snapshot { at, count }),
        1 => range().prop_map(|(at, most)| Step::Run { at, most }),
    ];
    prop::collection::vec(step, 0..120)
}

fn value(byte: u8) -> WriteValue {
    WriteValue::of_generation(u64::from(byte) - 1)
}

/// A map without atomics, and the claims of the test with what their granules contained before.
struct Model {
    states: Vec<GranuleState>,
    claims: Vec<(Claimed, usize, Vec<GranuleState>)>,
    snapshots: Vec<(MapSnapshot, usize, Vec<GranuleState>)>,
}

impl Model {
    fn claim(&mut self, map: &WriteMap, at: u64, count: u64) {
        let (first, last) = (at as usize, (at + count) as usize);
        let claimed = map.claim(at * GRANULE, count * GRANULE);
        if last > self.states.len() {
            assert_eq!(claimed, Err(ClaimRefused::Outside));
            return;
        }
        let states = &mut self.states[first..last];
        if let Some(busy) = states.iter().position(|state| *state == GranuleState::InFlight) {
            let busy = Bytes((first + busy) as u64 * GRANULE);
            assert_eq!(claimed, Err(ClaimRefused::Busy(busy)));
            return;
        }
        let claimed = claimed.expect("free granules");
        assert!(claimed.previous().eq(states.iter().copied()));
        self.claims.push((claimed, first, states.to_vec()));
        states.fill(GranuleState::InFlight);
    }

    fn settle(&mut self, map: &WriteMap, which: usize, how: &Settle) {
        if self.claims.is_empty() {
            return;
        }
        let (claimed, first, before) = self.claims.swap_remove(which % self.claims.len());
        let next = |state| match state {
            GranuleState::Written(value) => value.next(),
            _ => WriteValue::of_generation(0),
        };
        match how {
            Settle::Complete(byte) => map.complete(claimed, value(*byte)),
            Settle::Next => map.complete_each(claimed, next),
            Settle::Trim => map.trim(claimed),
            Settle::Abandon => map.abandon(claimed),
            Settle::Release => map.release(claimed),
        }
        for (state, before) in self.states[first..].iter_mut().zip(before) {
            *state = match how {
                Settle::Complete(byte) => GranuleState::Written(value(*byte)),
                Settle::Next => GranuleState::Written(next(before)),
                Settle::Trim => GranuleState::Trimmed,
                Settle::Abandon => GranuleState::Unknown,
                Settle::Release => before,
            };
        }
    }

    fn snapshot(&mut self, map: &WriteMap, at: u64, count: u64) {
        let last = ((at + count) as usize).min(self.states.len());
        let first = (at as usize).min(last);
        let snapshot = map.snapshot(at * GRANULE, count * GRANULE);
        let states = self.states[first..last].to_vec();
        assert!(snapshot.states().eq(states.iter().copied()));
        assert_eq!(snapshot.is_settled(), !states.contains(&GranuleState::InFlight));
        self.snapshots.push((snapshot, first, states));
    }

    fn run(&self, map: &WriteMap, at: u64, most: u64) {
        let written = |state: &GranuleState| matches!(state, GranuleState::Written(_));
        let from = (at as usize).min(self.states.len());
        let first = self.states[from..].iter().position(written).map(|more| from + more);
        let expected = first.map(|first| {
            let count = self.states[first..].iter().take_while(|state| written(state)).count();
            let len = (count as u64).min(most.max(1)) * GRANULE;
            MapRun { offset: Bytes(first as u64 * GRANULE), len: Bytes(len) }
        });
        assert_eq!(map.next_written(at * GRANULE, Bytes(most * GRANULE)), expected);
    }

    fn check(&self, map: &WriteMap) {
        for (snapshot, first, states) in &self.snapshots {
            let same = self.states[*first..].starts_with(states);
            assert_eq!(map.is_unchanged(snapshot), same);
        }
        let mut expected = MapCounts::default();
        for (index, state) in self.states.iter().enumerate() {
            assert_eq!(map.state(index as u64 * GRANULE), *state, "{index}");
            *expected.of(*state) += Bytes(GRANULE);
        }
        assert_eq!(map.counts(), expected);
    }
}

proptest! {
    #[test]
    fn the_map_is_that_of_a_simple_model(granules in 1..180u64, steps in steps()) {
        let map = WriteMap::new(Bytes(granules * GRANULE), Bytes(GRANULE)).unwrap();
        let states = vec![GranuleState::NeverWritten; granules as usize];
        let mut model = Model { states, claims: Vec::new(), snapshots: Vec::new() };
        for step in &steps {
            match step {
                Step::Claim { at, count } => model.claim(&map, *at, *count),
                Step::Settle { which, how } => model.settle(&map, *which, how),
                Step::Snapshot { at, count } => model.snapshot(&map, *at, *count),
                Step::Run { at, most } => model.run(&map, *at, *most),
            }
        }
        model.check(&map);
    }
}

/// Threads write ranges that overlap. Two threads never own a granule at a time, and the map has the last value of each.
#[test]
fn claims_of_several_threads_are_exclusive() {
    const COUNT: usize = 100;
    let map = WriteMap::new(Bytes(COUNT as u64 * GRANULE), Bytes(GRANULE)).unwrap();
    let owned: Vec<AtomicBool> = (0..COUNT).map(|_| AtomicBool::new(false)).collect();
    let last: Vec<AtomicU8> = (0..COUNT).map(|_| AtomicU8::new(0)).collect();
    let write = |rng: &mut Rng| {
        let first = rng.below(COUNT as u64);
        let count = 1 + rng.below(40.min(COUNT as u64 - first));
        let Ok(claimed) = map.claim(first * GRANULE, count * GRANULE) else { return false };
        let range = first as usize..(first + count) as usize;
        for granule in &owned[range.clone()] {
            assert!(!granule.swap(true, Ordering::Relaxed), "two owners");
        }
        let byte = 1 + rng.below(u64::from(WriteValue::COUNT)) as u8;
        let release = rng.below(4) == 0;
        for (granule, previous) in range.clone().zip(claimed.previous()) {
            let before = last[granule].load(Ordering::Relaxed);
            assert_eq!(previous, GranuleState::of_byte(before));
            last[granule].store(if release { before } else { byte }, Ordering::Relaxed);
            owned[granule].store(false, Ordering::Relaxed);
        }
        if release {
            map.release(claimed);
        } else {
            map.complete(claimed, value(byte));
        }
        true
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let mut rng = Rng::new(thread, Purpose::Offset, 0);
                let mut done = 0;
                while done < 50_000 {
                    done += u32::from(write(&mut rng));
                }
            });
        }
    });
    for (granule, byte) in last.iter().enumerate() {
        let byte = byte.load(Ordering::Relaxed);
        assert_eq!(map.state(granule as u64 * GRANULE), GranuleState::of_byte(byte));
    }
    assert_eq!(map.counts().in_flight, Bytes::ZERO);
}

/// A reader that follows the protocol of [`WriteMap`] never sees parts of two writes.
#[test]
fn a_claimed_range_is_constant() {
    const COUNT: usize = 24;
    let map = WriteMap::new(Bytes(COUNT as u64 * GRANULE), Bytes(GRANULE)).unwrap();
    let data: Vec<AtomicU8> = (0..COUNT).map(|_| AtomicU8::new(0)).collect();
    let all = COUNT as u64 * GRANULE;
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (map, data) = (&map, &data);
            scope.spawn(move || {
                for number in 0..20_000u64 {
                    let value = WriteValue::of_number(number, thread as u32);
                    let Ok(claimed) = map.claim(0, all) else { continue };
                    data.iter().for_each(|byte| byte.store(value.byte(), Ordering::Relaxed));
                    map.complete(claimed, value);
                }
            });
        }
        for _ in 0..20_000 {
            let Ok(claimed) = map.claim(0, all) else { continue };
            let read: Vec<u8> = data.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
            let expected: Vec<u8> = claimed.previous().map(GranuleState::byte).collect();
            assert_eq!(read, expected);
            map.release(claimed);
        }
    });
}

#[test]
fn the_last_granule_may_be_short() {
    let map = WriteMap::new(Bytes(1000), Bytes(GRANULE)).unwrap();
    let claimed = map.claim(512, 488).unwrap();
    assert_eq!(map.claim(512, 489), Err(ClaimRefused::Outside));
    assert_eq!(map.claim(u64::MAX, 2), Err(ClaimRefused::Outside));
    map.complete(claimed, WriteValue::of_generation(0));
    let run = MapRun { offset: Bytes(512), len: Bytes(488) };
    assert_eq!(map.next_written(0, Bytes::MAX), Some(run));
    assert_eq!(map.next_written(1000, Bytes::MAX), None);
    assert_eq!(map.next_written(u64::MAX, Bytes::MAX), None);
    let expected =
        MapCounts { never_written: Bytes(512), written: Bytes(488), ..Default::default() };
    assert_eq!(map.counts(), expected);
    assert_eq!(map.state(u64::MAX), GranuleState::NeverWritten);
    assert_eq!(map.snapshot(u64::MAX, u64::MAX).states().count(), 0);
}

/// 1 TiB in blocks of 4 KiB: 256 MiB of address space, of which only used pages are in memory.
#[test]
fn a_large_target_costs_what_is_written() {
    let tib = 1u64 << 40;
    let map = WriteMap::new(Bytes(tib), Bytes::from_kib(4)).unwrap();
    assert_eq!(map.words.len() * 8, 256 << 20);
    for offset in [0, tib / 2, tib - 4096] {
        map.complete(map.claim(offset, 4096).unwrap(), WriteValue::of_generation(0));
    }
    let mut runs = Vec::new();
    let mut from = 0;
    while let Some(run) = map.next_written(from, Bytes::MAX) {
        runs.push((run.offset.0, run.len.0));
        from = run.offset.0 + run.len.0;
    }
    assert_eq!(runs, [(0, 4096), (tib / 2, 4096), (tib - 4096, 4096)]);
    assert_eq!(map.counts().written, Bytes(3 * 4096));
}

#[test]
fn too_large_a_target_is_an_error() {
    let error = WriteMap::new(Bytes::MAX, Bytes(1)).unwrap_err();
    assert!(matches!(error, LoadError::WriteMapMemory { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("verify") && text.contains("To fix:"), "{text}");
}

/// The generation of the next write of a granule, as `verify=fiord` writes it.
fn generation(value: WriteValue, before: &[u16]) -> u64 {
    let before = before.first().copied().unwrap_or(0);
    (u64::from(before) + u64::from(value.byte()) - 1) % u64::from(GENERATIONS)
}

proptest! {
    /// So no stale block looks current, also after trims and failed writes.
    #[test]
    fn no_two_writes_of_a_granule_have_one_generation(
        ends in prop::collection::vec((0..10u8, 1..300u32), 1..60),
    ) {
        let bytes = Bytes(8192 * GRANULE);
        let map = WriteMap::new(bytes, Bytes(GRANULE)).unwrap().counting_generations();
        let offset = 5000 * GRANULE;
        let mut used = std::collections::HashSet::new();
        for (number, (end, writes)) in ends.into_iter().enumerate() {
            for _ in 0..writes {
                let claimed = map.claim(offset, GRANULE).unwrap();
                let after = |state| match state {
                    GranuleState::Written(value) => value.next(),
                    GranuleState::NeverWritten => WriteValue::of_generation(0),
                    _ => WriteValue::of_number(number as u64, 0),
                };
                let mut before = Vec::new();
                map.generations_after_write(&claimed, &mut before);
                let value = after(claimed.previous().next().unwrap());
                prop_assert!(used.insert(generation(value, &before)));
                if end == 0 {
                    map.abandon(claimed);
                    break;
                }
                map.complete_each(claimed, after);
                let mut now = Vec::new();
                map.generations_before(offset, GRANULE, &mut now);
                prop_assert_eq!(generation(value, &now), generation(value, &before));
                prop_assert_eq!(map.state(offset), GranuleState::Written(value));
            }
            match end {
                1 => map.trim(map.claim(offset, GRANULE).unwrap()),
                2 => map.trim(map.claim(4096 * GRANULE, 4096 * GRANULE).unwrap()),
                3 => map.overwrite(map.claim(0, bytes.0).unwrap()),
                4 => map.release(map.claim(0, bytes.0).unwrap()),
                _ => {}
            }
        }
    }
}
