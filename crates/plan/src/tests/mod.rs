//! Tests of `resolve` on an imaginary machine.

mod arbitrary;
mod ceph;
mod contents;
mod distribution;
mod endpoints;
mod fields;
mod flash;
mod golden;
mod harm;
mod http;
mod io_priorities;
mod libblkio;
mod logs;
mod machine;
mod names;
mod net;
mod nvme;
mod order;
mod pace;
mod placement;
mod pmem;
mod ranges;
mod rdma;
mod regions;
mod registry;
mod scsi;
mod simple;
mod sprandom;
mod unused_options;
mod verify;
mod xnvme;
mod zones;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::load;

use crate::{JobPlan, PlanOptions, Resolved, resolve};
pub(crate) use machine::Fake;

/// Resolves a command line, split at spaces, on a machine.
pub(crate) fn run(machine: &Fake, line: &str) -> Result<Resolved, Vec<Diagnostic>> {
    let args: Vec<String> = line.split_whitespace().map(String::from).collect();
    let invocation = fiord_job::invocation(&args, &mut load::Memory::default())?;
    resolve(&invocation.jobs, PlanOptions::of(&invocation), machine)
}

/// The jobs of a valid command line.
pub(crate) fn jobs(machine: &Fake, line: &str) -> Vec<JobPlan> {
    match run(machine, line) {
        Ok(resolved) => resolved.plan.jobs,
        Err(errors) => panic!("{line}: {errors:#?}"),
    }
}

/// The only job of a valid command line.
pub(crate) fn job(machine: &Fake, line: &str) -> JobPlan {
    jobs(machine, line).remove(0)
}

/// The first error of an invalid command line.
pub(crate) fn error(machine: &Fake, line: &str) -> String {
    match run(machine, line) {
        Ok(resolved) => panic!("{line}: {resolved:#?}"),
        Err(errors) => errors[0].what.clone(),
    }
}

/// The warnings about a valid command line.
pub(crate) fn warned(line: &str) -> Vec<String> {
    match run(&Fake::default(), line) {
        Ok(resolved) => resolved.warnings.into_iter().map(|warning| warning.what).collect(),
        Err(errors) => panic!("{line}: {errors:#?}"),
    }
}
