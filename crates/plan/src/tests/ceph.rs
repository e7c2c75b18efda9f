//! `ioengine=rados`, `rbd`, `gfapi` and `gfapi_async`: what the options mean, and what is refused.

use super::*;
use crate::model::*;

const RBD: &str = "--name=a --ioengine=rbd --pool=p --rbdname=i --size=1m";
const RADOS: &str = "--name=a --ioengine=rados --pool=p --size=1m";
const GFAPI: &str = "--name=a --ioengine=gfapi_async --volume=v --brick=b --size=1m";

fn rbd(options: &str) -> RbdPlan {
    job(&Fake::empty(), &format!("{RBD} {options}")).engine.rbd().unwrap().clone()
}

fn rados(options: &str) -> RadosPlan {
    job(&Fake::empty(), &format!("{RADOS} {options}")).engine.rados().unwrap().clone()
}

#[test]
fn a_client_is_named_in_full_if_its_cluster_is() {
    let named = |options: &str| {
        let plan = rbd(options).ceph;
        (plan.cluster.clone(), plan.client.clone(), plan.user())
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(named(""), (None, None, "client.admin".into()));
    assert_eq!(named("--clientname=x"), (None, text("x"), "client.x".into()));
    let full = (text("c"), text("client.x"), "client.x".to_owned());
    assert_eq!(named("--clustername=c --clientname=x"), full);
    assert_eq!(named("--clustername=c --clientname=client.x"), full);
}

#[test]
fn the_targets_are_an_image_objects_and_files() {
    let paths = |line: &str| -> Vec<String> {
        let plan = job(&Fake::empty(), line);
        assert!(plan.target.files.iter().all(|file| file.kind == FileKind::Endpoint));
        plan.target.files.iter().map(|file| file.path.display().to_string()).collect()
    };
    assert_eq!(paths(RBD), ["i"]);
    assert_eq!(paths(&format!("{RADOS} --nrfiles=2")), ["a.0.0", "a.0.1"]);
    assert_eq!(paths(&format!("{GFAPI} --filename=x:y")), ["x", "y"]);
    assert_eq!(rados("").ceph.conf.as_deref(), Some("/etc/ceph/ceph.conf"));
    assert_eq!(rbd("").ceph.conf, None);
}

#[test]
fn readonly_changes_nothing_on_the_server() {
    assert!(rados("").touch && !rados("--touch_objects=0").touch && !rados("--readonly").touch);
    let lays_out = |options: &str| {
        job(&Fake::empty(), &format!("{GFAPI} {options}")).engine.gfapi().unwrap().lays_out
    };
    assert!(
        lays_out("--rw=randrw") && !lays_out("--rw=write") && !lays_out("--rw=read --readonly")
    );
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    for (line, expected) in [
        (
            "--name=a --ioengine=rbd --pool=p",
            "`ioengine=rbd` has no image: the job sets no `rbdname`",
        ),
        ("--name=a --ioengine=rbd --rbdname=i", "has no pool: the job sets no `pool`"),
        ("--name=a --ioengine=rados --size=1m", "has no pool: the job sets no `pool`"),
        ("--name=a --ioengine=gfapi --brick=b --size=1m", "needs `volume`"),
        ("--name=a --ioengine=gfapi --volume=v --size=1m", "needs `brick`"),
        (&format!("{GFAPI} --unlink=1"), "does not remove files of a volume"),
        (
            &format!("{RBD} --rbd_encryption_format=luks9"),
            "`rbd_encryption_format=luks9` is not a format",
        ),
        (&format!("{RBD} --rbd_encryption_format=luks2"), "needs the passphrase"),
        (
            &format!("{RBD} --rbd_encryption_passphrase=x"),
            "has no effect without `rbd_encryption_format`",
        ),
    ] {
        let text = error(&Fake::empty(), line);
        assert!(text.contains(expected), "{line}: {text}");
    }
}

#[test]
fn a_passphrase_is_not_shown() {
    let plan = rbd("--rbd_encryption_format=luks1 --rbd_encryption_passphrase=sesame");
    let text = format!("{plan:?}");
    assert!(text.contains("Luks1") && !text.contains("sesame"), "{text}");
    assert_eq!(plan.encryption.unwrap().passphrase.expose(), "sesame");
}
