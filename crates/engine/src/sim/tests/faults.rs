//! Injected faults: what each does to the data, when it strikes, and how the log describes it.

use std::borrow::Cow;

use fiord_job::option::read;
use fiord_job::option::value::Bases;
use fiord_plan::{EnginePlan, SimPlan};
use fiord_stat::engine::{FaultEntry, FaultReport};
use fiord_types::Bytes;

use super::*;

/// A device with these faults and this crash.
fn device(slots: u32, faults: &str, crash: &str) -> (Sim, Vec<FreeSlot>) {
    let bases = Bases::default();
    let plan = SimPlan {
        options: vec![("sim_store".into(), "1".into()), ("sim_size".into(), "1m".into())],
        faults: read::faults(faults, &bases).unwrap(),
        crash: (!crash.is_empty()).then(|| read::crash(crash, &bases).unwrap()),
    };
    let config = EngineConfig::plain(EnginePlan::Sim(plan), slots, 4 * BLOCK);
    let mut sim = Sim::new(&config).unwrap();
    let free = sim.take_slots().into_iter().rev().collect();
    (sim, free)
}

/// The device under test with one slot.
struct Bench {
    sim: Sim,
    free: Vec<FreeSlot>,
}

impl Bench {
    fn new(faults: &str) -> Bench {
        let (sim, free) = device(1, faults, "");
        Bench { sim, free }
    }

    fn with_crash(faults: &str, crash: &str) -> Bench {
        let (sim, free) = device(1, faults, crash);
        Bench { sim, free }
    }

    /// The bytes that the test writes to a block.
    fn pattern(block: u64, generation: u8) -> Vec<u8> {
        (0..BLOCK as usize)
            .map(|i| (i / 16) as u8 ^ ((block as u8).wrapping_mul(31)) ^ (generation * 7))
            .collect()
    }

    fn write(&mut self, block: u64, generation: u8) {
        let data = Self::pattern(block, generation);
        self.sim.buffer(&mut self.free[0])[..data.len()].copy_from_slice(&data);
        let outcome = one(&mut self.sim, &mut self.free, &op(OpKind::Write, block));
        assert_eq!(outcome, Outcome::ok(BLOCK));
        // The buffer of a write belongs to the job.
        assert_eq!(&self.sim.buffer(&mut self.free[0])[..data.len()], &data);
    }

    fn read(&mut self, block: u64) -> Vec<u8> {
        self.sim.buffer(&mut self.free[0]).fill(0x5a);
        let outcome = one(&mut self.sim, &mut self.free, &op(OpKind::Read, block));
        assert_eq!(outcome, Outcome::ok(BLOCK));
        self.sim.buffer(&mut self.free[0])[..BLOCK as usize].to_vec()
    }

    fn flush(&mut self) {
        assert_eq!(one(&mut self.sim, &mut self.free, &op(OpKind::Fsync, 0)), Outcome::ok(0));
    }

    fn is(&mut self, block: u64, generation: u8) -> bool {
        self.read(block) == Self::pattern(block, generation)
    }

    fn log(&self) -> Vec<(&'static str, u64, u64)> {
        let entry = |fault: FaultEntry| {
            let Cow::Borrowed(word) = fault.kind else { panic!("{fault:?}") };
            (word, fault.op.unwrap(), fault.offset.0 / u64::from(BLOCK))
        };
        self.injected().list.into_iter().map(entry).collect()
    }

    fn injected(&self) -> FaultReport {
        self.sim.report(&|_| String::new()).faults.unwrap()
    }

    fn first(&self) -> FaultEntry {
        self.injected().list[0].clone()
    }
}

const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];

#[test]
fn a_misdirected_write_stores_its_data_elsewhere() {
    for (by, block) in [("", 3), (":by=8k", 4), (":by=-4096", 1)] {
        let mut bench = Bench::new(&format!("misdirected_write:op=2{by}"));
        bench.write(block, 1);
        bench.write(2, 1);
        assert_eq!(bench.read(2), ZEROS);
        assert_eq!(bench.read(block), Bench::pattern(2, 1));
        assert_eq!(bench.log(), [("misdirected_write", 2, 2)]);
        assert_eq!(bench.first().other, Some(Bytes(block * 4096)));
    }
    // At the end of the device it goes the other way.
    let mut bench = Bench::new("misdirected_write:op=1");
    bench.write(255, 1);
    assert_eq!(bench.read(254), Bench::pattern(255, 1));
}

#[test]
fn a_misdirected_read_returns_data_of_another_place() {
    let mut bench = Bench::new("misdirected_read:op=1:by=4k");
    bench.write(2, 1);
    bench.write(3, 1);
    assert_eq!(bench.read(2), Bench::pattern(3, 1));
    assert!(bench.is(2, 1) && bench.is(3, 1));
    assert_eq!(bench.log(), [("misdirected_read", 3, 2)]);
}

