//! Runs on virtual hosts: exact, and as fast as the machine allows.

mod agent;
mod network;

use fiord_types::{HostIndex, Nanos};

use super::{HostsOutside, LogPart, drive_at};
use crate::conductor::{HostOrder, HostsEvent, HostsRequest, KeptPart, OnLost, RunOrder};
use crate::message::{HostTarget, KeptName};
use crate::outcome::{HostStage, HostsOutcome};
use agent::{ALL_TIMES, Fault, VirtualAgent, When};
use network::{BEGIN, Random, VirtualFabric};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Notes what happens, and interrupts the run at some times.
#[derive(Default)]
struct Notes {
    events: Vec<(u64, HostsEvent)>,
    logs: Vec<(HostIndex, String, Vec<u8>)>,
    /// When the user sends signals.
    signals: Vec<u64>,
    clock: std::rc::Rc<std::cell::Cell<u64>>,
    requests: Vec<HostsRequest>,
    kept: Vec<KeptPart>,
    /// When the trigger fires.
    trigger_at: Option<u64>,
    /// When the user wants the jobs to end.
    finish_at: Option<u64>,
}

impl HostsOutside for Notes {
    fn interrupt(&mut self) -> Option<i32> {
        let due = self.signals.first().is_some_and(|at| self.clock.get() >= *at);
        due.then(|| self.signals.remove(0)).map(|_| 2)
    }
    fn request(&mut self) -> Option<HostsRequest> {
        let due = self.trigger_at.is_some_and(|at| self.clock.get() >= at);
        if due {
            self.trigger_at = None;
            return Some(HostsRequest::Trigger);
        }
        if self.finish_at.take_if(|at| self.clock.get() >= *at).is_some() {
            return Some(HostsRequest::Finish);
        }
        self.requests.pop()
    }
    fn event(&mut self, event: HostsEvent) {
        self.events.push((self.clock.get(), event));
    }
    fn log(&mut self, part: LogPart<'_>) {
        self.logs.push((part.host, part.name.to_owned(), part.bytes.to_vec()));
        if part.last {
            let (host, number) = (part.host, part.number);
            self.requests.insert(0, HostsRequest::Kept { host, number, failed: None });
        }
    }
    fn keep(&mut self, part: KeptPart) {
        // The requests are taken from the end.
        let (host, number) = (part.host, part.number);
        self.requests.insert(0, HostsRequest::Kept { host, number, failed: None });
        self.kept.push(part);
    }
}

/// A finished run.
struct Done {
    outcome: HostsOutcome,
    fabric: VirtualFabric,
    notes: Notes,
    /// How long the run took, ns.
    took: u64,
}

impl Done {
    /// Why a host failed, and in which stage.
    fn failure(&self, host: usize) -> Option<(HostStage, &str)> {
        let failure = self.outcome.hosts[host].failure.as_ref();
        failure.map(|failure| (failure.stage, failure.why.as_str()))
    }
    fn ended(&self, host: usize) -> bool {
        self.outcome.hosts[host].ended.is_some()
    }
    /// When the event occurred that the predicate finds.
    fn when(&self, is_it: impl Fn(&HostsEvent) -> bool) -> Option<u64> {
        self.notes.events.iter().find(|(_, event)| is_it(event)).map(|(at, _)| *at)
    }
}

/// A run that ends in at most a day of virtual time.
struct Scenario {
    agents: Vec<VirtualAgent>,
    on_lost: OnLost,
    seed: u64,
    delay: (u64, u64),
    signals: Vec<u64>,
    /// When the trigger fires, ns after the begin.
    trigger_at: Option<u64>,
    /// When the user wants the jobs to end, ns after the begin.
    finish_at: Option<u64>,
    /// The longest time that the jobs of each host may run, ns.
    longest: Option<u64>,
}

impl Scenario {
    fn of(agents: Vec<VirtualAgent>) -> Self {
        let on_lost = OnLost::Abort;
        Scenario {
            agents,
            on_lost,
            seed: 7,
            delay: (50_000, 50_000),
            signals: Vec::new(),
            trigger_at: None,
            finish_at: None,
            longest: None,
        }
    }

