//! The thread around a job, its place in the order of jobs, and the CPUs and groups it belongs to.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Process);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "thread",
        Kind::Switch,
        "Runs the workers as threads of one process.",
        "thread",
    )
    .accepted("workers are always threads"),
    option(
        "wait_for",
        Kind::Text,
        "Starts the job when all workers of the job with this name have ended. That job has to stand \
         earlier in the file.",
        "wait_for=layout",
    ),
    option(
        "stonewall",
        Kind::Switch,
        "Starts the job, and those after it, when all jobs before it have ended. The clones that `numjobs` \
         makes of it start together. It also opens a new reporting group.",
        "stonewall",
    )
    .alias(&["wait_for_previous"]),
    option(
        "exitall",
        Kind::Switch,
        "Ends other jobs as soon as this one has ended; `exit_what` says which.",
        "exitall",
    ),
    option(
        "exit_what",
        Kind::words(&[
            Word::new("group", "the jobs of the same reporting group"),
            Word::new("stonewall", "all that run now; jobs behind the next stonewall still start"),
            Word::new("all", "all jobs"),
        ]),
        "Which jobs `exitall` ends.",
        "exit_what=all",
    )
    .default("group"),
    option(
        "comm",
        Kind::Text,
        "The name of the worker's thread, as `ps` and `top` show it. The kernel keeps 15 bytes.",
        "comm=reader",
    )
    .since("3.42"),
    option(
        "nice",
        Kind::int(-20, 19),
        "Adds this to the scheduling niceness of the job's threads: 19 is the most modest, negative \
         numbers need privilege.",
        "nice=5",
    )
    .default("0"),
    option(
        "prio",
        Kind::int(0, 7),
        "The I/O priority within its class, from 0 (first) to 7 (last).",
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
        "A hint that goes with the I/O priority, for instance the index of a command duration limit.",
        "priohint=1",
    )
    .since("3.42"),
    option(
        "cpumask",
        Kind::COUNT64,
        "The CPUs that the job may use, as a mask with one bit a CPU: 34 is CPUs 1 and 5.",
        "cpumask=34",
    ),
    option(
        "cpus_allowed",
        Kind::Custom { name: "CPU numbers and ranges", read: read::cpu_set },
        "The CPUs that the job may use, as numbers and ranges from 0 by commas.",
        "cpus_allowed=0,5,8-15",
    ),
    option(
        "cpus_allowed_policy",
        Kind::words(&[
            Word::new("shared", "each worker may use all of them"),
            Word::new("split", "each worker gets one of them in turn"),
        ]),
        "How the CPUs of `cpus_allowed` or `cpumask` are shared out among the workers.",
        "cpus_allowed_policy=split",
    )
    .default("shared")
    .under("cpus_allowed"),
    option(
        "numa_cpu_nodes",
        Kind::Custom { name: "NUMA nodes and ranges, or `all`", read: read::numa_nodes },
        "The NUMA nodes whose CPUs the job may use.",
        "numa_cpu_nodes=0-1",
    ),
    option(
        "numa_mem_policy",
        Kind::Custom { name: "policy:nodes", read: read::numa_policy },
        "On which NUMA nodes the job's memory lies: `default`, `local`, `prefer:NODE`, `bind:NODES` or \
         `interleave:NODES`.",
        "numa_mem_policy=bind:0,1",
    ),
    option(
        "cgroup",
        Kind::Text,
        "The control group that the job runs in. It is made when it is not there.",
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
        "Leaves a control group that was made for the job in place after it.",
        "cgroup_nodelete=1",
    )
    .default("0")
    .under("cgroup"),
    option(
        "flow_id",
        Kind::COUNT,
        "Jobs with the same number share a flow; see `flow`.",
        "flow_id=1",
    )
    .default("0"),
    option(
        "flow",
        Kind::int(-1000, 1000),
        "The share of this job in the I/Os of its flow: jobs with 3 and 1 run \
         three to one. Negative weights of older job files stand for the same share.",
        "flow=3",
    )
    .default("0")
    .under("flow_id"),
    option(
        "flow_sleep",
        Kind::MICROS,
        "How long a job that is ahead of its share waits before it looks again. A bare number is in \
         microseconds.",
        "flow_sleep=1000",
    )
    .default("0")
    .under("flow_id"),
    option(
        "exec_prerun",
        Kind::Text,
        "A shell command to run before the job. What it prints goes to `JOBNAME.prerun.txt`.",
        "exec_prerun=sync",
    ),
    option(
        "exec_postrun",
        Kind::Text,
        "A shell command to run after the job. What it prints goes to `JOBNAME.postrun.txt`.",
        "exec_postrun=sync",
    ),
    option(
        "uid",
        Kind::Int { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The user that the job's threads become before they touch anything.",
        "uid=1000",
    ),
    option(
        "gid",
        Kind::Int { min: 0, max: u32::MAX as u64, unit: Unit::Count },
        "The group that the job's threads become before they touch anything.",
        "gid=1000",
    ),
];
