//! The threads of a job, the order in which jobs start, and their CPUs and groups.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Process);

pub(super) const OPTIONS: &[OptionDef] = &[
    option("thread", Kind::Switch, "Runs the workers as threads of one process.", "thread")
        .accepted("workers are always threads"),
    option(
        "wait_for",
        Kind::Text,
        "Starts the job after all workers of the named job have ended. The named job must come \
         earlier in the job file.",
        "wait_for=layout",
    ),
    option(
        "stonewall",
        Kind::Switch,
        "Starts this job and the later ones after all earlier jobs have ended. The clones from \
         `numjobs` start together. It also starts a new reporting group.",
        "stonewall",
    )
    .alias(&["wait_for_previous"]),
    option(
        "exitall",
        Kind::Switch,
        "Ends other jobs when this job ends; `exit_what` selects which.",
        "exitall",
    ),
    option(
        "exit_what",
        Kind::words(&[
            Word::new("group", "the jobs of the same reporting group"),
            Word::new("stonewall", "all running jobs; jobs after the next stonewall still start"),
            Word::new("all", "all jobs"),
        ]),
        "Which jobs `exitall` ends.",
        "exit_what=all",
    )
    .default("group"),
    option(
        "comm",
        Kind::Text,
        "The name of the worker's thread, which `ps` and `top` show. The kernel keeps 15 bytes.",
        "comm=reader",
    )
    .since("3.42"),
    option(
        "nice",
        Kind::int(-20, 19),
        "Added to the niceness of the job's threads. 19 is the lowest priority; negative numbers \
         need privileges.",
        "nice=5",
    )
    .default("0"),
    option(
        "prio",
        Kind::int(0, 7),
        "The I/O priority within its class, from 0 (highest) to 7 (lowest).",
        "prio=4",
    ),
    option(
        "prioclass",
        Kind::int(0, 3),
        "The I/O priority class: 0 none, 1 real time, 2 best effort, 3 idle.",
        "prioclass=2",
    ),
    option(
        "priohint",
        Kind::int(0, 1023),
        "A hint that accompanies the I/O priority, for example the index of a command duration \
         limit.",
        "priohint=1",
    )
    .since("3.42"),
    option(
        "cpumask",
        Kind::COUNT64,
        "The CPUs on which the job may run, as a bit mask with one bit per CPU: 34 is CPUs 1 and \
         5.",
        "cpumask=34",
    ),
    option(
        "cpus_allowed",
        Kind::Custom { name: "CPU numbers and ranges", read: read::cpu_set },
        "The CPUs on which the job may run, as CPU numbers and ranges separated by commas. CPU \
         numbers start at 0.",
        "cpus_allowed=0,5,8-15",
    ),
    option(
        "cpus_allowed_policy",
        Kind::words(&[
            Word::new("shared", "each worker may use all of these CPUs"),
            Word::new("split", "each worker gets one of these CPUs, in turn"),
        ]),
        "How the workers share the CPUs of `cpus_allowed` or `cpumask`.",
        "cpus_allowed_policy=split",
    )
    .default("shared")
    .under("cpus_allowed"),
    option(
        "numa_cpu_nodes",
        Kind::Custom { name: "NUMA nodes and ranges, or `all`", read: read::numa_nodes },
        "The NUMA nodes on whose CPUs the job may run.",
        "numa_cpu_nodes=0-1",
    ),
    option(
        "numa_mem_policy",
        Kind::Custom { name: "policy:nodes", read: read::numa_policy },
        "The NUMA nodes for the job's memory: `default`, `local`, `prefer:NODE`, `bind:NODES` or \
         `interleave:NODES`.",
        "numa_mem_policy=bind:0,1",
    ),
    option(
        "cgroup",
        Kind::Text,
        "The control group in which the job runs. fiord creates it if it does not exist.",
        "cgroup=bench/reader",
    ),
    option(
        "cgroup_weight",
        Kind::int(100, 1000),
        "The I/O weight of the control group.",
        "cgroup_weight=500",
    )
    .under("cgroup"),
    option(
        "cgroup_nodelete",
        Kind::Bool,
        "Keeps a control group that fiord created for the job, instead of removing it after the \
         job.",
        "cgroup_nodelete=1",
    )
    .default("0")
    .under("cgroup"),
    option(
        "flow_id",
        Kind::COUNT,
        "The number of the job's flow. Jobs with the same number share a flow; see `flow`.",
        "flow_id=1",
    )
    .default("0"),
    option(
        "flow",
        Kind::int(-1000, 1000),
        "The weight of this job in its flow. Jobs with the weights 3 and 1 issue I/Os in the ratio \
         of three to one. Negative weights in older job files count as positive ones.",
        "flow=3",
    )
    .default("0")
    .under("flow_id"),
    option(
        "flow_sleep",
        Kind::MICROS,
        "How long a job that is ahead in its flow waits before it checks again. A bare number is \
         in microseconds.",
        "flow_sleep=1000",
    )
    .default("0")
    .under("flow_id"),
    option(
        "exec_prerun",
        Kind::Text,
        "A shell command that runs before the job. Its output goes to `JOBNAME.prerun.txt`.",
        "exec_prerun=sync",
    ),
    option(
        "exec_postrun",
        Kind::Text,
        "A shell command that runs after the job. Its output goes to `JOBNAME.postrun.txt`.",
        "exec_postrun=sync",
    ),
    option(
        "uid",
        Kind::Int { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The user ID of the job's threads. fiord sets it before the threads access any file.",
        "uid=1000",
    ),
    option(
        "gid",
        Kind::Int { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The group ID of the job's threads. fiord sets it before the threads access any file.",
        "gid=1000",
    ),
];
