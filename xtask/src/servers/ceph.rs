//! Ceph: one monitor, one OSD that stores in memory, and no manager. It needs about 1 GB of memory.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{Variables, call, serve, wait_until};

/// The pool for the tests.
const POOL: &str = "bench";

/// Starts the servers.
pub(super) fn start(directory: &Path) -> Result<Variables> {
    let path = |name: &str| directory.join(name).display().to_string();
    for name in ["mon", "osd", "run"] {
        fs::create_dir(directory.join(name))?;
    }
    let (conf, keys, map) = (path("ceph.conf"), path("keyring"), path("monmap"));
    let cluster = uuid()?;
    let monitor = "[v2:127.0.0.1:3300,v1:127.0.0.1:6789]";
    fs::write(
        &conf,
        format!(
            "[global]\n\
             fsid = {cluster}\n\
             mon host = {monitor}\n\
             keyring = {keys}\n\
             osd pool default size = 1\n\
             osd pool default min size = 1\n\
             osd crush chooseleaf type = 0\n\
             mon allow pool size one = true\n\
             run dir = {run}\n\
             admin socket = {run}/$name.asok\n\
             log file = {log}/$name.log\n\
             mon data = {mon}\n\
             osd data = {osd}\n\
             osd objectstore = memstore\n\
             memstore device bytes = 1073741824\n\
             public addr = 127.0.0.1\n\
             cluster addr = 127.0.0.1\n\
             mon data avail crit = 1\n\
             mon data avail warn = 2\n",
            run = path("run"),
            log = directory.display(),
            mon = path("mon"),
            osd = path("osd"),
        ),
    )?;
    let tool = |args: &[&str]| call("ceph-authtool", args);
    tool(&["--create-keyring", &keys, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"])?;
    let all = ["--cap", "mon", "allow *", "--cap", "osd", "allow *"];
    tool(&[&[&keys, "--gen-key", "-n", "client.admin"][..], &all].concat())?;
    call(
        "monmaptool",
        &["--create", "--clobber", "--addv", "a", monitor, "--fsid", &cluster, &map],
    )?;
    let mon = ["-c", &conf, "-i", "a"];
    call("ceph-mon", &[&mon[..], &["--mkfs", "--monmap", &map, "--keyring", &keys]].concat())?;
    serve("ceph-mon", &[&mon[..], &["-f"]].concat(), &directory.join("mon.out"))?;
    let ceph =
        |args: &[&str]| call("ceph", &[&["-c", &conf, "--connect-timeout", "10"], args].concat());
    wait_until("the monitor", || ceph(&["-s"]).is_ok())?;
    let id = uuid()?;
    ceph(&["osd", "new", &id])?;
    let key = path("osd/keyring");
    let profile = ["--cap", "mon", "allow profile osd", "--cap", "osd", "allow *"];
    tool(&[&["--create-keyring", &key, "--gen-key", "-n", "osd.0"][..], &profile].concat())?;
    ceph(&["auth", "add", "osd.0", "-i", &key])?;
    let osd = ["-c", &conf, "-i", "0", "--keyring", &key];
    call("ceph-osd", &[&osd[..], &["--mkfs", "--osd-uuid", &id]].concat())?;
    let server = serve("ceph-osd", &[&osd[..], &["-f"]].concat(), &directory.join("osd.out"))?;
    wait_until("the OSD", || ceph(&["osd", "stat"]).is_ok_and(|stat| stat.contains("1 up")))?;
    ceph(&["osd", "pool", "create", POOL, "8"])?;
    ceph(&["osd", "pool", "application", "enable", POOL, "rbd"])?;
    Ok(vec![
        ("CEPH_CONF", conf),
        ("FIORD_TEST_CEPH_POOL", POOL.into()),
        ("FIORD_TEST_CEPH_OSD", server.to_string()),
    ])
}

/// A new identifier.
fn uuid() -> Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().to_owned())
}
