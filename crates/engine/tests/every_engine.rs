//! One body of tests for all engines: the contract of [`Engine`] on real files.

mod scratch;

use fiord_engine::{
    Attachment, Completions, Engine, EngineConfig, FileKind, FreeSlot, IoAttributes, Op, OpKind,
    Outcome, Queued, Want,
};
use fiord_job::option::def::Support;
use fiord_job::option::table;
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{EngineAccess, EngineDef, EnginePlan, SupportedDirections};
use fiord_types::{Bytes, Errno, FileIndex};
use scratch::{BLOCK, LoopDevice, Scratch, attach, one, op};

const BLOCKS: u64 = 64;

/// Runs all ops, as many at a time as there are slots, and returns their outcomes by index. Fails
/// if an op completes twice or never, or if a slot without an op completes.
fn all<E: Engine>(
    engine: &mut E,
    free: &mut Vec<FreeSlot>,
    ops: &[Op],
    mut before: impl FnMut(&mut [u8], usize),
    mut after: impl FnMut(&[u8], usize),
) -> Vec<Outcome> {
    let mut outcomes = vec![None; ops.len()];
    let slots = free.len() as u32;
    let mut holds: Vec<Option<usize>> = vec![None; free.len()];
    let mut next = 0;
    let mut done = Completions::with_capacity(slots);
    while outcomes.iter().any(Option::is_none) {
        while next < ops.len() {
            let Some(mut slot) = free.pop() else { break };
            let index = slot.index() as usize;
            before(engine.buffer(&mut slot), next);
            match engine.queue(slot, &ops[next]) {
                Queued::Done(mut slot, outcome) => {
                    after(engine.buffer(&mut slot), next);
                    free.push(slot);
                    outcomes[next] = Some(outcome);
                    next += 1;
                }
                Queued::Pending => {
                    assert!(holds[index].replace(next).is_none(), "a slot with two ops");
                    next += 1;
                }
                Queued::Full(slot) => {
                    free.push(slot);
                    assert!(free.len() < slots as usize, "full with nothing in flight");
                    break;
                }
            }
        }
        if free.len() < slots as usize {
            engine.reap(Want { min: 1, max: slots, timeout: None }, &mut done).unwrap();
            assert!(!done.is_empty(), "asked for one, got none");
            while let Some((mut slot, outcome)) = done.pop_front() {
                let op = holds[slot.index() as usize].take();
                let op = op.expect("a completion nobody waits for");
                after(engine.buffer(&mut slot), op);
                free.push(slot);
                assert!(outcomes[op].replace(outcome).is_none(), "completed twice");
            }
        }
    }
    outcomes.into_iter().map(Option::unwrap).collect()
}

fn stamp(buffer: &mut [u8], block: u64) {
    for (i, word) in buffer.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = (block * 1000 + i as u64).to_le_bytes();
    }
}

fn config(engine: EnginePlan, slots: u32) -> EngineConfig {
    EngineConfig::plain(engine, slots, 4 * BLOCK)
}

/// Writes every block, then reads every block, on a regular file.
fn write_then_read<E: Engine>(engine: E) {
    let scratch = Scratch::new("rw", BLOCKS * u64::from(BLOCK));
    let target = scratch.target(BLOCKS * u64::from(BLOCK), false);
    write_then_read_on(engine, &target, SupportedDirections::All);
}

