//! What a job does with names: `filecreate` and its relatives.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::file_operations::{STAT_TYPE, VIA_URING};
use fiord_job::option::table::{
    END_FSYNC, FDATASYNC, FSYNC, FSYNC_ON_CLOSE, PRE_READ, READ_IOLOG, SYNC_FILE_RANGE,
    WRITE_BARRIER, ZONEMODE,
};

use crate::files::tree;
use crate::model::{DepthSupport, EngineDef, EnginePlan, JobPlan, NameCall, NamesPlan};
use crate::options::reading::Reading;

/// Reads the options of an engine that works on names.
pub(super) fn names(job: Reading) -> EnginePlan {
    let engine = job.spec.engine();
    let Some(call) = engine.access.name_call() else { return EnginePlan::Null };
    let ring = job.get(VIA_URING);
    let plan = Box::new(NamesPlan {
        engine: if ring { through_ring(call) } else { engine },
        call,
        stat: job.get(STAT_TYPE),
        tree: tree::tree(job, engine),
    });
    if ring { EnginePlan::NamesRing(plan) } else { EnginePlan::Names(plan) }
}

/// The entry of an engine whose calls go through a ring: it has many of them in flight.
fn through_ring(call: NameCall) -> &'static EngineDef {
    static ENTRIES: std::sync::LazyLock<Vec<EngineDef>> = std::sync::LazyLock::new(|| {
        let all = fiord_job::option::table::engines().iter();
        let names = all.filter(|engine| engine.access.name_call().is_some());
        names.map(|engine| EngineDef { in_flight: DepthSupport::Many, ..*engine }).collect()
    });
    let mut entries = ENTRIES.iter();
    let found = entries.find(|engine| engine.access.name_call() == Some(call));
    found.unwrap_or(&ENTRIES[0])
}

/// Refuses what needs an open file, for a job that opens none.
pub(crate) fn check(job: Reading, plan: &JobPlan) {
    let Some(names) = plan.engine.names() else { return };
    let (name, load) = (names.engine.name, &plan.load);
    // A created file is open until the job is done with it.
    let open = names.call == NameCall::CreateFile
        && names.tree.is_none()
        && names.engine.is_synchronous()
        && !plan.pace.offload;
    let syncs = load.fsync > 0
        || load.fdatasync > 0
        || load.write_barrier > 0
        || load.sync_file_range.is_some()
        || load.end_fsync
        || load.fsync_on_close;
    let refuse = |options: &[&'static OptionDef], what: &str| {
        let set = options.iter().find(|option| job.spec.setting(**option).is_some());
        if let Some(option) = set {
            let what = format!("`ioengine={name}` {what}");
            let help = format!("To fix: leave out `{}`", option.name);
            job.report(job.error(*option, what).help(help));
        }
    };
    if syncs && !open {
        let options = [
            FSYNC.def(),
            FDATASYNC.def(),
            WRITE_BARRIER.def(),
            SYNC_FILE_RANGE.def(),
            END_FSYNC.def(),
            FSYNC_ON_CLOSE.def(),
        ];
        refuse(&options, "has no open files that it could sync");
    }
    if plan.target.layout.pre_read {
        refuse(&[PRE_READ.def()], "reads no files: there is nothing to read in advance");
    }
    if load.zoned.is_some() || load.strided.is_some() {
        refuse(&[ZONEMODE.def()], "works on names, which have no zones");
    }
    refuse(&[READ_IOLOG.def()], "does not replay traces");
}
