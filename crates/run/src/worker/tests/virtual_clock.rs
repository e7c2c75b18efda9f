//! Jobs on the simulated device, whose clock is exact.

use super::*;

#[test]
fn latencies_are_the_devices_own_to_the_nanosecond() {
    // One channel and a constant latency: with depth d, each I/O waits for those before it.
    for (depth, channels, clat) in [(1, "1", 100_000), (32, "32", 100_000), (4, "1", 400_000)] {
        let mut job = on_sim(&[("sim_latency", "constant:100us"), ("sim_channels", channels)]);
        job.depth.depth = depth;
        job.end.ios = Some(3200);
        let result = run_plain(&job);
        assert_eq!(result.error, None);
        let read = &result.recorder.dirs[Dir::Read];
        assert_eq!(read.ios, 3200);
        assert_eq!(read.clat.max(), clat, "depth {depth}, {channels} channels");
        assert_eq!(read.lat.max(), clat);
        let rounds = if channels == "1" { 3200 } else { 3200 / u64::from(depth) };
        assert_eq!(result.runtime, Nanos(rounds * 100_000));
    }
}

/// Batches of all or half of the depth, in the loop for default measurements and in the loop that decides at run
/// time, for reads and writes: every latency equals that of the device.
#[test]
fn latencies_of_batches_are_the_devices_own_to_the_nanosecond() {
    for (batch, dynamic) in [(None, false), (None, true), (Some(16), false), (Some(16), true)] {
        for mix in [Mix::Read, Mix::Write, Mix::ReadWrite { read_percent: 70 }] {
            let mut job = on_sim(&[("sim_latency", "constant:100us"), ("sim_channels", "32")]);
            job.depth.depth = 32;
            (job.depth.batch, job.depth.complete_min) = (batch, batch);
            job.load.mix = mix;
            job.load.random = true;
            job.load.serialize_overlap = dynamic;
            job.end.ios = Some(3200);
            let result = run_plain(&job);
            assert_eq!(result.error, None);
            let busy = result.recorder.dirs.values().filter(|dir| dir.ios > 0);
            assert_eq!(busy.clone().map(|dir| dir.ios).sum::<u64>(), 3200);
            for dir in busy {
                assert_eq!((dir.clat.min(), dir.clat.max()), (100_000, 100_000));
                assert_eq!((dir.lat.min(), dir.lat.max()), (100_000, 100_000));
                assert_eq!((dir.slat.max(), dir.clat.n(), dir.lat.n()), (0, dir.ios, dir.ios));
                assert_eq!(dir.clat_hist.count(), dir.ios);
                assert_eq!(dir.bytes.0, dir.ios * 4096);
            }
            assert_eq!(result.runtime, Nanos(100 * 100_000));
            assert_eq!(result.shares, None, "its time is not the processor's");
        }
    }
}

#[test]
fn a_run_time_on_the_virtual_clock_is_exact_and_takes_no_time() {
    let began = std::time::Instant::now();
    let mut job = on_sim(&[("sim_latency", "constant:20ms")]);
    job.end.runtime = Some(Nanos(3_600_000_000_000));
    job.end.time_based = true;
    let result = run_plain(&job);
    assert_eq!(result.recorder.dirs[Dir::Read].ios, 180_000);
    assert_eq!(result.runtime, Nanos::from_secs(3600));
    // An hour of the virtual clock.
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
}

/// On a virtual clock, a rate is kept exactly, to the I/O.
#[test]
fn a_rate_is_exact_on_the_virtual_clock() {
    for (depth, rate) in [(1, 1000), (1, 1), (8, 1000), (1, 333_333), (32, 900_000)] {
        let mut job = on_sim(&[("sim_latency", "constant:1us"), ("sim_channels", "32")]);
        job.depth.depth = depth;
        job.pace.rate = PerDir::all(Some(fiord_plan::Rate::Ios(rate)));
        job.end.time_based = true;
        let seconds = if rate > 1000 { 1 } else { 5 };
        job.end.runtime = Some(Nanos(seconds * 1_000_000_000));
        let result = run_plain(&job);
        assert_eq!(result.error, None);
        let read = &result.recorder.dirs[Dir::Read];
        let wanted = seconds * rate;
        assert!(read.ios.abs_diff(wanted) <= 1, "{rate} at {depth}: {} I/Os", read.ios);
        assert_eq!(read.intended.n(), read.ios);
        assert!(
            result.runtime.abs_diff(Nanos::from_secs(seconds)) < Nanos(2000),
            "{}",
            result.runtime.0
        );
        // Every I/O is on time, so it takes only the device's microsecond.
        assert!(read.intended.max() <= 2000, "{}", read.intended.max());
    }
}

/// The simulated device has equal latencies in each run of a job. What a job does not measure changes nothing of what it
/// measures.
#[test]
fn total_latencies_do_not_depend_on_what_else_is_measured() {
    for depth in [1, 4] {
        let run = |options: &dyn Fn(&mut fiord_plan::Record)| {
            let mut job = on_sim(&[("sim_latency", "lognormal:90us:0.4")]);
            job.depth.depth = depth;
            job.load.random = true;
            job.end.ios = Some(3200);
            options(&mut job.record);
            let result = run_plain(&job);
            assert_eq!(result.error, None);
            result
        };
        let only_total = |record: &mut fiord_plan::Record| {
            (record.clat, record.slat) = (false, false);
        };
        let all = run(&|_| ());
        let alone = run(&only_total);
        let with_percentiles = run(&|record| {
            only_total(record);
            record.lat_percentiles = true;
        });
        let of = |result: &WorkerResult| result.recorder.dirs[Dir::Read].clone();
        let (all, measured) = (of(&all), of(&alone));
        assert_eq!((all.lat.n(), all.lat.min() < all.lat.max()), (3200, true));
        assert_eq!(all.clat_hist.count(), 3200);
        // Count, smallest, largest, sum and sum of squares.
        assert_eq!((measured.lat, measured.ios, measured.bytes), (all.lat, all.ios, all.bytes));
        assert_eq!((measured.clat.n(), measured.slat.n()), (0, 0));
        assert!(measured.clat_hist.is_empty() && measured.lat_hist.is_empty());
        assert_eq!(alone.recorder.latency_buckets().0, [0; 32]);
        let percentiles = of(&with_percentiles);
        assert_eq!((percentiles.lat, percentiles.lat_hist), (all.lat, all.clat_hist));
        assert!(percentiles.clat_hist.is_empty());
    }
}
