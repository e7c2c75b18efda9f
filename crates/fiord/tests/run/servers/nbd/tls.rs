//! TLS of `ioengine=nbd`, on nbdkit.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::Nbdkit;
use crate::fiord::{Place, Ran, work};
use crate::servers::body;

/// Writes an authority and certificates that it signed, for a server with the name `localhost` and a client, to a
/// directory below the place.
fn certificates(place: &Place, directory: &str) {
    std::fs::create_dir(place.path(directory)).unwrap();
    let write = |name: &str, text: String| place.write(&format!("{directory}/{name}"), text);
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write("ca-cert.pem", authority.self_signed(&key).unwrap().pem());
    let authority = Issuer::new(authority, key);
    for name in ["server", "client"] {
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = names.signed_by(&key, &authority).unwrap();
        write(&format!("{name}-cert.pem"), certificate.pem());
        write(&format!("{name}-key.pem"), key.serialize_pem());
    }
}

/// nbdkit with the certificates of `keys`, and its URI for TLS. `trusted` is the directory that the URI names.
fn nbdkit(place: &Place, words: &[&str], trusted: &str) -> Option<(Nbdkit, String)> {
    certificates(place, "keys");
    let keys = format!("--tls-certificates={}", place.path("keys").display());
    let server = Nbdkit::with(place, &[&["--tls=require", &keys], words].concat())?;
    let uri = server.uri.replacen("nbd", "nbds", 1);
    let uri = format!("{uri}&tls-certificates={}", place.path(trusted).display());
    Some((server, uri))
}

/// Reads from a server that fails.
#[track_caller]
fn fails(place: &Place, uri: &str, expected: [&str; 2]) -> Ran {
    let ran = place.run(&format!("--name=j --ioengine=nbd --uri={uri} --rw=read --bs=4k"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    for text in expected {
        assert!(ran.err.contains(text), "{uri}: {}", ran.err);
    }
    assert!(ran.err.contains("To fix: "), "{}", ran.err);
    ran
}

#[test]
fn what_was_written_over_tls_arrives() {
    let place = Place::new();
    let Some((server, uri)) = nbdkit(&place, &["memory", "1M"], "keys") else { return };
    for (block, depth) in [("4k", 16), ("128k", 4), ("1m", 1)] {
        let line = format!(
            "--name=j --ioengine=nbd --uri={uri} --rw=randwrite --bs={block} --iodepth={depth} --verify=crc32c \
             --end_fsync=1 --output-format=json"
        );
        let done = work(&place.run(&line).ok().json())[0].2;
        assert_eq!((done[0].0, done[1].0), (body::SIZE as u64, body::SIZE as u64), "{block}");
    }
    // fio's engine has another implementation of the protocol and of TLS.
    if crate::servers::fio_has(&place, "nbd") {
        let job = "--name=j --ioengine=nbd --rw=write --bs=4k --verify=crc32c --do_verify=0";
        let ran = place.fio(&format!("{job} --uri={uri}")).unwrap();
        if ran.status == Some(0) {
            let job = "--name=j --ioengine=nbd --rw=read --bs=4k --verify=crc32c --iodepth=8";
            place.run(&format!("{job} --uri={uri}")).ok();
        }
    }
    // Without TLS, the server refuses.
    fails(&place, &server.uri, ["the server requires TLS", "write `nbds`"]);
}

#[test]
fn a_server_that_is_not_trusted_is_refused() {
    let place = Place::new();
    certificates(&place, "others");
    let Some((_server, uri)) = nbdkit(&place, &["memory", "1M"], "others") else { return };
    fails(&place, &uri, ["the certificate of the server is not trusted", "`tls-certificates="]);
    let unchecked = format!("{uri}&tls-verify-peer=false");
    place.run(&format!("--name=j --ioengine=nbd --uri={unchecked} --rw=read --bs=64k")).ok();
    let right = uri.replace("others", "keys");
    let named = format!("{right}&tls-hostname=another");
    fails(&place, &named, ["the certificate of the server is not trusted", "`tls-hostname`"]);
    let missing = right.replace("/keys", "/nothing");
    fails(&place, &missing, ["nothing/ca-cert.pem", "PEM format"]);
}

#[test]
fn a_server_without_tls_is_a_clear_error() {
    let place = Place::new();
    certificates(&place, "keys");
    let Some(server) = Nbdkit::with(&place, &["memory", "1M"]) else { return };
    let uri = server.uri.replacen("nbd", "nbds", 1);
    fails(&place, &uri, ["the server has no TLS", "write `nbd` instead of `nbds`"]);
}

#[test]
fn a_server_can_ask_for_the_certificate_of_the_client() {
    let place = Place::new();
    let words = ["--tls-verify-peer", "memory", "1M"];
    let Some((_server, uri)) = nbdkit(&place, &words, "keys") else { return };
    let job = format!("--name=j --ioengine=nbd --uri={uri} --rw=randrw --bs=4k --iodepth=4");
    place.run(&job).ok();
    std::fs::remove_file(place.path("keys/client-cert.pem")).unwrap();
    fails(&place, &uri, ["nbds+unix://", "check the log of the server"]);
}
