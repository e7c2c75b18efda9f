//! Rows about engines that connect to servers with storage. The servers share the CPUs of the machine with the jobs.

use super::super::row::Bound::{Any, AtLeast};
use super::super::row::Than::Fio;
use super::super::row::What::{CpuTime, Rate};
use super::super::row::{Job, Row};
use super::AtMost;

/// A row about the rate of a job. Required: that of fio.
const fn rate(name: &'static str, job: &'static [&'static str]) -> Row {
    Row { name, what: Rate, job: Job(job), than: &[(Fio, AtLeast(1.0))] }
}

pub(super) const ROWS: &[Row] = &[
    rate("nfs, random reads of 4 KiB, depth 16", &["NFS --rw=randread --bs=4k --iodepth=16"]),
    rate("nfs, random writes of 4 KiB, depth 16", &["NFS --rw=randwrite --bs=4k --iodepth=16"]),
    // With more in flight, fio's requests of this size fail, or it waits without end.
    rate("nfs, reads of 1 MiB, depth 1", &["NFS --rw=read --bs=1m"]),
    rate(
        "libiscsi, random reads of 4 KiB, depth 16",
        &["ISCSI --rw=randread --bs=4k --iodepth=16"],
    ),
    rate(
        "libiscsi, random writes of 4 KiB, depth 16",
        &["ISCSI --rw=randwrite --bs=4k --iodepth=16"],
    ),
    rate("libiscsi, reads of 1 MiB, depth 4", &["ISCSI --rw=read --bs=1m --iodepth=4"]),
    rate(
        "rados (ceph), random reads of 4 KiB, depth 16",
        &["RADOS --rw=randread --bs=4k --iodepth=16"],
    ),
    rate(
        "rados (ceph), random writes of 4 KiB, depth 16",
        &["RADOS --rw=randwrite --bs=4k --iodepth=16"],
    ),
    rate("rados (ceph), reads of 1 MiB, depth 4", &["RADOS --rw=read --bs=1m --iodepth=4"]),
    rate(
        "rbd (ceph), random reads of 4 KiB, depth 16",
        &["RBD --rw=randread --bs=4k --iodepth=16"],
    ),
    rate(
        "rbd (ceph), random writes of 4 KiB, depth 16",
        &["RBD --rw=randwrite --bs=4k --iodepth=16"],
    ),
    rate("rbd (ceph), reads of 1 MiB, depth 4", &["RBD --rw=read --bs=1m --iodepth=4"]),
    rate(
        "gfapi (gluster), random reads of 4 KiB",
        &["--ioengine=gfapi GFAPI --rw=randread --bs=4k"],
    ),
    rate(
        "gfapi (gluster), random writes of 4 KiB",
        &["--ioengine=gfapi GFAPI --rw=randwrite --bs=4k"],
    ),
    rate(
        "gfapi_async (gluster), random reads of 4 KiB, depth 16",
        &["--ioengine=gfapi_async GFAPI --rw=randread --bs=4k --iodepth=16"],
    ),
    rate(
        "gfapi_async (gluster), reads of 1 MiB, depth 4",
        &["--ioengine=gfapi_async GFAPI --rw=read --bs=1m --iodepth=4"],
    ),
    Row {
        name: "http, writes of objects of 64 KiB",
        what: Rate,
        job: Job(&["--ioengine=http HTTP --rw=write --bs=64k --size=16m"]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "libiscsi, CPU time, 1000 reads of 4 KiB per second",
        what: CpuTime,
        job: Job(&["ISCSI --rw=randread --bs=4k --iodepth=1 --rate_iops=1000"]),
        than: &[(Fio, AtMost(1.0))],
    },
];
