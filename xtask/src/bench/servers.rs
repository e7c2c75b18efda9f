//! The servers of rows whose engines connect to one. Each starts with its first row and ends with the benchmark. Clusters
//! start too slowly for that: `cargo xtask servers` starts them, and variables of the environment say where they are.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::row::FILE_BYTES;

/// The servers that run.
#[derive(Default)]
pub(super) struct Servers {
    nfs: Option<Server>,
    iscsi: Option<Server>,
    nbd: Option<Server>,
    http: Option<Server>,
    rados: Option<Vec<String>>,
    rbd: Option<Vec<String>>,
    gfapi: Option<Vec<String>>,
}

/// A server and the options of a job on it.
struct Server {
    process: Child,
    options: Vec<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts rpcbind, which nothing outside this mount namespace reaches, and nfs-ganesha. rpcbind ends with it: it changes
/// its user, which cancels a signal for the death of its parent, so that it has a namespace of processes that ends.
const GANESHA: &str = "mount -t tmpfs none /run && mkdir -p /run/rpcbind /run/ganesha || exit 1
setpriv --pdeathsig KILL unshare -n -p -f --kill-child sh -c 'rpcbind -f -w & wait' &
until [ -S /run/rpcbind.sock ]; do sleep 0.01; done
exec ganesha.nfsd -F -L nfs.log -f nfs.conf -p nfs.pid -N NIV_WARN";

impl Servers {
    /// The options of a job on an NFS server.
    pub(super) fn nfs(&mut self, dir: &Path) -> Result<&[String]> {
        if self.nfs.is_none() {
            self.nfs = Some(ganesha(dir)?);
        }
        Ok(self.nfs.as_ref().map_or(&[], |server| &server.options))
    }

    /// The options of a job on a logical unit of an iSCSI target.
    pub(super) fn iscsi(&mut self, dir: &Path) -> Result<&[String]> {
        if self.iscsi.is_none() {
            self.iscsi = Some(tgt(dir)?);
        }
        Ok(self.iscsi.as_ref().map_or(&[], |server| &server.options))
    }

    /// The options of a job on a WebDAV server.
    pub(super) fn http(&mut self, dir: &Path) -> Result<&[String]> {
        if self.http.is_none() {
            self.http = Some(nginx(dir)?);
        }
        Ok(self.http.as_ref().map_or(&[], |server| &server.options))
    }

    /// The options of a job on an NBD export of [`FILE_BYTES`] in memory.
    pub(super) fn nbd(&mut self, dir: &Path) -> Result<&[String]> {
        if self.nbd.is_none() {
            self.nbd = Some(nbdkit(dir)?);
        }
        Ok(self.nbd.as_ref().map_or(&[], |server| &server.options))
    }
}

/// How many objects hold the data of a row. An object has at most 128 MiB unless the cluster says otherwise.
const OBJECTS: u64 = 8;

impl Servers {
    /// The options of a job on objects of a Ceph pool, which contain the bytes of a file.
    pub(super) fn rados(&mut self, file: &Path) -> Result<&[String]> {
        if self.rados.is_none() {
            let [conf, pool] = started(["CEPH_CONF", "FIORD_TEST_CEPH_POOL"], "ceph")?;
            let part = FILE_BYTES / OBJECTS;
            let names: Vec<String> = (0..OBJECTS).map(|at| format!("fiord-bench-{at}")).collect();
            for (at, name) in (0..).zip(&names) {
                let skip = at * part;
                run_shell(&format!(
                    "tail -c +{} '{}' | head -c {part} | rados -p '{pool}' put {name} -",
                    skip + 1,
                    file.display()
                ))?;
            }
            self.rados = Some(vec![
                "--ioengine=rados".to_owned(),
                format!("--conf={conf}"),
                format!("--pool={pool}"),
                "--clientname=admin".to_owned(),
                format!("--filename={}", names.join(":")),
            ]);
        }
        Ok(self.rados.as_deref().unwrap_or_default())
    }