/// Writes every block, then reads every block. Trims one of them if the engine has trims.
fn write_then_read_on<E: Engine>(
    mut engine: E,
    target: &Attachment,
    directions: SupportedDirections,
) {
    let free = &mut engine.take_slots();
    attach(&mut engine, FileIndex(0), target);
    let full = vec![Outcome::ok(BLOCK); BLOCKS as usize];
    let writes: Vec<Op> = (0..BLOCKS).map(|b| op(OpKind::Write, b)).collect();
    assert_eq!(all(&mut engine, free, &writes, |b, i| stamp(b, i as u64), |_, _| {}), full);
    let order: Vec<u64> = (0..BLOCKS).map(|i| (i * 37 + 5) % BLOCKS).collect();
    let reads: Vec<Op> = order.iter().map(|b| op(OpKind::Read, *b)).collect();
    let mut expected = vec![0; BLOCK as usize];
    let outcomes = all(
        &mut engine,
        free,
        &reads,
        |b, _| b.fill(0xff),
        |b, i| {
            stamp(&mut expected, order[i]);
            assert!(b[..BLOCK as usize] == expected[..], "block {}", order[i]);
        },
    );
    assert_eq!(outcomes, full);
    for kind in [OpKind::Fsync, OpKind::Fdatasync, OpKind::SyncFileRange(2)] {
        let sync = Op {
            kind,
            file: FileIndex(0),
            offset: 0,
            len: 0,
            at: 0,
            attributes: IoAttributes::PLAIN,
        };
        assert_eq!(one(&mut engine, free, &sync), Outcome::ok(0), "{kind:?}");
    }
    if directions == SupportedDirections::All {
        assert_eq!(one(&mut engine, free, &op(OpKind::Trim, 3)), Outcome::ok(0), "trim");
        free.truncate(1);
        engine.buffer(&mut free[0]).fill(0xff);
        assert_eq!(one(&mut engine, free, &op(OpKind::Read, 3)), Outcome::ok(BLOCK));
        assert!(
            engine.buffer(&mut free[0])[..BLOCK as usize].iter().all(|b| *b == 0),
            "trimmed, yet not empty"
        );
    }
    engine.detach(FileIndex(0)).unwrap();
}

/// The end of the file, the rest of a short transfer, a file that is not attached, a read-only
/// file, a span outside the buffer.
fn edges<E: Engine>(mut engine: E) {
    let free = &mut engine.take_slots();
    free.truncate(1);
    let scratch = Scratch::new("edges", 2 * u64::from(BLOCK) + 100);
    attach(&mut engine, FileIndex(0), &scratch.target(4 * u64::from(BLOCK), false));
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 2)), Outcome::ok(100), "short at the end");
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 3)), Outcome::ok(0), "nothing at the end");
    engine.buffer(&mut free[0]).fill(0xee);
    let rest = Op { at: 1000, len: 96, ..op(OpKind::Read, 0) };
    assert_eq!(one(&mut engine, free, &rest), Outcome::ok(96));
    assert!(engine.buffer(&mut free[0])[..1000].iter().all(|b| *b == 0xee));
    assert!(engine.buffer(&mut free[0])[1000..1096].iter().all(|b| *b == 0));
    assert!(engine.buffer(&mut free[0])[1096..].iter().all(|b| *b == 0xee));
    let outside = Op { at: 4 * BLOCK - 1, len: 2, ..op(OpKind::Read, 0) };
    assert_eq!(one(&mut engine, free, &outside), Outcome::err(Errno::EINVAL));
    engine.detach(FileIndex(0)).unwrap();
    assert_eq!(
        one(&mut engine, free, &op(OpKind::Read, 0)),
        Outcome::err(Errno::EBADF),
        "detached"
    );
    attach(&mut engine, FileIndex(0), &scratch.target(4 * u64::from(BLOCK), true));
    assert_eq!(
        one(&mut engine, free, &op(OpKind::Write, 0)),
        Outcome::err(Errno::EBADF),
        "read-only"
    );
}

