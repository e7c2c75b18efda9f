//! The job's name, its description, and how often it runs.

use crate::option::def::{Category, Kind, OptionDef};

const CATEGORY: Category = Category::Job;

pub(super) const OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "name",
        Kind::Text,
        CATEGORY,
        "The name of the job in reports. Without it, the report uses the section's name. On the \
         command line, `--name` also starts a new job: options before the first `--name` apply to \
         all jobs.",
        "name=reader",
    ),
    OptionDef::new(
        "description",
        Kind::Text,
        CATEGORY,
        "A note about the job. Reports repeat it; it has no other effect.",
        "description=Cold cache, two drives",
    ),
    OptionDef::new(
        "loops",
        Kind::COUNT,
        CATEGORY,
        "How many times the job does its whole work.",
        "loops=3",
    )
    .default("1"),
    OptionDef::new(
        "numjobs",
        Kind::COUNT,
        CATEGORY,
        "How many identical workers run this job in parallel. Sizes and depths apply to each \
         worker, so the total is the product. Reports list each worker separately unless \
         `group_reporting` combines them.",
        "numjobs=8",
    )
    .default("1"),
];
