//! Many jobs on a fake device that refuses what a real one refuses. Checks that every write is at the write
//! pointer, that the limit of open zones holds, and that no job waits forever.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fiord_load::{Io, IoAttributes};
use fiord_plan::{EnginePlan, JobPlan, Mix, Resets, WriteCommand, Zoned, Zones};
use fiord_sys::zone::fake::Fake;
use fiord_sys::zone::{State, Zone, ZoneAction, ZonedDevice, ZonedFacts};
use fiord_types::{Bytes, Dir, Errno, FileIndex, JobIndex, ZoneIndex};
use proptest::prelude::*;

use super::block_layer_sync::BlockLayerSync;
use super::{Placer, ZonePlacement, ZoneTable};

const ZONE: u64 = 64 << 10;
const CAPACITY: u64 = 48 << 10;
const BLOCK: u32 = 4096;

/// The fake device, shared by the table and the test.
#[derive(Debug, Clone)]
struct Shared(Arc<Fake>);

impl ZonedDevice for Shared {
    fn facts(&self) -> fiord_sys::Result<ZonedFacts> {
        self.0.facts()
    }
    fn report(&self, from: Bytes, limit: usize) -> fiord_sys::Result<Vec<Zone>> {
        self.0.report(from, limit)
    }
    fn manage(&self, action: ZoneAction, start: Bytes, len: Bytes) -> fiord_sys::Result<()> {
        self.0.manage(action, start, len)
    }
}

fn device(zones: u64, open: u32) -> (Arc<Fake>, Arc<ZoneTable>) {
    let fake = Arc::new(Fake::new(zones, 0, ZONE, CAPACITY).limited(open, open));
    let table =
        ZoneTable::of_device(Path::new("fake"), Box::new(Shared(Arc::clone(&fake))), |_| None);
    (fake, Arc::new(table.unwrap()))
}

const PLAIN: Zoned = Zoned {
    max_open: None,
    job_max_open: None,
    ignore_limits: false,
    read_beyond: false,
    resets: None,
    recover: false,
    remainders: false,
};

fn job(index: usize, zones: std::ops::Range<u64>, random: bool, zoned: Zoned) -> JobPlan {
    let mut job = JobPlan::plain(EnginePlan::Null, ZONE);
    job.identity.index = JobIndex(index);
    job.depth.depth = 8;
    job.load.random = random;
    job.load.mix = Mix::Write;
    job.load.zoned = Some(zoned);
    let file = &mut job.target.files[0];
    file.offset = Bytes(zones.start * ZONE);
    file.len = Bytes((zones.end - zones.start) * ZONE);
    file.zones = Some(Zones { size: Bytes(ZONE), emulated: None });
    job
}

fn placer(job: &JobPlan, table: &Arc<ZoneTable>) -> Placer {
    *Placer::new(job, vec![Arc::clone(table)]).unwrap().unwrap()
}

fn io(dir: Dir, offset: u64) -> Io {
    Io { dir, file: FileIndex(0), offset, len: BLOCK, attributes: IoAttributes::PLAIN }
}

/// A pseudo-random number.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// The I/O pattern of one job of a property test.
#[derive(Debug, Clone)]
struct Way {
    random: bool,
    depth: usize,
    reads: bool,
    errors: bool,
    seed: u64,
}

