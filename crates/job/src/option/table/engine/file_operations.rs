//! Options of engines that operate on whole files, on CPUs, or on other programs.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "cpuload",
        Kind::COUNT,
        "The CPU load that the job generates, in per cent. It must be set.",
        "cpuload=85",
    )
    .of(&["cpuio"])
    .later(),
    option(
        "cpuchunks",
        Kind::MICROS,
        "The length of one cycle of load and sleep. A bare number is in microseconds.",
        "cpuchunks=10000",
    )
    .of(&["cpuio"])
    .default("50000")
    .later(),
    option(
        "cpumode",
        Kind::words(&[
            Word::later("noop", "an empty loop"),
            Word::later("qsort", "sorting, which draws more power"),
        ]),
        "How the job loads the CPU.",
        "cpumode=qsort",
    )
    .of(&["cpuio"])
    .default("noop")
    .later(),
    option(
        "exit_on_io_done",
        Kind::Bool,
        "Ends the job when all jobs that do I/O have ended.",
        "exit_on_io_done=1",
    )
    .of(&["cpuio"])
    .default("0")
    .later(),
    option(
        "stat_type",
        Kind::words(&[
            Word::later("stat", "`stat(2)`"),
            Word::later("lstat", "`lstat(2)`"),
            Word::later("statx", "`statx(2)`"),
        ]),
        "The system call that reads attributes.",
        "stat_type=statx",
    )
    .of(&["filestat", "dirstat"])
    .default("stat")
    .later(),
    option("program", Kind::Text, "The path of the program to run.", "program=/usr/bin/iostat")
        .of(&["exec"])
        .later(),
    option(
        "arguments",
        Kind::Text,
        "The program's arguments. fiord replaces `%r` by the job's duration in seconds and `%n` by \
         its name.",
        "arguments=-x 1 %r",
    )
    .of(&["exec"])
    .later(),
    option(
        "grace_time",
        Kind::SECONDS,
        "How long fiord waits after it asks the program to end before it kills the program. A bare \
         number is in seconds.",
        "grace_time=5",
    )
    .of(&["exec"])
    .default("1")
    .later(),
    option(
        "std_redirect",
        Kind::Bool,
        "Redirects the program's output to files named after the job.",
        "std_redirect=0",
    )
    .of(&["exec"])
    .default("1")
    .later(),
    option(
        "donorname",
        Kind::Text,
        "The donor file for the exchange of extents.",
        "donorname=donor",
    )
    .of(&["e4defrag"])
    .later(),
    option(
        "inplace",
        Kind::int(0, 1),
        "Allocates the donor's blocks at each exchange (1) or all of them before the run (0).",
        "inplace=1",
    )
    .of(&["e4defrag"])
    .later(),
    option("skip_bad", Kind::Bool, "Skips flash blocks that are marked as bad.", "skip_bad=1")
        .of(&["mtd"])
        .default("0")
        .later(),
];