    fn run(self) -> Done {
        let has_state = self.trigger_at.is_some();
        let hosts = (0..self.agents.len()).map(|rank| HostOrder {
            name: format!("n{rank}"),
            states: has_state.then(|| ("a.state".to_owned(), vec![1])).into_iter().collect(),
            longest: self.longest.map(Nanos),
            ..HostOrder::default()
        });
        let order =
            RunOrder { hosts: hosts.collect(), on_lost: self.on_lost, ..RunOrder::default() };
        let mut fabric = VirtualFabric::new(self.agents, self.seed, self.delay);
        let clock = fabric.clock();
        let signals = self.signals.iter().map(|at| BEGIN + at).collect();
        let trigger_at = self.trigger_at.map(|at| BEGIN + at);
        let finish_at = self.finish_at.map(|at| BEGIN + at);
        let clock_of_notes = clock.clone();
        let mut notes =
            Notes { signals, trigger_at, finish_at, clock: clock_of_notes, ..Notes::default() };
        let now = || {
            assert!(clock.get() < BEGIN + 86_400 * SECOND, "the run does not end");
            Nanos(clock.get())
        };
        let outcome = drive_at(&mut fabric, &order, &mut notes, &now);
        let took = clock.get() - BEGIN;
        Done { outcome, fabric, notes, took }
    }
}

fn two(fault: (When, Fault)) -> Vec<VirtualAgent> {
    let good = VirtualAgent::running_for(10 * SECOND);
    let bad = VirtualAgent { fault: Some(fault), ..good.clone() };
    vec![good.clone(), bad, good]
}

#[test]
fn hosts_with_wrong_clocks_start_at_one_time() {
    for seed in 1..20 {
        let mut random = Random(seed * 1_234_567);
        let agents = (0..16).map(|_| VirtualAgent {
            ahead: random.below(1 << 40) as i64 - (1 << 39),
            ppm: random.below(100) as i64 - 50,
            layout: random.below(5000) * MS,
            ..VirtualAgent::running_for(60 * SECOND + random.below(SECOND))
        });
        let scenario = Scenario { seed, ..Scenario::of(agents.collect()) };
        let done = scenario.run();
        let start = done.outcome.start.expect("the jobs started").0;
        for (host, agent) in done.outcome.hosts.iter().zip(&done.fabric.agents) {
            let error = host.clock.expect("the clock was compared");
            assert!(error.bound.0 < 80_000, "{error:?}");
            assert!(error.round_trip.0 >= 100_000, "{error:?}");
            let began = agent.began.expect("the jobs began");
            let finished = agent.finished.expect("the jobs ended");
            assert!(began.abs_diff(start) <= error.bound.0, "{began} {start} {error:?}");
            assert!(host.started[0].0.abs_diff(began) <= error.bound.0);
            let end = host.finished.expect("a converted time").0;
            assert!(end.abs_diff(finished) <= error.bound.0);
            assert_eq!((host.started.len(), host.data.len(), &host.failure), (1, 1, &None));
            assert!(host.report.is_some() && host.facts.is_some() && host.checked.is_some());
            assert!(agent.is_released && agent.told_to_stop.is_none());
        }
        assert_eq!(done.notes.logs.len(), 16);
        assert!(
            done.notes.logs.iter().all(|(_, name, log)| name == "x_bw.log" && log == b"1, 2\n")
        );
    }
}

#[test]
fn the_stages_follow_each_other() {
    let done = Scenario::of(vec![VirtualAgent::running_for(SECOND); 3]).run();
    let stages = done.notes.events.iter().filter_map(|(_, event)| match event {
        HostsEvent::Stage(stage) => Some(*stage),
        _ => None,
    });
    let expected = [
        HostStage::Greet,
        HostStage::Check,
        HostStage::LayOut,
        HostStage::CompareClocks,
        HostStage::Run,
        HostStage::CompareAgain,
        HostStage::Done,
    ];
    assert_eq!(stages.collect::<Vec<_>>(), expected);
    // The coordinator watches the progress, but the user does not want to see it.
    assert!(
        done.fabric.agents.iter().all(|agent| agent.order.as_ref().unwrap().progress.is_some())
    );
    assert_eq!(done.when(|event| matches!(event, HostsEvent::Run { .. })), None);
    assert!(done.took < 2 * SECOND, "{}", done.took);
}

