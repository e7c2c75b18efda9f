use fiord_types::{Bytes, Dir, Errno, Nanos, PerDir};

use super::*;
use crate::recorder::{Times, axes};
use crate::windows::RateStat;

/// Latencies of an I/O in nanoseconds.
fn times(slat: u64, clat: u64, lat: u64) -> Times {
    Times { slat: Nanos(slat), clat: Nanos(clat), lat: Nanos(lat) }
}

fn job(name: &str, group: u32, joins: bool, ios: u64, runtime_ms: u64) -> JobData {
    let mut recorder = Recorder::new(axes::ASYNC, &[Dir::Read]);
    for i in 0..ios {
        recorder.issued(Dir::Read);
        recorder.depth.record(4);
        let times = times(10, 1000 + i, 1010 + i);
        recorder.complete::<{ axes::ASYNC }>(Dir::Read, Bytes(4096), times);
    }
    recorder.submit.record_n(4, ios / 4);
    recorder.complete.record_n(4, ios / 4);
    JobData {
        settings: JobSettings {
            name: name.into(),
            group_id: group,
            group_reporting: joins,
            ..JobSettings::default()
        },
        recorder,
        dir_runtime: PerDir::new(runtime_ms, 0, 0).map(Nanos::from_millis),
        runtime: Nanos::from_millis(runtime_ms),
        user: Nanos::from_millis(10),
        ctx: 5,
        ..JobData::default()
    }
}

fn text(errno: Errno) -> String {
    format!("error {}", errno.raw())
}

#[test]
fn each_job_has_its_own_entry_without_group_reporting() {
    let jobs = vec![job("a", 0, false, 100, 50), job("b", 0, false, 300, 100)];
    let (entries, groups) = assemble(jobs, &text);
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].members, 1);
    let read = &groups[0].dirs[0];
    // All bytes divided by the longest run time; slowest and fastest job.
    assert_eq!(read.agg_bw, Bytes(400 * 4096 * 10));
    assert_eq!((read.min_bw, read.max_bw), (Bytes(100 * 4096 * 20), Bytes(300 * 4096 * 10)));
    assert_eq!((read.min_run.as_millis(), read.max_run.as_millis()), (50, 100));
}

#[test]
fn groups_become_one_entry() {
    let mut jobs = vec![job("a", 0, false, 100, 50), job("b", 0, true, 300, 100)];
    jobs.push(job("c", 1, true, 4, 10));
    jobs[1].error = Some(Errno::EIO);
    jobs[1].error_site = Some(("/x".into(), "read".into()));
    jobs[0].settings.description = Some("first".into());
    let (entries, groups) = assemble(jobs, &text);
    assert_eq!((entries.len(), groups.len()), (2, 2));
    let entry = &entries[0];
    assert_eq!((entry.name.as_str(), entry.members), ("a", 2));
    assert_eq!(entry.description.as_deref(), Some("first"));
    assert_eq!(
        (entry.error, entry.error_text.as_str()),
        (Some(Errno::EIO), "file:/x, func=read, error=error 5")
    );
    assert_eq!(
        (entry.runtime.as_millis(), entry.ctx, entry.usr_cpu),
        (150, 10, 100.0 * 20.0 / 150.0)
    );
    let read = &entry.dirs[0];
    assert_eq!((read.total_ios, read.runtime.as_millis()), (400, 100));
    assert_eq!((read.clat.n, read.clat.min, read.clat.max), (400, Nanos(1000), Nanos(1299)));
    assert_eq!(read.clat.bins.iter().map(|b| b.1).sum::<u64>(), 400);
    assert_eq!(entry.latency_us[0], 100.0);
    assert_eq!(entry.depth_level[2], 100.0);
    assert_eq!(entry.depth_submit[1], 100.0);
    assert_eq!(entry.issued, [400, 0, 0, 0]);
}

#[test]
fn a_job_without_coarse_buckets_can_be_merged() {
    let mut plain = job("a", 0, false, 100, 50);
    let mut recorder = Recorder::new(axes::CLAT | axes::CLAT_HIST, &[Dir::Read]);
    for _ in 0..100 {
        let times = times(0, 5, 0);
        recorder.complete::<{ axes::CLAT | axes::CLAT_HIST }>(Dir::Read, Bytes(1), times);
    }
    plain.merge(&JobData { recorder, ..JobData::default() });
    let buckets = plain.recorder.latency_buckets();
    assert_eq!(buckets.0.iter().sum::<u64>(), 100);
    assert_eq!(buckets.0[10], 100);
}

