//! Options of `rados` and `rbd`.

use crate::option::declare::*;

const CEPH: &[&str] = &["rados", "rbd"];

options! {
    Category::Engine;

    /// The Ceph cluster to use.
    pub const CLUSTERNAME: Opt<Option<String>> = option("clustername", TEXT, "clustername=ceph")
        .of(CEPH);

    /// The name of the block image.
    pub const RBDNAME: Opt<Option<String>> = option("rbdname", TEXT, "rbdname=image1")
        .of(&["rbd"]);

    /// The pool that holds the image or the objects.
    pub const POOL: Opt<Option<String>> = option("pool", TEXT, "pool=bench")
        .of(CEPH);

    /// The user name for the cluster, without `client.` unless `clustername` is set.
    pub const CLIENTNAME: Opt<Option<String>> = option("clientname", TEXT, "clientname=admin")
        .of(CEPH);

    /// The configuration file of the cluster.
    pub const CONF: Opt<String> = option("conf", TEXT, "conf=/etc/ceph/ceph.conf")
        .of(&["rados"])
        .default("/etc/ceph/ceph.conf");

    /// Polls for completions instead of sleeping.
    pub const BUSY_POLL: Opt<bool> = option("busy_poll", BOOL, "busy_poll=1")
        .of(CEPH)
        .default("0");

    /// Creates all objects before the run.
    pub const TOUCH_OBJECTS: Opt<bool> = option("touch_objects", BOOL, "touch_objects=0")
        .of(&["rados"])
        .default("1");

    /// The encryption format of the image: `luks1` or `luks2`.
    pub const RBD_ENCRYPTION_FORMAT: Opt<Option<String>> =
        option("rbd_encryption_format", TEXT, "rbd_encryption_format=luks2")
            .of(&["rbd"])
            .since("3.42");

    /// The passphrase that opens the encrypted image.
    pub const RBD_ENCRYPTION_PASSPHRASE: Opt<Option<String>> =
        option("rbd_encryption_passphrase", TEXT, "rbd_encryption_passphrase=secret")
            .of(&["rbd"])
            .secret()
            .since("3.42");
}