/// Direct I/O on a block device: data, trims, the end of the device, alignment.
fn on_a_device<E: Engine>(mut engine: E, maps: bool) {
    let free = &mut engine.take_slots();
    let Some(device) = LoopDevice::new(BLOCKS * u64::from(BLOCK)) else { return };
    attach(&mut engine, FileIndex(0), &device.target());
    let full = vec![Outcome::ok(BLOCK); BLOCKS as usize];
    let order: Vec<u64> = (0..BLOCKS).map(|i| (i * 37 + 5) % BLOCKS).collect();
    let writes: Vec<Op> = order.iter().map(|b| op(OpKind::Write, *b)).collect();
    assert_eq!(all(&mut engine, free, &writes, |b, i| stamp(b, order[i]), |_, _| {}), full);
    let reads: Vec<Op> = (0..BLOCKS).map(|b| op(OpKind::Read, b)).collect();
    let mut expected = vec![0; BLOCK as usize];
    let check = |b: &[u8], i: usize| {
        stamp(&mut expected, i as u64);
        assert!(b[..BLOCK as usize] == expected[..], "block {i}");
    };
    assert_eq!(all(&mut engine, free, &reads, |b, _| b.fill(0xff), check), full);
    let sync = Op {
        kind: OpKind::Fsync,
        file: FileIndex(0),
        offset: 0,
        len: 0,
        at: 0,
        attributes: IoAttributes::PLAIN,
    };
    assert_eq!(one(&mut engine, free, &sync), Outcome::ok(0));
    let trims: Vec<Op> = (0..8).map(|b| op(OpKind::Trim, b)).collect();
    assert_eq!(all(&mut engine, free, &trims, |_, _| {}, |_, _| {}), [Outcome::ok(0); 8]);
    free.truncate(1);
    engine.buffer(&mut free[0]).fill(0xff);
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 3)), Outcome::ok(BLOCK));
    assert!(
        engine.buffer(&mut free[0])[..BLOCK as usize].iter().all(|b| *b == 0),
        "trimmed, yet not empty"
    );
    if maps {
        assert_eq!(one(&mut engine, free, &op(OpKind::Write, BLOCKS)), Outcome::err(Errno::EIO));
        return;
    }
    assert_eq!(one(&mut engine, free, &op(OpKind::Write, BLOCKS)), Outcome::err(Errno::ENOSPC));
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, BLOCKS)), Outcome::ok(0));
    let askew = Op { offset: 100, ..op(OpKind::Read, 0) };
    assert_eq!(one(&mut engine, free, &askew), Outcome::err(Errno::EINVAL));
    let odd = Op { len: 100, ..op(OpKind::Read, 0) };
    assert_eq!(one(&mut engine, free, &odd), Outcome::err(Errno::EINVAL));
}

/// Character devices: `/dev/zero`, and `/dev/full`, whose writes fail.
fn on_character_devices<E: Engine>(mut engine: E) {
    let free = &mut engine.take_slots();
    free.truncate(1);
    attach(&mut engine, FileIndex(0), &scratch::device_target("/dev/zero"));
    engine.buffer(&mut free[0]).fill(0xff);
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 7)), Outcome::ok(BLOCK));
    assert!(engine.buffer(&mut free[0])[..BLOCK as usize].iter().all(|b| *b == 0));
    assert_eq!(one(&mut engine, free, &op(OpKind::Write, 7)), Outcome::ok(BLOCK));
    assert_eq!(one(&mut engine, free, &op(OpKind::Trim, 7)), Outcome::err(Errno::EOPNOTSUPP));
    engine.detach(FileIndex(0)).unwrap();
    attach(&mut engine, FileIndex(0), &scratch::device_target("/dev/full"));
    // The driver has no asynchronous write, so libaio returns EINVAL.
    let full = one(&mut engine, free, &op(OpKind::Write, 0)).get();
    assert!(matches!(full, Err(Errno::ENOSPC | Errno::EINVAL)), "{full:?}");
}

