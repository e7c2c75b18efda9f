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
        "Trace what fiord does, by category, comma-separated; `help` lists the categories",
    ),
    built("parse-only", NoValue, "Check job files and options, then end without any I/O"),
    later("merge-blktrace-only", NoValue, "Merge the blktraces of the jobs, then end"),
    CommandDef {
        letter: Some('o'),
        ..built("output", Required("FILE"), "Write results to FILE instead of standard output")
    },
    later("bandwidth-log", Optional("NAME"), "Write logs of the bandwidth of all jobs together"),
    CommandDef {
        letter: Some('m'),
        ..built("minimal", NoValue, "Print results as one terse line a job")
    },
    built(
        "output-format",
        Required("FORMATS"),
        "Print results as normal, terse, json or json+; several by commas",
    ),
    built("append-terse", NoValue, "Print terse lines after the selected format"),
    built("terse-version", Required("N"), "Version of the terse format: 2, 3 (default), 4 or 5"),
    CommandDef { letter: Some('v'), ..built("version", NoValue, "Print the version and end") },
    CommandDef { letter: Some('h'), ..built("help", NoValue, "Print this page and end") },
    later("cpuclock-test", NoValue, "Test the CPU's clock, then end"),
    later("crctest", Optional("TYPES"), "Measure the checksums that verification can use"),
    built("cmdhelp", Optional("OPTION"), "Explain a job option; `all` or nothing lists them"),
    built(
        "enghelp",
        Optional("ENGINE[,OPTION]"),
        "List the engines, the options of an engine, or explain one of these",
    ),
    built("showcmd", NoValue, "Print the command line that says what the job files say"),
    built("eta", Required("WHEN"), "Show the live line `always`, `never` or on terminals (`auto`)"),
    built("eta-newline", Required("TIME"), "Begin a new line of the live line every TIME"),
    built("eta-interval", Required("TIME"), "Renew the live line every TIME, 250ms at least"),
    built("status-interval", Required("TIME"), "Print the results so far every TIME"),
    built("readonly", NoValue, "Refuse jobs that would write or trim"),
    built("section", Required("NAME"), "Run only this section of the job files; may be repeated"),
    CommandDef {
        support: Support::Accepted("fiord has no memory pool to size"),
        ..built("alloc-size", Required("KB"), "Accepted and checked; nothing needs it here")
    },
    built("warnings-fatal", NoValue, "Treat warnings about jobs as errors"),
    built(
        "findings",
        Required("HOW"),
        "Say why results may not be worth believing: `on` (default), `off`, or `fatal`, status 3 when \
         one is invalid",
    ),
    built(
        "ceiling",
        NoValue,
        "After the run, measure for a moment what each group of jobs would reach on ioengine=null",
    ),
    built("max-jobs", Required("N"), "Refuse to start more than N jobs"),
    later("server", Optional("ADDRESS"), "Wait for clients and run their jobs"),
    later("daemonize", Required("PIDFILE"), "Run the server in the background"),
    later("client", Required("HOST"), "Have the server on HOST run the jobs"),
    later("remote-config", Required("FILE"), "Have the server read its own FILE"),
    later("idle-prof", Required("HOW"), "Report how idle the CPUs were: system, percpu, calibrate"),
    later("inflate-log", Required("FILE"), "Print a compressed log, then end"),
    later("trigger-file", Required("FILE"), "Run the trigger when FILE appears"),
    later("trigger-timeout", Required("TIME"), "Run the trigger after TIME"),
    later("trigger", Required("COMMAND"), "What the trigger runs here"),
    later("trigger-remote", Required("COMMAND"), "What the trigger runs on servers"),
    built("aux-path", Required("DIR"), "Keep files about the run's state in DIR"),
    later("latency-log", Required("FILE"), "Write logs of the latencies of all jobs together"),
];
