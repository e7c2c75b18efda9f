//! Results of the time slices of a run (`latency_limits`).

use fiord_plan::{JobPlan, LatencySlices, Plan};
use fiord_stat::job::JobData;
use fiord_stat::slices::{Ending, LatencyLimit, Slice, SliceTable, merge};
use fiord_types::Nanos;

/// The jobs that get one verdict together.
struct Test<'a> {
    group_id: u32,
    slices: &'a LatencySlices,
    counted: Vec<Slice>,
    ending: Ending,
}

/// One table for all jobs of a group with the same slice name, slice length and limits.
pub(crate) fn tables(plan: &Plan, jobs: &[JobData]) -> Vec<SliceTable> {
    let mut tests: Vec<Test> = Vec::new();
    for (job, data) in plan.jobs.iter().zip(jobs) {
        let Some(slices) = &job.record.slices else { continue };
        let group_id = job.identity.group;
        let same = |test: &Test| test.group_id == group_id && test.slices == slices;
        let index = tests.iter().position(same).unwrap_or_else(|| {
            tests.push(Test { group_id, slices, counted: Vec::new(), ending: Ending::Whole });
            tests.len() - 1
        });
        let test = &mut tests[index];
        if let Some(counts) = &data.recorder.slices {
            merge(&mut test.counted, counts.counted());
        }
        test.ending = worse(test.ending, ending(job, data));
    }
    tests.into_iter().map(table).collect()
}

fn table(test: Test) -> SliceTable {
    let limit = |&(over, percent): &(Nanos, f64)| LatencyLimit { over, percent };
    let table = SliceTable {
        name: test.slices.name.clone(),
        group_id: test.group_id,
        slice: test.slices.length,
        limits: test.slices.limits.iter().map(limit).collect(),
        ..SliceTable::default()
    };
    table.judge(&test.counted, test.ending)
}

/// How a job ended. A time-based job is complete only if it ran for its whole run time.
fn ending(job: &JobPlan, data: &JobData) -> Ending {
    let wanted = job
        .end
        .runtime
        .filter(|_| job.end.time_based)
        .map_or(Nanos::ZERO, |time| Nanos::from_millis(time.as_millis()));
    match data.failed {
        true => Ending::Failed,
        false if data.recorder.slices.is_some() && data.runtime >= wanted => Ending::Whole,
        false => Ending::Short,
    }
}

fn worse(a: Ending, b: Ending) -> Ending {
    match (a, b) {
        (Ending::Failed, _) | (_, Ending::Failed) => Ending::Failed,
        (Ending::Short, _) | (_, Ending::Short) => Ending::Short,
        (Ending::Whole, Ending::Whole) => Ending::Whole,
    }
}