#[test]
fn a_stale_read_returns_the_contents_before_the_last_write() {
    let mut bench = Bench::new("stale_read:bytes=8k-12k:count=1");
    for generation in 1..4 {
        bench.write(2, generation);
        bench.write(3, generation);
    }
    assert!(bench.is(3, 3));
    assert!(bench.is(2, 2) && bench.is(2, 3));
    assert_eq!(bench.log(), [("stale_read", 8, 2)]);
}

#[test]
fn bits_flip_in_what_is_written_or_read() {
    for (dir, after) in [("write", 3), ("read", 0)] {
        let mut bench = Bench::new(&format!("bit_flip:op=1:bits=3:dir={dir}"));
        bench.write(2, 1);
        for flipped in [3, after] {
            let (found, expected) = (bench.read(2), Bench::pattern(2, 1));
            let bits: Vec<u64> = (0..u64::from(BLOCK) * 8)
                .filter(|bit| {
                    let at = (bit / 8) as usize;
                    (found[at] ^ expected[at]) >> (bit % 8) & 1 == 1
                })
                .collect();
            assert_eq!(bits.len(), flipped);
            if flipped > 0 {
                assert_eq!(bench.first().bits, bits);
            }
        }
        assert_eq!(bench.log().len(), 1);
    }
}

#[test]
fn a_torn_write_stores_its_first_sectors() {
    for (params, at) in [(":sector=3", 1536), (":sector=0", 0), (":sector=1:unit=1k", 1024)] {
        let mut bench = Bench::new(&format!("torn:op=2{params}"));
        bench.write(2, 1);
        bench.write(2, 2);
        let found = bench.read(2);
        assert_eq!(found[..at], Bench::pattern(2, 2)[..at]);
        assert_eq!(found[at..], Bench::pattern(2, 1)[at..]);
        assert_eq!(bench.first().torn_at, Some(Bytes(at as u64)));
    }
    // A write that ends before that sector is not torn.
    let mut bench = Bench::new("torn:rate=100:sector=8");
    bench.write(2, 1);
    assert!(bench.is(2, 1) && bench.log().is_empty());
}

#[test]
fn shifted_bytes_wrap_around_the_ends() {
    for (params, by) in [("", 8), (":by=100", 100), (":by=-1", -1), (":by=100:dir=read", 100)] {
        let mut bench = Bench::new(&format!("shifted:op=1{params}"));
        bench.write(2, 1);
        let mut expected = Bench::pattern(2, 1);
        expected.rotate_right((by + i64::from(BLOCK)) as usize % BLOCK as usize);
        assert_eq!(bench.read(2), expected);
        assert_eq!(bench.first().shifted_by, Some(by));
    }
}

#[test]
fn filled_writes_and_reads_have_one_value() {
    for (word, byte) in [("zeroed", 0), ("ones", 0xff)] {
        let mut bench = Bench::new(&format!("{word}:op=2,{word}:op=2:dir=read"));
        bench.write(2, 1);
        bench.write(3, 1);
        assert!(bench.is(2, 1));
        assert_eq!(bench.read(3), [byte; BLOCK as usize]);
        assert_eq!(bench.read(3), [byte; BLOCK as usize]);
        assert_eq!(bench.log(), [(word, 2, 3), (word, 4, 3)]);
        bench.write(3, 2);
        assert!(bench.is(3, 2));
    }
}

#[test]
fn a_lost_write_leaves_the_old_data() {
    let mut bench = Bench::new("lost:op=2");
    bench.write(2, 1);
    bench.write(2, 2);
    assert!(bench.is(2, 1));
    assert_eq!(bench.log(), [("lost", 2, 2)]);
}

#[test]
fn a_write_lost_after_a_flush_is_there_until_then() {
    let mut bench = Bench::new("lost_after_flush:op=2");
    bench.write(2, 1);
    bench.write(2, 2);
    bench.write(3, 1);
    assert!(bench.is(2, 2));
    bench.flush();
    assert!(bench.is(2, 1) && bench.is(3, 1));
    bench.flush();
    assert!(bench.is(2, 1));

    // A later write of the place stays.
    let mut bench = Bench::new("lost_after_flush:op=2");
    (1..4).for_each(|generation| bench.write(2, generation));
    bench.flush();
    assert!(bench.is(2, 3));
}

#[test]
fn swapped_writes_exchange_their_places() {
    let mut bench = Bench::new("swapped:op=1");
    bench.write(2, 1);
    assert!(bench.is(2, 1) && bench.log().is_empty());
    // The fault swaps writes of two places, so a rewrite of the same place does not count.
    bench.write(2, 2);
    bench.write(5, 1);
    assert_eq!(bench.read(2), Bench::pattern(5, 1));
    assert_eq!(bench.read(5), Bench::pattern(2, 2));
    assert_eq!(bench.log(), [("swapped", 4, 5)]);
    assert_eq!(bench.first().other, Some(Bytes(8192)));
}

