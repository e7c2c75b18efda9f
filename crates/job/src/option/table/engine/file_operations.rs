//! Options of the engines that work on files as a whole, on CPUs or on programs.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "cpuload",
        Kind::COUNT,
        "How much of a CPU the job burns, in per cent. It must be set.",
        "cpuload=85",
    )
    .of(&["cpuio"])
    .later(),
    option(
        "cpuchunks",
        Kind::MICROS,
        "The length of one turn of burning and resting. A bare number is in microseconds.",
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
        "What the CPU is kept busy with.",
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
        "The system call that attributes are looked up with.",
        "stat_type=statx",
    )
    .of(&["filestat", "dirstat"])
    .default("stat")
    .later(),
    option("program", Kind::Text, "The program to run, by its path.", "program=/usr/bin/iostat")
        .of(&["exec"])
        .later(),
    option(
        "arguments",
        Kind::Text,
        "The program's arguments. `%r` becomes the job's duration in seconds and `%n` its name.",
        "arguments=-x 1 %r",
    )
    .of(&["exec"])
    .later(),
    option(
        "grace_time",
        Kind::SECONDS,
        "How long the program has between being asked to end and being killed. A bare number is in \
         seconds.",
        "grace_time=5",
    )
    .of(&["exec"])
    .default("1")
    .later(),
    option(
        "std_redirect",
        Kind::Bool,
        "Sends what the program prints to files named after the job.",
        "std_redirect=0",
    )
    .of(&["exec"])
    .default("1")
    .later(),
    option(
        "donorname",
        Kind::Text,
        "The file with which extents are exchanged.",
        "donorname=donor",
    )
    .of(&["e4defrag"])
    .later(),
    option(
        "inplace",
        Kind::int(0, 1),
        "Allocates the donor's blocks at each exchange (1) or all before the run (0).",
        "inplace=1",
    )
    .of(&["e4defrag"])
    .later(),
    option(
        "skip_bad",
        Kind::Bool,
        "Leaves out flash blocks that are known to be bad.",
        "skip_bad=1",
    )
    .of(&["mtd"])
    .default("0")
    .later(),
];