#[test]
fn every_fault_at_every_time_ends_the_run_and_is_named() {
    let faults = [Fault::Killed, Fault::Silent, Fault::Hangs, Fault::Disorder, Fault::Garbage];
    for when in ALL_TIMES {
        for fault in faults {
            let abort = Scenario::of(two((when, fault))).run();
            let name = format!("{when:?} {fault:?} {:?}", abort.outcome.hosts[1].failure);
            // After the end, nothing is missing.
            let harmless = [When::ProbeAfter, When::Bye].contains(&when);
            assert_eq!(abort.failure(1).is_none(), harmless, "{name}");
            for good in [0, 2] {
                assert_eq!(abort.failure(good), None, "{name}");
                assert!(abort.fabric.agents[good].is_released, "{name}");
                assert!(abort.ended(good) || when == When::Hello, "{name}");
            }
            let scenario =
                Scenario { on_lost: OnLost::Continue, ..Scenario::of(two((when, fault))) };
            let others = scenario.run();
            for good in [0, 2] {
                assert!(others.ended(good) && others.failure(good).is_none(), "{name}");
                assert_eq!(others.outcome.hosts[good].data.len(), 1, "{name}");
                assert_eq!(others.fabric.agents[good].told_to_stop, None, "{name}");
            }
        }
    }
}

#[test]
fn a_lost_host_is_named_within_five_seconds() {
    for fault in [Fault::Killed, Fault::Silent] {
        let done = Scenario::of(two((When::Running, fault))).run();
        let lost = done.outcome.start.expect("a start").0 + 5 * SECOND;
        let named =
            done.when(|event| matches!(event, HostsEvent::Failed { host, .. } if host.0 == 1));
        let named = named.expect("the host is named");
        assert!(named >= lost && named < lost + 5 * SECOND, "{fault:?} {}", named - lost);
        assert_eq!(done.failure(1).map(|(stage, _)| stage), Some(HostStage::Run));
        for good in [0, 2] {
            let (at, why) = done.fabric.agents[good].told_to_stop.clone().expect("they stop");
            assert!(at < named + 10 * MS && why == "host n1 failed");
            assert_eq!(done.outcome.hosts[good].data.len(), 1);
        }
        assert!(done.took < 12 * SECOND, "{}", done.took);
    }
}

#[test]
fn the_first_signal_collects_results_and_the_second_one_does_not_wait() {
    let agents = || vec![VirtualAgent::running_for(600 * SECOND); 3];
    let once = Scenario { signals: vec![5 * SECOND], ..Scenario::of(agents()) }.run();
    assert_eq!(once.outcome.signal, Some(2));
    assert!((0..3).all(|host| once.ended(host) && once.failure(host).is_none()));
    assert!(once.outcome.hosts.iter().all(|host| host.data.len() == 1 && host.finished.is_some()));
    assert!(once.took < 6 * SECOND, "{}", once.took);
    let signals = vec![5 * SECOND, 5 * SECOND + 50 * MS];
    let twice = Scenario { signals, ..Scenario::of(agents()) }.run();
    assert!(twice.took < 5 * SECOND + 300 * MS, "{}", twice.took);
    let why = "the user did not wait for its results";
    assert!((0..3).all(|host| twice.failure(host) == Some((HostStage::Run, why))));
    assert!(twice.fabric.agents.iter().all(|agent| agent.is_released));
    // Only hosts without results have failed.
    let mut some = agents();
    some[2].fault = Some((When::Results, Fault::Hangs));
    let signals = vec![5 * SECOND, 7 * SECOND];
    let one = Scenario { signals, ..Scenario::of(some) }.run();
    assert_eq!([0, 1, 2].map(|host| one.failure(host).is_some()), [false, false, true]);
    assert!(one.took < 8 * SECOND, "{}", one.took);
    // A host that does not stop is waited for only some seconds.
    let mut agents = agents();
    agents[1].fault = Some((When::Results, Fault::Hangs));
    let done = Scenario { signals: vec![5 * SECOND], ..Scenario::of(agents) }.run();
    assert_eq!(
        done.failure(1),
        Some((HostStage::Run, "it did not end within 5 s of the order to stop"))
    );
    assert!(done.took < 12 * SECOND && done.ended(0) && done.ended(2), "{}", done.took);
}