#[test]
fn a_crash_loses_what_was_not_flushed() {
    let mut bench = Bench::with_crash("", "op=6");
    bench.write(2, 1);
    bench.write(3, 1);
    bench.flush();
    bench.write(2, 2);
    assert!(bench.is(2, 2));
    // The device crashes before this read.
    assert!(bench.is(2, 1) && bench.is(3, 1));
    assert_eq!((bench.log(), bench.first().len), (vec![("crash", 6, 2)], Bytes(4096)));
    bench.write(2, 3);
    assert!(bench.is(2, 3));
}

#[test]
fn a_crash_at_a_time_loses_a_share_of_the_cache() {
    let mut bench = Bench::with_crash("", "time=10ms:survive=50");
    (0..90).for_each(|block| bench.write(block, 1));
    assert!(bench.log().is_empty());
    bench.sim.clock().sleep_until(bench.sim.clock().start() + 10_000_000);
    let kept = (0..90).filter(|block| bench.is(*block, 1)).count();
    assert!((25..65).contains(&kept), "{kept}");
    assert_eq!(bench.first().len, Bytes((90 - kept as u64) * 4096));
}

#[test]
fn an_ignored_flush_makes_nothing_durable() {
    let mut bench = Bench::with_crash("ignored_flush:op=2", "op=5");
    bench.write(2, 1);
    bench.flush();
    bench.write(2, 2);
    bench.flush();
    assert!(bench.is(2, 1));
    assert_eq!(bench.log().iter().map(|f| f.0).collect::<Vec<_>>(), ["ignored_flush", "crash"]);
}

#[test]
fn a_device_that_stays_down_fails_what_is_in_flight_and_what_follows() {
    let (mut sim, mut free) = device(4, "", "op=3:down=1");
    for block in 0..4 {
        let slot = free.pop().unwrap();
        assert_eq!(sim.queue(slot, &op(OpKind::Write, block)), Queued::Pending);
    }
    let mut done = Completions::with_capacity(4);
    sim.reap(Want { min: 4, max: 4, timeout: None }, &mut done).unwrap();
    while let Some((_, outcome)) = done.pop_front() {
        assert_eq!(outcome, Outcome::err(Errno::EIO));
    }
}

#[test]
fn all_triggers_of_a_fault_must_hold_and_the_first_fault_wins() {
    let mut bench = Bench::new("zeroed:bytes=8k-16k:count=2,ones:rate=100:bytes=12k");
    for block in 0..8 {
        bench.write(block, 1);
        bench.write(block, 2);
    }
    assert_eq!(bench.log(), [("zeroed", 5, 2), ("zeroed", 6, 2), ("ones", 7, 3), ("ones", 8, 3)]);
}

#[test]
fn a_rate_strikes_its_share_and_equal_seeds_strike_equal_writes() {
    let struck = |faults: &str| {
        let mut bench = Bench::new(faults);
        (0..2000).for_each(|n| bench.write(n % 250, 1));
        bench.log()
    };
    let alone = struck("lost:rate=5");
    assert!((60..140).contains(&alone.len()), "{}", alone.len());
    let others = struck("lost:rate=5,bit_flip:rate=20:dir=read,torn:bytes=1020k-1m");
    assert_eq!(alone, others);
}

#[test]
fn jobs_with_one_file_share_its_contents() {
    let mut job = fiord_plan::JobPlan::plain(EnginePlan::Sim(SimPlan::default()), 1 << 20);
    let store = vec![("sim_store".into(), "1".into())];
    job.engine = EnginePlan::Sim(SimPlan { options: store, ..SimPlan::default() });
    let mut other = job.clone();
    other.target.files[0].path = "other".into();
    let disks = SimDisks::of([&job, &other]);
    let bench = |job| {
        let mut config = EngineConfig::for_job(job, crate::MachineClock::best());
        config.disks = disks.of_job(job);
        (config.slots, config.buffer_bytes) = (1, Bytes((4 * BLOCK).into()));
        let mut sim = Sim::new(&config).unwrap();
        let free = sim.take_slots();
        Bench { sim, free }
    };
    let mut writer = bench(&job);
    writer.write(2, 1);
    drop(writer);
    assert!(bench(&job).is(2, 1));
    assert_eq!(bench(&other).read(2), ZEROS);
}

#[test]
fn a_long_list_is_counted_but_not_kept() {
    let mut bench = Bench::new("lost:rate=100");
    (0..1500).for_each(|n| {
        let outcome = one(&mut bench.sim, &mut bench.free, &op(OpKind::Write, n % 250));
        assert_eq!(outcome, Outcome::ok(BLOCK));
    });
    let log = bench.injected();
    assert_eq!((log.list.len(), &log.counts[..]), (1000, &[("lost".into(), 1500)][..]));
}
