//! The connection to a cluster and to a pool.

use std::ffi::{CString, c_int};
use std::ptr;

use fiord_plan::model::CephPlan;
use fiord_types::{Errno, Nanos};

use super::abi::{CephHandle, RadosFunctions, rados};
use crate::EngineError;
use crate::endpoint::shown;

/// A pool of a cluster to which this value holds a connection. Each job has its own, with threads of librados.
pub(super) struct CephPool {
    pub(super) functions: &'static RadosFunctions,
    cluster: CephHandle,
    /// The handle for requests to the pool; null if there is none yet.
    pub(super) io: CephHandle,
}

// SAFETY: librados permits calls with a handle from any thread.
unsafe impl Send for CephPool {}

/// Converts the return value of a function of Ceph: a negative errno, or a number.
pub(super) fn checked(ret: c_int) -> Result<u32, Errno> {
    u32::try_from(ret).map_err(|_| Errno::from_raw(ret.wrapping_neg()))
}

/// A name for a function of Ceph.
pub(super) fn text(value: &str) -> Result<CString, EngineError> {
    CString::new(value).map_err(|_| {
        EngineError::plain(format!("the name `{}` contains NUL", value.escape_debug()))
    })
}

impl CephPool {
    /// Connects to the cluster and opens the pool. Waits at most as long as the plan says.
    ///
    /// # Errors
    ///
    /// The library is missing, the cluster does not answer or refuses the client, or the pool does not exist.
    pub(super) fn open(
        engine: &'static str,
        plan: &CephPlan,
        timeout: Nanos,
    ) -> Result<Self, EngineError> {
        let functions = rados(engine)?;
        let mut pool = CephPool { functions, cluster: ptr::null_mut(), io: ptr::null_mut() };
        pool.create(engine, plan)?;
        pool.configure(engine, plan, timeout)?;
        // SAFETY: the handle was created, and is not connected.
        checked(unsafe { (functions.rados_connect)(pool.cluster) })
            .map_err(|errno| refused(engine, plan, timeout, errno))?;
        let name = text(&plan.pool)?;
        // SAFETY: the cluster is connected, the name ends with NUL, and the result has room for a handle.
        let opened = unsafe {
            (functions.rados_ioctx_create)(pool.cluster, name.as_ptr(), &raw mut pool.io)
        };
        checked(opened).map_err(|errno| {
            let what = format!("ioengine={engine}: cannot open the pool `{}`: {errno}", plan.pool);
            let help = match errno {
                Errno::ENOENT => "To fix: check `pool`; `ceph osd pool ls` lists the pools",
                _ => "To fix: check the rights of the client: `ceph auth get client.NAME`",
            };
            EngineError { what, help: Some(help.into()), errno: Some(errno) }
        })?;
        Ok(pool)
    }

    /// Creates the handle of the cluster.
    fn create(&mut self, engine: &str, plan: &CephPlan) -> Result<(), EngineError> {
        let client = plan.client.as_deref().map(text).transpose()?;
        let cluster = plan.cluster.as_deref().map(text).transpose()?;
        let as_pointer = |name: &Option<CString>| name.as_ref().map_or(ptr::null(), |n| n.as_ptr());
        let handle = &raw mut self.cluster;
        // SAFETY: the names are null or end with NUL, and the result has room for a handle.
        let ret = unsafe {
            match &cluster {
                None => (self.functions.rados_create)(handle, as_pointer(&client)),
                Some(cluster) => {
                    (self.functions.rados_create2)(handle, cluster.as_ptr(), as_pointer(&client), 0)
                }
            }
        };
        checked(ret).map(drop).map_err(|errno| {
            let what = format!("ioengine={engine}: cannot use Ceph as {}: {errno}", plan.user());
            EngineError { what, help: None, errno: Some(errno) }
                .help("To fix: check `clientname` and `clustername`")
        })
    }

    /// Reads the configuration of the cluster, and sets how long requests may take.
    fn configure(&self, engine: &str, plan: &CephPlan, timeout: Nanos) -> Result<(), EngineError> {
        let path = plan.conf.as_deref().map(text).transpose()?;
        let name = path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
        // SAFETY: the handle was created, and the path is null or ends with NUL.
        let read = checked(unsafe { (self.functions.rados_conf_read_file)(self.cluster, name) });
        read.map_err(|errno| {
            let shown = match &plan.conf {
                Some(path) => format!("the configuration of Ceph, `{path}`"),
                None => "the configuration of Ceph, `/etc/ceph/ceph.conf`".to_owned(),
            };
            let what = format!("ioengine={engine}: cannot read {shown}: {errno}");
            let help = match plan.has_conf_option {
                true => "To fix: name the file of the cluster: `conf=/etc/ceph/ceph.conf`",
                false => {
                    "To fix: create it, or name another one in the environment: CEPH_CONF=PATH"
                }
            };
            EngineError { what, help: Some(help.into()), errno: Some(errno) }
        })?;
        let seconds = timeout.0.div_ceil(1_000_000_000).max(1).to_string();
        for (option, value) in [
            ("client_mount_timeout", seconds.as_str()),
            ("rados_mon_op_timeout", &seconds),
            ("rados_osd_op_timeout", &seconds),
            // The messages of the engine say what failed.
            ("err_to_stderr", "false"),
            ("log_to_stderr", "false"),
        ] {
            let (name, value) = (text(option)?, text(value)?);
            // SAFETY: the handle was created, and the texts end with NUL. A version of Ceph without the option refuses
            // it, and works as it did without.
            unsafe { (self.functions.rados_conf_set)(self.cluster, name.as_ptr(), value.as_ptr()) };
        }
        Ok(())
    }

    /// Ends the connection without waiting: the library may still report requests, so all of it stays as it is.
    pub(super) fn abandon(mut self) {
        (self.cluster, self.io) = (ptr::null_mut(), ptr::null_mut());
    }
}

impl Drop for CephPool {
    fn drop(&mut self) {
        // SAFETY: the handles were created, no request is in flight, and they are not used again.
        unsafe {
            if !self.io.is_null() {
                (self.functions.rados_ioctx_destroy)(self.io);
            }
            if !self.cluster.is_null() {
                (self.functions.rados_shutdown)(self.cluster);
            }
        }
    }
}

/// The error for a cluster that cannot be reached, or refuses the client.
fn refused(engine: &str, plan: &CephPlan, timeout: Nanos, errno: Errno) -> EngineError {
    let user = plan.user();
    let (why, help) = match errno {
        Errno::ETIMEDOUT => (
            format!("no monitor answered within {}", shown(timeout)),
            "To fix: check `mon host` in the configuration, and that the monitors run",
        ),
        Errno::EACCES | Errno::EPERM => (
            format!("the cluster refuses {user}: {errno}"),
            "To fix: check `clientname` and the key in the keyring: `ceph auth get client.NAME`",
        ),
        Errno::ENOENT => (
            format!("there is no key for {user}, or the configuration names no monitor: {errno}"),
            "To fix: check `clientname`, and `keyring` and `mon host` in the configuration",
        ),
        _ => (errno.to_string(), "To fix: check the configuration and the cluster: `ceph -s`"),
    };
    let what = format!("ioengine={engine}: cannot connect to the Ceph cluster: {why}");
    EngineError { what, help: Some(help.into()), errno: Some(errno) }
}
