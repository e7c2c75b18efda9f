//! Options of the engines for GlusterFS, iSCSI, NBD and NFS.

use crate::option::def::{Category, Kind, OptionDef, options_of};

const GLUSTER: &[&str] = &["gfapi", "gfapi_async"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option("volume", Kind::Text, "The name of the GlusterFS volume.", "volume=bench")
        .of(GLUSTER)
        .later(),
    option("brick", Kind::Text, "The GlusterFS server that provides the volume.", "brick=gluster1")
        .of(GLUSTER)
        .later(),
    option(
        "initiator",
        Kind::Text,
        "The initiator name that fiord sends to the iSCSI target.",
        "initiator=iqn.2019-04.org.fio:fio",
    )
    .of(&["libiscsi"])
    .default("iqn.2019-04.org.fio:fio")
    .later(),
    option("uri", Kind::Text, "The NBD server and export.", "uri=nbd://localhost:10809")
        .of(&["nbd"])
        .later(),
    option("nfs_url", Kind::Text, "The NFS server and path.", "nfs_url=nfs://server/export")
        .of(&["nfs"])
        .later(),
];
