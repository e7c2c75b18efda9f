//! Options of the engines for GlusterFS, iSCSI, NBD and NFS.

use crate::option::declare::*;

/// The engines that connect to servers with storage.
const ENDPOINTS: &[&str] =
    &["nbd", "http", "nfs", "libiscsi", "rados", "rbd", "gfapi", "gfapi_async"];
const GLUSTER: &[&str] = &["gfapi", "gfapi_async"];

options! {
    Category::Engine;

    /// How long a request to the server may take. A request without an answer then fails with `ETIMEDOUT`, and the message
    /// names it; the time that it has waited is in the latencies. The limit also holds for the connection at the start, and
    /// for requests that are open when the run time ends.
    pub const ENDPOINT_TIMEOUT: Opt<Nanos> =
        option("endpoint_timeout", SECONDS, "endpoint_timeout=10s")
            .of(ENDPOINTS)
            .default("30")
            .since("fiord");

    /// The name of the GlusterFS volume.
    pub const VOLUME: Opt<Option<String>> = option("volume", TEXT, "volume=bench")
        .of(GLUSTER);

    /// The GlusterFS server that provides the volume.
    pub const BRICK: Opt<Option<String>> = option("brick", TEXT, "brick=gluster1")
        .of(GLUSTER);

    /// The name by which iSCSI targets know this client. `filename` names logical units:
    /// `iscsi\\://HOST\\:PORT/TARGET/LUN`, with a backslash before each colon. The port is 3260 unless the URL names one.
    pub const INITIATOR: Opt<String> =
        option("initiator", TEXT, "initiator=iqn.2019-04.org.fio:fio")
            .of(&["libiscsi"])
            .default("iqn.2019-04.org.fio:fio");

    /// The NBD server and export: `nbd://HOST:PORT/EXPORT`, or `nbd+unix:///EXPORT?socket=PATH` for a Unix socket. The port is
    /// 10809 unless the URI names one, and the export is the one without a name unless the URI names one. `nbds://` and
    /// `nbds+unix://` use TLS, with parameters after a question mark: `tls-certificates=DIRECTORY` has the authorities that
    /// the job trusts (`ca-cert.pem`), and perhaps the certificate of the client and its key (`client-cert.pem`,
    /// `client-key.pem`); `tls-hostname=NAME` is the name in the certificate of the server; with `tls-verify-peer=false`, it is
    /// not checked.
    pub const URI: Opt<Option<String>> = option("uri", TEXT, "uri=nbd://localhost:10809")
        .of(&["nbd"]);

    /// The NFS server and export, with options of the connection: `nfs://SERVER/EXPORT?version=3&nfsport=2049`. The
    /// options are those of libnfs, such as `version` (3 unless the URL says 4), `nfsport` and `mountport` (otherwise
    /// rpcbind of the server is asked), `uid`, `gid`, `readahead` and `autoreconnect`. `filename` and similar options
    /// name files below the export.
    pub const NFS_URL: Opt<Option<String>> = option("nfs_url", TEXT, "nfs_url=nfs://server/export")
        .of(&["nfs"]);
}
