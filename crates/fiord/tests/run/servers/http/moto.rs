//! S3 with moto, and boto3 as another client.

use std::process::Command;

use super::super::body::tests_of;
use super::super::relay::{Relay, Upstream};
use super::super::{Relayed, Server, Service, free_port, listens};
use crate::fiord::{Place, work};

pub(super) struct Moto {
    server: Server,
    port: u16,
}

impl Moto {
    /// Runs lines of Python with a client `s3`. Returns what they print.
    pub(super) fn python(&self, place: &Place, lines: &str) -> Vec<u8> {
        let script = format!(
            "import boto3, sys\ns3 = boto3.client('s3', endpoint_url='http://127.0.0.1:{}', aws_access_key_id='ID', \
             aws_secret_access_key='KEY', region_name='us-east-1')\n{lines}",
            self.port
        );
        let mut python = place.program_in(&place.path(""), "python3");
        let output = python.args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }
}

impl Service for Moto {
    fn start(place: &Place) -> Option<Self> {
        let has_modules = "python3 -c 'import moto.server, boto3' 2>/dev/null";
        if place.script(has_modules).status != Some(0) {
            eprintln!("skipped: the Python packages moto[server] and boto3 are not installed");
            return None;
        }
        let port = free_port();
        let mut command = Command::new("python3");
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        let server = Server::start(&mut command, || listens(port))?;
        let moto = Moto { server, port };
        moto.python(place, "s3.create_bucket(Bucket='bucket')");
        Some(moto)
    }

    fn job(&self) -> String {
        format!(
            "--ioengine=http --http_mode=s3 --http_host=127.0.0.1:{} --http_s3_keyid=ID --http_s3_key=KEY \
             --filename=/bucket/k/e.y",
            self.port
        )
    }

    fn nowhere(&self) -> String {
        format!(
            "--ioengine=http --http_mode=s3 --http_host=127.0.0.1:{} --filename=/b/x",
            free_port()
        )
    }

    fn contents(&self, place: &Place, block: usize, len: usize) -> Option<Vec<u8>> {
        let lines = format!(
            "for at in range(0, {len}, {block}):\n  body = s3.get_object(Bucket='bucket', Key=f'k/e.y_{{at}}_{block}')['Body']\n  \
             sys.stdout.buffer.write(body.read())"
        );
        Some(self.python(place, &lines))
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl Relayed for Moto {
    const ENDS_WITHOUT_SERVER: bool = false;

    fn relayed(&self) -> (Relay, String) {
        let relay = Relay::to(Upstream::Port(self.port));
        let job = self.job().replace(&format!(":{} ", self.port), &format!(":{} ", relay.port));
        (relay, job)
    }
}

tests_of!(Moto);

#[test]
fn storage_classes_and_keys_of_the_customer_reach_the_server() {
    let place = Place::new();
    let Some(moto) = Moto::start(&place) else { return };
    let options = "--rw=write --bs=8k --size=8k --http_s3_storage_class=GLACIER";
    place.run(&format!("--name=j {} {options}", moto.job())).ok();
    let lines = "print(s3.head_object(Bucket='bucket', Key='k/e.y_0_8192')['StorageClass'])";
    assert_eq!(moto.python(&place, lines), b"GLACIER\n");
}

#[test]
fn a_missing_bucket_is_a_clear_error() {
    let place = Place::new();
    let Some(moto) = Moto::start(&place) else { return };
    let job = moto.job().replace("/bucket/k/e.y", "/nope/x");
    let ran = place.run(&format!("--name=j {job} --rw=write --bs=4k --size=4k"));
    assert_eq!(ran.status, Some(1));
    let url = format!(
        "PUT http://127.0.0.1:{}/nope/x_0_4096: the server answered 404 NoSuchBucket",
        moto.port
    );
    assert!(ran.err.contains(&url) && ran.err.contains("To fix: create the bucket"), "{}", ran.err);
}

#[test]
fn objects_are_looked_at_listed_and_deleted() {
    let place = Place::new();
    let Some(moto) = Moto::start(&place) else { return };
    let job = format!("--name=j {} --bs=4k --size=64k --output-format=json", moto.job());
    place.run(&format!("{job} --rw=write")).ok();
    let ran = place.run(&format!("{job} --rw=randread --http_read=head --iodepth=4")).ok();
    assert_eq!(work(&ran.json())[0].2[0].1, 16, "{ran:?}");
    let listed = |options: &str| -> u64 {
        let ran = place.run(&format!("{job} --rw=read --http_read=list {options}")).ok();
        assert_eq!(work(&ran.json())[0].2[0].1, 16, "{ran:?}");
        ran.json()["jobs"][0]["fiord"]["requests"]["listed"].as_u64().unwrap()
    };
    assert_eq!((listed("--iodepth=4"), listed("--http_list_keys=5")), (256, 80));
    let ran = place.run(&format!("{job} --rw=trim --iodepth=4")).ok();
    assert_eq!(work(&ran.json())[0].2[2].1, 16, "{ran:?}");
    assert_eq!(
        moto.python(&place, "print(s3.list_objects_v2(Bucket='bucket')['KeyCount'])"),
        b"0\n"
    );
    let ran = place.run(&format!("{job} --rw=read --http_read=head"));
    assert_eq!((ran.status, work(&ran.json())[0].1), (Some(1), 2), "{ran:?}");
    assert!(
        ran.err.contains("HEAD http://") && ran.err.contains("the server answered 404"),
        "{}",
        ran.err
    );
    let nowhere = job.replace("/bucket/k/e.y", "/nope/x");
    let ran = place.run(&format!("{nowhere} --rw=read --http_read=list"));
    assert!(ran.err.contains("the server answered 404 NoSuchBucket"), "{ran:?}");
}
