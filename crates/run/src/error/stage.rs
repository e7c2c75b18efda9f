//! The stages of a job in which it can fail.

use fiord_engine::{Op, OpKind, WriteCommand};
use fiord_plan::NameCall;
use fiord_sys::zone::ZoneAction;

/// Declares [`Stage`]: each stage with the word that messages and reports show.
macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident = $word:literal,)*) => {
        /// What a job did when it failed.
        ///
        /// A stage of one system call has the name of that call, and a stage that applies one option
        /// has the name of the option, as in fio.
        ///
        /// ```
        /// use fiord_run::error::{JobError, Stage};
        /// use fiord_types::Errno;
        ///
        /// let error = JobError::new(Stage::Open, Errno::ENOENT, "").at("data");
        /// assert_eq!(error.to_string(), "open failed on data: No such file or directory (ENOENT)");
        /// assert_eq!(error.stage.word(), "open");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Stage {
            $($(#[$doc])* $stage,)*
        }

        impl Stage {
            pub const ALL: &[Stage] = &[$(Stage::$stage,)*];

            /// The word for this stage in messages, and in `func=` of the normal output.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Stage::$stage => $word,)*
                }
            }
        }
    };
}

stages! {
    /// Creates and extends the job's files.
    Layout = "layout",
    /// Starts the thread that lays out files.
    LayoutThread = "thread",
    /// Starts the thread of the job.
    JobThread = "start of the job's thread",
    /// The job between its layout and its first I/O.
    SetUp = "set-up",
    /// The job from its first to its last I/O.
    Io = "I/O",
    /// The job after its last I/O.
    End = "the end of the job",
    /// The job as a whole: a bug ended its thread.
    Job = "job",

    /// Opens a file.
    Open = "open",
    /// Closes a file.
    Close = "close",
    /// Duplicates the descriptor of a standard stream.
    Dup = "dup",
    /// Reads the properties of a file.
    Stat = "stat",
    /// Creates a directory.
    MakeDirectory = "mkdir",
    /// Removes a file.
    Unlink = "unlink",
    /// Changes the length of a file.
    Truncate = "ftruncate",
    /// Tells the kernel how the job uses a file.
    Advise = "posix_fadvise",
    /// Drops the cached pages of a file.
    Invalidate = "dropping the page cache (invalidate)",
    /// Reads a file into the page cache before the job begins.
    PreRead = "pre_read",
    /// Writes a whole file system back.
    SyncFileSystem = "syncfs",
    /// Tells the kernel how long written data lives.
    WriteHint = "write_hint",

    /// Reads a file that `buffer_pattern` names.
    ReadPattern = "reading buffer_pattern",
    /// Prepares the contents of writes.
    FillBuffers = "filling buffers",
    /// Prepares offsets, sizes and directions.
    LoadSetUp = "set-up of the load",
    /// Reads the trace that the job replays.
    ReadTrace = "read_iolog",
    /// Records the I/Os of the job.
    WriteTrace = "write_iolog",
    /// Prepares the engine.
    EngineSetUp = "set-up of the I/O engine",
    /// Connects to the peers of the job, or waits for them.
    Connect = "connection",
    /// Prepares the zones of a file.
    ZoneSetUp = "set-up of zones",
    /// Reads the zones of a device.
    ZoneReport = "zone report",

    /// Blocks signals in the thread of the job.
    BlockSignals = "blocking signals",
    /// Names the thread.
    Comm = "comm",
    /// Binds the thread to CPUs.
    CpusAllowed = "cpus_allowed",
    /// Sets the memory policy of the thread.
    MemoryPolicy = "numa_mem_policy",
    /// Sets the scheduler of a device.
    IoScheduler = "ioscheduler",
    /// Sets the nice value of the thread.
    Nice = "nice",
    /// Sets the class of the thread's I/O priority.
    PrioClass = "prioclass",
    /// Sets the I/O priority of the thread.
    Prio = "prio",
    /// Pins memory.
    LockMem = "lockmem",
    /// Creates or enters a control group.
    Cgroup = "cgroup",
    /// Sets the weight of a control group.
    CgroupWeight = "cgroup_weight",
    /// Changes the group of the thread.
    Gid = "gid",
    /// Changes the user of the thread.
    Uid = "uid",
    /// Starts the thread that reads the clock for the job.
    GtodCpu = "gtod_cpu",
    /// Selects the clock of the job.
    ClockSource = "clocksource",
    /// Runs the command before the job.
    ExecPrerun = "exec_prerun",
    /// Runs the command after the job.
    ExecPostrun = "exec_postrun",

    /// Gives an I/O to the engine.
    Queue = "queueing",
    /// Gives I/Os to the kernel.
    Submit = "submission",
    /// Takes completed I/Os from the kernel.
    Reap = "reaping",
    Read = "read",
    /// A write of data.
    Write = "write",
    /// A command that writes zeroes.
    WriteZeroes = "write zeroes",
    /// A command that makes blocks unreadable.
    WriteUncorrectable = "write uncorrectable",
    /// A command that checks blocks on the device.
    Verify = "verify",
    /// A write whose position the device chooses.
    ZoneAppend = "zone append",
    Trim = "trim",
    /// A flush of data and metadata.
    Fsync = "fsync",
    /// A flush of data.
    Fdatasync = "fdatasync",
    /// A flush of a range.
    SyncFileRange = "sync_file_range",
    /// Empties a zone.
    ZoneReset = "zone reset",
    /// Opens a zone explicitly.
    ZoneOpen = "zone open",
    ZoneClose = "zone close",
    /// Makes a zone full.
    ZoneFinish = "zone finish",

    /// Creates or writes a log of the job.
    Log = "log",

    /// A cycle of an engine that does no I/O.
    Cycle = "cycle",
    /// Uses memory that an I/O reads or writes.
    UseBuffers = "use of the I/O buffers",
    /// Enforces the longest permitted latency.
    MaxLatency = "max_latency",
    /// Enforces the lowest permitted rate.
    MinRate = "check of the minimum rate",
    /// Watches the free space of a file system.
    KeepSpace = "keeping space free",
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl From<NameCall> for Stage {
    fn from(call: NameCall) -> Stage {
        match call {
            NameCall::CreateFile => Stage::Open,
            NameCall::CreateDirectory => Stage::MakeDirectory,
            NameCall::StatFile | NameCall::StatDirectory => Stage::Stat,
            NameCall::RemoveFile | NameCall::RemoveDirectory => Stage::Unlink,
        }
    }
}

impl From<&Op> for Stage {
    fn from(op: &Op) -> Stage {
        match op.kind {
            OpKind::Read => Stage::Read,
            OpKind::Write => match op.attributes.command {
                WriteCommand::Data | WriteCommand::Durable => Stage::Write,
                WriteCommand::Zeroes => Stage::WriteZeroes,
                WriteCommand::Uncorrectable => Stage::WriteUncorrectable,
                WriteCommand::Verify | WriteCommand::Compare => Stage::Verify,
                WriteCommand::Append => Stage::ZoneAppend,
            },
            OpKind::Trim => Stage::Trim,
            OpKind::Fsync => Stage::Fsync,
            OpKind::Fdatasync => Stage::Fdatasync,
            OpKind::SyncFileRange(_) => Stage::SyncFileRange,
        }
    }
}

impl From<ZoneAction> for Stage {
    fn from(action: ZoneAction) -> Stage {
        match action {
            ZoneAction::Reset => Stage::ZoneReset,
            ZoneAction::Open => Stage::ZoneOpen,
            ZoneAction::Close => Stage::ZoneClose,
            ZoneAction::Finish => Stage::ZoneFinish,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_has_a_word_of_its_own() {
        for (i, stage) in Stage::ALL.iter().enumerate() {
            assert!(Stage::ALL[..i].iter().all(|other| other.word() != stage.word()), "{stage}");
        }
    }

    #[test]
    fn actions_on_zones_are_called_as_in_the_system_crate() {
        for action in [ZoneAction::Reset, ZoneAction::Open, ZoneAction::Close, ZoneAction::Finish] {
            assert_eq!(Stage::from(action).word(), action.name());
        }
    }
}
