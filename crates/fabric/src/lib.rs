//! Messages between the hosts of a run.
//!
//! A run on many hosts has one coordinator, which starts and merges it, and one agent on each host, which runs the jobs.
//! Both exchange messages through a [`Fabric`](contract::Fabric), which hides how the bytes travel.
//!
//! | question | module |
//! |---|---|
//! | what can the coordinator and an agent expect of every transport | [`contract`] |
//! | how does a stream of bytes become messages | [`frame`] |
//! | processes, TCP, Unix sockets and standard input as such a transport | [`hub`] |
//! | what do the messages say | [`message`] |
//! | what does a run end with | [`outcome`] |
//! | how do the results of all hosts become one report | [`merge`] |
//! | which hosts does a list such as `n[01-12],x` name | [`hostlist`] |
//! | how does a host's clock relate to the coordinator's | [`clock`] |
//! | what does the coordinator do when | [`conductor`] |
//! | how does it run with a real fabric and clock | [`drive`] |
//! | how long do both ends wait for each other | [`limits`] |

#![forbid(unsafe_code)]

pub mod clock;
pub mod conductor;
pub mod contract;
pub mod drive;
pub mod frame;
pub mod gather;
pub mod hostlist;
pub mod hub;
#[cfg(feature = "tls")]
pub mod keys;
pub mod limits;
pub mod merge;
pub mod message;
pub mod outcome;
pub mod policy;
pub mod ranks;
#[cfg(feature = "tls")]
pub mod tls;
