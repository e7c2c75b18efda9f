//! Ending a job when its results no longer change.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word, options_of};

options_of!(Category::SteadyState);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "steadystate",
        Kind::Words {
            words: &[
                Word::new("iops", "every IOPS sample is within the limit of their mean"),
                Word::new("iops_slope", "the regression line of IOPS is as flat as the limit"),
                Word::new("bw", "every bandwidth sample is within the limit of their mean"),
                Word::new("bw_slope", "the regression line of bandwidth is as flat as the limit"),
                Word::new("lat", "every latency sample is within the limit of their mean"),
                Word::new("lat_slope", "the regression line of latency is as flat as the limit"),
                Word::new(
                    "pts",
                    "of the last five samples range and slope are within 20 % and 10 % of their \
                     mean, as the SNIA performance test specification wants it; `pts:bw` and \
                     `pts:lat` judge these in place of IOPS",
                ),
            ],
            suffix: Suffix::Text,
        },
        "Ends the job once a measure stays within a limit, given after a colon as a number or as a \
         percentage of the mean. `steadystate_duration` switches it on; `pts` has a window of its own, \
         five times `steadystate_check_interval`. Jobs with `group_reporting` are judged, and end, as a \
         group. Samples are taken by the clock of the job's engine.",
        "steadystate=iops:2%",
    )
    .alias(&["ss"])
    .default("iops_slope:0.01%"),
    option(
        "steadystate_duration",
        Kind::SECONDS,
        "The length of the window in which the measure has to be steady. 0 switches the check off. A \
         bare number is in seconds.",
        "steadystate_duration=300",
    )
    .alias(&["ss_dur"])
    .default("0")
    .under("steadystate"),
    option(
        "steadystate_ramp_time",
        Kind::SECONDS,
        "How long the job runs before the first sample of the window is taken. A bare number is in \
         seconds.",
        "steadystate_ramp_time=60",
    )
    .alias(&["ss_ramp"])
    .default("0")
    .under("steadystate"),
    option(
        "steadystate_check_interval",
        Kind::SECONDS,
        "How far apart the samples of the window are: 10 ms at least, and a whole part of \
         `steadystate_duration`. A bare number is in seconds.",
        "steadystate_check_interval=5",
    )
    .alias(&["ss_interval"])
    .default("1")
    .under("steadystate")
    .since("3.42"),
];
