//! The options of `rados` and `rbd`.

use fiord_types::Secret;

use super::EndpointPlan;

/// A cluster of Ceph, a client of it, and a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CephPlan {
    /// `clustername`. `None`: that of librados.
    pub cluster: Option<String>,
    /// `clientname`: with `client.` if `cluster` is named. `None`: that of librados, `admin`.
    pub client: Option<String>,
    pub pool: String,
    /// `conf`: the configuration file. `None`: librados searches it.
    pub conf: Option<String>,
    /// The engine has the option `conf`.
    pub has_conf_option: bool,
    /// `busy_poll`: polls for completions and does not sleep.
    pub busy_poll: bool,
}

impl CephPlan {
    /// The client, for messages: `client.admin`.
    #[must_use]
    pub fn user(&self) -> String {
        let name = self.client.as_deref().unwrap_or("admin");
        match name.contains('.') {
            true => name.to_owned(),
            false => format!("client.{name}"),
        }
    }
}

/// The options of a job with `ioengine=rados`. The addresses are the names of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RadosPlan {
    /// Where the job connects to.
    pub endpoint: EndpointPlan,
    pub ceph: CephPlan,
    /// `touch_objects`: creates the objects that do not exist.
    pub touch: bool,
}

/// The options of a job with `ioengine=rbd`. The address is the name of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RbdPlan {
    /// Where the job connects to.
    pub endpoint: EndpointPlan,
    pub ceph: CephPlan,
    /// `rbdname`.
    pub image: String,
    /// How the image is encrypted. `None`: it is not.
    pub encryption: Option<RbdEncryption>,
}

/// How a block image is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RbdEncryption {
    pub format: EncryptionFormat,
    pub passphrase: Secret,
}

/// The format of an encrypted block image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncryptionFormat {
    /// LUKS version 1.
    Luks1,
    /// LUKS version 2.
    Luks2,
}
