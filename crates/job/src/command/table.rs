//! The general options of the command line. The parser, the abbreviations and `--help` use these
//! declarations.

use crate::option::def::Support;

/// Whether a general option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// No value.
    None,
    /// `--opt=VALUE` or `--opt VALUE`. The string names the value in help.
    Required(&'static str),
    /// `--opt` or `--opt=VALUE`. The string names the value in help.
    Optional(&'static str),
}

/// A general option.
#[derive(Debug, Clone, Copy)]
pub struct CommandDef {
    /// The name, without dashes.
    pub name: &'static str,
    /// The short option, if there is one.
    pub letter: Option<char>,
    /// Whether the option takes a value.
    pub argument: Argument,
    /// A short description for `--help`.
    pub doc: &'static str,
    /// Whether fiord supports the option.
    pub support: Support,
    /// Whether fio has the option.
    pub in_fio: bool,
    /// Where the option acts in a run on many hosts.
    pub acts: Acts,
    /// The group of `--help` that lists the option.
    pub group: HelpGroup,
}

/// The groups of `--help`, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpGroup {
    /// What runs, and what must not run.
    Jobs,
    /// Where results go and in which format.
    Results,
    /// What is shown during a run.
    Status,
    /// Runs on other hosts.
    Hosts,
    /// Commands that run when something happens.
    Triggers,
    /// Options that print something and exit.
    Information,
}

impl HelpGroup {
    pub const ALL: [HelpGroup; 6] = [
        HelpGroup::Jobs,
        HelpGroup::Results,
        HelpGroup::Status,
        HelpGroup::Hosts,
        HelpGroup::Triggers,
        HelpGroup::Information,
    ];

    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            HelpGroup::Jobs => "What runs",
            HelpGroup::Results => "Results",
            HelpGroup::Status => "During the run",
            HelpGroup::Hosts => "Many hosts",
            HelpGroup::Triggers => "Triggers",
            HelpGroup::Information => "Information, without a run",
        }
    }
}

/// Where a general option acts in a run on many hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acts {
    AtCoordinator,
    /// At each host, which gets the option with the jobs.
    AtHosts,
    /// Nowhere: the run is refused. The string says why and what to do instead.
    Refused(&'static str),
}

impl CommandDef {
    /// Sets the short option, which is the same as in fio.
    const fn letter(mut self, letter: char) -> Self {
        self.letter = Some(letter);
        self
    }

    /// Marks an option that fio does not have.
    const fn only_fiord(mut self) -> Self {
        self.in_fio = false;
        self
    }

    /// Lists the option in this group of `--help`. Without it, the option is one of [`HelpGroup::Jobs`].
    const fn group(mut self, group: HelpGroup) -> Self {
        self.group = group;
        self
    }

    /// Sends the option to the hosts of a run.
    const fn at_hosts(mut self) -> Self {
        self.acts = Acts::AtHosts;
        self
    }

    /// Refuses the option in a run on many hosts.
    const fn one_host(mut self, why: &'static str) -> Self {
        self.acts = Acts::Refused(why);
        self
    }
}

const fn built(name: &'static str, argument: Argument, doc: &'static str) -> CommandDef {
    CommandDef {
        name,
        letter: None,
        argument,
        doc,
        support: Support::Built,
        in_fio: true,
        acts: Acts::AtCoordinator,
        group: HelpGroup::Jobs,
    }
}

use Argument::{None as NoValue, Optional, Required};

