//! The threads of a job, the order in which jobs start, and their CPUs and groups.

use crate::option::declare::*;

words! {
    /// `exit_what`: which jobs `exitall` ends.
    pub enum ExitWhat {
        Group = new("group", "the jobs of the same reporting group"),
        Stonewall = new("stonewall", "all running jobs; jobs after the next stonewall still start"),
        All = new("all", "all jobs"),
    }

    /// `cpus_allowed_policy`: how workers share CPUs.
    pub enum CpuPolicy {
        Shared = new("shared", "each worker may use all of these CPUs"),
        Split = new("split", "each worker gets one of these CPUs, in turn"),
    }
}

options! {
    Category::Process;

    /// Runs the workers as threads of one process.
    pub const THREAD: Opt<bool> = option("thread", SWITCH, "thread")
        .accepted("workers are always threads");

    /// Starts the job after all workers of the named job have ended. The named job must come
    /// earlier in the job file.
    pub const WAIT_FOR: Opt<Option<String>> = option("wait_for", TEXT, "wait_for=layout");

    /// Starts this job and the later ones after all earlier jobs have ended. The clones from
    /// `numjobs` start together. It also starts a new reporting group.
    pub const STONEWALL: Opt<bool> = option("stonewall", SWITCH, "stonewall")
        .alias(&["wait_for_previous"]);

    /// Ends other jobs when this job ends; `exit_what` selects which.
    pub const EXITALL: Opt<bool> = option("exitall", SWITCH, "exitall");

    /// Which jobs `exitall` ends.
    pub const EXIT_WHAT: Opt<ExitWhat> = option("exit_what", one_of(), "exit_what=all")
        .default("group");

    /// The name of the worker's thread, which `ps` and `top` show. The kernel keeps 15 bytes.
    pub const COMM: Opt<Option<String>> = option("comm", TEXT, "comm=reader").since("3.42");

    /// Added to the niceness of the job's threads. 19 is the lowest priority; negative numbers need
    /// privileges.
    pub const NICE: Opt<i32> = option("nice", int(-20, 19), "nice=5").default("0");

    /// The I/O priority within its class, from 0 (highest) to 7 (lowest).
    pub const PRIO: Opt<Option<u8>> = option("prio", int(0, 7), "prio=4");

    /// The I/O priority class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub const PRIOCLASS: Opt<Option<u8>> = option("prioclass", int(0, 3), "prioclass=2");

    /// A hint that accompanies the I/O priority, for example the index of a command duration limit.
    pub const PRIOHINT: Opt<Option<u16>> = option("priohint", int(0, 1023), "priohint=1")
        .since("3.42");

    /// The CPUs on which the job may run, as a bit mask with one bit per CPU: 34 is CPUs 1 and 5.
    pub const CPUMASK: Opt<Option<u64>> = option("cpumask", COUNT64, "cpumask=34");

    /// The CPUs on which the job may run, as CPU numbers and ranges separated by commas. CPU
    /// numbers start at 0.
    pub const CPUS_ALLOWED: Opt<Option<Vec<u32>>> = option(
        "cpus_allowed",
        custom("CPU numbers and ranges", &Reader(read::cpu_set)),
        "cpus_allowed=0,5,8-15",
    );

    /// How the workers share the CPUs of `cpus_allowed` or `cpumask`.
    pub const CPUS_ALLOWED_POLICY: Opt<CpuPolicy> =
        option("cpus_allowed_policy", one_of(), "cpus_allowed_policy=split")
            .default("shared")
            .under("cpus_allowed");

    /// The NUMA nodes on whose CPUs the job may run.
    pub const NUMA_CPU_NODES: Opt<Option<Vec<u32>>> = option(
        "numa_cpu_nodes",
        custom("NUMA nodes and ranges, or `all`", &Reader(read::numa_nodes)),
        "numa_cpu_nodes=0-1",
    );

    /// The NUMA nodes for the job's memory: `default`, `local`, `prefer:NODE`, `bind:NODES` or
    /// `interleave:NODES`.
    pub const NUMA_MEM_POLICY: Opt<Option<NumaPolicy>> = option(
        "numa_mem_policy",
        custom("policy:nodes", &Reader(read::numa_policy)),
        "numa_mem_policy=bind:0,1",
    );

    /// The control group in which the job runs. fiord creates it if it does not exist.
    pub const CGROUP: Opt<Option<String>> = option("cgroup", TEXT, "cgroup=bench/reader");

    /// The I/O weight of the control group.
    pub const CGROUP_WEIGHT: Opt<Option<u32>> =
        option("cgroup_weight", int(100, 1000), "cgroup_weight=500").under("cgroup");

    /// Keeps a control group that fiord created for the job, instead of removing it after the job.
    pub const CGROUP_NODELETE: Opt<bool> = option("cgroup_nodelete", BOOL, "cgroup_nodelete=1")
        .default("0")
        .under("cgroup");

    /// The number of the job's flow. Jobs with the same number share a flow; see `flow`.
    pub const FLOW_ID: Opt<u32> = option("flow_id", COUNT, "flow_id=1").default("0");

    /// The weight of this job in its flow. Jobs with the weights 3 and 1 issue I/Os in the ratio of
    /// three to one. Negative weights in older job files count as positive ones.
    pub const FLOW: Opt<i32> = option("flow", int(-1000, 1000), "flow=3")
        .default("0")
        .under("flow_id");

    /// How long a job that is ahead in its flow waits before it checks again. A bare number is in
    /// microseconds.
    pub const FLOW_SLEEP: Opt<Nanos> = option("flow_sleep", MICROS, "flow_sleep=1000")
        .default("0")
        .under("flow_id");

    /// Formerly set by how many I/Os a job could be ahead in its flow. fiord accepts it so that old job files run.
    pub const FLOW_WATERMARK: Opt<Option<u32>> =
        option("flow_watermark", COUNT, "flow_watermark=1024")
            .under("flow_id")
            .accepted("fio has withdrawn it and ignores it too");

    /// A shell command that runs before the job. Its output goes to `JOBNAME.prerun.txt`.
    pub const EXEC_PRERUN: Opt<Option<String>> = option("exec_prerun", TEXT, "exec_prerun=sync");

    /// A shell command that runs after the job. Its output goes to `JOBNAME.postrun.txt`.
    pub const EXEC_POSTRUN: Opt<Option<String>> = option("exec_postrun", TEXT, "exec_postrun=sync");

    /// The user ID of the job's threads. fiord sets it before the threads access any file.
    pub const UID: Opt<Option<u32>> = option("uid", int(0, u32::MAX as u64), "uid=1000");

    /// The group ID of the job's threads. fiord sets it before the threads access any file.
    pub const GID: Opt<Option<u32>> = option("gid", int(0, u32::MAX as u64), "gid=1000");
}
