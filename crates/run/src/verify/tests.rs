use fiord_formats::integrity::diagnosis::FaultClass;
use fiord_formats::verify::method::Method;
use fiord_job::option::table::VerifyPolicy;
use fiord_job::option::value::PatternPart;
use fiord_plan::{
    Backlog, BlockSize, EnginePlan, JobPlan, Mix, SimPlan, Think, Tolerance, Tracking,
    VerifyMethod, VerifyPass, VerifyPattern, VerifyPlan, WriteCommand,
};
use fiord_types::{Bytes, Dir, Errno, Nanos, PerDir};

use crate::worker::tests::run_plain;
use crate::worker_result::WorkerResult;

const SIZE: u64 = 256 << 10;

/// A job that writes 64 blocks to a simulated device and reads them back.
fn job(method: Method, options: &[(&str, &str)]) -> JobPlan {
    let store = [("sim_store", "1"), ("sim_latency", "uniform:10us-90us")];
    let all = store.iter().chain(options);
    let options = all.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let mut job = JobPlan::plain(EnginePlan::Sim(SimPlan { options, ..SimPlan::default() }), SIZE);
    job.load.mix = Mix::Write;
    job.verify = Some(VerifyPlan {
        method: VerifyMethod::Fio(method),
        interval: Some(Bytes(4096)),
        header_offset: Bytes(0),
        pattern: None,
        checks_seed: true,
        checks_number: true,
        pass: VerifyPass::AfterWrites,
        tracking: Tracking::Replay,
        backlog: None,
        zeroes: false,
        trims: None,
        threads: 0,
        cpus: Vec::new(),
        fatal: false,
        dump: false,
        policy: VerifyPolicy::Completed,
        saves_state: false,
        overwritten: None,
        durable_writes: false,
        state: None,
        compares_on_device: false,
    });
    job
}

fn plan(job: &mut JobPlan) -> &mut VerifyPlan {
    job.verify.as_mut().unwrap()
}

/// Numbers of reads and writes.
fn ios(result: &WorkerResult) -> (u64, u64) {
    (result.recorder.dirs[Dir::Read].ios, result.recorder.dirs[Dir::Write].ios)
}

#[test]
fn every_method_reads_back_what_it_wrote() {
    for method in Method::ALL {
        for depth in [1, 2, 16] {
            let mut job = job(method, &[]);
            job.depth.depth = depth;
            job.load.random = true;
            if matches!(method, Method::Pattern | Method::PatternHdr) {
                let parts = vec![PatternPart::Offset, PatternPart::Bytes(vec![1, 2, 3])];
                plan(&mut job).pattern = Some(VerifyPattern { parts, interval: None });
            }
            let result = run_plain(&job);
            assert_eq!(result.error, None, "{method:?} at depth {depth}");
            assert_eq!(ios(&result), (64, 64), "{method:?} at depth {depth}");
        }
    }
}

#[test]
fn intervals_places_of_headers_patterns_mixes_and_loops() {
    let pattern = VerifyPattern { parts: vec![PatternPart::Offset], interval: Some(Bytes(512)) };
    for depth in [1, 4] {
        for (interval, header_offset) in [(512, 0), (1024, 600), (4096, 2048)] {
            for pattern in [None, Some(pattern.clone())] {
                let mut job = job(Method::Crc32c, &[]);
                job.depth.depth = depth;
                job.end.loops = 3;
                job.load.repeat = false;
                job.load.random = true;
                job.load.mix = Mix::ReadWrite { read_percent: 40 };
                plan(&mut job).interval = Some(Bytes(interval));
                plan(&mut job).header_offset = Bytes(header_offset);
                plan(&mut job).pattern = pattern;
                let result = run_plain(&job);
                assert_eq!(result.error, None, "{:?}", job.verify);
                let (reads, writes) = ios(&result);
                let own = 3 * 64 - writes;
                assert!(writes > 60, "{writes}");
                assert_eq!(reads, own + writes, "every write was read back once");
            }
        }
    }
}

#[test]
fn writes_that_are_lost_or_torn_are_found() {
    for (options, continues) in [
        (("sim_lost_rate", "100"), false),
        (("sim_lost_rate", "5"), true),
        (("sim_torn_rate", "5"), true),
    ] {
        for depth in [1, 8] {
            let mut job = job(Method::Crc32c, &[options]);
            job.depth.depth = depth;
            let tolerance = if continues { Tolerance::Medium } else { Tolerance::None };
            job.reporting.continue_on_error.verification = tolerance;
            let result = run_plain(&job);
            let error = if continues { result.survived.clone() } else { result.error.clone() };
            let error = error.unwrap();
            assert_eq!(error.errno, Some(Errno::EILSEQ), "{error}");
            assert!(error.offset.is_some() && error.file.is_some(), "{error}");
            let (reads, writes) = ios(&result);
            assert_eq!(writes, 64);
            assert!(if continues { reads == 64 } else { reads < 64 }, "{reads}");
            assert_eq!(result.recorder.errors > 0, continues);
        }
    }
}

