//! WebDAV and TLS with nginx, and fio as another client.

use std::process::Command;

use super::super::body::tests_of;
use super::super::relay::{Relay, Upstream};
use super::super::{Relayed, Server, Service, free_port, listens};
use crate::fiord::{Place, work};

pub(super) struct Nginx {
    pub(super) server: Server,
    pub(super) port: u16,
    pub(super) tls_port: u16,
}

/// Creates a certificate for `localhost` and its key. Returns whether openssl is installed.
fn certificate(place: &Place) -> bool {
    let line = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
                -addext subjectAltName=DNS:localhost >/dev/null 2>&1";
    place.script(line).status == Some(0)
}

impl Nginx {
    pub(super) fn launch(place: &Place, more: &str) -> Option<Self> {
        let (port, tls_port) = (free_port(), free_port());
        std::fs::create_dir_all(place.path("root")).unwrap();
        let tls = match certificate(place) {
            true => format!(
                "server {{ listen 127.0.0.1:{tls_port} ssl; ssl_certificate cert.pem; ssl_certificate_key key.pem; \
                 root root; client_max_body_size 0; dav_methods PUT DELETE; create_full_put_path on; keepalive_requests 25; }}"
            ),
            false => String::new(),
        };
        place.write(
            "nginx.conf",
            format!(
                "daemon off; master_process off; pid nginx.pid; error_log error.log; events {{}}\n\
                 http {{ access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; \
                 uwsgi_temp_path t4; scgi_temp_path t5; keepalive_requests 100;\n{tls}\n\
                 server {{ listen 127.0.0.1:{port}; root root; client_max_body_size 0; {more}\n\
                 location / {{ dav_methods PUT DELETE; create_full_put_path on; }} }} }}\n"
            ),
        );
        let prefix = place.path("");
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&prefix).arg("-c").arg(place.path("nginx.conf"));
        command.arg("-e").arg(place.path("error.log"));
        let server = Server::start(&mut command, || listens(port))?;
        Some(Nginx { server, port, tls_port })
    }
}

impl Service for Nginx {
    fn start(place: &Place) -> Option<Self> {
        Nginx::launch(place, "")
    }

    fn job(&self) -> String {
        format!("--ioengine=http --http_host=127.0.0.1:{} --filename=/dir/x", self.port)
    }

    fn nowhere(&self) -> String {
        format!("--ioengine=http --http_host=127.0.0.1:{} --filename=/x", free_port())
    }

