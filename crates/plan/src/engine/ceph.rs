//! `rados` and `rbd`: cluster, client, pool, objects and images.

use std::path::PathBuf;

use fiord_job::option::handle::Opt;
use fiord_job::option::table::ceph::{
    BUSY_POLL, CLIENTNAME, CLUSTERNAME, CONF, POOL, RBD_ENCRYPTION_FORMAT,
    RBD_ENCRYPTION_PASSPHRASE, RBDNAME, TOUCH_OBJECTS,
};
use fiord_job::option::table::{IOENGINE, UNLINK, UNLINK_EACH_LOOP};
use fiord_types::Secret;

use super::endpoint;
use crate::model::{CephPlan, EncryptionFormat, RadosPlan, RbdEncryption, RbdPlan};
use crate::options::reading::Reading;

/// Reads the options of `rados`.
pub(super) fn rados(job: Reading) -> RadosPlan {
    let conf = Some(job.get(CONF));
    let ceph = CephPlan { conf, has_conf_option: true, ..ceph(job) };
    let server = Some(format!("the pool `{}`", ceph.pool));
    let endpoint = endpoint::plan(job, None, server);
    keeps_objects(job);
    RadosPlan { endpoint, ceph, touch: job.get(TOUCH_OBJECTS) }
}

/// Reads the options of `rbd`.
pub(super) fn rbd(job: Reading) -> RbdPlan {
    let ceph = ceph(job);
    let example = "To fix: name the image, which `rbd ls POOL` lists: `rbdname=image1`";
    let image = required(job, RBDNAME, "image", example);
    let server = Some(format!("the pool `{}`", ceph.pool));
    let endpoint = endpoint::plan(job, Some(PathBuf::from(&image)), server);
    RbdPlan { endpoint, ceph, image, encryption: encryption(job) }
}

/// An option that the engine requires; empty after an error.
fn required(job: Reading, option: Opt<Option<String>>, kind: &str, help: &str) -> String {
    let value = job.get(option).filter(|text| !text.is_empty());
    if value.is_none() {
        let (engine, name) = (job.get(IOENGINE), option.name());
        let what = format!("`ioengine={engine}` has no {kind}: the job sets no `{name}`");
        job.report(job.error(option, what).help(help));
    }
    value.unwrap_or_default()
}

/// Reads the options that both engines have.
fn ceph(job: Reading) -> CephPlan {
    let named = |option: Opt<Option<String>>| job.get(option).filter(|text| !text.is_empty());
    let cluster = named(CLUSTERNAME);
    let client = named(CLIENTNAME).map(|name| match cluster.is_some() && !name.contains('.') {
        true => format!("client.{name}"),
        false => name,
    });
    let help = "To fix: name the pool, which `ceph osd pool ls` lists: `pool=bench`";
    CephPlan {
        cluster,
        client,
        pool: required(job, POOL, "pool", help),
        conf: None,
        has_conf_option: false,
        busy_poll: job.get(BUSY_POLL),
    }
}

/// Says that the job does not remove its objects. fio does not either.
fn keeps_objects(job: Reading) {
    for option in [UNLINK, UNLINK_EACH_LOOP].into_iter().filter(|option| job.get(*option)) {
        let what =
            format!("`ioengine=rados` does not remove objects: `{}` has no effect", option.name());
        job.report(job.no_effect(option, what));
    }
}

/// Reads how the image is encrypted.
fn encryption(job: Reading) -> Option<RbdEncryption> {
    let passphrase = job.get(RBD_ENCRYPTION_PASSPHRASE);
    let Some(word) = job.get(RBD_ENCRYPTION_FORMAT) else {
        if passphrase.is_some() {
            let what = "`rbd_encryption_passphrase` has no effect without `rbd_encryption_format`";
            let help = "To fix: add `rbd_encryption_format=luks2` or `luks1`";
            job.report(job.error(RBD_ENCRYPTION_PASSPHRASE, what).help(help));
        }
        return None;
    };
    let format = match word.as_str() {
        "luks1" => EncryptionFormat::Luks1,
        "luks2" => EncryptionFormat::Luks2,
        other => {
            let what = format!("`rbd_encryption_format={other}` is not a format");
            let help = "To fix: write `luks1` or `luks2`";
            job.report(job.error(RBD_ENCRYPTION_FORMAT, what).help(help));
            return None;
        }
    };
    let Some(passphrase) = passphrase else {
        let what = "`rbd_encryption_format` needs the passphrase of the image";
        let help = "To fix: add `rbd_encryption_passphrase`";
        job.report(job.error(RBD_ENCRYPTION_FORMAT, what).help(help));
        return None;
    };
    Some(RbdEncryption { format, passphrase: Secret::new(passphrase) })
}
