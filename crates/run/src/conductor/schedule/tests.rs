use fiord_plan::EnginePlan;
use fiord_types::{JobIndex, Nanos};

use super::*;

fn jobs(n: usize) -> Vec<JobPlan> {
    let mut jobs = vec![JobPlan::plain(EnginePlan::Null, 1 << 20); n];
    for (index, job) in jobs.iter_mut().enumerate() {
        job.identity.index = JobIndex(index);
    }
    jobs
}

#[test]
fn a_stonewall_waits_for_all_earlier_jobs() {
    let mut jobs = jobs(4);
    jobs[2].start.stonewall = true;
    let mut schedule = Schedule::new(&jobs);
    assert_eq!(schedule.start(0), [0, 1]);
    schedule.ended(1);
    assert!(schedule.start(0).is_empty());
    schedule.ended(0);
    assert_eq!(schedule.start(0), [2, 3]);
    schedule.ended(2);
    schedule.ended(3);
    assert!(schedule.over());
}

#[test]
fn a_delay_or_wait_for_delays_only_its_own_job() {
    let mut jobs = jobs(4);
    jobs[0].start.delay = (Nanos(1000), Nanos(1000));
    jobs[1].start.wait_for = vec![JobIndex(3)];
    let mut schedule = Schedule::new(&jobs);
    assert_eq!(schedule.start(0), [2, 3]);
    assert_eq!(schedule.next_start(), Some(1000));
    assert_eq!(schedule.start(1000), [0]);
    schedule.ended(3);
    assert_eq!(schedule.start(1000), [1]);
}

#[test]
fn delays_are_drawn_from_the_range_and_repeat() {
    let mut jobs = jobs(50);
    for job in &mut jobs {
        job.start.delay = (Nanos(10), Nanos(20));
    }
    let one = Schedule::new(&jobs);
    let two = Schedule::new(&jobs);
    assert_eq!(one.delays, two.delays);
    assert!(one.delays.iter().all(|d| (10..=20).contains(d)));
    assert!(one.delays.iter().any(|d| d != &one.delays[0]));
}

#[test]
fn exitall_stops_the_jobs_that_exit_what_names() {
    let mut jobs = jobs(4);
    jobs[2].identity.group = 1;
    jobs[3].identity.group = 1;
    jobs[3].identity.stonewall_group = 1;
    let mut schedule = Schedule::new(&jobs);
    schedule.start(0);
    assert!(schedule.ended_with(0, true).is_empty());
    for (what, expected) in [
        (ExitWhat::Group, vec![1]),
        (ExitWhat::Stonewall, vec![1, 2]),
        (ExitWhat::All, vec![1, 2, 3]),
    ] {
        let mut jobs = jobs.clone();
        jobs[0].end.exitall = true;
        jobs[0].end.exit_what = what;
        let mut schedule = Schedule::new(&jobs);
        schedule.start(0);
        assert_eq!(schedule.ended_with(0, false), expected);
        jobs[0].end.exitall = false;
        jobs[0].end.exitall_on_error = true;
        let mut schedule = Schedule::new(&jobs);
        schedule.start(0);
        assert!(schedule.ended_with(0, false).is_empty());
        assert_eq!(schedule.ended_with(0, true), expected);
    }
}
