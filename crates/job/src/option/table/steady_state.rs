//! Ending a job when its results no longer change.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word};

const CATEGORY: Category = Category::SteadyState;

const fn option(
    name: &'static str,
    kind: Kind,
    doc: &'static str,
    example: &'static str,
) -> OptionDef {
    OptionDef::new(name, kind, CATEGORY, doc, example)
}

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "steadystate",
        Kind::Words {
            words: &[
                Word::later("iops", "every IOPS sample is within the limit of their mean"),
                Word::later("iops_slope", "the regression line of IOPS is as flat as the limit"),
                Word::later("bw", "every bandwidth sample is within the limit of their mean"),
                Word::later("bw_slope", "the regression line of bandwidth is as flat as the limit"),
                Word::later("lat", "every latency sample is within the limit of their mean"),
                Word::later("lat_slope", "the regression line of latency is as flat as the limit"),
            ],
            suffix: Suffix::Text,
        },
        "Ends the job once a measure stays within a limit, given after a colon as a number or as a \
         percentage of the mean. `steadystate_duration` switches it on.",
        "steadystate=iops:2%",
    )
    .alias(&["ss"])
    .default("iops_slope:0.01%")
    .later(),
    option(
        "steadystate_duration",
        Kind::SECONDS,
        "The length of the window in which the measure has to be steady. 0 switches the check off. A \
         bare number is in seconds.",
        "steadystate_duration=300",
    )
    .alias(&["ss_dur"])
    .default("0")
    .under("steadystate")
    .later(),
    option(
        "steadystate_ramp_time",
        Kind::SECONDS,
        "How long the job runs before the first sample of the window is taken. A bare number is in \
         seconds.",
        "steadystate_ramp_time=60",
    )
    .alias(&["ss_ramp"])
    .default("0")
    .under("steadystate")
    .later(),
    option(
        "steadystate_check_interval",
        Kind::SECONDS,
        "How far apart the samples of the window are. A bare number is in seconds.",
        "steadystate_check_interval=5",
    )
    .alias(&["ss_interval"])
    .default("1")
    .under("steadystate")
    .since("3.42")
    .later(),
];
