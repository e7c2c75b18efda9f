//! The options of `sim`, the simulated device.

use fiord_job::option::def::Scope;
use fiord_job::option::table::sim::{SIM_CRASH, SIM_FAULTS, SIM_SIZE, SIM_STORE};
use fiord_types::Bytes;

use crate::model::{FaultEffect, SimFault, SimPlan};
use crate::options::reading::Reading;

/// The options of the device. Refuses faults that cannot occur.
pub(super) fn options(job: Reading) -> SimPlan {
    let typed = [SIM_FAULTS.name(), SIM_CRASH.name()];
    let mut options: Vec<(String, String)> = Vec::new();
    for setting in &job.spec.settings {
        let def = setting.def;
        let of_engine = def.scope != Scope::Job && def.fits(job.spec.engine().name);
        if of_engine && !typed.contains(&def.name) {
            options.retain(|(name, _)| name != def.name);
            options.push((def.name.into(), setting.text.clone().unwrap_or_default()));
        }
    }
    let faults = job.get(SIM_FAULTS).unwrap_or_default();
    let crash = job.get(SIM_CRASH);
    let option = if crash.is_some() { SIM_CRASH.def() } else { SIM_FAULTS.def() };
    let damages = crash.is_some() || !faults.is_empty();
    if damages && job.is_set(SIM_STORE) && !job.get(SIM_STORE) {
        let what = format!("{} changes stored data, but `sim_store=0` stores none", option.name);
        let error = job.error(option, what);
        job.report(error.help("To fix: leave out `sim_store=0`"));
    }
    let size = job.get(SIM_SIZE);
    for fault in &faults {
        if let Some(what) = impossible(fault, size) {
            let word = fault.effect.word();
            let error = job.error(SIM_FAULTS, format!("the fault `{word}` cannot occur: {what}"));
            job.report(error.help("To fix: change the fault, or make `sim_size` larger"));
        }
    }
    SimPlan { options, faults, crash }
}

/// Why a fault cannot occur on a device of this size (0: unlimited).
fn impossible(fault: &SimFault, size: Bytes) -> Option<String> {
    if size == Bytes::ZERO {
        return None;
    }
    let device = size.0;
    if let Some((first, _)) = fault.trigger.bytes
        && first >= size
    {
        return Some(format!("byte {} is beyond the device of {device} bytes", first.0));
    }
    match fault.effect {
        FaultEffect::Misdirected { by: Some(by), .. } if by.unsigned_abs() >= device => {
            Some(format!(
                "a device of {device} bytes has no place that is {} bytes away",
                by.unsigned_abs()
            ))
        }
        _ => None,
    }
}
