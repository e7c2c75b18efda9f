//! What the manual pages say that the definitions of the subcommands do not: examples, exit statuses, files, environment.

/// A name and its meaning, or a command line and what it does.
pub(super) type ManualEntry = (&'static str, &'static str);

/// The sections of one manual page.
pub(super) struct ManualSections {
    /// Command lines, each with what it does.
    pub(super) examples: &'static [ManualEntry],
    /// Statuses other than those that all subcommands have.
    statuses: &'static [ManualEntry],
    /// Files that it reads or writes besides those that its arguments name.
    pub(super) files: &'static [ManualEntry],
    /// Environment variables other than those that all subcommands use.
    environment: &'static [ManualEntry],
}

impl ManualSections {
    /// All exit statuses.
    pub(super) fn statuses(&self) -> Vec<ManualEntry> {
        let mut all = vec![
            ("0", "Everything is done, and nothing is wrong."),
            (
                "1",
                "The command line is wrong, something failed, or the results could not be written.",
            ),
        ];
        all.extend_from_slice(self.statuses);
        all.push((
            "141",
            "Everything is done, but the reader closed standard output, as with | head.",
        ));
        all
    }

    /// All environment variables.
    pub(super) fn variables(&self) -> Vec<ManualEntry> {
        [self.environment, ENVIRONMENT].concat()
    }
}

/// Environment variables that every subcommand and every run uses.
pub(super) const ENVIRONMENT: &[ManualEntry] =
    &[("NO_COLOR", "If it is set, there are no colours, also on a terminal.")];

/// Examples of runs.
pub(super) const RUNS: &[ManualEntry] = &[
    ("fiord job.fio", "Run a job file"),
    (
        "fiord --name=a --filename=/dev/nvme0n1 --readonly --rw=randread --bs=4k --iodepth=32 --ioengine=io_uring --direct=1 \
         --runtime=30 --time_based",
        "Measure random reads of a drive; --readonly refuses jobs that write",
    ),
    (
        "fiord --output-format=json --output=result.json job.fio",
        "Write the results as JSON to a file",
    ),
    ("fiord check job.fio", "Look for mistakes before the run"),
];

pub(super) const RUN_FILES: &[ManualEntry] = &[
    (
        "local-JOB-N-verify.state",
        "What a job with verify has written so far, in the directory of --aux-path or the current one.",
    ),
    ("~/.config/fiord", "The keys for connections between hosts; --keys names another directory."),
];

/// What the full-screen view depends on.
const SCREEN: &[ManualEntry] = &[
    ("TERM", "If it is dumb, the terminal cannot show the view."),
    ("LC_ALL, LC_CTYPE, LANG", "A locale without UTF-8 gets ASCII characters."),
];

const INTERRUPTED: ManualEntry =
    ("128", "Ctrl-C or a signal stopped it. The same command resumes it.");
const RUNS_DIRECTORY: ManualEntry = (
    "sweep.json",
    "In the directory of the runs: the list of finished runs, with the command of each, and the results, for fiord report.",
);

pub(super) fn of(subcommand: &str) -> ManualSections {
    let examples = examples(subcommand);
    let (statuses, files, environment): (&[ManualEntry], &[ManualEntry], &[ManualEntry]) =
        match subcommand {
            "check" => (
                &[
                    ("252", "A result of these jobs would be suspect."),
                    ("253", "A result of these jobs would be invalid."),
                ],
                &[],
                &[],
            ),
            "sweep" | "suite" => (&[INTERRUPTED], &[RUNS_DIRECTORY], &[]),
            "precondition" => (
                &[
                    INTERRUPTED,
                    (
                        "246",
                        "The limit of --limit ended the random writes before the rate was steady.",
                    ),
                ],
                &[(
                    "~/.local/state/fiord/precondition.json",
                    "How far each device is written, so that a later call can resume. --state names another file.",
                )],
                &[("XDG_STATE_HOME", "Takes the place of ~/.local/state.")],
            ),
            "compare" => (
                &[
                    (
                        "247",
                        "A measured change is beyond the limit of a condition, but can be chance.",
                    ),
                    ("248", "A condition of --fail-if holds."),
                ],
                &[],
                &[],
            ),
            "run" => (&[INTERRUPTED], &[RUNS_DIRECTORY], &[]),
            "live" => (&[("128", "Ctrl-C or a signal ended the replay.")], &[], SCREEN),
            "verify" => {
                (&[("250", "Data that had been flushed is lost, or data is damaged.")], &[], &[])
            }
            "powercut" => (
                &[INTERRUPTED, ("250", "Data that had been flushed is lost, or data is damaged.")],
                &[("powercut.json", "In the directory of the rounds: what --resume needs.")],
                &[],
            ),
            "keys" => (
                &[],
                &[("~/.config/fiord", "The key of this host, and the keys that it trusts.")],
                &[("XDG_CONFIG_HOME", "Takes the place of ~/.config.")],
            ),
            "devices" => (
                &[],
                &[],
                &[("COLUMNS", "The width of the table, if standard output is not a terminal.")],
            ),
            _ => (&[], &[], &[]),
        };
    ManualSections { examples, statuses, files, environment }
}

