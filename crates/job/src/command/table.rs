//! The general options of the command line: declared once here, and parsed, abbreviated, and
//! explained by `--help` from these declarations.

use crate::option::def::Support;

/// Whether a general option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// It takes none.
    None,
    /// `--opt=VALUE` or `--opt VALUE`. The text names it in help.
    Required(&'static str),
    /// `--opt` or `--opt=VALUE`.
    Optional(&'static str),
}

/// One general option.
#[derive(Debug, Clone, Copy)]
pub struct CommandDef {
    /// After the dashes.
    pub name: &'static str,
    /// One letter that means the same.
    pub letter: Option<char>,
    /// Its value.
    pub argument: Argument,
    /// What it does, for `--help`.
    pub doc: &'static str,
    /// Whether fiord does it today.
    pub support: Support,
}

impl CommandDef {
    /// The same with a letter, as in fio.
    const fn letter(mut self, letter: char) -> Self {
        self.letter = Some(letter);
        self
    }
}

const fn built(name: &'static str, argument: Argument, doc: &'static str) -> CommandDef {
    CommandDef { name, letter: None, argument, doc, support: Support::Built }
}
const fn later(name: &'static str, argument: Argument, doc: &'static str) -> CommandDef {
    CommandDef { name, letter: None, argument, doc, support: Support::Later }
}

use Argument::{None as NoValue, Optional, Required};

/// Every general option, in the order of `--help`.
pub static COMMANDS: &[CommandDef] = &[
    built(
        "debug",
        Required("TYPES"),
        "Print what fiord reads and does, by category, comma-separated; `help` lists the categories. \
         process, file, io, mem, random and parse have lines, job:N restricts them to one job; the \
         others are accepted and have none",
    )
    .letter('d'),
    built("parse-only", NoValue, "Check job files and options, then end without any I/O")
        .letter('P'),
    later("merge-blktrace-only", NoValue, "Merge the blktraces of the jobs, then end").letter('A'),
    built("output", Required("FILE"), "Write results to FILE instead of standard output")
        .letter('o'),
    later("bandwidth-log", Optional("NAME"), "Write logs of the bandwidth of all jobs together")
        .letter('b'),
    built("minimal", NoValue, "Print results as one terse line a job").letter('m'),
    built(
        "output-format",
        Required("FORMATS"),
        "Print results as normal, terse, json or json+; several by commas",
    )
    .letter('F'),
    built("append-terse", Optional("0|1"), "Print terse lines after the selected format")
        .letter('f'),
    built("terse-version", Required("N"), "Version of the terse format: 2, 3 (default), 4 or 5")
        .letter('V'),
    built("version", NoValue, "Print the version and end").letter('v'),
    built("help", NoValue, "Print this page and end").letter('h'),
    later("cpuclock-test", NoValue, "Test the CPU's clock, then end").letter('T'),
    later("crctest", Optional("TYPES"), "Measure the checksums that verification can use")
        .letter('G'),
    built("cmdhelp", Optional("OPTION"), "Explain a job option; `all` or nothing lists them")
        .letter('c'),
    built(
        "enghelp",
        Optional("ENGINE[,OPTION]"),
        "List the engines, the options of an engine, or explain one of these",
    )
    .letter('i'),
    built("showcmd", NoValue, "Print the command line that says what the job files say")
        .letter('s'),
    built("eta", Required("WHEN"), "Show the live line `always`, `never` or on terminals (`auto`)")
        .letter('e'),
    built("eta-newline", Required("TIME"), "Begin a new line of the live line every TIME")
        .letter('E'),
    built("eta-interval", Required("TIME"), "Renew the live line every TIME, 250ms at least")
        .letter('O'),
    built("status-interval", Required("TIME"), "Print the results so far every TIME").letter('L'),
    built("readonly", NoValue, "Refuse jobs that would write or trim").letter('r'),
    built("section", Required("NAME"), "Run only this section of the job files; may be repeated")
        .letter('x'),
    CommandDef {
        support: Support::Accepted("fiord has no memory pool to size"),
        ..built("alloc-size", Required("KB"), "Accepted and checked; nothing needs it here")
            .letter('a')
    },
    built("warnings-fatal", NoValue, "Treat warnings about jobs as errors").letter('w'),
    built(
        "findings",
        Required("HOW"),
        "Say why results may not be worth believing: `on` (default), `off`, or `fatal`, status 253 when \
         one is invalid",
    ),
    built(
        "ceiling",
        NoValue,
        "After the run, measure for a moment what each group of jobs would reach on ioengine=null",
    ),
    built("max-jobs", Required("N"), "Warn when there are more than N jobs").letter('j'),
    later("server", Optional("ADDRESS"), "Wait for clients and run their jobs").letter('S'),
    later("daemonize", Required("PIDFILE"), "Run the server in the background").letter('D'),
    later("client", Required("HOST"), "Have the server on HOST run the jobs").letter('C'),
    later("remote-config", Required("FILE"), "Have the server read its own FILE").letter('R'),
    later("idle-prof", Required("HOW"), "Report how idle the CPUs were: system, percpu, calibrate")
        .letter('I'),
    later("inflate-log", Required("FILE"), "Print a compressed log, then end").letter('X'),
    later("trigger-file", Required("FILE"), "Run the trigger when FILE appears"),
    later("trigger-timeout", Required("TIME"), "Run the trigger after TIME"),
    later("trigger", Required("COMMAND"), "What the trigger runs here"),
    later("trigger-remote", Required("COMMAND"), "What the trigger runs on servers"),
    built("aux-path", Required("DIR"), "Keep files about the run's state in DIR").letter('K'),
    later("latency-log", Required("FILE"), "Write logs of the latencies of all jobs together")
        .letter('l'),
];
