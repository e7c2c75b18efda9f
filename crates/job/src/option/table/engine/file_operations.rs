//! Options of engines that operate on whole files, on CPUs, or on other programs.

use crate::option::declare::*;

words! {
    /// The words of `cpumode`.
    pub enum CpuMode {
        Noop = later("noop", "an empty loop"),
        Qsort = later("qsort", "sorting, which draws more power"),
    }

    /// The words of `stat_type`.
    pub enum StatType {
        Stat = later("stat", "`stat(2)`"),
        Lstat = later("lstat", "`lstat(2)`"),
        Statx = later("statx", "`statx(2)`"),
    }
}

options! {
    Category::Engine;

    /// The CPU load that the job generates, in per cent. It must be set.
    pub const CPULOAD: Opt<Option<u32>> = option("cpuload", COUNT, "cpuload=85")
        .of(&["cpuio"])
        .later();

    /// The length of one cycle of load and sleep. A bare number is in microseconds.
    pub const CPUCHUNKS: Opt<Nanos> = option("cpuchunks", MICROS, "cpuchunks=10000")
        .of(&["cpuio"])
        .default("50000")
        .later();

    /// How the job loads the CPU.
    pub const CPUMODE: Opt<CpuMode> = option("cpumode", one_of(), "cpumode=qsort")
        .of(&["cpuio"])
        .default("noop")
        .later();

    /// Ends the job when all jobs that do I/O have ended.
    pub const EXIT_ON_IO_DONE: Opt<bool> = option("exit_on_io_done", BOOL, "exit_on_io_done=1")
        .of(&["cpuio"])
        .default("0")
        .later();

    /// The system call that reads attributes.
    pub const STAT_TYPE: Opt<StatType> = option("stat_type", one_of(), "stat_type=statx")
        .of(&["filestat", "dirstat"])
        .default("stat")
        .later();

    /// The path of the program to run.
    pub const PROGRAM: Opt<Option<String>> = option("program", TEXT, "program=/usr/bin/iostat")
        .of(&["exec"])
        .later();

    /// The program's arguments. fiord replaces `%r` by the job's duration in seconds and `%n` by
    /// its name.
    pub const ARGUMENTS: Opt<Option<String>> = option("arguments", TEXT, "arguments=-x 1 %r")
        .of(&["exec"])
        .later();

    /// How long fiord waits after it asks the program to end before it kills the program. A bare
    /// number is in seconds.
    pub const GRACE_TIME: Opt<Nanos> = option("grace_time", SECONDS, "grace_time=5")
        .of(&["exec"])
        .default("1")
        .later();

    /// Redirects the program's output to files named after the job.
    pub const STD_REDIRECT: Opt<bool> = option("std_redirect", BOOL, "std_redirect=0")
        .of(&["exec"])
        .default("1")
        .later();

    /// The donor file for the exchange of extents.
    pub const DONORNAME: Opt<Option<String>> = option("donorname", TEXT, "donorname=donor")
        .of(&["e4defrag"])
        .later();

    /// Allocates the donor's blocks at each exchange (1) or all of them before the run (0).
    pub const INPLACE: Opt<Option<u8>> = option("inplace", int(0, 1), "inplace=1")
        .of(&["e4defrag"])
        .later();

    /// Skips flash blocks that are marked as bad.
    pub const SKIP_BAD: Opt<bool> = option("skip_bad", BOOL, "skip_bad=1")
        .of(&["mtd"])
        .default("0")
        .later();
}
