//! The engine and its own options.
//!
//! | question | module |
//! |---|---|
//! | how many I/Os are in flight? | `depth` |
//! | how does a job drive an io_uring? | `ring` |
//! | which NVMe commands does a job send? | `nvme` |
//! | which SCSI commands does a job send? | `scsi` |

pub(crate) mod depth;
pub(crate) mod nvme;
pub(crate) mod ring;
pub(crate) mod scsi;

use fiord_job::option::def::Scope;

use crate::model::{Commands, EnginePlan, PassthroughPlan, SimPlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// The engine of a job.
pub(crate) fn engine(job: Reading, messages: &mut Messages) -> EnginePlan {
    let word = job.plain_word("ioengine");
    match word {
        "psync" => EnginePlan::Psync,
        "sync" => EnginePlan::Sync,
        "vsync" => EnginePlan::Vsync,
        "pvsync" => EnginePlan::Pvsync,
        "pvsync2" => EnginePlan::Pvsync2 {
            hipri_percent: if on(job, "hipri") { share(job, "hipri_percentage") } else { 0 },
            uncached: on(job, "uncached"),
            nowait: on(job, "nowait"),
        },
        "mmap" => EnginePlan::Mmap { thp: on(job, "thp") },
        "libaio" => EnginePlan::Libaio {
            userspace_reap: on(job, "userspace_reap"),
            nowait: on(job, "nowait"),
            vectored: on(job, "libaio_vectored"),
        },
        "io_uring" => EnginePlan::IoUring(ring::ring(job)),
        "io_uring_cmd" => EnginePlan::IoUringCmd(Box::new(PassthroughPlan {
            ring: ring::ring(job),
            commands: Commands::Nvme(nvme::options(job)),
        })),
        "sg" => EnginePlan::Sg(scsi::options(job, messages)),
        "null" => EnginePlan::Null,
        "sim" => EnginePlan::Sim(sim(job)),
        other => {
            messages.push(
                job.error("ioengine", format!("engine `{other}` is not supported yet"))
                    .help("To fix: use io_uring, libaio, psync, pvsync2 or mmap"),
            );
            EnginePlan::Null
        }
    }
}

/// Whether an engine option is on. Engine options are off by default.
fn on(job: Reading, name: &str) -> bool {
    job.is_set(name) && job.flag(name)
}

fn share(job: Reading, name: &str) -> u8 {
    if job.is_set(name) { job.int(name).unwrap_or(100).clamp(0, 100) as u8 } else { 100 }
}

/// The typed texts of all options that belong to `sim`.
fn sim(job: Reading) -> SimPlan {
    let mut options: Vec<(String, String)> = Vec::new();
    for setting in &job.spec.settings {
        let own = matches!(setting.def.scope, Scope::Engine(engines) if engines.contains(&"sim"));
        if own {
            options.retain(|(name, _)| name != setting.def.name);
            options.push((setting.def.name.into(), setting.text.clone().unwrap_or_default()));
        }
    }
    SimPlan { options }
}