#[test]
fn unified_reporting_merges_directions() {
    for (unified, kinds) in [
        (Unified::Mixed, vec![DirKind::Mixed]),
        (Unified::Both, vec![DirKind::Read, DirKind::Write, DirKind::Trim, DirKind::Mixed]),
    ] {
        let mut one = job("a", 0, false, 100, 50);
        let write = times(1, 7, 8);
        one.recorder.issued(Dir::Write);
        one.recorder.complete::<{ axes::ASYNC }>(Dir::Write, Bytes(4096), write);
        one.dir_runtime[Dir::Write] = Nanos::from_millis(40);
        one.settings.unified = unified;
        let (entries, groups) = assemble(vec![one], &text);
        let found: Vec<DirKind> = entries[0].dirs.iter().map(|d| d.kind).collect();
        assert_eq!(found, kinds);
        let mixed = entries[0].dirs.last().expect("one is there");
        assert_eq!((mixed.total_ios, mixed.runtime.as_millis(), mixed.clat.min.0), (101, 50, 7));
        let group = groups[0].dirs.last().expect("one is there");
        let issued = if unified == Unified::Mixed { [101, 0, 0, 0] } else { [100, 1, 0, 0] };
        assert_eq!(entries[0].issued, issued);
        let slowest = if unified == Unified::Mixed { mixed.bw } else { Bytes(4096 * 25) };
        assert_eq!(group.min_bw, slowest);
    }
}

#[test]
fn synchronous_engines_record_total_and_completion_latency_once() {
    let mut recorder = Recorder::new(axes::SYNC, &[Dir::Read]);
    recorder.lat_is_clat = true;
    recorder.complete::<{ axes::SYNC }>(Dir::Read, Bytes(1), times(0, 900, 0));
    recorder.issued_one_by_one(Dir::Read, 1);
    recorder.finish();
    assert_eq!((recorder.dirs[Dir::Read].lat.min(), recorder.dirs[Dir::Read].lat.n()), (900, 1));
    assert_eq!((recorder.depth.0[0], recorder.submit.0[1], recorder.complete.0[1]), (1, 1, 1));
    recorder.reset();
    assert_eq!(recorder.latency_buckets().0, [0; 32]);
    assert_eq!(recorder.totals(), PerDir::all((Bytes::ZERO, 0)));
}

#[test]
fn latencies_that_were_not_requested_are_cleared() {
    let times = times(100, 900, 1000);
    let mut recorder = Recorder::new(axes::ASYNC, &[Dir::Read]);
    recorder.axes = axes::LAT;
    recorder.complete::<{ axes::ASYNC }>(Dir::Read, Bytes(4096), times);
    recorder.keep_asked();
    recorder.finish();
    let read = &recorder.dirs[Dir::Read];
    assert_eq!((read.lat.n(), read.lat.max()), (1, 1000));
    assert_eq!((read.slat.n(), read.clat.n(), read.clat_hist.count()), (0, 0, 0));
    assert_eq!(
        (recorder.latency_buckets().0, recorder.totals()[Dir::Read]),
        ([0; 32], (Bytes(4096), 1))
    );
}

#[test]
fn a_total_latency_alone_is_kept_when_the_completion_latency_that_equals_it_is_cleared() {
    let mut recorder = Recorder::new(axes::ASYNC, &[Dir::Read]);
    (recorder.axes, recorder.lat_is_clat) = (axes::LAT, true);
    recorder.complete::<{ axes::SYNC }>(Dir::Read, Bytes(1), times(0, 900, 0));
    recorder.keep_asked();
    recorder.finish();
    let read = &recorder.dirs[Dir::Read];
    assert_eq!((read.lat.n(), read.lat.max(), read.clat.n()), (1, 900, 0));
    assert_eq!((read.clat_hist.count(), recorder.latency_buckets().0), (0, [0; 32]));
}