/// Issues `ios` I/Os at the given depth. Panics if the device would refuse one.
fn drive(
    fake: &Fake,
    table: &Arc<ZoneTable>,
    job: &JobPlan,
    way: &Way,
    ios: u64,
    until: Instant,
) -> u64 {
    let mut placer = placer(job, table);
    let file = &job.target.files[0];
    let (mut seed, mut at, mut made) = (way.seed, file.offset, 0);
    let mut flights: VecDeque<(u32, Io)> = VecDeque::new();
    let mut free: Vec<u32> = (0..way.depth as u32).collect();
    let mut drawn: Option<Io> = None;
    while made < ios || !flights.is_empty() {
        assert!(Instant::now() < until, "a job waits for ever: {made} of {ios}");
        let io = drawn.take().or_else(|| {
            (made + (flights.len() as u64) < ios && !free.is_empty()).then(|| {
                let dir =
                    if way.reads && next(&mut seed) & 3 == 0 { Dir::Read } else { Dir::Write };
                let blocks = file.len / Bytes::from(BLOCK);
                let random = file.offset + Bytes::from(BLOCK) * (next(&mut seed) % blocks);
                io(dir, if way.random { random.0 } else { at.0 })
            })
        });
        if let Some(io) = io {
            match placer.place(&io) {
                ZonePlacement::Go(io) => {
                    let slot = free.pop().unwrap();
                    placer.taken(slot);
                    if io.dir == Dir::Write {
                        at = Bytes(io.offset + u64::from(io.len));
                    }
                    flights.push_back((slot, io));
                    continue;
                }
                ZonePlacement::Busy if flights.is_empty() => {
                    drawn = Some(io);
                    placer.wait();
                    continue;
                }
                ZonePlacement::Busy => drawn = Some(io),
                ZonePlacement::Displaced | ZonePlacement::Filled | ZonePlacement::Passed { .. } => {
                    at = file.offset
                }
                ZonePlacement::NoData => {}
                ZonePlacement::Reset(_) => unreachable!("no trims here"),
                ZonePlacement::ReadBack => unreachable!("no job verifies"),
                ZonePlacement::Failed(error) => panic!("{error}"),
            }
        }
        // Complete one, not always the oldest.
        let Some(index) = (next(&mut seed) as usize).checked_rem(flights.len()) else { continue };
        let (slot, io) = flights.remove(index).unwrap();
        free.push(slot);
        made += 1;
        if io.dir == Dir::Read {
            placer.ended(slot).unwrap();
        } else if way.errors && next(&mut seed).is_multiple_of(16) {
            let arrived = next(&mut seed) & 1;
            let error = fake.torn_write(io.offset, arrived * u64::from(io.len) / 2);
            let (result, zone) = placer.failed(slot, Some(error.errno));
            result.unwrap();
            assert!(zone.contains("write pointer"), "{zone}");
        } else {
            let written = fake.write(io.offset, u64::from(io.len));
            assert!(written.is_ok(), "{io:?}: {written:?} {:?}", fake.zone(io.offset));
            placer.ended(slot).unwrap();
        }
    }
    made
}

/// Runs all jobs concurrently on threads.
fn drive_all(fake: &Fake, table: &Arc<ZoneTable>, jobs: &[JobPlan], ways: &[Way], ios: u64) -> u64 {
    let until = Instant::now() + Duration::from_secs(20);
    let sum = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (job, way) in jobs.iter().zip(ways) {
            let sum = &sum;
            scope.spawn(move || {
                sum.fetch_add(drive(fake, table, job, way, ios, until), Ordering::Relaxed);
            });
        }
    });
    sum.into_inner()
}

fn way(random: bool, depth: usize, seed: u64) -> Way {
    Way { random, depth, reads: false, errors: false, seed }
}

#[test]
fn sixty_four_jobs_share_fourteen_open_zones() {
    let (fake, table) = device(256, 14);
    let job = |i: usize| job(i, 4 * i as u64..4 * i as u64 + 4, i.is_multiple_of(2), PLAIN);
    let jobs: Vec<JobPlan> = (0..64).map(job).collect();
    let ways: Vec<Way> = (0..64u64).map(|i| way(i.is_multiple_of(2), 4, i)).collect();
    assert_eq!(drive_all(&fake, &table, &jobs, &ways, 60), 64 * 60);
    let (open, active) = fake.most();
    assert!(open <= 14 && active <= 14, "{open} open, {active} active");
}

#[test]
fn a_sequential_job_fills_zone_after_zone() {
    let (fake, table) = device(8, 3);
    let job = job(0, 2..6, false, PLAIN);
    let until = Instant::now() + Duration::from_secs(20);
    drive(&fake, &table, &job, &way(false, 1, 1), 4 * 12, until);
    let pointers: Vec<u64> = fake.zones().unwrap().iter().map(|z| z.written().0).collect();
    assert_eq!(pointers, [0, 0, CAPACITY, CAPACITY, CAPACITY, CAPACITY, 0, 0]);
    assert_eq!(fake.resets(), 0);
}

