//! Options of engines that do no I/O: they load CPUs or run other programs.

use crate::option::declare::*;

words! {
    /// The words of `cpumode`.
    pub enum CpuMode {
        Noop = new("noop", "an empty loop"),
        Qsort = new("qsort", "sorting, which draws more power"),
    }
}

options! {
    Category::Engine;

    /// The CPU time that the job uses, in per cent of its run time on one CPU. It must be set. As in
    /// fio, a number above 100 means 100.
    pub const CPULOAD: Opt<Option<u32>> = option("cpuload", COUNT, "cpuload=85")
        .of(&["cpuio"]);

    /// The CPU time that the job uses in one cycle. It sleeps for the rest of the cycle: with
    /// `cpuload=20` and 50 ms, for 200 ms. A bare number is in microseconds.
    pub const CPUCHUNKS: Opt<Nanos> = option("cpuchunks", MICROS, "cpuchunks=10000")
        .of(&["cpuio"])
        .default("50000");

    /// How the job loads the CPU.
    pub const CPUMODE: Opt<CpuMode> = option("cpumode", one_of(), "cpumode=qsort")
        .of(&["cpuio"])
        .default("noop");

    /// Ends the job when all jobs that do I/O have ended. Without it and without a `runtime`, the job
    /// burns CPU time until the run is interrupted.
    pub const EXIT_ON_IO_DONE: Opt<bool> = option("exit_on_io_done", BOOL, "exit_on_io_done=1")
        .of(&["cpuio"])
        .default("0");

    /// The program to run, searched in `PATH` if it has no slash. It and all of its descendants end with
    /// the job. With a `runtime` the job lasts that long; without one it ends with the program. A program
    /// that fails makes the job fail.
    pub const PROGRAM: Opt<Option<String>> = option("program", TEXT, "program=/usr/bin/iostat")
        .of(&["exec"]);

    /// The program's arguments, separated by spaces; quotes have no meaning. fiord replaces `%r` by the
    /// job's `runtime` in seconds and `%n` by its name.
    pub const ARGUMENTS: Opt<Option<String>> = option("arguments", TEXT, "arguments=-x 1 %r")
        .of(&["exec"]);

    /// How long fiord waits after it asks the program to end before it kills the program. A bare
    /// number is in seconds.
    pub const GRACE_TIME: Opt<Nanos> = option("grace_time", SECONDS, "grace_time=5")
        .of(&["exec"])
        .default("1");

    /// Writes the program's output to the files `NAME.stdout` and `NAME.stderr`, with the name of the job,
    /// in the directory of `--aux-path`.
    pub const STD_REDIRECT: Opt<bool> = option("std_redirect", BOOL, "std_redirect=0")
        .of(&["exec"])
        .default("1");
}
