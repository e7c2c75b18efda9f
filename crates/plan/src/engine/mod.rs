//! The engine and its own options.
//!
//! | question | module |
//! |---|---|
//! | which rules apply only to some engines? | `rules` |
//! | how many I/Os are in flight? | `depth` |
//! | which file gives its blocks to the target? | `defrag` |
//! | what does a raw flash permit? | `flash` |
//! | what does a job do with names? | `names` |
//! | with which flags does a job make plain system calls, mappings and AIO? | `calls` |
//! | how does a job drive an io_uring? | `ring` |
//! | which servers with storage does a job connect to? | `endpoint`, and a module for each engine: `http`, `nbd`, `nfs`, `iscsi`, `ceph`, `gfapi` |
//! | which NVMe commands does a job send? | `nvme` |
//! | which SCSI commands does a job send? | `scsi` |
//! | which driver of libblkio does a job use, and which jobs share an instance? | `libblkio` |
//! | how much CPU time does a job burn, which program does it run? | `activity` |
//! | which peers does a job connect to or wait for? | `net`, `rdma`; `stream` for what both refuse |
//! | what is refused if the target is memory? | `memory` |
//! | how does a simulated device behave, and which faults does it inject? | `simulated` |
//! | how do writes to persistent memory become durable? | `pmem` |
//! | which engine runs a job for xNVMe? | `xnvme` |

pub(crate) mod activity;
mod calls;
mod ceph;
mod defrag;
pub(crate) mod depth;
mod endpoint;
mod flash;
mod gfapi;
mod http;
mod iscsi;
pub(crate) mod libblkio;
mod memory;
pub(crate) mod names;
mod nbd;
pub(crate) mod net;
mod nfs;
mod nvme;
mod pmem;
mod rdma;
mod ring;
pub(crate) mod rules;
pub(crate) mod scsi;
mod simulated;
mod stream;
mod xnvme;

use std::path::PathBuf;

use fiord_job::option::engine::EngineDef;
use fiord_job::option::table::IOENGINE;
use fiord_job::option::value::Value;
use fiord_types::RunNumber;

use crate::files::filename::Naming;
use crate::for_each_engine;
use crate::machine::facts::FoundKind;
use crate::machine::survey::Survey;
use crate::model::EnginePlan;
use crate::options::reading::Reading;

/// The engine of a job in a run. `readonly`: the run changes nothing (`--readonly`). `run`: the number of a run on many hosts.
pub(crate) fn of_run(
    job: Reading,
    readonly: bool,
    run: Option<RunNumber>,
    survey: &mut Survey,
) -> EnginePlan {
    let mut engine = engine(job);
    if readonly {
        engine.change_nothing_before_the_run();
    }
    net::belongs_to(&mut engine, run);
    library_exists(job, &engine, survey);
    engine
}

macro_rules! listed {
    ($($variant:ident $(($options:ty))?: $loops:ident, $kind:ident, [$($name:literal $(, $reader:path)?)?];)*) => {
        /// The engine of a job and its options, if its line in the list of engines says how to read them.
        fn listed(job: Reading) -> Option<EnginePlan> {
            Some(match job.get(IOENGINE) {
                $($($name => read!($variant, job $(, $reader)?),)?)*
                _ => return None,
            })
        }
    };
}

macro_rules! read {
    ($variant:ident, $job:ident) => {
        EnginePlan::$variant
    };
    ($variant:ident, $job:ident, $reader:path) => {
        EnginePlan::$variant($reader($job).into())
    };
}

for_each_engine!(listed);

pub(crate) fn engine(job: Reading) -> EnginePlan {
    if let Some(plan) = listed(job) {
        return plan;
    }
    match job.get(IOENGINE) {
        "xnvme" => xnvme::engine(job),
        "libblkio" => match libblkio::options(job) {
            Some(plan) => EnginePlan::Libblkio(Box::new(plan)),
            None => EnginePlan::Null,
        },
        _ if job.spec.engine().access.name_call().is_some() => names::names(job),
        other => {
            job.report(
                job.error(IOENGINE, format!("engine `{other}` is not supported yet"))
                    .help("To fix: use io_uring, libaio, psync, pvsync2 or mmap"),
            );
            EnginePlan::Null
        }
    }
}

