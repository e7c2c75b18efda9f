//! The table of reasons why an option has no effect on a job that works over a network, and why an option about networks
//! has no effect.

use fiord_job::option::table::net::{
    HOSTNAME, INTERFACE, MSS, NODELAY, PROTOCOL, Protocol, TTL, VERB,
};
use fiord_job::option::table::{
    BUFFERED, DIRECT, END_FSYNC, END_SYNCFS, FDATASYNC, FSYNC, FSYNC_ON_CLOSE, SYNC,
    SYNC_FILE_RANGE,
};

use super::conditions::access;
use super::rules::{Reports, Rule};
use crate::model::EngineAccess;

pub(crate) const NET_RULES: &[Rule] = &[
    Rule {
        options: &[DIRECT.def(), BUFFERED.def()],
        reports: Reports::FirstSet,
        unused: |_, plan| plan.target.open.direct && access(plan).is_remote(),
        what: "`ioengine={engine}` opens no file on this machine: `{option}` has no effect",
        help: "To fix: leave it out",
    },
    Rule {
        options: &[
            FSYNC.def(),
            FDATASYNC.def(),
            SYNC_FILE_RANGE.def(),
            FSYNC_ON_CLOSE.def(),
            END_FSYNC.def(),
            END_SYNCFS.def(),
            SYNC.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| access(plan) == EngineAccess::Stream,
        what: "`{option}` has no effect: `ioengine={engine}` stores nothing",
        help: "To fix: leave it out",
    },
    Rule {
        options: &[NODELAY.def(), MSS.def()],
        reports: Reports::EachChanged,
        unused: |job, _| !matches!(job.get(PROTOCOL), Protocol::Tcp | Protocol::Tcpv6),
        what: "`{option}` is an option of TCP: the protocol of the job has none",
        help: "To fix: leave it out",
    },
    Rule {
        options: &[TTL.def(), INTERFACE.def()],
        reports: Reports::EachSet,
        unused: |job, _| !matches!(job.get(PROTOCOL), Protocol::Udp | Protocol::Udpv6),
        what: "`{option}` is about multicast packets, which only UDP sends",
        help: "To fix: leave it out",
    },
    Rule {
        options: &[HOSTNAME.def(), VERB.def()],
        reports: Reports::EachSet,
        unused: |_, plan| plan.engine.rdma().is_some_and(|rdma| rdma.waits),
        what: "`{option}` has no effect: a job with `ioengine={engine}` that reads waits for a peer, which says \
               what both do",
        help: "To fix: leave it out, or use `rw=write` to connect; `bindname` is the address to wait at",
    },
];
