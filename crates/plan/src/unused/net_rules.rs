//! The table of reasons why an option has no effect on a job that works over a network, and why an option about networks
//! has no effect.

use fiord_job::option::table::net::{
    HOSTNAME, INTERFACE, MSS, NODELAY, PROTOCOL, Protocol, TTL, VERB,
};
use fiord_job::option::table::object::{
    HTTP_CA_FILE, HTTP_LIST_KEYS, HTTP_PASS, HTTP_READ, HTTP_S3_KEY, HTTP_S3_KEYID,
    HTTP_S3_PART_SIZE, HTTP_S3_REGION, HTTP_S3_SECURITY_TOKEN, HTTP_S3_SSE_CUSTOMER_ALGORITHM,
    HTTP_S3_SSE_CUSTOMER_KEY, HTTP_S3_STORAGE_CLASS, HTTP_SWIFT_AUTH_TOKEN, HTTP_USER,
};
use fiord_job::option::table::{
    BUFFERED, DIRECT, END_FSYNC, END_SYNCFS, FDATASYNC, FSYNC, FSYNC_ON_CLOSE, SYNC,
    SYNC_FILE_RANGE,
};
use fiord_types::Dir;

use super::conditions::access;
use super::rules::{Reports, Rule};
use crate::model::{EngineAccess, HttpMode, HttpReads, HttpTls};

pub(crate) const NET_RULES: &[Rule] = &[
    Rule {
        options: &[DIRECT.def(), BUFFERED.def()],
        reports: Reports::FirstSet,
        unused: |_, plan| plan.target.open.direct && access(plan).is_remote(),
        what: "`ioengine={engine}` opens no file on this machine: `{option}` has no effect",
        help: "To fix: leave it out",
        example: "--ioengine=net --listen --port=1 --direct=1",
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
        example: "--ioengine=net --hostname=h --port=1 --rw=write --fsync=1",
    },
    Rule {
        options: &[NODELAY.def(), MSS.def()],
        reports: Reports::EachChanged,
        unused: |job, _| !matches!(job.get(PROTOCOL), Protocol::Tcp | Protocol::Tcpv6),
        what: "`{option}` is an option of TCP: the protocol of the job has none",
        help: "To fix: leave it out",
        example: "--ioengine=net --protocol=unix --filename=s --nodelay=1",
    },
    Rule {
        options: &[TTL.def(), INTERFACE.def()],
        reports: Reports::EachSet,
        unused: |job, _| !matches!(job.get(PROTOCOL), Protocol::Udp | Protocol::Udpv6),
        what: "`{option}` is about multicast packets, which only UDP sends",
        help: "To fix: leave it out",
        example: "--ioengine=net --listen --port=1 --ttl=2",
    },
    Rule {
        options: &[HOSTNAME.def(), VERB.def()],
        reports: Reports::EachSet,
        unused: |_, plan| plan.engine.rdma().is_some_and(|rdma| rdma.waits),
        what: "`{option}` has no effect: a job with `ioengine={engine}` that reads waits for a peer, and the peer \
               decides what both do",
        help: "To fix: leave it out, or use `rw=write` to connect; `bindname` is the address to wait at",
        example: "--ioengine=rdma --port=1 --rw=read --verb=send",
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
        unused: |_, plan| plan.engine.http().is_some(),
        what: "`{option}` has no effect: the server has stored the object before it answers",
        help: "To fix: leave it out",
        example: "--ioengine=http --filename=/a --rw=write --fsync=1",
    },
    Rule {
        options: &[
            HTTP_S3_KEY.def(),
            HTTP_S3_KEYID.def(),
            HTTP_S3_SECURITY_TOKEN.def(),
            HTTP_S3_REGION.def(),
            HTTP_S3_STORAGE_CLASS.def(),
            HTTP_S3_PART_SIZE.def(),
            HTTP_S3_SSE_CUSTOMER_KEY.def(),
            HTTP_S3_SSE_CUSTOMER_ALGORITHM.def(),
        ],
        reports: Reports::EachSet,
        unused: |_, plan| plan.engine.http().is_some_and(|http| http.mode != HttpMode::S3),
        what: "`{option}` is an option of S3, and the job does not set `http_mode=s3`",
        help: "To fix: leave it out, or set `http_mode=s3`",
        example: "--ioengine=http --filename=/a --http_s3_region=x",
    },
    Rule {
        options: &[HTTP_SWIFT_AUTH_TOKEN.def()],
        reports: Reports::EachSet,
        unused: |_, plan| plan.engine.http().is_some_and(|http| http.mode != HttpMode::Swift),
        what: "`{option}` is an option of Swift, and the job does not set `http_mode=swift`",
        help: "To fix: leave it out, or set `http_mode=swift`",
        example: "--ioengine=http --filename=/a --http_swift_auth_token=x",
    },
    Rule {
        options: &[HTTP_USER.def(), HTTP_PASS.def()],
        reports: Reports::EachSet,
        unused: |_, plan| plan.engine.http().is_some_and(|http| http.mode != HttpMode::Webdav),
        what: "`{option}` is an option of WebDAV, and the job sets another `http_mode`",
        help: "To fix: leave it out, or set `http_mode=webdav`",
        example: "--ioengine=http --filename=/a --http_mode=s3 --http_user=x",
    },
    Rule {
        options: &[HTTP_CA_FILE.def()],
        reports: Reports::EachSet,
        unused: |_, plan| {
            plan.engine.http().is_some_and(|http| !matches!(http.tls, HttpTls::Checked { .. }))
        },
        what: "`{option}` has no effect: the job does not check a certificate",
        help: "To fix: set `https=on`, or leave it out",
        example: "--ioengine=http --filename=/a --http_ca_file=x",
    },
    Rule {
        options: &[HTTP_READ.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| plan.engine.http().is_some() && !plan.load.mix.has(Dir::Read),
        what: "`{option}` has no effect: the job does not read",
        help: "To fix: leave it out, or read with `rw`",
        example: "--ioengine=http --filename=/a --rw=write --http_read=head",
    },
    Rule {
        options: &[HTTP_LIST_KEYS.def()],
        reports: Reports::EachSet,
        unused: |_, plan| plan.engine.http().is_some_and(|http| http.reads != HttpReads::List),
        what: "`{option}` has no effect: the job lists no objects",
        help: "To fix: set `http_read=list`, or leave it out",
        example: "--ioengine=http --filename=/a --http_list_keys=9",
    },
    Rule {
        options: &[HTTP_S3_PART_SIZE.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| {
            let part = plan.engine.http().and_then(|http| http.part_size());
            let longest = u64::from(plan.load.blocks[Dir::Write].max());
            part.is_some_and(|part| !plan.load.mix.has(Dir::Write) || longest <= part.0)
        },
        what: "`{option}` has no effect: the job writes no object that is larger than a part",
        help: "To fix: set it to less than `bs`, or leave it out",
        example: "--ioengine=http --filename=/a --http_mode=s3 --rw=write --bs=1m --http_s3_part_size=1m",
    },
];