/// Memory of the engine: the region that the job uses, its ends, and a file that is not attached.
fn in_memory<E: Engine>(mut engine: E) {
    let free = &mut engine.take_slots();
    free.truncate(1);
    let region = Attachment { offset: Bytes(2 * u64::from(BLOCK)), ..memory(2) };
    attach(&mut engine, FileIndex(0), &region);
    engine.buffer(&mut free[0]).fill(0xee);
    assert_eq!(one(&mut engine, free, &op(OpKind::Write, 3)), Outcome::ok(BLOCK));
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 2)), Outcome::ok(BLOCK));
    assert!(engine.buffer(&mut free[0])[..BLOCK as usize].iter().all(|b| *b == 0));
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 3)), Outcome::ok(BLOCK));
    assert!(engine.buffer(&mut free[0])[..BLOCK as usize].iter().all(|b| *b == 0xee));
    for (block, errno) in [(1, Errno::EINVAL), (4, Errno::EIO)] {
        for kind in [OpKind::Read, OpKind::Write] {
            assert_eq!(one(&mut engine, free, &op(kind, block)), Outcome::err(errno), "{kind:?}");
        }
    }
    engine.detach(FileIndex(0)).unwrap();
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 3)), Outcome::err(Errno::EBADF));
}

/// A file of `blocks` blocks in the memory of an engine.
fn memory(blocks: u64) -> Attachment {
    Attachment {
        fd: None,
        kind: FileKind::Virtual,
        offset: Bytes::ZERO,
        len: Bytes(blocks * u64::from(BLOCK)),
        read_only: false,
    }
}

/// Options with which an engine is tested besides its defaults. The tests that run it depend on
/// what it works on, as its entry says.
const VARIANTS: &[(&str, &str)] = &[
    ("pvsync2", "--hipri --hipri_percentage=50"),
    ("libaio", "--userspace_reap"),
    ("libaio", "--libaio_vectored=1"),
    ("io_uring", "--nonvectored=0"),
    ("io_uring", "--fixedbufs --registerfiles"),
    ("io_uring", "--sqthread_poll"),
    ("io_uring", "--sqthread_poll --sqthread_poll_cpu=0"),
    ("io_uring", "--force_async=3"),
    ("page_fault", "--thp=0"),
];

/// The supported engines that read and write files: each with its defaults, and with each of its
/// variants.
fn plans() -> Vec<EnginePlan> {
    plans_of(EngineAccess::uses_file_layer)
}

/// The supported engines that move data on such targets: each with its defaults, and with each of
/// its variants.
fn plans_of(access: fn(EngineAccess) -> bool) -> Vec<EnginePlan> {
    let works = |engine: &&EngineDef| {
        engine.support == Support::Built
            && engine.runs_as.is_empty()
            && access(engine.access)
            // Reads beyond the end of the file return zeroes, and trims of files are refused.
            && !engine.names_target()
            && engine.moves_data
    };
    let names = table::engines().iter().filter(works).map(|engine| engine.name);
    let lines = |name| {
        let variants = VARIANTS.iter().copied().filter(move |(engine, _)| *engine == name);
        std::iter::once((name, "")).chain(variants)
    };
    names.flat_map(lines).map(planned).collect()
}

/// The plan of an engine with these options.
fn planned((name, options): (&str, &str)) -> EnginePlan {
    let job = format!("--name=a --size=4k --filename=none --ioengine={name} {options}");
    let args: Vec<String> = job.split_whitespace().map(String::from).collect();
    let invocation = fiord_job::invocation(&args, &mut fiord_job::load::Memory::default()).unwrap();
    let resolved = fiord_plan::resolve_invocation(&invocation, &SystemFacts).unwrap();
    resolved.plan.jobs[0].engine.clone()
}

trait Test {
    fn run<E: Engine>(&self, engine: E);
}

macro_rules! dispatch {
    ($($engine:ident $(($options:ty))?: $loops:ident, $kind:ident, $name:tt;)*) => {
        /// Runs a test on the engine of a configuration.
        fn run(config: &EngineConfig, test: &impl Test) {
            match &config.engine {
                $(EnginePlan::$engine { .. } => test.run(fiord_engine::$engine::new(config).unwrap()),)*
            }
        }
    };
}