/// Reads the path of the library of `ioengine=external:PATH`.
fn library(job: Reading) -> PathBuf {
    let value = job.setting(IOENGINE).map(|setting| &setting.value);
    match value {
        Some(Value::Word(_, Some(path))) if !path.trim().is_empty() => path.trim().into(),
        _ => {
            let what = "`ioengine=external` names no library";
            let help =
                "To fix: write the path of a shared library: `ioengine=external:/path/to.so`";
            job.report(job.error(IOENGINE, what).help(help));
            PathBuf::new()
        }
    }
}

/// Refuses a library that does not exist, before any file is laid out.
fn library_exists(job: Reading, engine: &EnginePlan, survey: &mut Survey) {
    let Some(path) = engine.library().filter(|path| !path.as_os_str().is_empty()) else { return };
    let why = match survey.look(path) {
        Ok(found) if found.kind == FoundKind::Regular => return,
        Ok(_) => "this is not a shared library".to_owned(),
        Err(error) => error.text,
    };
    let what = format!("ioengine=external:{}: {why}", path.display());
    let help = "To fix: write the path of a shared library: `ioengine=external:/path/to.so`";
    job.report(job.error(IOENGINE, what).help(help));
}

/// The entry of the engine that does the job's I/O.
pub(crate) fn that_does_the_io(job: Reading, plan: &EnginePlan) -> &'static EngineDef {
    let named = job.spec.engine();
    let other = named.runs_as.is_empty() && plan.def().name != named.name;
    // A job without a plan of its own has errors.
    if other { named } else { plan.def() }
}

/// The targets of one instance. `naming`: those that `filename` and similar options name, if no option of the engine
/// does.
pub(crate) fn addresses(
    job: Reading,
    engine: &EnginePlan,
    naming: &Naming,
    instance: u32,
    survey: &mut Survey,
) -> Vec<PathBuf> {
    if let Some(plan) = engine.rdma() {
        return rdma::addresses(job, plan, instance);
    }
    if let Some(plan) = engine.network() {
        return net::addresses(job, plan, instance);
    }
    let named = || naming.paths(instance);
    match engine.endpoint() {
        Some(plan) => {
            let targets = plan.address.clone().map_or_else(named, |address| vec![address]);
            if engine.http().is_some() {
                http::check_paths(job, &targets);
            }
            endpoint::ask(job, engine, targets, survey)
        }
        None => libblkio::connect(job, engine, survey).unwrap_or_else(named),
    }
}

#[cfg(test)]
mod tests {
    use fiord_job::load::Memory;
    use fiord_job::option::def::Support;
    use fiord_job::option::engine::EngineAccess;
    use fiord_job::option::table;

    use super::*;
    use crate::options::messages::Messages;

    /// Options that an engine requires.
    const NEEDED: &[(&str, &str)] = &[
        ("e4defrag", "--donorname=donor"),
        ("cpuio", "--cpuload=1"),
        ("exec", "--program=true"),
        ("libblkio", "--libblkio_driver=io_uring"),
        ("libblkio", "--libblkio_path=/x"),
        ("nbd", "--uri=nbd://server"),
        ("nfs", "--nfs_url=nfs://server/export"),
        ("rados", "--pool=bench"),
        ("rbd", "--pool=bench"),
        ("rbd", "--rbdname=image"),
        ("gfapi", "--volume=bench"),
        ("gfapi", "--brick=server"),
        ("gfapi_async", "--volume=bench"),
        ("gfapi_async", "--brick=server"),
    ];

    #[test]
    fn every_supported_engine_has_a_plan() {
        let own = |def: &&EngineDef| def.support == Support::Built && def.runs_as.is_empty();
        for def in table::engines().iter().filter(own) {
            let library = if def.access == EngineAccess::Library { ":/x.so" } else { "" };
            let mut args = vec!["--name=a".to_owned(), format!("--ioengine={}{library}", def.name)];
            // An option that only some engines have is an error on the others.
            let needed = NEEDED.iter().filter(|(engine, _)| *engine == def.name);
            args.extend(needed.map(|(_, option)| (*option).to_owned()));
            let invocation = fiord_job::invocation(&args, &mut Memory::default()).unwrap();
            let messages = Messages::default();
            let plan = engine(Reading::new(&invocation.jobs[0], &messages));
            let errors = messages.errors.take();
            assert!(plan.def() == def && errors.is_empty(), "ioengine={}: {errors:?}", def.name);
        }
    }
}
