//! Swift: a proxy with `tempauth`, and the servers of accounts, containers and objects with one device and one replica.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Variables, call, serve, wait_until};

/// Where the programs of Swift look for `swift.conf`.
const SYSTEM: &str = "/etc/swift";

/// The address of the proxy.
const HOST: &str = "127.0.0.1:8080";

/// Where the proxy keeps tokens.
const MEMCACHED: &str = "127.0.0.1:11211";

/// The path of the account.
const ACCOUNT: &str = "/v1/AUTH_test";

/// The container for the tests.
const CONTAINER: &str = "bench";

/// Starts the servers. Their configuration lies in a directory of the system, in whose place is an empty one.
pub(super) fn start(directory: &Path) -> Result<Variables> {
    fs::create_dir_all(SYSTEM)?;
    call("mount", &["-t", "tmpfs", "none", SYSTEM])?;
    let hash = "[swift-hash]\nswift_hash_path_prefix = fiord\nswift_hash_path_suffix = fiord\n";
    fs::write(format!("{SYSTEM}/swift.conf"), hash)?;
    fs::create_dir_all(directory.join("devices/d1"))?;
    for (name, port) in [("object", 6200), ("container", 6201), ("account", 6202)] {
        storage(directory, name, port)?;
    }
    let conf = directory.join("proxy.conf");
    fs::write(
        &conf,
        format!(
            "[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = 8080\nworkers = 0\nuser = root\nswift_dir = {SYSTEM}\n\
             [pipeline:main]\npipeline = cache tempauth proxy-server\n\
             [filter:cache]\nuse = egg:swift#memcache\nmemcache_servers = {MEMCACHED}\n\
             [filter:tempauth]\nuse = egg:swift#tempauth\nuser_test_tester = testing .admin\n\
             [app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n"
        ),
    )?;
    let out = |name: &str| directory.join(format!("{name}.out"));
    serve("memcached", &["-u", "root", "-l", "127.0.0.1"], &out("memcached"))?;
    let proxy = serve("swift-proxy-server", &[&conf.display().to_string()], &out("proxy"))?;
    wait_until("the proxy", || token().is_ok())?;
    let token = token()?;
    let container = format!("http://{HOST}{ACCOUNT}/{CONTAINER}");
    let header = format!("X-Auth-Token: {token}");
    let create = || call("curl", &["-s", "-f", "-X", "PUT", "-H", &header, &container]);
    wait_until("the container", || create().is_ok())?;
    Ok(vec![
        ("FIORD_TEST_SWIFT_HOST", HOST.into()),
        ("FIORD_TEST_SWIFT_CONTAINER", format!("{ACCOUNT}/{CONTAINER}")),
        ("FIORD_TEST_SWIFT_TOKEN", token),
        ("FIORD_TEST_SWIFT_PROXY", proxy.to_string()),
    ])
}

/// Starts a server that stores something, and creates its ring.
fn storage(directory: &Path, name: &str, port: u16) -> Result<()> {
    let builder = format!("{SYSTEM}/{name}.builder");
    let ring = |args: &[&str]| call("swift-ring-builder", &[&[&*builder], args].concat());
    // One partition, one replica, and no pause before it may move.
    ring(&["create", "0", "1", "0"])?;
    ring(&["add", &format!("r1z1-127.0.0.1:{port}/d1"), "1"])?;
    ring(&["rebalance"])?;
    let conf = directory.join(format!("{name}.conf"));
    fs::write(
        &conf,
        format!(
            "[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = {port}\nworkers = 0\nuser = root\nswift_dir = {SYSTEM}\n\
             devices = {}\nmount_check = false\n\
             [pipeline:main]\npipeline = {name}-server\n[app:{name}-server]\nuse = egg:swift#{name}\n",
            directory.join("devices").display()
        ),
    )?;
    let out = directory.join(format!("{name}.out"));
    serve(&format!("swift-{name}-server"), &[&conf.display().to_string()], &out)?;
    Ok(())
}

/// A new token.
fn token() -> Result<String> {
    let url = format!("http://{HOST}/auth/v1.0");
    let (user, key) = ("X-Auth-User: test:tester", "X-Auth-Key: testing");
    let answer = call("curl", &["-s", "-f", "-i", "-H", user, "-H", key, &url])?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("x-auth-token").then(|| value.trim().to_owned())
    };
    answer.lines().find_map(header).context("the proxy issues no token")
}
