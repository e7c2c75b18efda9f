//! Plans, machines and reports for the tests of findings about devices.

use std::collections::HashMap;
use std::path::PathBuf;

use fiord_plan::{EnginePlan, FileKind, JobPlan, Mix, Plan};
use fiord_stat::finding::Finding;
use fiord_stat::report::{JobReport, Report};
use fiord_sys::survey::fixture::Machine as Tree;
use fiord_sys::survey::{Disk, DiskSurvey, SurveyDepth};
use fiord_types::Nanos;

use crate::check::{After, Before, Check, CollectedFindings};
use crate::machine::Devices;
use crate::machine::Machine;

/// A job with direct random reads on an engine that queues, its machine and its result.
pub(crate) struct Case {
    pub plan: Plan,
    pub machine: Machine,
    pub after: Machine,
    pub report: Report,
}

impl Case {
    /// Returns the job, to change it.
    pub(crate) fn job(&mut self) -> &mut JobPlan {
        &mut self.plan.jobs[0]
    }

    /// Changes a disk, before and after the run.
    pub(crate) fn disks(&mut self, change: impl Fn(&mut Disk)) {
        self.machine.devices.disks.iter_mut().for_each(&change);
        self.after.devices.disks.iter_mut().for_each(&change);
    }

    /// Makes the job write.
    pub(crate) fn writing(mut self) -> Case {
        self.job().load.mix = Mix::Write;
        self.job().target.open.read_only = false;
        self
    }
}

/// Returns a case whose targets are all disks of the simulated machine.
pub(crate) fn with_disks(tree: &Tree) -> Case {
    let disks = DiskSurvey::new(tree.root(), SurveyDepth::Files).disks();
    let mut job = JobPlan::plain(EnginePlan::IoUring(fiord_plan::IoUringPlan::default()), 1 << 30);
    job.load.random = true;
    job.target.open.direct = true;
    let plain = job.target.files[0].clone();
    let file = |disk: &Disk| fiord_plan::FilePlan {
        path: disk.node(),
        kind: FileKind::Block,
        ..plain.clone()
    };
    job.target.files = disks.iter().map(file).collect();
    let under: HashMap<PathBuf, Vec<String>> =
        disks.iter().map(|disk| (disk.node(), vec![disk.name.clone()])).collect();
    let machine =
        Machine { devices: Devices { disks, under, ..Devices::default() }, ..Machine::default() };
    let report = Report {
        jobs: vec![JobReport { members: 1, runtime: Nanos::from_secs(10), ..JobReport::default() }],
        ..Report::default()
    };
    Case {
        plan: Plan { jobs: vec![job], global_options: Vec::new() },
        after: machine.clone(),
        machine,
        report,
    }
}

/// Returns a case with one NVMe drive whose link runs at its best.
pub(crate) fn one_drive() -> Case {
    let tree = Tree::new();
    let port = tree.port(None, "0000:00:01.0", ("16.0", 4), ("16.0", 4));
    tree.nvme(Some(&port), "0000:01:00.0", 0, ("16.0", 4), ("16.0", 4));
    with_disks(&tree)
}

/// Returns the findings of a check before the run.
pub(crate) fn found_before(check: &Check, case: &Case) -> Vec<Finding> {
    let mut findings = CollectedFindings::default();
    let known = Before { plan: &case.plan, machine: &case.machine };
    check.before.expect("a check before the run")(&known, &mut findings);
    findings.findings().cloned().collect()
}

/// Returns the findings of a check after the run, including checks that could not run.
pub(crate) fn after(check: &Check, case: &Case) -> CollectedFindings {
    let mut findings = CollectedFindings::default();
    let known =
        After { plan: &case.plan, before: &case.machine, after: &case.after, report: &case.report };
    check.after.expect("a check after the run")(&known, &mut findings);
    findings
}

/// Returns the findings of a check after the run.
pub(crate) fn found_after(check: &Check, case: &Case) -> Vec<Finding> {
    after(check, case).findings().cloned().collect()
}