/// All general options, in the order of `--help`.
pub static COMMANDS: &[CommandDef] = &[
    built(
        "debug",
        Required("TYPES"),
        "Print what fiord reads and does, by category, comma-separated; `help` lists the \
         categories. process, file, io, mem, random and parse print lines, job:N restricts them \
         to one job; the other categories are accepted and print nothing",
    ).group(HelpGroup::Status).one_host("its lines come from the process that runs a job. To fix: run the job on one host with --debug")
    .letter('d'),
    built("parse-only", NoValue, "Check job files and options, then exit without any I/O").group(HelpGroup::Information)
        .letter('P'),
    built(
        "merge-blktrace-only",
        NoValue,
        "Merge the block traces of the jobs (merge_blktrace_file), then exit without any I/O",
    ).group(HelpGroup::Information).one_host("it runs no job. To fix: run it on the host that has the traces")
    .letter('A'),
    built("output", Required("FILE"), "Write results to FILE instead of standard output").group(HelpGroup::Results)
        .letter('o'),
    built(
        "bandwidth-log",
        Optional("NAME"),
        "Write the bandwidth of all jobs together to NAME-read_bw.log, NAME-write_bw.log and \
         NAME-trim_bw.log; NAME is `agg` by default",
    ).group(HelpGroup::Results).one_host("each host has its own bandwidth. To fix: use write_bw_log in the jobs")
    .letter('b'),
    built("minimal", NoValue, "Print results as one terse line per job").group(HelpGroup::Results).letter('m'),
    built(
        "output-format",
        Required("FORMATS"),
        "Print results as normal, terse, json or json+; several formats are separated by commas",
    ).group(HelpGroup::Results)
    .letter('F'),
    built(
        "html",
        Required("FILE"),
        "Also write the results with charts to FILE, one HTML page that works offline (docs/report.md)",
    )
    .only_fiord(),
    built("append-terse", Optional("0|1"), "Print terse lines after the selected format").group(HelpGroup::Results)
        .letter('f'),
    built("terse-version", Required("N"), "Version of the terse format: 2, 3 (default), 4 or 5").group(HelpGroup::Results)
        .letter('V'),
    built("version", NoValue, "Print the version and exit").group(HelpGroup::Information).letter('v'),
    built("help", NoValue, "Print this page and exit").group(HelpGroup::Information).letter('h'),
    built("cpuclock-test", NoValue, "Compare the clocks of the CPUs, then exit").group(HelpGroup::Information).letter('T'),
    built(
        "crctest",
        Optional("TYPES"),
        "Measure the speed of the checksums for verification, then exit; several are separated by \
         commas",
    ).group(HelpGroup::Information)
    .letter('G'),
    built(
        "cmdhelp",
        Optional("OPTION"),
        "Explain a job option; `all` or no value lists all options",
    ).group(HelpGroup::Information)
    .letter('c'),
    built(
        "enghelp",
        Optional("ENGINE[,OPTION]"),
        "List the engines or the options of an engine, or explain an option of an engine",
    ).group(HelpGroup::Information)
    .letter('i'),
    built("showcmd", NoValue, "Print the equivalent command line").group(HelpGroup::Information)
        .letter('s')
        .one_host("it runs nothing. To fix: leave the hosts out"),
    built(
        "eta",
        Required("WHEN"),
        "Show the live status line `always`, `never` or only on terminals (`auto`)",
    ).group(HelpGroup::Status)
    .letter('e'),
    built("eta-newline", Required("TIME"), "Start a new line for the live status every TIME").group(HelpGroup::Status)
        .letter('E'),
    built(
        "eta-interval",
        Required("TIME"),
        "Update the live status line every TIME, at least 250ms",
    ).group(HelpGroup::Status)
    .letter('O'),
    built(
        "live",
        NoValue,
        "Show the run on the whole screen: jobs, hosts, latencies, devices, findings. `?` lists the \
         keys; `q` ends the run with its report",
    )
    .group(HelpGroup::Status)
    .only_fiord(),
    built("status-interval", Required("TIME"), "Print the results so far every TIME").group(HelpGroup::Status).letter('L'),
    built(
        "series",
        Required("FILE"),
        "While the jobs run, write a row for each job, direction and interval to FILE (.csv, .jsonl or .influx), or to \
         standard output (`-`)",
    )
    .group(HelpGroup::Status)
    .only_fiord(),
    built("series-format", Required("FORMAT"), "Write the series as `csv`, `jsonl` or `influx`")
        .group(HelpGroup::Status)
    .only_fiord(),
    built("series-interval", Required("TIME"), "Time between two rows of a job, at least 10ms (1s)")
        .group(HelpGroup::Status)
    .only_fiord(),
    built(
        "metrics",
        Required("WHERE"),
        "While the jobs run, keep metrics for Prometheus in the file FILE.prom, or serve them over HTTP on :PORT (of the \
         loopback address) or ADDRESS:PORT. May be repeated",
    )
    .group(HelpGroup::Status)
    .only_fiord(),
    built(
        "metrics-linger",
        Required("TIME"),
        "After the run, serve its final metrics until they were fetched once, at most for TIME",
    )
    .group(HelpGroup::Status)
    .only_fiord(),
    built("readonly", NoValue, "Refuse jobs that would write or trim").at_hosts().letter('r'),
    built(
        "no-exec",
        NoValue,
        "Refuse jobs that run programs or load code: `exec_prerun`, `exec_postrun`, engines that do so, \
         `--trigger` and `--trigger-remote`",
    ).only_fiord().at_hosts(),
    built("section", Required("NAME"), "Run only this section of the job files; may be repeated").at_hosts()
        .letter('x'),
    CommandDef {
        support: Support::Accepted("fiord has no memory pool to size"),
        ..built("alloc-size", Required("KB"), "Accepted and checked, but has no effect").letter('a')
    },
    built("warnings-fatal", NoValue, "Treat warnings about jobs as errors").at_hosts().letter('w'),
    built(
        "findings",
        Required("HOW"),
        "Report reasons not to trust a result: `on` (default), `off`, or `fatal`, which exits with \
         status 253 when a finding says that a result is invalid",
    ).group(HelpGroup::Results).only_fiord().at_hosts(),
    built(
        "ceiling",
        NoValue,
        "After the run, briefly measure what each group of jobs would reach on ioengine=null",
    ).group(HelpGroup::Results).only_fiord().at_hosts(),
    built("max-jobs", Required("N"), "Warn when there are more than N jobs").at_hosts().letter('j'),
    built(
        "server",
        Optional("ADDRESS"),
        "Run the jobs of clients that connect to ADDRESS: HOST, HOST,PORT, ip6:HOST or sock:PATH. Without keys and \
         without --insecure, only this machine can connect",
    ).group(HelpGroup::Hosts)
    .letter('S')
    .one_host("a process is a server or a client. To fix: run two processes"),
    built(
        "daemonize",
        Required("PIDFILE"),
        "Run the server in the background, with its process id in PIDFILE",
    ).group(HelpGroup::Hosts)
    .letter('D')
    .one_host("it belongs to --server. To fix: leave it out"),
    built("policy", Required("FILE"), "FILE says what clients may do on this server (docs/hosts.md)").group(HelpGroup::Hosts)
        .only_fiord()
        .one_host("it belongs to --server. To fix: leave it out"),
    built("keys", Required("DIR"), "Directory of the keys for connections between hosts (`fiord keys`)").group(HelpGroup::Hosts)
        .only_fiord(),
    built(
        "insecure",
        NoValue,
        "Let servers and clients on other machines connect without keys: everybody in that network can run jobs",
    ).group(HelpGroup::Hosts)
    .only_fiord(),
    built(
        "client",
        Required("HOST"),
        "Run the job files after it on the server on HOST, or on the servers that the file HOST lists",
    ).group(HelpGroup::Hosts)
    .letter('C'),
    built("remote-config", Required("FILE"), "The servers read the job file FILE of their own").group(HelpGroup::Hosts)
        .letter('R')
        .at_hosts(),
    built(
        "hosts",
        Required("LIST"),
        "Run the jobs on these hosts over ssh; n[01-12],x are 13 hosts. May be repeated",
    ).group(HelpGroup::Hosts)
    .only_fiord(),
    built("hostsfile", Required("FILE"), "Run the jobs on the hosts that FILE lists, over ssh").group(HelpGroup::Hosts).only_fiord(),
    built(
        "ranks",
        NoValue,
        "Run the jobs on all processes that srun, mpirun or an indexed job of Kubernetes has started; rank 0 prints the \
         report",
    ).group(HelpGroup::Hosts)
    .only_fiord(),
    built(
        "hosts-data",
        Required("HOW"),
        "How the hosts of a run share their files: `private` (default; two hosts must not write one device), \
         `same` (all use all of them) or `split` (each uses its part)",
    ).group(HelpGroup::Hosts)
    .only_fiord(),
    built(
        "on-lost",
        Required("HOW"),
        "If a host is lost: `abort` the run on all hosts (default), or `continue` on the others",
    ).group(HelpGroup::Hosts)
    .only_fiord(),
    built(
        "ssh",
        Required("COMMAND"),
        "The command that reaches the hosts of --hosts; the host and the command to run there follow it \
         (`ssh -o BatchMode=yes`)",
    ).group(HelpGroup::Hosts)
    .only_fiord(),
    built("remote-fiord", Required("PATH"), "The fiord to run on the hosts of --hosts (`fiord`)").group(HelpGroup::Hosts)
        .only_fiord(),
    built(
        "idle-prof",
        Required("HOW"),
        "Report how idle the CPUs were: all together (`system`) or also each (`percpu`). `calibrate` \
         only measures a unit of work, then exits",
    ).group(HelpGroup::Results).at_hosts()
    .letter('I'),
    built("inflate-log", Required("FILE"), "Print a compressed log, then exit").group(HelpGroup::Information).letter('X'),
    built(
        "trigger-file",
        Required("FILE"),
        "When FILE appears: remove it, stop the jobs, save their verify states, and run --trigger",
    ).group(HelpGroup::Triggers),
    built(
        "trigger-timeout",
        Required("TIME"),
        "After TIME: stop the jobs, save their verify states, and run --trigger",
    ).group(HelpGroup::Triggers),
    built(
        "trigger",
        Required("COMMAND"),
        "The shell command that --trigger-file and --trigger-timeout run on this machine",
    ).group(HelpGroup::Triggers),
    built(
        "trigger-remote",
        Required("COMMAND"),
        "The shell command that --trigger-file and --trigger-timeout run on each host (docs/hosts.md)",
    ).group(HelpGroup::Triggers),
    built("aux-path", Required("DIR"), "Keep files about the state of the run in DIR").group(HelpGroup::Results).at_hosts().letter('K'),
    built("latency-log", Required("FILE"), "Refused, as in fio: use write_lat_log").group(HelpGroup::Results).letter('l'),
];
