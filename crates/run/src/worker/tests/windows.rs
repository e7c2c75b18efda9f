//! Checks that the plain loops end the windows of logs before they record the first I/O after them.

use fiord_formats::log::LogKind;
use fiord_plan::{LogFilePlan, LogForm, LogPlan, LogWindowValue};

use super::loops::mode::Synchronous;
use super::*;
use crate::logs::{JobLog, LogChannel};

/// A log of completion latencies in windows.
fn windows_of(length: Nanos) -> LogPlan {
    LogPlan {
        files: vec![LogFilePlan {
            kind: LogKind::CompletionLatency,
            name: "x".into(),
            path: "x".into(),
        }],
        append: false,
        form: LogForm::Text,
        columns: Default::default(),
        window: Some(length),
        bandwidth_window: length,
        iops_window: length,
        value: LogWindowValue::Avg,
        histogram_window: None,
        coarseness: Default::default(),
        empty_windows: false,
        clock: None,
        cpus: None,
    }
}

#[test]
fn an_io_is_in_the_window_in_which_it_completed() {
    const WINDOW: u64 = 100_000;
    const IOS: u64 = 20_050;
    for depth in [1, 4] {
        let mut job = plain();
        job.depth.depth = depth;
        job.load.mix = Mix::Write;
        job.log = Some(windows_of(Nanos(WINDOW)));
        let mut engine = Scripted::new(depth == 1, depth, whole);
        let slots = engine.take_slots();
        let (control, live) = (JobControl::new(), Live::new());
        let mut files = NoFiles(1);
        let recorder = Recorder::new(axes::ASYNC, &[Dir::Write]);
        let channel = Arc::new(LogChannel::without_writer());
        let state = JobState::new(&job, &mut files, &control, &live, recorder, Hooks::none(), 0)
            .with_log(JobLog::of(&job, Some(&channel), true));
        let list = List((0..IOS).map(write_at).collect(), 0);
        let mut worker = Worker::new((engine, slots), list, Nothing, state);
        match depth {
            1 => worker.run_direct::<Synchronous>(),
            _ => worker.run_queued::<Asynchronous>(),
        }
        worker.finish();
        assert_eq!(worker.result().error, None);
        // An I/O completes each microsecond, also within bursts of samples.
        let windows = channel.written_windows();
        assert_eq!(windows.len() as u64, IOS * 1000 / WINDOW + 1);
        for (number, (end, ios)) in (1..).zip(&windows) {
            let expected = match number {
                _ if *end < number * WINDOW => 50,
                _ => 100,
            };
            assert_eq!(*ios, expected, "{depth} deep, window {number}");
        }
    }
}
