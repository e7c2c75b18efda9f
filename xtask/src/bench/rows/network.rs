//! Rows about streams of data over a network, whose ends run at the same time on the same CPU, and about servers with storage.

use super::super::row::Bound::{Any, AtLeast};
use super::super::row::Than::{Bare, Fio, Itself};
use super::super::row::What::Rate;
use super::super::row::{Job, Row};

/// The end that waits for the other one, which comes after it.
const RECEIVER: &str = "--ioengine=net --listen --port=18765 --size=100g --rw=read";
/// The end that sends. It starts later, because fio waits without end if both ends of one process start at the same time.
const SENDER: &str = "PEER --ioengine=net --hostname=127.0.0.1 --port=18765 --size=100g --rw=write \
                      --startdelay=50ms";

/// The row of a stream with these options at both ends. Required: fio's rate, and almost that of the system calls alone.
macro_rules! stream {
    ($what:literal, $options:literal, $bare:literal) => {
        Row {
            name: concat!("net, TCP, ", $what),
            what: Rate,
            job: Job(&[RECEIVER, $options, SENDER, $options]),
            than: &[(Fio, AtLeast(1.0)), (Bare(concat!("stream ", $bare)), AtLeast(0.95))],
        }
    };
}

pub(super) const ROWS: &[Row] = &[
    stream!("64 KiB", "--bs=64k", "bs=65536"),
    stream!("4 KiB", "--bs=4k", "bs=4096"),
    stream!("round trips of 4 KiB (pingpong)", "--bs=4k --pingpong", "bs=4096 pingpong=1"),
    Row {
        name: "netsplice, TCP, 64 KiB",
        what: Rate,
        job: Job(&[
            "--ioengine=netsplice --listen --port=18765 --size=100g --rw=read --bs=64k",
            "PEER --ioengine=netsplice --hostname=127.0.0.1 --port=18765 --size=100g --rw=write --bs=64k",
        ]),
        // fio 3.33 can wait without end here, even if the sender starts later.
        than: &[(Itself("net", Job(&[RECEIVER, "--bs=64k", SENDER, "--bs=64k"])), Any)],
    },
    Row {
        name: "nbd depth 32 random read 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=nbd --iodepth=32 --rw=randread --bs=4k --norandommap NBD"]),
        than: &[(Fio, AtLeast(1.5))],
    },
    Row {
        name: "nbd depth 32 random write 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=nbd --iodepth=32 --rw=randwrite --bs=4k --norandommap NBD"]),
        than: &[(Fio, Any)],
    },
];