#[test]
fn a_host_that_hangs_is_not_waited_for_forever() {
    let mut agents = vec![VirtualAgent::running_for(10 * SECOND); 3];
    agents[0].stalls_after = Some(5 * SECOND);
    agents[2].run = 2000 * SECOND;
    let done = Scenario::of(agents.clone()).run();
    let why = "its jobs did no I/O for 300 s after all other hosts had ended";
    assert_eq!(done.failure(0), Some((HostStage::Run, why)));
    // The user learns early whom the run waits for.
    let is_idle =
        |event: &HostsEvent| matches!(event, HostsEvent::Idle { host, .. } if host.0 == 0);
    let told = done.when(is_idle).expect("the host is named") - done.outcome.start.unwrap().0;
    assert!((20 * SECOND..26 * SECOND).contains(&told), "{told}");
    assert_eq!(done.notes.events.iter().filter(|(_, event)| is_idle(event)).count(), 1);
    // Host 2 does I/O, so the run continues for it. The results of host 0 arrive although it hung.
    assert_eq!((done.failure(2), done.ended(0)), (None, true));
    assert!(done.took > 2000 * SECOND && done.took < 2310 * SECOND, "{}", done.took);
    // Without other hosts, it is the user who decides.
    agents.truncate(1);
    let alone = Scenario { signals: vec![5000 * SECOND], ..Scenario::of(agents) }.run();
    assert_eq!((alone.failure(0), alone.outcome.signal), (None, Some(2)));
}

/// Heartbeats alone do not keep a run alive, also that of one host.
#[test]
fn a_host_that_sends_nothing_but_heartbeats_is_given_up() {
    for when in [When::Running, When::Results] {
        let agent = VirtualAgent {
            fault: Some((when, Fault::Mute)),
            ..VirtualAgent::running_for(10 * SECOND)
        };
        let done = Scenario { signals: vec![5000 * SECOND], ..Scenario::of(vec![agent]) }.run();
        let (stage, why) = done.failure(0).expect("the host is given up");
        assert!(
            stage >= HostStage::Run && why.contains("nothing but heartbeats for 300 s"),
            "{why}"
        );
        assert!(done.took < 330 * SECOND && done.outcome.signal.is_none(), "{}", done.took);
    }
}

/// A host cannot hold a run by inventing progress.
#[test]
fn a_host_whose_jobs_outlast_their_run_time_is_named_and_given_up() {
    let endless = VirtualAgent { is_endless: true, ..VirtualAgent::running_for(10 * SECOND) };
    let bounded = |agents, signals| {
        Scenario { longest: Some(10 * SECOND), signals, ..Scenario::of(agents) }.run()
    };
    let is_overdue = |event: &HostsEvent| matches!(event, HostsEvent::Overdue { .. });
    let done = bounded(vec![endless.clone()], Vec::new());
    let (stage, why) = done.failure(0).expect("the host is given up");
    assert_eq!(stage, HostStage::Run);
    assert_eq!(why, "its jobs had not ended after 320 s, and their run time is 10 s at most");
    let told = done.when(is_overdue).expect("the user learns it") - done.outcome.start.unwrap().0;
    assert!((19 * SECOND..22 * SECOND).contains(&told), "{told}");
    assert_eq!(done.notes.events.iter().filter(|(_, event)| is_overdue(event)).count(), 1);
    // Results that never end do not hold the run, either.
    assert!(done.took > 600 * SECOND && done.took < 660 * SECOND, "{}", done.took);
    // The user need not wait for any of that.
    let begun = 15 * SECOND;
    let done = bounded(vec![endless], vec![begun, begun + 50 * MS]);
    assert!(done.took < begun + 300 * MS, "{}", done.took);
    // Jobs that end in time, or a little later, are not reported.
    let done = bounded(vec![VirtualAgent::running_for(19 * SECOND)], Vec::new());
    assert_eq!((done.when(is_overdue), done.failure(0)), (None, None));
}

#[test]
fn hosts_that_hang_in_their_preparation_are_named_and_given_up() {
    let cases = [
        (When::Job, HostStage::Check, 60, "it did not finish for 60 s"),
        (When::LayOut, HostStage::LayOut, 300, "it made no progress for 300 s"),
    ];
    for (when, at, limit, why) in cases {
        let done = Scenario::of(two((when, Fault::Hangs))).run();
        let (stage, said) = done.failure(1).expect("the host is given up");
        assert!(stage == at && said.starts_with(why), "{stage:?} {said}");
        let is_idle = |event: &HostsEvent| matches!(event, HostsEvent::Idle { host, stage, .. } if host.0 == 1 && *stage == at);
        let told = done.when(is_idle).expect("the user learns whom the run waits for");
        // A layout can have made progress in the first seconds.
        assert!((BEGIN + 10 * SECOND..BEGIN + 19 * SECOND).contains(&told), "{told}");
        assert_eq!(done.notes.events.iter().filter(|(_, event)| is_idle(event)).count(), 1);
        assert!(done.took < (limit + 10) * SECOND, "{}", done.took);
        assert!((0..3).step_by(2).all(|good| done.ended(good) && done.failure(good).is_none()));
        // The user need not wait.
        let signals = vec![5 * SECOND];
        let done = Scenario { signals, ..Scenario::of(two((when, Fault::Hangs))) }.run();
        assert!(done.took < 12 * SECOND && done.failure(1).is_some(), "{}", done.took);
    }
    // A layout that writes takes as long as it takes.
    let mut agents = vec![VirtualAgent::running_for(SECOND); 2];
    agents[1].layout = 5000 * SECOND;
    let done = Scenario::of(agents).run();
    assert!(done.failure(1).is_none() && done.took > 5000 * SECOND, "{}", done.took);
}

