//! The engine and its own options.
//!
//! | question | module |
//! |---|---|
//! | how many I/Os are in flight? | `depth` |
//! | how does a job drive an io_uring? | `ring` |
//! | which NVMe commands does a job send? | `nvme` |
//! | which SCSI commands does a job send? | `scsi` |
//! | how much CPU time does a job burn, which program does it run? | `activity` |
//! | how does a simulated device behave, and which faults does it inject? | `simulated` |

pub(crate) mod activity;
pub(crate) mod depth;
pub(crate) mod nvme;
pub(crate) mod ring;
pub(crate) mod scsi;
mod simulated;

use std::path::PathBuf;

use fiord_job::option::table::{IOENGINE, libaio, mmap, pvsync2};

use fiord_job::option::value::Value;

use crate::machine::facts::FoundKind;
use crate::machine::survey::Survey;
use crate::model::{Commands, EnginePlan, PassthroughPlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// The engine of a job.
pub(crate) fn engine(job: Reading, messages: &mut Messages) -> EnginePlan {
    let word = job.get(IOENGINE);
    match word {
        "psync" => EnginePlan::Psync,
        "sync" => EnginePlan::Sync,
        "vsync" => EnginePlan::Vsync,
        "pvsync" => EnginePlan::Pvsync,
        "pvsync2" => EnginePlan::Pvsync2 {
            hipri_percent: if job.get(pvsync2::HIPRI) {
                job.get(pvsync2::HIPRI_PERCENTAGE)
            } else {
                0
            },
            uncached: uncached(job),
            nowait: job.get(pvsync2::NOWAIT),
        },
        "mmap" => EnginePlan::Mmap { thp: job.get(mmap::THP).unwrap_or(0) != 0 },
        "libaio" => EnginePlan::Libaio {
            userspace_reap: job.get(libaio::USERSPACE_REAP),
            nowait: job.get(pvsync2::NOWAIT),
            vectored: job.get(libaio::LIBAIO_VECTORED),
        },
        "io_uring" => EnginePlan::IoUring(ring::ring(job)),
        "io_uring_cmd" => EnginePlan::IoUringCmd(Box::new(PassthroughPlan {
            ring: ring::ring(job),
            commands: Commands::Nvme(nvme::options(job)),
        })),
        "sg" => EnginePlan::Sg(scsi::options(job, messages)),
        "falloc" => EnginePlan::Falloc,
        "ftruncate" => EnginePlan::Ftruncate,
        "null" => EnginePlan::Null,
        "sim" => EnginePlan::Sim(simulated::options(job, messages)),
        "external" => EnginePlan::External(library(job, messages)),
        "page_fault" => EnginePlan::PageFault { thp: job.get(mmap::THP).map(|on| on != 0) },
        "cpuio" => EnginePlan::Cpuio(activity::cpuio(job, messages)),
        "exec" => EnginePlan::Exec(Box::new(activity::exec(job, messages))),
        other => {
            messages.push(
                job.error(IOENGINE, format!("engine `{other}` is not supported yet"))
                    .help("To fix: use io_uring, libaio, psync, pvsync2 or mmap"),
            );
            EnginePlan::Null
        }
    }
}

/// Reads the path of the library of `ioengine=external:PATH`.
fn library(job: Reading, messages: &mut Messages) -> PathBuf {
    let value = job.setting(IOENGINE).map(|setting| &setting.value);
    match value {
        Some(Value::Word(_, Some(path))) if !path.trim().is_empty() => path.trim().into(),
        _ => {
            let what = "`ioengine=external` names no library";
            let help =
                "To fix: write the path of a shared library: `ioengine=external:/path/to.so`";
            messages.push(job.error(IOENGINE, what).help(help));
            PathBuf::new()
        }
    }
}

/// Refuses a library that does not exist, before any file is laid out.
pub(crate) fn library_exists(
    job: Reading,
    engine: &EnginePlan,
    survey: &mut Survey,
    messages: &mut Messages,
) {
    let Some(path) = engine.library().filter(|path| !path.as_os_str().is_empty()) else { return };
    let why = match survey.look(path) {
        Ok(found) if found.kind == FoundKind::Regular => return,
        Ok(_) => "this is not a shared library".to_owned(),
        Err(error) => error.text,
    };
    let what = format!("ioengine=external:{}: {why}", path.display());
    let help = "To fix: write the path of a shared library: `ioengine=external:/path/to.so`";
    messages.push(job.error(IOENGINE, what).help(help));
}

/// Reads `uncached`.
fn uncached(job: Reading) -> bool {
    job.get(pvsync2::UNCACHED).unwrap_or(0) != 0
}

#[cfg(test)]
mod tests {
    use fiord_job::load::Memory;
    use fiord_job::option::def::Support;
    use fiord_job::option::engine::EngineAccess;
    use fiord_job::option::table;
    use fiord_job::option::table::activity::{CPULOAD, PROGRAM};

    use super::*;

    #[test]
    fn every_supported_engine_has_a_plan() {
        for def in table::engines().iter().filter(|def| def.support == Support::Built) {
            let library = if def.access == EngineAccess::Library { ":/x.so" } else { "" };
            let mut args = vec!["--name=a".to_owned(), format!("--ioengine={}{library}", def.name)];
            let required = [(CPULOAD.def(), "--cpuload=1"), (PROGRAM.def(), "--program=true")];
            let of_it = required.iter().filter(|(option, _)| option.fits(def.name));
            args.extend(of_it.map(|(_, arg)| (*arg).to_owned()));
            let invocation = fiord_job::invocation(&args, &mut Memory::default()).unwrap();
            let mut messages = Messages::default();
            let plan = engine(Reading::new(&invocation.jobs[0]), &mut messages);
            let errors = messages.errors;
            assert!(plan.def() == def && errors.is_empty(), "ioengine={}: {errors:?}", def.name);
        }
    }
}