#[test]
fn zones_left_partly_written_do_not_stop_a_sequential_job() {
    let (fake, table) = {
        let fake = Arc::new(Fake::new(8, 0, ZONE, CAPACITY).limited(2, 2));
        fake.write(3 * ZONE, 4096).unwrap();
        fake.write(5 * ZONE, 4096).unwrap();
        let table =
            ZoneTable::of_device(Path::new("fake"), Box::new(Shared(Arc::clone(&fake))), |_| None);
        (fake, Arc::new(table.unwrap()))
    };
    let until = Instant::now() + Duration::from_secs(20);
    drive(&fake, &table, &job(0, 0..8, false, PLAIN), &way(false, 1, 1), 8 * 12 - 1, until);
    assert!(fake.zones().unwrap().iter().all(|z| z.write_pointer == z.start + Bytes(CAPACITY)));
    assert_eq!(fake.finishes(), 1, "one place was enough; the other zone was written on");
}

#[test]
fn the_block_layer_sees_one_reset_of_each_zone_that_it_wrote() {
    let fakes = [(); 2].map(|()| Arc::new(Fake::new(4, 0, ZONE, CAPACITY)));
    let [fake, block] = &fakes;
    // Both devices are one namespace: data written through the block device is in its zones.
    fakes.iter().for_each(|fake| fake.write(ZONE, 4096).unwrap());
    let shared = |fake: &Arc<Fake>| Box::new(Shared(Arc::clone(fake)));
    let block_layer = |zones: &[Zone]| Some(BlockLayerSync::new(shared(block), zones));
    let table = ZoneTable::of_device(Path::new("fake"), shared(fake), block_layer).unwrap();
    for zone in [0, 1, 1].map(ZoneIndex) {
        table.carry_out(zone, ZoneAction::Reset).unwrap();
    }
    assert_eq!(block.zones().unwrap()[1].write_pointer, Bytes(ZONE));
    assert_eq!(block.resets(), 1);
}

/// What a job in the last zones may do if a device with one open zone has zone 0 open.
fn beside_an_open_zone(fake: &Arc<Fake>) -> ZonePlacement {
    let table =
        ZoneTable::of_device(Path::new("fake"), Box::new(Shared(Arc::clone(fake))), |_| None);
    let mut placer = placer(&job(0, 4..8, true, PLAIN), &Arc::new(table.unwrap()));
    placer.place(&io(Dir::Write, 4 * ZONE))
}