fiord_plan::for_each_engine!(dispatch);

#[test]
fn every_variant_belongs_to_an_engine_that_a_test_runs() {
    let tested = plans_of(|access| access.uses_file_layer() || access == EngineAccess::Memory);
    for (name, _) in VARIANTS {
        assert!(tested.iter().any(|plan| plan.def().name == *name), "{name}");
    }
}

#[test]
fn every_engine_writes_then_reads_at_every_depth() {
    struct WriteThenRead;
    impl Test for WriteThenRead {
        fn run<E: Engine>(&self, engine: E) {
            write_then_read(engine);
        }
    }
    for plan in plans() {
        println!("{plan:?}");
        for slots in [1, 2, 16] {
            run(&config(plan.clone(), slots), &WriteThenRead);
        }
    }
}

#[test]
fn edges_are_outcomes_on_every_engine() {
    struct Edges;
    impl Test for Edges {
        fn run<E: Engine>(&self, engine: E) {
            edges(engine);
        }
    }
    for plan in plans() {
        println!("{plan:?}");
        run(&config(plan, 4), &Edges);
    }
}

#[test]
fn every_engine_works_on_block_devices() {
    struct OnADevice {
        maps: bool,
    }
    impl Test for OnADevice {
        fn run<E: Engine>(&self, engine: E) {
            on_a_device(engine, self.maps);
        }
    }
    for plan in plans() {
        println!("{plan:?}");
        let maps = plan.def().access == EngineAccess::Mapping;
        run(&EngineConfig { direct: true, ..config(plan, 8) }, &OnADevice { maps });
    }
}

#[test]
fn every_engine_without_a_mapping_works_on_character_devices() {
    struct OnCharacterDevices;
    impl Test for OnCharacterDevices {
        fn run<E: Engine>(&self, engine: E) {
            on_character_devices(engine);
        }
    }
    for plan in plans().into_iter().filter(|plan| plan.def().access != EngineAccess::Mapping) {
        println!("{plan:?}");
        run(&config(plan, 4), &OnCharacterDevices);
    }
}

#[test]
fn every_engine_on_memory_keeps_what_is_written_to_its_region() {
    struct WriteThenRead(SupportedDirections);
    impl Test for WriteThenRead {
        fn run<E: Engine>(&self, engine: E) {
            write_then_read_on(engine, &memory(BLOCKS), self.0);
        }
    }
    struct InMemory;
    impl Test for InMemory {
        fn run<E: Engine>(&self, engine: E) {
            in_memory(engine);
        }
    }
    let plans = plans_of(|access| access == EngineAccess::Memory);
    assert!(!plans.is_empty());
    for plan in plans {
        println!("{plan:?}");
        run(&config(plan.clone(), 4), &WriteThenRead(plan.def().directions));
        run(&config(plan, 4), &InMemory);
    }
}

#[test]
fn null_completes_everything_once() {
    for slots in [1, 3, 64] {
        let mut null = fiord_engine::Null::new(&config(EnginePlan::Null, slots)).unwrap();
        let ops: Vec<Op> = (0..1000).map(|b| op(OpKind::Write, b)).collect();
        let free = &mut null.take_slots();
        let outcomes = all(&mut null, free, &ops, |_, _| {}, |_, _| {});
        assert!(outcomes.iter().all(|o| *o == Outcome::ok(BLOCK)));
        assert_eq!(one(&mut null, free, &op(OpKind::Trim, 0)), Outcome::ok(0));
    }
}

#[test]
fn sim_keeps_what_is_written() {
    for slots in [1, 2, 16] {
        let options = fiord_engine::sim::SimOptions { store: true, ..Default::default() };
        let config = config(EnginePlan::Sim(Default::default()), slots);
        write_then_read(fiord_engine::Sim::with_options(&config, options).unwrap());
    }
}
