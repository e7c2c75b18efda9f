//! Cost of an engine alone: `engine_cost ENGINE DEPTH OPS [FILE]` queues and reaps reads of 4096
//! bytes at the start of the file, and prints nanoseconds per op. Meant for `perf stat -e
//! instructions:u`.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use fiord_engine::{
    Attachment, Completions, Engine, EngineConfig, FileKind, IoAttributes, IoUring, Libaio, Null,
    Op, OpKind, Psync, Queued, Want,
};
use fiord_plan::{EnginePlan, IoUringPlan, LibaioPlan};
use fiord_types::{Bytes, FileIndex};

fn drive<E: Engine>(mut engine: E, depth: u32, ops: u64, path: Option<&String>) {
    if let Some(path) = path {
        let direct = if path.starts_with("/dev/") { 0 } else { libc::O_DIRECT };
        let file = OpenOptions::new().read(true).custom_flags(direct).open(path);
        let file = file.expect("the file cannot be opened");
        let fd = Some(Arc::new(file.into()));
        let kind = FileKind::Regular;
        let target =
            Attachment { fd, kind, offset: Bytes::ZERO, len: Bytes(1 << 20), read_only: true };
        engine.attach(FileIndex(0), &target).expect("the file cannot be attached");
    }
    let op = Op {
        kind: OpKind::Read,
        file: FileIndex(0),
        offset: 0,
        len: 4096,
        at: 0,
        attributes: IoAttributes::PLAIN,
    };
    let mut done = Completions::with_capacity(depth);
    let mut free = engine.take_slots();
    let (mut queued, mut ended) = (0, 0);
    let start = std::time::Instant::now();
    while ended < ops {
        while queued < ops
            && let Some(slot) = free.pop()
        {
            queued += 1;
            match engine.queue(slot, &op) {
                Queued::Done(slot, _) => {
                    free.push(slot);
                    ended += 1;
                }
                Queued::Pending => {}
                Queued::Full(_) => panic!("full"),
            }
        }
        if E::ASYNC {
            let want = Want { min: 1, max: depth, timeout: None };
            engine.reap(want, &mut done).expect("cannot reap");
            while let Some((slot, outcome)) = done.pop_front() {
                assert!(outcome.get().is_ok(), "{outcome:?}");
                free.push(slot);
                ended += 1;
            }
        }
    }
    println!("{:.1} ns/op", start.elapsed().as_nanos() as f64 / ops as f64);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (depth, ops) = (args[2].parse().unwrap(), args[3].parse().unwrap());
    let uring = IoUringPlan { nonvectored: true, ..Default::default() };
    let fixed = IoUringPlan { fixed_buffers: true, register_files: true, ..uring };
    let aio = EnginePlan::Libaio(LibaioPlan::default());
    let config = |plan| EngineConfig::plain(plan, depth, 4096);
    let path = args.get(4);
    match args[1].as_str() {
        "null" => drive(Null::new(&config(EnginePlan::Null)).unwrap(), depth, ops, path),
        "psync" => drive(Psync::new(&config(EnginePlan::Psync)).unwrap(), depth, ops, path),
        "libaio" => drive(Libaio::new(&config(aio)).unwrap(), depth, ops, path),
        "io_uring" => {
            let engine = IoUring::new(&config(EnginePlan::IoUring(uring))).unwrap();
            drive(engine, depth, ops, path);
        }
        "io_uring_fixed" => {
            let engine = IoUring::new(&config(EnginePlan::IoUring(fixed))).unwrap();
            drive(engine, depth, ops, path);
        }
        other => panic!("no engine {other}"),
    }
}