#[test]
fn hosts_that_cannot_take_part_are_named_together() {
    let mut agents = vec![VirtualAgent::running_for(SECOND); 4];
    agents[0].refuses = Some("rw: unknown value\u{1b}[1m\nline 2");
    agents[2].refuses = Some("the policy forbids /dev/sda");
    let done = Scenario { on_lost: OnLost::Continue, ..Scenario::of(agents) }.run();
    let refused = |host| done.failure(host).map(|(stage, why)| (stage, why.to_owned()));
    assert_eq!(refused(0), Some((HostStage::Check, "rw: unknown value?[1m\nline 2".to_owned())));
    assert_eq!(refused(2), Some((HostStage::Check, "the policy forbids /dev/sda".to_owned())));
    assert!(done.ended(1) && done.failure(1).is_none() && done.outcome.start.is_none());
    let mut agents = vec![VirtualAgent::running_for(SECOND); 3];
    agents[1].is_held = true;
    let held = Scenario::of(agents.clone()).run();
    let (stage, why) = held.failure(1).expect("the host is held");
    assert!(why.contains("another coordinator is using its agent: eve@admin?[2J."), "{why}");
    assert_eq!((stage, held.ended(0)), (HostStage::Greet, false));
    assert!(held.took < 2 * SECOND && held.fabric.agents.iter().all(|agent| agent.is_released));
    let others = Scenario { on_lost: OnLost::Continue, ..Scenario::of(agents) }.run();
    assert!(others.ended(0) && others.ended(2) && others.outcome.start.is_some());
}

#[test]
fn a_layout_that_fails_ends_the_run_before_the_start() {
    let mut agents = vec![VirtualAgent { layout: SECOND, ..VirtualAgent::running_for(SECOND) }; 3];
    agents[1].layout_error = Some("a.dat: no space left on device");
    let done = Scenario::of(agents.clone()).run();
    let why = "a.dat: no space left on device";
    assert_eq!(done.failure(1), Some((HostStage::LayOut, why)));
    assert!((0..3).all(|host| done.ended(host)) && done.outcome.start.is_none());
    let others = Scenario { on_lost: OnLost::Continue, ..Scenario::of(agents) }.run();
    assert!(others.failure(1).is_some() && others.outcome.hosts[0].data.len() == 1);
}

#[test]
fn a_trigger_ends_the_jobs_when_their_states_are_kept() {
    let mut scenario = Scenario::of(vec![VirtualAgent::running_for(600 * SECOND); 2]);
    scenario.trigger_at = Some(3 * SECOND);
    let done = scenario.run();
    let state = KeptName::State("local-a-0-verify.state".to_owned());
    assert_eq!(done.notes.kept.len(), 2);
    assert!(done.notes.kept.iter().all(|part| part.file == state && part.bytes == b"state"));
    assert!(done.fabric.agents.iter().all(|agent| agent.kept == ["a.state", "7 None", "1 None"]));
    assert!((0..2).all(|host| done.ended(host) && done.failure(host).is_none()));
    assert!(done.took < 5 * SECOND, "{}", done.took);
}

#[test]
fn the_user_ends_the_jobs_of_all_hosts_without_a_stop() {
    // During the run, and during a layout of 2 s, after which the jobs start.
    for (finish_at, layout, least) in
        [(3 * SECOND, 0, 3 * SECOND), (SECOND, 2 * SECOND, 2 * SECOND)]
    {
        let agent = || VirtualAgent { layout, ..VirtualAgent::running_for(600 * SECOND) };
        let mut scenario = Scenario::of(vec![agent(), agent()]);
        scenario.finish_at = Some(finish_at);
        let done = scenario.run();
        assert!((0..2).all(|host| done.ended(host) && done.failure(host).is_none()));
        assert!(done.fabric.agents.iter().all(|agent| agent.told_to_stop.is_none()));
        assert!(done.when(|event| matches!(event, HostsEvent::Stopping { .. })).is_none());
        assert_eq!(done.outcome.signal, None);
        assert!((least..least + 2 * SECOND).contains(&done.took), "{}", done.took);
    }
}