/// Blocks that commands without data have filled are checked for zeros (`write_mode=zeroes`), also over older data.
#[test]
fn blocks_of_zeros_are_verified() {
    for shares in [
        vec![(WriteCommand::Zeroes, 100)],
        vec![(WriteCommand::Data, 50), (WriteCommand::Zeroes, 50)],
    ] {
        for (method, interval) in
            [(VerifyMethod::Fio(Method::Crc32c), 4096), (VerifyMethod::Fiord, 512)]
        {
            for (lost, backlog) in [("0", false), ("0", true), ("10", false)] {
                let mut job = job(Method::Crc32c, &[("sim_lost_rate", lost)]);
                job.depth.depth = 4;
                job.end.loops = 4;
                job.load.write_commands = shares.clone();
                job.reporting.continue_on_error.verification = Tolerance::Medium;
                let plan = plan(&mut job);
                (plan.method, plan.interval) = (method, Some(Bytes(interval)));
                plan.tracking = Tracking::Map { granule: Bytes(4096) };
                plan.backlog = backlog.then_some(Backlog { writes: 8, batch: 8 });
                plan.zeroes = true;
                let result = run_plain(&job);
                assert_eq!(result.error, None, "{method:?}");
                let verify = result.hooks.report.verify.unwrap();
                let coverage = &verify.coverage;
                assert_eq!(coverage.verified, coverage.written, "{method:?} {coverage:?}");
                // A lost write of zeros over zeros changes nothing.
                let finds = lost != "0" && shares.len() > 1;
                assert_eq!(!verify.counts().is_empty(), finds, "{method:?} {:?}", verify.counts());
            }
        }
    }
}

/// The simulated device answers a Compare as a read. What differs is read and judged in any case.
#[test]
fn the_buffers_of_comparisons_are_judged_as_those_of_reads() {
    for (options, depth, bad) in
        [(("sim_lost_rate", "0"), 4, false), (("sim_lost_rate", "5"), 1, true)]
    {
        for tracking in [Tracking::Replay, Tracking::Records] {
            let mut job = job(Method::Pattern, &[options]);
            job.depth.depth = depth;
            job.reporting.continue_on_error.verification = Tolerance::Medium;
            let parts = vec![PatternPart::Bytes(vec![7]), PatternPart::Offset];
            plan(&mut job).pattern = Some(VerifyPattern { parts, interval: None });
            plan(&mut job).compares_on_device = true;
            plan(&mut job).tracking = tracking;
            let result = run_plain(&job);
            assert_eq!(result.error, None, "{tracking:?}");
            assert_eq!(result.survived.is_some(), bad, "{tracking:?}");
            assert_eq!(ios(&result), (64, 64), "comparisons are counted as reads");
        }
    }
}

#[test]
fn a_write_that_failed_is_not_read_back() {
    let mut job = job(Method::Crc32c, &[("sim_errors", "EIO#3,EIO#17")]);
    job.reporting.continue_on_error.writes = Tolerance::Medium;
    let result = run_plain(&job);
    assert_eq!(result.error, None);
    assert_eq!(ios(&result), (62, 62));
}

#[test]
fn do_verify_0_reads_nothing_and_a_rate_does_not_delay_the_pass() {
    let mut job = job(Method::Crc32c, &[]);
    plan(&mut job).pass = VerifyPass::WritesOnly;
    assert_eq!(ios(&run_plain(&job)), (0, 64));
    plan(&mut job).pass = VerifyPass::AfterWrites;
    let before = run_plain(&job).runtime.0;
    job.pace.think = Some(Think {
        time: Nanos(1_000_000),
        spin: Nanos(0),
        cycles: 0,
        blocks: Some(1),
        on_issue: false,
        io_time: Nanos(0),
    });
    let result = run_plain(&job);
    assert_eq!(result.error, None);
    assert!((64_000_000..64_000_000 + 2 * before).contains(&result.runtime.0));
    assert!(result.hooks.read_back.0 < before, "{:?} of {before}", result.hooks.read_back);
}