#[test]
fn a_job_that_still_runs_has_total_latencies() {
    let mut recorder = Recorder::new(axes::SYNC, &[Dir::Read]);
    recorder.lat_is_clat = true;
    recorder.complete::<{ axes::SYNC }>(Dir::Read, Bytes(1), times(0, 900, 0));
    let one = JobData { recorder, ..JobData::default() };
    let (entries, _) = assemble(vec![one], &text);
    assert_eq!((entries[0].dirs[0].lat.n, entries[0].dirs[0].lat.max), (1, Nanos(900)));
}

#[test]
fn rates_are_shares_of_the_group() {
    let mut jobs = vec![job("a", 0, false, 1000, 1000), job("b", 0, false, 3000, 1000)];
    for (job, kib) in jobs.iter_mut().zip([4000, 12000]) {
        let mut rate = RateStat::default();
        rate.record(kib);
        rate.record(kib);
        job.windows.bw[Dir::Read] = rate;
    }
    let (entries, _) = assemble(jobs, &text);
    let shares: Vec<f64> = entries.iter().map(|e| e.dirs[0].bw_samples.agg).collect();
    assert_eq!(shares, [25.0, 75.0]);
}

#[test]
fn a_small_share_is_not_shown_as_zero() {
    let mut one = job("a", 0, false, 100_000, 50);
    one.recorder.issued(Dir::Read);
    one.recorder.depth.record(1);
    let slow = times(1, 3_000_000, 3_000_001);
    one.recorder.complete::<{ axes::ASYNC }>(Dir::Read, Bytes(4096), slow);
    let (entries, _) = assemble(vec![one], &text);
    assert_eq!(entries[0].latency_ms[1], 0.01);
    assert_eq!(entries[0].depth_level[0], 0.1);
    assert_eq!(entries[0].latency_ms[0], 0.0);
}

/// fio 3.42: an entry of several jobs uses the units of the first job, a group those of its last entry.
#[test]
fn an_entry_uses_the_first_style_and_a_group_the_last() {
    let bits = |mut one: JobData, reporting: bool| {
        one.settings.style.bits = true;
        one.settings.group_reporting = reporting;
        one
    };
    for reporting in [false, true] {
        let mut plain = job("b", 0, false, 1, 1);
        plain.settings.group_reporting = reporting;
        let (entries, groups) =
            assemble(vec![bits(job("a", 0, false, 1, 1), reporting), plain], &text);
        assert!(entries[0].style.bits);
        assert_eq!(groups[0].style.bits, reporting);
    }
}

#[test]
fn a_reset_keeps_what_the_device_has_counted() {
    let mut recorder = Recorder::new(axes::SYNC, &[Dir::Write]);
    let times = Times { clat: Nanos(100), ..Times::default() };
    for round in 1..=2 {
        recorder.complete_with(axes::SYNC, Dir::Write, Bytes(8192), times, 2);
        recorder.sync_issued = 3;
        recorder.dirs[Dir::Write].failed_bytes = Bytes(512);
        recorder.reset();
        let kept = recorder.ramp.dirs[Dir::Write];
        assert_eq!((kept.ios(), kept.bytes), (2 * round, Bytes(8192 * round)));
        assert_eq!((kept.timed(), kept.time), (2 * round, Nanos(200 * round)));
        assert_eq!((kept.failed_bytes, recorder.ramp.syncs.0), (Bytes(512 * round), 3 * round));
        assert_eq!((recorder.dirs[Dir::Write].ios, recorder.sync_issued), (0, 0));
    }
}

#[test]
fn a_merged_entry_has_the_options_that_all_of_its_jobs_share() {
    let options = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let with = |name: &str, list| {
        let mut job = job(name, 0, true, 4, 10);
        job.settings.options = options(list);
        job
    };
    let jobs = vec![
        with("a", &[("rw", "read"), ("bs", "4k"), ("size", "1m")]),
        with("b", &[("rw", "write"), ("bs", "4k"), ("size", "1m"), ("iodepth", "4")]),
        with("c", &[("bs", "4k"), ("size", "2m")]),
    ];
    let (entries, _) = assemble(jobs, &text);
    assert_eq!((entries.len(), entries[0].name.as_str()), (1, "a"));
    assert_eq!(entries[0].options, options(&[("bs", "4k")]));
}
