//! Built-in loads with a name.

use crate::option::declare::*;

const WORDS: &[Word] = &[
    Word::new("tiobench", "sequential and random reads and writes, like tiobench"),
    Word::new("act", "small reads and large writes, like the certification tool of Aerospike"),
    Word::new("vioperf", "threads that append to files, like Vertica's disk check"),
];

options! {
    Category::Profile;

    /// Takes the jobs from a built-in profile instead of a job file. It is a command line option;
    /// the options of the profile follow it, and job options on the same command line apply to all
    /// jobs of the profile.
    pub const PROFILE: Opt<Option<&'static str>> =
        option("profile", name_of(WORDS, Suffix::None), "profile=act");
}
