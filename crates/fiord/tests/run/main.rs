//! The binary on real files: every engine, every ending, every output.

mod contents;
mod coverage;
mod endings;
mod engines;
mod examples;
mod findings;
mod fiord;
mod fuse;
mod golden;
mod huge_pages;
mod identities;
mod layout;
mod order;
mod output;
mod pace;
mod percentiles;
mod places;
mod priorities;
mod profile;
mod scale;
mod sprandom;
mod steady;
mod sweep;
mod words;
mod wrong;
mod wrong_inputs;
