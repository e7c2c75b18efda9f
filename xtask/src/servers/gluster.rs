//! GlusterFS: a server with a volume that has one brick.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Variables, call, serve, wait_until};

/// The address of the server, which GlusterFS refuses to be 127.0.0.1.
const SERVER: &str = "127.0.0.2";

/// The volume for the tests.
const VOLUME: &str = "bench";

/// Starts the servers. Their state lies in directories of the system, in whose place are empty ones.
pub(super) fn start(directory: &Path) -> Result<Variables> {
    for path in ["/run", "/var/lib/glusterd", "/var/log/glusterfs"] {
        std::fs::create_dir_all(path)?;
        call("mount", &["-t", "tmpfs", "none", path])?;
    }
    std::fs::create_dir_all("/run/gluster")?;
    let path = |name: &str| directory.join(name).display().to_string();
    let (log, pid) = (path("glusterd.log"), path("glusterd.pid"));
    let out = directory.join("glusterd.out");
    serve("glusterd", &["-N", "-l", &log, "--pid-file", &pid], &out)?;
    let gluster = |args: &[&str]| call("gluster", &[&["--mode=script"], args].concat());
    wait_until("glusterd", || gluster(&["volume", "list"]).is_ok())?;
    std::fs::create_dir(directory.join("brick"))?;
    let brick = path("brick/data");
    gluster(&["volume", "create", VOLUME, &format!("{SERVER}:{brick}"), "force"])?;
    gluster(&["volume", "start", VOLUME])?;
    let detail = || gluster(&["volume", "status", VOLUME, "detail"]);
    wait_until("the brick", || {
        detail().is_ok_and(|text| field(&text, "Online").is_some_and(|is| is == "Y"))
    })?;
    let process = field(&detail()?, "Pid").context("the brick has no process")?;
    Ok(vec![
        ("FIORD_TEST_GLUSTER_SERVER", SERVER.into()),
        ("FIORD_TEST_GLUSTER_VOLUME", VOLUME.into()),
        ("FIORD_TEST_GLUSTER_BRICK", brick),
        ("FIORD_TEST_GLUSTER_PROCESS", process),
    ])
}

/// The value of a line `NAME : VALUE`.
fn field(text: &str, name: &str) -> Option<String> {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = fields.filter(|(field, _)| field.trim() == name);
    values.next().map(|(_, value)| value.trim().to_owned())
}