fn examples(subcommand: &str) -> &'static [ManualEntry] {
    match subcommand {
        "check" => &[
            ("fiord check job.fio", "Check a job file"),
            (
                "fiord check --name=a --filename=/dev/sdb --rw=randread --format=json",
                "Check a job of the command line, for a program",
            ),
        ],
        "options" => &[
            ("fiord options | grep depth", "Find an option"),
            ("fiord options --unsupported", "List what fio has and fiord does not"),
        ],
        "sweep" => &[
            (
                "fiord sweep --set iodepth=1,2,4,8,16,32 --repeat=5 --until saturated job.fio",
                "Find the queue depth beyond which latency grows and throughput does not",
            ),
            (
                "fiord sweep --set bs=4k,64k --set iodepth=1,8 --name=a --filename=/dev/nvme0n1 --rw=randread --runtime=10 \
                 --time_based --direct=1 --ioengine=io_uring",
                "Run every combination of two options",
            ),
            (
                "fiord sweep --rate 10%..100% job.fio",
                "Measure the latency at shares of the highest rate",
            ),
        ],
        "compare" => &[
            ("fiord compare before.json after.json", "Compare two runs"),
            (
                "fiord compare --fail-if 'p99>+5%' a1.json a2.json --vs b1.json b2.json",
                "Compare several runs of each side, and fail if the latency has certainly grown",
            ),
        ],
        "run" => &[(
            "fiord run --repeat 5 --interleave a.fio b.fio",
            "Run two jobs five times each, in turns, for a comparison",
        )],
        "report" => &[
            (
                "fiord report result.json -o result.html",
                "Write a page with charts, to send to a colleague",
            ),
            ("fiord report job.sweep -o sweep.html", "Draw the results of a sweep"),
        ],
        "skew" => &[(
            "fiord skew --distribution=zipf:1.1 --size=100g",
            "How much of the data gets which share of the I/O",
        )],
        "log" => &[
            ("fiord log --show=plot job_bw.1.log", "Plot a log of bandwidth"),
            (
                "fiord log --convert=text --output=logs compact.log",
                "Convert a compact log to the format of fio",
            ),
        ],
        "live" => &[
            ("fiord live result.json", "Replay a run from its JSON, a long one in a minute"),
            ("fiord live --speed=1 result.html", "Replay a run from its page, as fast as it was"),
        ],
        _ => examples_of_devices(subcommand),
    }
}

/// Examples of the subcommands about devices, traces and keys.
fn examples_of_devices(subcommand: &str) -> &'static [ManualEntry] {
    match subcommand {
        "zones" => &[
            (
                "fiord zones /dev/nvme0n1",
                "Show the zones, adjacent ones with the same state in one line",
            ),
            (
                "fiord zones /dev/nvme0n1 --reset=0-15",
                "Reset the first sixteen zones; their data is lost",
            ),
        ],
        "suite" => &[
            ("fiord suite", "List the suites and their axes"),
            (
                "fiord suite zbd/randread /dev/nvme0n1 --dry-run",
                "Print the jobs of a suite, run nothing",
            ),
            (
                "fiord suite zbd/randread /dev/nvme0n1 --ioengine=libaio",
                "Run a suite with another engine",
            ),
        ],
        "devices" => &[
            ("fiord devices", "List the disks"),
            ("fiord devices nvme0n1", "Show all that is known about a disk"),
        ],
        "precondition" => &[
            ("fiord precondition /dev/nvme0n1", "Fill a drive once; the command asks first"),
            (
                "fiord precondition --random --limit=120 --yes /dev/nvme0n1",
                "Then write randomly until the rate is steady, for at most two hours",
            ),
            (
                "fiord precondition --random --format=json --output=filled.json /dev/nvme0n1",
                "Keep the rates of all rounds, for fiord report",
            ),
        ],
        "verify" => &[(
            "fiord verify --journal=job.journal /dev/nvme0n1",
            "Check after a crash whether a drive still has all flushed data",
        )],
        "powercut" => &[(
            "fiord powercut /dev/nvme1n1 --cut='ipmitool power off' --restore='ipmitool power on' --rounds=20",
            "Cut the power of a drive twenty times, and check it after each cut",
        )],
        "trace" => &[
            ("fiord trace io.log", "Summarize a trace"),
            ("fiord trace io.log --job=similar.fio", "Write a job that approximates it"),
        ],
        "keys" => &[
            ("fiord keys create", "Make the key of this host, and print its fingerprint"),
            ("fiord keys trust SHA256:... server", "Trust the key of another host"),
        ],
        "help" => &[
            ("fiord help sweep", "Explain a command"),
            ("fiord help iodepth", "Explain a job option"),
        ],
        _ => &[],
    }
}