#[test]
fn blocks_of_several_sizes_are_read_back_in_the_order_of_the_writes() {
    let mut job = job(Method::Md5, &[]);
    let split = BlockSize::Split(vec![(1024, 30), (4096, 30), (8192, 40)]);
    job.load.blocks = PerDir::from_fn(|_| split.clone());
    job.load.align = PerDir::all(1024);
    plan(&mut job).interval = Some(Bytes(1024));
    plan(&mut job).checks_number = false;
    for depth in [1, 8] {
        job.depth.depth = depth;
        let result = run_plain(&job);
        assert_eq!(result.error, None);
        let (reads, writes) = ios(&result);
        assert_eq!(reads, writes);
    }
}

/// Tells the job to use a map of its target.
fn with_map(job: &mut JobPlan, granule: u64) {
    let plan = plan(job);
    plan.tracking = Tracking::Map { granule: Bytes(granule) };
    plan.checks_seed = false;
    plan.checks_number = false;
}

#[test]
fn blocks_that_are_written_many_times_are_read_back_once() {
    for (method, map) in [
        (VerifyMethod::Fio(Method::Crc32c), true),
        (VerifyMethod::Fio(Method::Meta), true),
        (VerifyMethod::Fiord, true),
        (VerifyMethod::Fiord, false),
    ] {
        for depth in [1, 2, 16] {
            let mut job = job(Method::Crc32c, &[]);
            job.depth.depth = depth;
            job.load.random = true;
            job.load.no_map = map;
            job.end.loops = 3;
            job.load.repeat = false;
            if map {
                with_map(&mut job, 4096);
            }
            plan(&mut job).method = method;
            if method == VerifyMethod::Fiord {
                plan(&mut job).interval = Some(Bytes(512));
            }
            let result = run_plain(&job);
            assert_eq!(result.error, None, "{method:?} at depth {depth}");
            let (reads, writes) = ios(&result);
            assert_eq!(writes, 3 * 64);
            assert!(if map { reads < writes } else { reads == writes }, "{reads} reads");
            let coverage = result.hooks.report.verify.unwrap().coverage;
            assert_eq!(coverage.written, Bytes(writes * 4096));
            assert!(!coverage.is_incomplete(), "{coverage:?}");
        }
    }
}

#[test]
fn blocks_of_several_sizes_at_random_offsets() {
    for method in [VerifyMethod::Fio(Method::Xxhash), VerifyMethod::Fiord] {
        for depth in [1, 3, 16] {
            let mut job = job(Method::Crc32c, &[]);
            job.depth.depth = depth;
            job.load.random = true;
            job.load.no_map = true;
            job.load.mix = Mix::ReadWrite { read_percent: 30 };
            job.load.blocks = PerDir::from_fn(|_| BlockSize::Range { min: 1024, max: 9 * 1024 });
            job.load.align = PerDir::all(1024);
            job.end.bytes = Bytes(4 * SIZE);
            with_map(&mut job, 1024);
            plan(&mut job).method = method;
            plan(&mut job).interval =
                Some(Bytes(if method == VerifyMethod::Fiord { 512 } else { 1024 }));
            let result = run_plain(&job);
            assert_eq!(result.error, None, "{method:?} at depth {depth}");
            assert!(result.recorder.dirs[Dir::Read].bytes > Bytes(SIZE));
        }
    }
}

#[test]
fn a_backlog_is_read_back_between_the_writes() {
    for (writes, batch) in [(10, 10), (16, 4), (16, 40), (1000, 1000), (1, 1)] {
        for (depth, map, loops) in [(1, false, 2), (1, true, 1), (8, false, 1), (8, true, 2)] {
            let mut job = job(Method::Crc32c, &[]);
            (job.depth.depth, job.end.loops) = (depth, loops);
            job.load.random = true;
            job.load.repeat = false;
            if map {
                with_map(&mut job, 4096);
            }
            plan(&mut job).backlog = Some(Backlog { writes, batch });
            let result = run_plain(&job);
            let case = format!("{writes}, {batch}, depth {depth}, map {map}");
            assert_eq!(result.error, None, "{case}");
            // A backlog that grows without bounds is left to the pass over the whole map.
            let writes = 64 * loops;
            assert_eq!(ios(&result), (writes, writes), "{case}");
            let coverage = result.hooks.report.verify.unwrap().coverage;
            assert_eq!(coverage.verified, Bytes(writes * 4096), "{case}");
        }
    }
}