#[test]
fn open_zones_outside_of_the_range_that_use_all_slots_are_an_error() {
    let active = Arc::new(Fake::new(8, 0, ZONE, CAPACITY).limited(1, 1));
    active.write(0, 4096).unwrap();
    // A command opened this zone: its program may be in the middle of something.
    let explicit = Arc::new(Fake::new(8, 0, ZONE, CAPACITY).limited(1, None));
    explicit.manage(ZoneAction::Open, Bytes(0), Bytes(ZONE)).unwrap();
    for fake in [active, explicit] {
        match beside_an_open_zone(&fake) {
            ZonePlacement::Failed(error) => {
                assert!(error.to_string().contains("outside of the job's range"))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_zone_outside_of_the_range_that_the_device_would_close_itself_is_closed() {
    let fake = Arc::new(Fake::new(8, 0, ZONE, CAPACITY).limited(1, None));
    fake.write(0, 4096).unwrap();
    let placement = beside_an_open_zone(&fake);
    assert!(matches!(placement, ZonePlacement::Go(_)), "{placement:?}");
    let zone = fake.zones().unwrap()[0];
    assert_eq!((zone.state, zone.written()), (State::Closed, Bytes(4096)));
}

#[test]
fn a_device_zone_has_one_write_in_flight_and_an_emulated_zone_many() {
    let (_, table) = device(4, 4);
    let mut first = placer(&job(0, 0..4, true, PLAIN), &table);
    assert!(matches!(first.place(&io(Dir::Write, 0)), ZonePlacement::Go(_)));
    first.taken(0);
    assert!(matches!(first.place(&io(Dir::Write, 4096)), ZonePlacement::Busy));
    assert!(matches!(first.place(&io(Dir::Write, ZONE)), ZonePlacement::Go(_)), "another zone");
    let emulated = Arc::new(ZoneTable::emulated(Path::new("f"), Bytes(ZONE), Bytes(CAPACITY), 4));
    let mut many = placer(&job(0, 0..4, true, PLAIN), &emulated);
    for slot in 0..8u32 {
        match many.place(&io(Dir::Write, 0)) {
            ZonePlacement::Go(io) => assert_eq!(io.offset, u64::from(slot * BLOCK)),
            other => panic!("{other:?}"),
        }
        many.taken(slot);
    }
    // A completed write after one in flight is not valid data yet.
    many.ended(1).unwrap();
    assert_eq!(emulated.view(ZoneIndex(0)).valid.load(Ordering::Acquire), 0);
    many.ended(0).unwrap();
    assert_eq!(emulated.view(ZoneIndex(0)).valid.load(Ordering::Acquire), 2 * u64::from(BLOCK));
}

#[test]
fn a_zone_is_not_reset_while_it_is_read() {
    let (fake, table) = device(2, 2);
    let until = Instant::now() + Duration::from_secs(20);
    let writes = job(0, 0..1, true, PLAIN);
    drive(&fake, &table, &writes, &way(true, 1, 1), 12, until);
    let mut reads = job(1, 0..1, true, PLAIN);
    reads.load.mix = Mix::Read;
    let mut reader = placer(&reads, &table);
    assert!(matches!(reader.place(&io(Dir::Read, 4096)), ZonePlacement::Go(_)));
    reader.taken(0);
    let mut writer = placer(&writes, &table);
    assert!(matches!(writer.place(&io(Dir::Write, 0)), ZonePlacement::Busy), "it is read");
    assert!(matches!(reader.place(&io(Dir::Read, 0)), ZonePlacement::Busy), "it is to be reset");
    reader.ended(0).unwrap();
    assert!(matches!(writer.place(&io(Dir::Write, 0)), ZonePlacement::Go(io) if io.offset == 0));
    assert_eq!((fake.resets(), writer.counts().resets), (1, 1));
}

#[test]
fn without_recovery_a_torn_write_ends_the_job() {
    let (fake, table) = device(2, 2);
    let mut placer = placer(&job(0, 0..2, true, PLAIN), &table);
    assert!(matches!(placer.place(&io(Dir::Write, 0)), ZonePlacement::Go(_)));
    placer.taken(0);
    fake.torn_write(0, 2048);
    let (result, _) = placer.failed(0, Some(Errno::EIO));
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("write pointer is at 2048") && message.contains("zone 0 of 2"),
        "{message}"
    );
}

#[test]
fn an_append_that_was_never_submitted_leaves_no_gap() {
    let (fake, table) = device(2, 2);
    let append = Io {
        attributes: IoAttributes { command: WriteCommand::Append, ..IoAttributes::PLAIN },
        ..io(Dir::Write, 0)
    };
    let mut first = placer(&job(0, 0..1, true, PLAIN), &table);
    placed(&mut first, &append, 0);
    let mut second = placer(&job(1, 0..1, true, PLAIN), &table);
    assert!(matches!(second.place(&append), ZonePlacement::Go(_)));
    drop(second);
    fake.write(0, 4096).unwrap();
    first.ended(0).unwrap();
    assert_eq!(table.lock().zones[0].pointer, fake.zone(0).unwrap().write_pointer);
}

#[test]
fn a_zone_that_becomes_read_only_or_offline_is_no_longer_used() {
    for state in [State::ReadOnly, State::Offline] {
        let (fake, table) = device(3, 1);
        let zoned = Zoned { recover: true, ..PLAIN };
        let mut placer = placer(&job(0, 0..2, true, zoned), &table);
        assert_eq!(placed(&mut placer, &io(Dir::Write, 0), 0).offset, 0);
        fake.give_up(0, state);
        assert!(fake.write(0, 4096).is_err());
        let (result, _) = placer.failed(0, Some(Errno::EROFS));
        let message = result.unwrap_err().to_string();
        assert!(message.contains(&format!("made the zone {}", state.word())), "{message}");
        // Its slot is free, and no job writes there: neither this one nor one that fills zones.
        assert_eq!(placed(&mut placer, &io(Dir::Write, 0), 0).offset, ZONE);
        fake.write(ZONE, 4096).unwrap();
        placer.ended(0).unwrap();
        fake.give_up(ZONE, state);
        assert_eq!(placed(&mut placer, &io(Dir::Write, 0), 0).offset, ZONE + 4096);
        assert!(placer.failed(0, Some(Errno::EROFS)).0.is_err());
        let ZonePlacement::Failed(error) = placer.place(&io(Dir::Write, 0)) else {
            panic!("no zone left")
        };
        assert!(error.to_string().contains("are read-only or offline"), "{error}");
    }
}

#[test]
fn appends_in_flight_all_fail_when_their_zone_becomes_read_only() {
    let (fake, table) = device(2, 2);
    let mut placer = placer(&job(0, 0..2, true, PLAIN), &table);
    let append = Io {
        attributes: IoAttributes { command: WriteCommand::Append, ..IoAttributes::PLAIN },
        ..io(Dir::Write, 0)
    };
    placed(&mut placer, &append, 0);
    placed(&mut placer, &append, 1);
    fake.give_up(0, State::Offline);
    assert!(placer.failed(0, Some(Errno::EIO)).0.is_err(), "though another one is in flight");
    assert!(placed(&mut placer, &append, 0).offset >= ZONE);
    assert!(placer.failed(1, Some(Errno::EIO)).0.is_err());
}

/// Places an I/O and panics if it cannot be issued.
fn placed(placer: &mut Placer, io: &Io, slot: u32) -> Io {
    match placer.place(io) {
        ZonePlacement::Go(io) => {
            placer.taken(slot);
            io
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_append_after_a_failed_one_is_counted_separately() {
    let (fake, table) = device(2, 2);
    let mut placer = placer(&job(0, 0..1, true, PLAIN), &table);
    let append = Io {
        attributes: IoAttributes { command: WriteCommand::Append, ..IoAttributes::PLAIN },
        ..io(Dir::Write, 0)
    };
    assert_eq!(placed(&mut placer, &append, 0).offset, 0);
    let second = placed(&mut placer, &append, 1).offset;
    let (result, _) = placer.failed(0, Some(Errno::EIO));
    result.unwrap();
    assert_eq!(placed(&mut placer, &append, 2).offset, second, "the device moves them up");
    fake.write(0, 4096).unwrap();
    placer.ended(1).unwrap();
    assert_eq!(table.lock().zones[0].writes, [Bytes(second)], "one of the two is in flight");
    fake.write(4096, 4096).unwrap();
    placer.ended(2).unwrap();
    let states = table.lock();
    assert_eq!((states.zones[0].pointer, states.zones[0].writes.len()), (Bytes(8192), 0));
    assert_eq!(table.view(ZoneIndex(0)).valid.load(Ordering::Relaxed), 8192);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn many_jobs_keep_to_the_rules(
        ways in prop::collection::vec(
            (any::<bool>(), 1usize..8, any::<bool>(), any::<bool>(), any::<u64>(), 0u64..12),
            1..12,
        ),
        open in 1u32..6,
        most in 0u32..6,
        own in 0u32..3,
        resets in any::<bool>(),
    ) {
        let (fake, table) = device(16, open);
        let zoned = Zoned {
            max_open: (most > 0).then_some(most),
            job_max_open: (own > 0).then_some(own),
            resets: resets.then_some(Resets { threshold: 0.3, every: 7 }),
            recover: true,
            ..PLAIN
        };
        let mut jobs = Vec::new();
        let mut list = Vec::new();
        for (index, (random, depth, reads, errors, seed, first)) in ways.into_iter().enumerate() {
            let mut job = job(index, first..first + 4, random, zoned);
            if reads {
                job.load.mix = Mix::ReadWrite { read_percent: 25 };
            }
            jobs.push(job);
            list.push(Way { random, depth, reads, errors, seed });
        }
        let sum = drive_all(&fake, &table, &jobs, &list, 100);
        prop_assert_eq!(sum, 100 * jobs.len() as u64);
        let limit = if most > 0 { open.min(most) } else { open };
        prop_assert!(fake.most().1 <= limit as usize, "{:?} active of {limit}", fake.most());
    }
}