    fn contents(&self, place: &Place, block: usize, len: usize) -> Option<Vec<u8>> {
        let urls = (0..len / block)
            .map(|at| format!("http://127.0.0.1:{}/dir/x_{}_{block}", self.port, at * block));
        let mut curl = place.program_in(&place.path(""), "curl");
        let Ok(output) = curl.args(["-s", "-f"]).args(urls).output() else {
            eprintln!("skipped: curl is not installed");
            return None;
        };
        Some(output.stdout)
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl Relayed for Nginx {
    const ENDS_WITHOUT_SERVER: bool = false;

    fn relayed(&self) -> (Relay, String) {
        let relay = Relay::to(Upstream::Port(self.port));
        let job = self.job().replace(&format!(":{} ", self.port), &format!(":{} ", relay.port));
        (relay, job)
    }
}

tests_of!(Nginx);

/// The I/Os of the first job in each direction.
fn ios(ran: &crate::fiord::Ran) -> [u64; 3] {
    work(&ran.json())[0].2.map(|dir| dir.1)
}

#[test]
fn fio_and_fiord_verify_the_objects_of_each_other() {
    let place = Place::new();
    let Some(nginx) = Nginx::start(&place) else { return };
    let job = |name: &str, options: &str| {
        format!(
            "--name=j --ioengine=http --http_host=127.0.0.1:{} --filename=/{name} --bs=4k --size=128k \
             --verify=crc32c --output-format=json {options}",
            nginx.port
        )
    };
    let Some(ran) = place.fio(&job("by-fio", "--rw=randwrite --do_verify=0")) else {
        eprintln!("skipped: fio is not installed");
        return;
    };
    if ran.status != Some(0) {
        eprintln!("not possible here: this fio has no engine http");
        return;
    }
    assert_eq!(ios(&ran), [0, 32, 0]);
    let ran = place.run(&job("by-fio", "--rw=randread --iodepth=8")).ok();
    assert_eq!(ios(&ran), [32, 0, 0]);
    place.run(&job("by-fiord", "--rw=randwrite --iodepth=8 --do_verify=0")).ok();
    let ran = place.fio(&job("by-fiord", "--rw=randread")).unwrap();
    assert_eq!((ran.status, ios(&ran)), (Some(0), [32, 0, 0]), "{ran:?}");
    let trim = "--rw=trim --iodepth=4 --verify=0 --do_verify=0";
    assert_eq!(ios(&place.run(&job("by-fiord", trim)).ok()), [0, 0, 32]);
    assert_eq!(std::fs::read_dir(place.path("root")).unwrap().count(), 32);
}

#[test]
fn an_object_is_read_in_ranges_and_replaced_by_writes() {
    let place = Place::new();
    let Some(nginx) = Nginx::start(&place) else { return };
    let job = format!(
        "--name=j --ioengine=http --http_host=127.0.0.1:{} --http_object_mode=range --filename=/o \
         --output-format=json",
        nginx.port
    );
    place.run(&format!("{job} --rw=write --bs=64k --size=64k --buffer_pattern=0x61626364")).ok();
    assert_eq!(std::fs::read(place.path("root/o")).unwrap(), b"abcd".repeat(16 << 10));
    let ran = place.run(&format!("{job} --rw=randread --bs=4k --size=64k --iodepth=8")).ok();
    assert_eq!(ios(&ran), [16, 0, 0]);
    let ran = place.run(&format!("{job} --rw=read --bs=48k --size=96k"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("the object is shorter. To fix:"), "{}", ran.err);
}

#[test]
fn objects_that_do_not_exist_are_errors_unless_they_are_deleted() {
    let place = Place::new();
    let Some(nginx) = Nginx::start(&place) else { return };
    let job = format!("--name=j {} --bs=4k --size=8k --output-format=json", nginx.job());
    let ran = place.run(&format!("{job} --rw=read"));
    assert_eq!((ran.status, work(&ran.json())[0].1), (Some(1), 2), "{ran:?}");
    let url = format!("GET http://127.0.0.1:{}/dir/x_0_4096: the server answered 404", nginx.port);
    assert!(
        ran.err.contains(&url) && ran.err.contains("To fix: write the objects first"),
        "{}",
        ran.err
    );
    let ran = place.run(&format!("{job} --rw=read --http_read=head"));
    assert_eq!((ran.status, work(&ran.json())[0].1), (Some(1), 2), "{ran:?}");
    assert_eq!(ios(&place.run(&format!("{job} --rw=trim")).ok()), [0, 0, 2]);
}

#[test]
fn heads_are_reads_and_methods_that_the_server_lacks_are_errors() {
    let place = Place::new();
    let Some(nginx) = Nginx::launch(&place, "location /fixed/ {}") else { return };
    let job = format!("--name=j {} --bs=4k --size=32k --output-format=json", nginx.job());
    place.run(&format!("{job} --rw=write")).ok();
    let ran = place.run(&format!("{job} --rw=randread --http_read=head --iodepth=4")).ok();
    assert_eq!(ios(&ran), [8, 0, 0]);
    assert!(ran.out.contains("\"no-data-moved\""), "{}", ran.out);
    let fixed = job.replace("/dir/x", "/fixed/x");
    let ran = place.run(&format!("{fixed} --rw=trim"));
    assert_eq!((ran.status, work(&ran.json())[0].1), (Some(1), 95), "{ran:?}");
    let text = "the server answered 405. To fix: check `http_mode`";
    assert!(ran.err.contains("DELETE http://") && ran.err.contains(text), "{}", ran.err);
}

#[test]
fn passwords_are_sent_and_wrong_ones_are_refused() {
    let place = Place::new();
    // The password is `secret`, in nginx's form for plain text.
    place.write("users", "me:{PLAIN}secret\n");
    let Some(nginx) = Nginx::launch(&place, "auth_basic r; auth_basic_user_file users;") else {
        return;
    };
    let job =
        |options: &str| format!("--name=j {} --bs=4k --size=8k --rw=write {options}", nginx.job());
    place.run(&job("--http_user=me --http_pass=secret")).ok();
    let ran = place.run(&job("--http_user=me --http_pass=wrong"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("the server answered 401. To fix: check `http_user`"), "{}", ran.err);
    assert!(!ran.err.contains("wrong") && !ran.out.contains("wrong"), "{ran:?}");
}

#[test]
fn tls_checks_the_certificate_unless_it_is_told_not_to() {
    let place = Place::new();
    let Some(nginx) = Nginx::start(&place) else { return };
    if !listens(nginx.tls_port) {
        eprintln!("skipped: openssl is not installed, or nginx has no TLS");
        return;
    }
    let job = |options: &str| {
        format!(
            "--name=j --ioengine=http --http_host=localhost:{} --filename=/t --bs=64k --size=1m --output-format=json \
             {options}",
            nginx.tls_port
        )
    };
    let verified = "--rw=randwrite --verify=crc32c --iodepth=4";
    let ran = place.run(&job(&format!("--https=insecure {verified}"))).ok();
    assert_eq!(ios(&ran), [16, 16, 0]);
    let ran = place.run(&job(&format!("--https=on --http_ca_file=cert.pem {verified}"))).ok();
    assert_eq!(ios(&ran), [16, 16, 0]);
    // Each connection ends after 25 requests, and the next one needs a handshake.
    let ran = place.run(&job("--https=insecure --rw=randread --loops=15")).ok();
    let requests = &ran.json()["jobs"][0]["fiord"]["requests"];
    assert_eq!((requests["sent"].as_u64(), requests["handshakes"].as_u64()), (Some(240), Some(9)));
    assert!(requests["handshake_total_ns"].as_u64() > Some(0), "{requests}");
    assert!(
        ran.out.contains("\"tls-handshakes\"") && !ran.out.contains("\"connection-per-request\"")
    );
    let ran = place.run(&job("--https=on --rw=write"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("the certificate of the server is not trusted"), "{}", ran.err);
    assert!(ran.err.contains("To fix: ") && ran.err.contains("https=insecure"), "{}", ran.err);
    // A client without TLS at a port with TLS, and the other way around.
    let plain =
        format!("--name=j --ioengine=http --http_host=localhost:{} --filename=/t", nginx.tls_port);
    let ran = place.run(&format!("{plain} --bs=4k --size=4k --rw=write"));
    assert_eq!(ran.status, Some(1));
    let mixed = format!("--name=j {} --https=insecure --bs=4k --size=4k --rw=write", nginx.job());
    let ran = place.run(&mixed);
    assert_eq!(ran.status, Some(1));
    assert!(
        ran.err.contains("To fix: check that the server speaks TLS at this port"),
        "{}",
        ran.err
    );
}

#[test]
fn several_endpoints_get_the_requests_in_turn() {
    let (place, other) = (Place::new(), Place::new());
    let (Some(one), Some(two)) = (Nginx::start(&place), Nginx::start(&other)) else { return };
    let line = format!(
        "--name=j {} --http_endpoints=127.0.0.1:{} --bs=4k --size=64k --rw=write --iodepth=4",
        one.job(),
        two.port
    );
    place.run(&line).ok();
    let count = |place: &Place| std::fs::read_dir(place.path("root/dir")).unwrap().count();
    assert_eq!((count(&place), count(&other)), (8, 8));
}
