//! Options of `rados` and `rbd`.

use crate::option::def::{Category, Kind, OptionDef, options_of};

const CEPH: &[&str] = &["rados", "rbd"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option("clustername", Kind::Text, "The Ceph cluster to use.", "clustername=ceph")
        .of(CEPH)
        .later(),
    option("rbdname", Kind::Text, "The name of the block image.", "rbdname=image1")
        .of(&["rbd"])
        .later(),
    option("pool", Kind::Text, "The pool that holds the image or the objects.", "pool=bench")
        .of(CEPH)
        .later(),
    option(
        "clientname",
        Kind::Text,
        "The user name for the cluster, without `client.` unless `clustername` is set.",
        "clientname=admin",
    )
    .of(CEPH)
    .later(),
    option(
        "conf",
        Kind::Text,
        "The configuration file of the cluster.",
        "conf=/etc/ceph/ceph.conf",
    )
    .of(&["rados"])
    .default("/etc/ceph/ceph.conf")
    .later(),
    option("busy_poll", Kind::Bool, "Polls for completions instead of sleeping.", "busy_poll=1")
        .of(CEPH)
        .default("0")
        .later(),
    option("touch_objects", Kind::Bool, "Creates all objects before the run.", "touch_objects=0")
        .of(&["rados"])
        .default("1")
        .later(),
    option(
        "rbd_encryption_format",
        Kind::Text,
        "The encryption format of the image: `luks1` or `luks2`.",
        "rbd_encryption_format=luks2",
    )
    .of(&["rbd"])
    .later()
    .since("3.42"),
    option(
        "rbd_encryption_passphrase",
        Kind::Text,
        "The passphrase that opens the encrypted image.",
        "rbd_encryption_passphrase=secret",
    )
    .of(&["rbd"])
    .later()
    .since("3.42"),
];
