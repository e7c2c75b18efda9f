//! Options of the engines for GlusterFS, iSCSI, NBD and NFS.

use crate::option::declare::*;

const GLUSTER: &[&str] = &["gfapi", "gfapi_async"];

options! {
    Category::Engine;

    /// The name of the GlusterFS volume.
    pub const VOLUME: Opt<Option<String>> = option("volume", TEXT, "volume=bench")
        .of(GLUSTER)
        .later();

    /// The GlusterFS server that provides the volume.
    pub const BRICK: Opt<Option<String>> = option("brick", TEXT, "brick=gluster1")
        .of(GLUSTER)
        .later();

    /// The initiator name that fiord sends to the iSCSI target.
    pub const INITIATOR: Opt<String> =
        option("initiator", TEXT, "initiator=iqn.2019-04.org.fio:fio")
            .of(&["libiscsi"])
            .default("iqn.2019-04.org.fio:fio")
            .later();

    /// The NBD server and export.
    pub const URI: Opt<Option<String>> = option("uri", TEXT, "uri=nbd://localhost:10809")
        .of(&["nbd"])
        .later();

    /// The NFS server and path.
    pub const NFS_URL: Opt<Option<String>> = option("nfs_url", TEXT, "nfs_url=nfs://server/export")
        .of(&["nfs"])
        .later();
}
