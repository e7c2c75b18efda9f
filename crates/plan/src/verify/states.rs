//! Saved states (`verify_state_load`): which writes of an earlier run are expected on the target.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fiord_formats::verify::state::{self, VerifyState};
use fiord_job::option::table::{VERIFY_POLICY, VERIFY_STATE_LOAD, VerifyPolicy};
use fiord_types::{Bytes, Errno};

use super::tracking;
use crate::machine::facts::Facts;
use crate::model::{FilePlan, JobPlan, Step, Tracking, VerifyMethod, VerifyPass};
use crate::options::reading::Reading;

/// Maximum size of a state file that is read: that of a job with 16 Mi writes that failed.
const MAX_STATE: Bytes = Bytes(128 << 20);

/// Reads the states of the jobs that ask for them. `aux_path`: the directory of the files.
pub(crate) fn load_states(
    jobs: &[Reading],
    plans: &mut [JobPlan],
    aux_path: &Path,
    facts: &dyn Facts,
) {
    for plan in plans {
        let job = jobs[plan.identity.section];
        let Some(verify) = &plan.verify else { continue };
        if !job.get(VERIFY_STATE_LOAD) {
            continue;
        }
        let pass = verify.pass;
        if pass != VerifyPass::Only {
            job.report(
                job.error(
                    VERIFY_STATE_LOAD,
                    "the job writes, so it would destroy the data that the saved state describes",
                )
                .help("To fix: add `verify_only`, or leave out `verify_state_load`"),
            );
            continue;
        }
        let index = plan.identity.index.get() as u64;
        let path = aux_path.join(state::file_name(&plan.identity.name, index));
        let loaded = load(&path, facts).and_then(|state| usable(state, job, plan));
        match loaded {
            Ok(state) => {
                if let Some(verify) = &mut plan.verify {
                    verify.state = Some(state);
                }
            }
            Err(Unusable { why, help }) => {
                let what = format!("the state `{}` cannot be used: {why}", shown(&path).display());
                job.report(job.error(VERIFY_STATE_LOAD, what).help(help));
            }
        }
    }
}

/// Refuses states of jobs that share blocks if writes of one of them may be incomplete: a block that one job wrote
/// completely can contain a part of a later write of the other.
pub(crate) fn refuse_shared(jobs: &[Reading], plans: &[JobPlan]) {
    let mut files: HashMap<&Path, Vec<(usize, &FilePlan)>> = HashMap::new();
    for (index, plan) in plans.iter().enumerate() {
        if plan.verify.as_ref().is_some_and(|verify| verify.state.is_some()) {
            for file in &plan.target.files {
                files.entry(&file.path).or_default().push((index, file));
            }
        }
    }
    for users in files.values().filter(|users| users.len() > 1) {
        for (index, file) in users {
            let disturbed = users.iter().any(|(other, theirs)| {
                let overlap = file.offset < theirs.end() && theirs.offset < file.end();
                index != other && overlap && has_open_ends(&plans[*other])
            });
            if disturbed {
                let what = format!(
                    "another job may not have completed its writes of `{}`, so the contents of these blocks are \
                     unknown",
                    file.path.display()
                );
                let job = jobs[plans[*index].identity.section];
                job.report(job.error(VERIFY_STATE_LOAD, what).help(
                    "To fix: let each job write its own file or region (`offset_increment`)",
                ));
            }
        }
    }
}

/// Whether a state leaves open if some writes are complete.
fn has_open_ends(plan: &JobPlan) -> bool {
    let state = plan.verify.as_ref().and_then(|verify| verify.state.as_ref());
    state.is_some_and(VerifyState::has_open_ends)
}

/// Why a state cannot be used, and the remedy.
struct Unusable {
    why: String,
    help: &'static str,
}

fn load(path: &Path, facts: &dyn Facts) -> Result<VerifyState, Unusable> {
    let bytes = facts.contents(path, MAX_STATE).map_err(|error| Unusable {
        why: Errno::explain(&error),
        help: "To fix: copy the state of the run that wrote the data there, set --aux-path to its directory, or \
               leave out `verify_state_load` to verify everything",
    })?;
    VerifyState::read(&bytes).map_err(|error| Unusable {
        why: error.to_string(),
        help: "To fix: use the undamaged state of the run that wrote the data, or leave out `verify_state_load` to \
               verify everything",
    })
}

/// Checks that a state belongs to a job.
fn usable(state: VerifyState, job: Reading, plan: &JobPlan) -> Result<VerifyState, Unusable> {
    let name = &plan.identity.name;
    if state.name != VerifyState::stored_name(name) {
        let found = String::from_utf8_lossy(&state.name);
        return Err(Unusable {
            why: format!("it belongs to the job `{found}`, not to `{name}`"),
            help: "To fix: use the state of this job, or give the job the name that it had",
        });
    }
    if state.index != plan.identity.index.get() as u64 {
        return Err(Unusable {
            why: format!(
                "it belongs to job {} of its run, and this is job {}",
                state.index,
                plan.identity.index.get()
            ),
            help: "To fix: use the state of this job, or run the jobs in the order in which they ran",
        });
    }
    if plan.load.zoned.is_some() {
        // The job reads what the zones contain, in any order.
        return usable_for_zones(state, job, plan);
    }
    // fio goes through files with holes twice.
    let once = plan.load.step == Step::None && tracking::of_job(plan, false) == Tracking::Replay;
    match state.mark() {
        None if plan.load.random && !is_complete(&state, plan) => Err(Unusable {
            why: "fio wrote it, and fio draws random offsets in a different order than fiord, so the blocks that \
                  were \
                  written are unknown"
                .into(),
            help: "To fix: verify the data with fio",
        }),
        None if job.get(VERIFY_POLICY) == VerifyPolicy::Fsynced && !once => Err(Unusable {
            why: "fio wrote it, and it does not say which blocks were overwritten after the last flush".into(),
            help: "To fix: verify the data with fio",
        }),
        _ => Ok(state),
    }
}

/// Checks that a state says which blocks of zones are complete: if some writes may not be, each block must state its write.
fn usable_for_zones(
    state: VerifyState,
    job: Reading,
    plan: &JobPlan,
) -> Result<VerifyState, Unusable> {
    let method = plan.verify.as_ref().map(|verify| verify.method);
    let states_write = match method {
        Some(VerifyMethod::Fio(method)) => method.has_header(),
        Some(VerifyMethod::Fiord) | None => true,
    };
    let later = state.mark().is_none() && job.get(VERIFY_POLICY) == VerifyPolicy::Fsynced;
    if !states_write && (later || state.has_open_ends()) {
        return Err(Unusable {
            why: "some writes may be incomplete, and blocks without a header do not say which write they contain".into(),
            help: "To fix: use a method of `verify` with a header, or leave out `verify_state_load` to verify everything",
        });
    }
    Ok(state)
}

/// Whether all writes of a job that writes each block once are complete.
fn is_complete(state: &VerifyState, plan: &JobPlan) -> bool {
    let all = tracking::writes_of_loop(plan);
    let once = tracking::of_job(plan, false) == Tracking::Replay;
    once && all.is_some_and(|all| state.number >= all)
        && state.incomplete.iter().all(Option::is_none)
}

/// A path for a message, without the current directory.
fn shown(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_path_buf()
}