    /// The options of a job on an image in a Ceph pool, which contains the bytes of a file.
    pub(super) fn rbd(&mut self, file: &Path) -> Result<&[String]> {
        if self.rbd.is_none() {
            let [_, pool] = started(["CEPH_CONF", "FIORD_TEST_CEPH_POOL"], "ceph")?;
            let image = format!("'{pool}'/fiord-bench");
            run_shell(&format!("rbd --no-progress import '{}' {image}", file.display()))?;
            self.rbd = Some(vec![
                "--ioengine=rbd".to_owned(),
                format!("--pool={pool}"),
                "--clientname=admin".to_owned(),
                "--rbdname=fiord-bench".to_owned(),
            ]);
        }
        Ok(self.rbd.as_deref().unwrap_or_default())
    }

    /// The options of a job on a file of a GlusterFS volume, except for the engine. The first job lays it out.
    pub(super) fn gfapi(&mut self) -> Result<&[String]> {
        if self.gfapi.is_none() {
            let names = ["FIORD_TEST_GLUSTER_SERVER", "FIORD_TEST_GLUSTER_VOLUME"];
            let [brick, volume] = started(names, "gluster")?;
            self.gfapi = Some(vec![
                format!("--volume={volume}"),
                format!("--brick={brick}"),
                "--filename=fiord-bench".to_owned(),
            ]);
        }
        Ok(self.gfapi.as_deref().unwrap_or_default())
    }
}

/// The values of variables that `cargo xtask servers` sets for a cluster.
fn started<const N: usize>(names: [&str; N], cluster: &str) -> Result<[String; N]> {
    let values = names.map(|name| std::env::var(name).ok());
    ensure!(
        values.iter().all(Option::is_some),
        "skipped: no cluster runs. To measure: cargo xtask servers --only {cluster} -- cargo xtask bench --row {cluster}"
    );
    Ok(values.map(Option::unwrap_or_default))
}

/// Runs a line of a shell.
fn run_shell(line: &str) -> Result<()> {
    let output = Command::new("sh").args(["-c", line]).output().context("sh cannot be run")?;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// Removes the files of the servers.
pub(super) fn remove_files(dir: &Path) {
    for name in [
        "unit",
        "nfs.conf",
        "nfs.log",
        "nfs.pid",
        "nbd.sock",
        "nginx.conf",
        "nginx.log",
        "nginx.pid",
    ] {
        let _ = std::fs::remove_file(dir.join(name));
    }
    for name in ["export", "objects"] {
        let _ = std::fs::remove_dir_all(dir.join(name));
    }
}

/// Starts a server and waits until it listens on a port.
fn start(command: &mut Command, port: u16) -> Result<Child> {
    start_until(command, || TcpStream::connect(("127.0.0.1", port)).is_ok())
}

/// Starts a server and waits until it is ready.
fn start_until(command: &mut Command, ready: impl Fn() -> bool) -> Result<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().with_context(|| format!("{name} cannot be run"))?;
    let end = Instant::now() + Duration::from_secs(30);
    while !ready() {
        let ended = process.try_wait()?;
        ensure!(ended.is_none(), "{name} ended: {command:?}");
        if Instant::now() > end {
            let _ = process.kill();
            let _ = process.wait();
            anyhow::bail!("{name} does not answer");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(process)
}

/// A port that nothing listened on a moment ago.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn ganesha(dir: &Path) -> Result<Server> {
    let (nfs, mount) = (free_port()?, free_port()?);
    let shown = dir.display();
    let export = dir.join("export");
    std::fs::create_dir_all(&export)?;
    std::fs::copy(dir.join("bench.dat"), export.join("bench.dat"))?;
    let configuration = format!(
        "NFS_CORE_PARAM {{ Bind_addr = 127.0.0.1; NFS_Port = {nfs}; MNT_Port = {mount}; Enable_NLM = false; \
         Enable_RQUOTA = false; Enable_UDP = false; Protocols = 3; }}\n\
         NFS_KRB5 {{ Active_krb5 = false; }}\n\
         EXPORT {{ Export_Id = 1; Path = {shown}/export; Pseudo = /export; Access_Type = RW; \
         Squash = No_Root_Squash; SecType = sys; Protocols = 3; Transports = TCP; FSAL {{ Name = VFS; }} }}\n"
    );
    std::fs::write(dir.join("nfs.conf"), configuration)?;
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", GANESHA]).current_dir(dir);
    let process = start(&mut command, nfs)?;
    let url = format!("nfs://127.0.0.1{shown}/export?version=3&nfsport={nfs}&mountport={mount}");
    let options = [
        "--ioengine=nfs".to_owned(),
        format!("--nfs_url={url}"),
        "--filename=bench.dat".to_owned(),
    ];
    Ok(Server { process, options: options.into() })
}

fn nginx(dir: &Path) -> Result<Server> {
    let port = free_port()?;
    std::fs::create_dir_all(dir.join("objects"))?;
    let configuration = format!(
        "daemon off; master_process off; pid nginx.pid; error_log nginx.log; events {{}}\n\
         http {{ access_log off; client_body_temp_path objects/t1; proxy_temp_path objects/t2; \
         fastcgi_temp_path objects/t3; uwsgi_temp_path objects/t4; scgi_temp_path objects/t5;\n\
         server {{ listen 127.0.0.1:{port}; root objects; client_max_body_size 0; keepalive_requests 1000000;\n\
         location / {{ dav_methods PUT DELETE; create_full_put_path on; }} }} }}\n"
    );
    std::fs::write(dir.join("nginx.conf"), configuration)?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(dir).arg("-c").arg(dir.join("nginx.conf"));
    command.arg("-e").arg(dir.join("nginx.log"));
    let process = start(&mut command, port)?;
    let options = vec![format!("--http_host=127.0.0.1:{port}"), "--filename=/bench/x".to_owned()];
    Ok(Server { process, options })
}

fn nbdkit(dir: &Path) -> Result<Server> {
    let socket = dir.join("nbd.sock");
    let mut command = Command::new("nbdkit");
    command.args(["--foreground", "--unix"]).arg(&socket);
    command.arg("memory").arg(FILE_BYTES.to_string());
    let process = start_until(&mut command, || socket.exists())?;
    let options = vec![format!("--uri=nbd+unix:///?socket={}", socket.display())];
    Ok(Server { process, options })
}

fn tgt(dir: &Path) -> Result<Server> {
    let port = free_port()?;
    // At most 32767.
    let control = (port % 32768).to_string();
    let unit = dir.join("unit");
    std::fs::File::create(&unit)?.set_len(FILE_BYTES)?;
    let mut command = Command::new("tgtd");
    command.args(["-f", "-C", &control, "--iscsi", &format!("portal=127.0.0.1:{port}")]);
    let process = start(&mut command, port)?;
    let mut server = Server { process, options: Vec::new() };
    for order in [
        "--op new --mode target --tid 1 -T iqn.2026-11.bench".to_owned(),
        format!("--op new --mode logicalunit --tid 1 --lun 1 -b {}", unit.display()),
        "--op bind --mode target --tid 1 -I ALL".to_owned(),
    ] {
        let mut admin = Command::new("tgtadm");
        admin.args(["-C", &control, "--lld", "iscsi"]).args(order.split(' '));
        let output = admin.output().context("tgtadm cannot be run")?;
        ensure!(output.status.success(), "{order}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let unit = format!("iscsi\\://127.0.0.1\\:{port}/iqn.2026-11.bench/1");
    server.options = vec!["--ioengine=libiscsi".to_owned(), format!("--filename={unit}")];
    Ok(server)
}
