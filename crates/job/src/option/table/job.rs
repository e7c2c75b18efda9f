//! The job's name, its description, and how often it runs.

use crate::option::declare::*;

options! {
    Category::Job;

    /// The name of the job in reports. Without it, the report uses the section's name. On the
    /// command line, `--name` also starts a new job: options before the first `--name` apply to all
    /// jobs.
    pub const NAME: Opt<Option<String>> = option("name", TEXT, "name=reader");

    /// A note about the job. Reports repeat it; it has no other effect.
    pub const DESCRIPTION: Opt<Option<String>> =
        option("description", TEXT, "description=Cold cache, two drives");

    /// How many times the job does its whole work.
    pub const LOOPS: Opt<u32> = option("loops", COUNT, "loops=3").default("1");

    /// How many identical workers run this job in parallel. Sizes and depths apply to each worker,
    /// so the total is the product. Reports list each worker separately unless `group_reporting`
    /// combines them.
    pub const NUMJOBS: Opt<u32> = option("numjobs", COUNT, "numjobs=8").default("1");
}