#[test]
fn blocks_that_are_overwritten_before_they_are_read_back_are_read_once() {
    for (writes, batch) in [(16, 16), (16, 1)] {
        for depth in [1, 16] {
            let mut job = job(Method::Meta, &[]);
            job.depth.depth = depth;
            job.load.random = true;
            job.load.no_map = true;
            job.end.bytes = Bytes(64 * SIZE);
            with_map(&mut job, 4096);
            plan(&mut job).backlog = Some(Backlog { writes, batch });
            let result = run_plain(&job);
            assert_eq!(result.error, None);
            let (reads, writes) = ios(&result);
            assert_eq!(writes, 64 * 64);
            assert!((1000..4096).contains(&reads), "{reads} at depth {depth}");
            assert!(!result.hooks.report.verify.unwrap().coverage.is_incomplete());
        }
    }
}

#[test]
fn threads_check_what_was_read() {
    for (threads, depth) in [(1, 1), (1, 8), (3, 1), (3, 16)] {
        for map in [false, true] {
            let mut job = job(Method::Crc32c, &[]);
            job.depth.depth = depth;
            job.load.random = true;
            job.end.loops = 2;
            if map {
                job.load.no_map = true;
                with_map(&mut job, 4096);
            }
            plan(&mut job).threads = threads;
            let result = run_plain(&job);
            let case = format!("{threads} threads, depth {depth}, map {map}");
            assert_eq!(result.error, None, "{case}");
            let (reads, writes) = ios(&result);
            assert_eq!(writes, 2 * 64, "{case}");
            let coverage = result.hooks.report.verify.unwrap().coverage;
            assert_eq!(coverage.verified, Bytes(reads * 4096), "{case}");
            assert!(!coverage.is_incomplete(), "{case}: {coverage:?}");
        }
    }
}

#[test]
fn threads_find_all_bad_blocks() {
    for threads in [0, 1, 2] {
        for depth in [1, 8] {
            let mut job = job(Method::Crc32c, &[("sim_lost_rate", "20")]);
            job.depth.depth = depth;
            job.reporting.continue_on_error.verification = Tolerance::Medium;
            plan(&mut job).threads = threads;
            let result = run_plain(&job);
            assert_eq!(result.survived.unwrap().errno, Some(Errno::EILSEQ));
            let bad = result
                .hooks
                .report
                .verify
                .unwrap()
                .counts()
                .values()
                .fold(0, |sum, count| sum + count.bytes.0);
            assert_eq!(result.recorder.errors, bad / 4096, "{threads} threads, depth {depth}");
            assert_eq!(result.recorder.dirs[Dir::Read].ios, 64);
            job.reporting.continue_on_error.verification = Tolerance::None;
            let result = run_plain(&job);
            assert_eq!(result.error.unwrap().errno, Some(Errno::EILSEQ));
        }
    }
}

#[test]
fn a_lost_write_is_stale_data_of_the_block() {
    for method in [VerifyMethod::Fio(Method::Crc32c), VerifyMethod::Fiord] {
        let mut job = job(Method::Crc32c, &[("sim_lost_rate", "10")]);
        job.depth.depth = 4;
        job.load.random = true;
        job.load.no_map = true;
        job.end.bytes = Bytes(16 * SIZE);
        job.reporting.continue_on_error.verification = Tolerance::Medium;
        with_map(&mut job, 4096);
        plan(&mut job).method = method;
        plan(&mut job).interval =
            Some(Bytes(if method == VerifyMethod::Fiord { 512 } else { 4096 }));
        let result = run_plain(&job);
        let error = result.survived.unwrap();
        assert_eq!(error.errno, Some(Errno::EILSEQ), "{error}");
        let verify = result.hooks.report.verify.unwrap();
        let counts: Vec<_> = verify.counts().iter().collect();
        if method == VerifyMethod::Fiord {
            assert_eq!(counts.len(), 1, "{counts:?}");
            assert_eq!(*counts[0].0, FaultClass::Stale);
        }
        assert!(result.recorder.errors > 1, "{counts:?}");
    }
}

#[test]
fn a_block_that_is_written_many_times_is_right() {
    for depth in [1, 4] {
        let mut job = job(Method::Crc32c, &[]);
        job.depth.depth = depth;
        job.target.files[0].len = Bytes(16384);
        job.load.random = true;
        job.load.no_map = true;
        job.load.mix = Mix::ReadWrite { read_percent: 20 };
        job.end.bytes = Bytes(4096 * 4000);
        with_map(&mut job, 4096);
        plan(&mut job).method = VerifyMethod::Fiord;
        plan(&mut job).interval = Some(Bytes(512));
        plan(&mut job).backlog = Some(Backlog { writes: 3, batch: 3 });
        let result = run_plain(&job);
        assert_eq!(result.error, None, "depth {depth}");
        assert!(!result.hooks.report.verify.unwrap().coverage.is_incomplete());
    }
}