#[test]
fn shared_storage_is_reported_before_the_first_write() {
    let target = |path: &str| HostTarget {
        path: path.to_owned(),
        shared_id: Some("wwid:5000".to_owned()),
        writes: true,
        ..HostTarget::default()
    };
    let mut agents = vec![VirtualAgent::running_for(SECOND); 3];
    agents[0].targets = vec![target("/dev/sda")];
    agents[2].targets = vec![target("/dev/sdb")];
    let done = Scenario::of(agents).run();
    let (stage, why) = done.failure(2).expect("the storage is shared");
    assert_eq!(stage, HostStage::Check);
    assert!(why.starts_with(
        "it would write /dev/sdb, the same storage (wwid:5000) as /dev/sda on host n0."
    ));
    let laid_out = done.when(|event| matches!(event, HostsEvent::Stage(HostStage::LayOut)));
    assert_eq!((laid_out, done.outcome.start), (None, None));
}

/// The messages and the CPU time, ns, of a run on `hosts` hosts.
fn cost(hosts: usize) -> (u64, u64) {
    let agents = (0..hosts).map(|rank| VirtualAgent {
        ahead: rank as i64 * 1_000_003,
        ..VirtualAgent::running_for(2 * SECOND)
    });
    let scenario = Scenario::of(agents.collect());
    let begin = fiord_sys::clock::thread_cpu();
    let done = scenario.run();
    let spent = fiord_sys::clock::thread_cpu() - begin;
    assert!(done.outcome.hosts.iter().all(|host| host.data.len() == 1 && host.failure.is_none()));
    (done.fabric.messages, spent)
}

#[test]
fn the_coordinator_scales_linearly() {
    // Unoptimized code takes ten times as long.
    let few = if cfg!(debug_assertions) { 200 } else { 1000 };
    let (messages, spent) = cost(few);
    let (many, long) = cost(10 * few);
    println!("{few} hosts: {messages} messages, {spent} ns; 10 times as many: {many}, {long} ns");
    // The hosts send heartbeats while they wait for each other, so there are more than ten times as many messages.
    assert!(many < 12 * messages, "{messages} messages became {many}");
    assert!(long < 30 * spent, "{spent} ns became {long} ns");
}

#[test]
fn runs_with_any_faults_end() {
    for seed in 1..400_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let agent = |random: &mut Random| {
            let faults =
                [Fault::Killed, Fault::Silent, Fault::Hangs, Fault::Disorder, Fault::Garbage];
            let when = ALL_TIMES[random.below(ALL_TIMES.len() as u64) as usize];
            let fault = faults[random.below(faults.len() as u64) as usize];
            VirtualAgent {
                ahead: random.below(1 << 50) as i64,
                layout: random.below(8) * SECOND,
                fault: (random.below(3) == 0).then_some((when, fault)),
                refuses: (random.below(30) == 0).then_some("no"),
                layout_error: (random.below(20) == 0).then_some("the device is full"),
                is_held: random.below(40) == 0,
                stalls_after: (random.below(20) == 0).then_some(SECOND),
                ..VirtualAgent::running_for(random.below(20) * SECOND)
            }
        };
        let agents = (0..=random.below(6)).map(|_| agent(&mut random)).collect::<Vec<_>>();
        let on_lost = if random.below(2) == 0 { OnLost::Abort } else { OnLost::Continue };
        // At the latest, the user ends runs in which a host hangs before the start or that has only one host.
        let mut signals = vec![random.below(20) * SECOND; random.below(3) as usize];
        signals.resize(2, 1000 * SECOND);
        let scenario = Scenario { on_lost, seed, signals: signals.clone(), ..Scenario::of(agents) };
        let done = scenario.run();
        assert!(done.took < 1001 * SECOND, "seed {seed}: {}", done.took);
        let started = done.outcome.start.is_some();
        for (rank, host) in done.outcome.hosts.iter().enumerate() {
            let explained = host.ended.is_some() || host.failure.is_some();
            assert!(explained || !started, "seed {seed}, host {rank}");
            assert!(host.finished.is_none() || host.clock.is_some(), "seed {seed}, host {rank}");
        }
        assert!(done.fabric.are_all_gone(), "seed {seed}");
    }
}
