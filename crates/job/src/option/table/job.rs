//! What a job is called and how often it is made.

use crate::option::def::{Category, Kind, OptionDef};

const CATEGORY: Category = Category::Job;

pub(super) const OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "name",
        Kind::Text,
        CATEGORY,
        "The name under which the job is reported, in place of its section's name. On the command \
         line it also opens a new job: what stands before the first `--name` counts for all jobs.",
        "name=reader",
    ),
    OptionDef::new(
        "description",
        Kind::Text,
        CATEGORY,
        "A note about the job. It is repeated in the reports and has no other effect.",
        "description=Cold cache, two drives",
    ),
    OptionDef::new(
        "loops",
        Kind::COUNT,
        CATEGORY,
        "How many times the job does its whole work, one after the other.",
        "loops=3",
    )
    .default("1"),
    OptionDef::new(
        "numjobs",
        Kind::COUNT,
        CATEGORY,
        "How many identical workers run this job side by side. Sizes and depths hold for each of \
         them, so the total is the product. Each is reported on its own unless `group_reporting` \
         adds them up.",
        "numjobs=8",
    )
    .default("1"),
];
