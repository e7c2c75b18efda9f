//! `http`: the servers, their type, and what they want to know of the user.

use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

use fiord_formats::http::MAX_PARTS;
use fiord_job::option::handle::Opt;
use fiord_job::option::table::object::{
    HTTP_CA_FILE, HTTP_ENDPOINTS, HTTP_HOST, HTTP_LIST_KEYS, HTTP_MODE, HTTP_OBJECT_MODE,
    HTTP_PASS, HTTP_READ, HTTP_RETRIES, HTTP_S3_KEY, HTTP_S3_KEYID, HTTP_S3_PART_SIZE,
    HTTP_S3_REGION, HTTP_S3_SECURITY_TOKEN, HTTP_S3_SSE_CUSTOMER_ALGORITHM,
    HTTP_S3_SSE_CUSTOMER_KEY, HTTP_S3_STORAGE_CLASS, HTTP_SWIFT_AUTH_TOKEN, HTTP_USER,
    HTTP_VERBOSE, HTTPS, HttpMode, HttpObjectMode, HttpReads, Https,
};
use fiord_types::{Bytes, Dir, Secret};

use super::endpoint;
use crate::model::{
    EnginePlan, HttpPlan, HttpServer, HttpTls, HttpVerbosity, Load, RetryLimit, S3Plan,
};
use crate::options::reading::Reading;

const HTTP_PORT: NonZeroU16 = NonZeroU16::new(80).unwrap();

const HTTPS_PORT: NonZeroU16 = NonZeroU16::new(443).unwrap();

/// Maximum number of servers of a job.
const MAX_SERVERS: usize = 256;

pub(super) fn options(job: Reading) -> HttpPlan {
    let https = job.get(HTTPS);
    let port = if https == Https::Off { HTTP_PORT } else { HTTPS_PORT };
    let mut servers = vec![server(job, HTTP_HOST, &job.get(HTTP_HOST), port)];
    let more = job.get(HTTP_ENDPOINTS).unwrap_or_default();
    for text in more.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        servers.push(server(job, HTTP_ENDPOINTS, text, port));
    }
    if servers.len() > MAX_SERVERS {
        let what = format!("a job can have at most {MAX_SERVERS} servers, not {}", servers.len());
        job.report(job.error(HTTP_ENDPOINTS, what).help("To fix: name fewer servers"));
    }
    let mode = job.get(HTTP_MODE);
    let s3 = s3(job, mode);
    let swift_token = Secret::new(job.get(HTTP_SWIFT_AUTH_TOKEN));
    if mode == HttpMode::Swift && swift_token.is_empty() {
        let what = "`http_mode=swift` needs a token";
        let help = "To fix: request one (`openstack token issue -f value -c id`), and set `http_swift_auth_token`";
        job.report(job.error(HTTP_SWIFT_AUTH_TOKEN, what).help(help));
    }
    let reads = job.get(HTTP_READ);
    if reads == HttpReads::List && mode != HttpMode::S3 {
        let what =
            "`http_read=list` needs S3: fiord cannot list the objects of a WebDAV or Swift server";
        let help = "To fix: set `http_mode=s3`, or use `http_read=head`";
        job.report(job.error(HTTP_READ, what).help(help));
    }
    let hosts: Vec<_> = servers.iter().map(|server| server.host.as_str()).collect();
    HttpPlan {
        endpoint: endpoint::plan(job, None, Some(hosts.join(", "))),
        servers,
        mode,
        tls: match https {
            Https::Off => HttpTls::Off,
            Https::Insecure => HttpTls::Insecure,
            Https::On => HttpTls::Checked { authorities: job.get(HTTP_CA_FILE).map(PathBuf::from) },
        },
        user: job.get(HTTP_USER).filter(|user| !user.is_empty()),
        password: Secret::new(job.get(HTTP_PASS).unwrap_or_default()),
        s3,
        swift_token,
        ranged: job.get(HTTP_OBJECT_MODE) == HttpObjectMode::Range,
        reads,
        list_keys: NonZeroU32::new(job.get(HTTP_LIST_KEYS)).unwrap_or(NonZeroU32::MIN),
        retries: RetryLimit(job.get(HTTP_RETRIES)),
        verbose: match job.get(HTTP_VERBOSE) {
            0 => HttpVerbosity::Quiet,
            1 => HttpVerbosity::Heads,
            _ => HttpVerbosity::Lengths,
        },
    }
}

fn s3(job: Reading, mode: HttpMode) -> S3Plan {
    let plan = S3Plan {
        key_id: job.get(HTTP_S3_KEYID),
        key: Secret::new(job.get(HTTP_S3_KEY)),
        token: Secret::new(job.get(HTTP_S3_SECURITY_TOKEN)),
        region: job.get(HTTP_S3_REGION),
        storage_class: job.get(HTTP_S3_STORAGE_CLASS),
        customer_key: Secret::new(job.get(HTTP_S3_SSE_CUSTOMER_KEY)),
        customer_algorithm: job.get(HTTP_S3_SSE_CUSTOMER_ALGORITHM),
        part_size: Some(job.get(HTTP_S3_PART_SIZE)).filter(|size| *size > Bytes(0)),
    };
    if mode != HttpMode::S3 {
        return plan;
    }
    if plan.key_id.is_empty() != plan.key.is_empty() {
        let (missing, set) = match plan.key.is_empty() {
            true => (HTTP_S3_KEY, HTTP_S3_KEYID),
            false => (HTTP_S3_KEYID, HTTP_S3_KEY),
        };
        let what = format!("`{}` is set, and `{}` is not", set.name(), missing.name());
        let help = "To fix: set both, or none to send requests without a signature";
        job.report(job.error(set, what).help(help));
    }
    for (option, secret) in [(HTTP_S3_KEY, &plan.key), (HTTP_S3_SECURITY_TOKEN, &plan.token)] {
        refuse_line_ends(job, option, secret.expose());
    }
    for (option, text) in [
        (HTTP_S3_KEYID, &plan.key_id),
        (HTTP_S3_REGION, &plan.region),
        (HTTP_S3_STORAGE_CLASS, &plan.storage_class),
        (HTTP_S3_SSE_CUSTOMER_ALGORITHM, &plan.customer_algorithm),
    ] {
        refuse_line_ends(job, option, text);
    }
    plan
}

/// Refuses a text that cannot be the value of a header.
fn refuse_line_ends(job: Reading, option: Opt<String>, text: &str) {
    if text.contains(|c: char| c.is_control()) {
        let what = format!(
            "`{}` contains a control character, which an HTTP header cannot contain",
            option.name()
        );
        job.report(
            job.error(option, what).help("To fix: check its value, or the file that it comes from"),
        );
    }
}

/// Checks that the parts of an object are not too many.
pub(super) fn check(job: Reading, engine: &EnginePlan, load: &Load) {
    let Some(part) = engine.http().and_then(|http| http.part_size()) else { return };
    let block = u64::from(load.blocks[Dir::Write].max());
    let parts = block.div_ceil(part.0);
    if parts > u64::from(MAX_PARTS) {
        let what = format!(
            "an object of {block} bytes has {parts} parts of {} bytes, and S3 accepts {MAX_PARTS}",
            part.0
        );
        let least = block.div_ceil(u64::from(MAX_PARTS));
        let help = format!("To fix: set `http_s3_part_size` to at least {least}");
        job.report(job.error(HTTP_S3_PART_SIZE, what).help(help));
    }
}

/// Reads a host with or without a port.
fn server(
    job: Reading,
    option: impl Into<&'static fiord_job::option::def::OptionDef> + Copy,
    text: &str,
    port: NonZeroU16,
) -> HttpServer {
    let host = text.trim();
    let parsed = parse(host, port);
    if parsed.is_none() {
        let what = match host.contains("//") || host.contains('/') {
            true => format!(
                "`{host}` is not a host: expected an address without `http://` and without a path"
            ),
            false => format!("`{host}` is not a host with a port"),
        };
        let help =
            "To fix: write HOST or HOST:PORT; `https=on` chooses HTTPS, and `filename` is the path";
        job.report(job.error(option.into(), what).help(help));
    }
    let (name, port) = parsed.unwrap_or((String::new(), NonZeroU16::MIN));
    HttpServer { host: host.to_owned(), name, port }
}

/// The name and the port of a host.
fn parse(host: &str, port: NonZeroU16) -> Option<(String, NonZeroU16)> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, rest)
        }
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let valid = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if name.is_empty() || !name.chars().all(valid) {
        return None;
    }
    let port = match rest.strip_prefix(':') {
        Some(number) => number.parse().ok()?,
        None if rest.is_empty() => port,
        None => return None,
    };
    Some((name.to_owned(), port))
}

/// Checks the paths of the objects. fio sends any path, and the server refuses it.
pub(super) fn check_paths(job: Reading, paths: &[PathBuf]) {
    let wrong = paths.iter().find(|path| !path.as_os_str().as_encoded_bytes().starts_with(b"/"));
    if let Some(path) = wrong {
        let shown = path.display();
        let what = format!("the path of an object begins with a slash, and `{shown}` does not");
        let help =
            format!("To fix: write `filename=/{shown}`, or `filename=/BUCKET/{shown}` for S3");
        job.report(job.error(crate::files::paths::naming(job), what).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_may_have_a_port() {
        let read = |host: &str| parse(host, HTTP_PORT).map(|(name, port)| (name, port.get()));
        assert_eq!(read("s3.example.org"), Some(("s3.example.org".into(), 80)));
        assert_eq!(read("localhost:9000"), Some(("localhost".into(), 9000)));
        assert_eq!(read("[::1]:9000"), Some(("::1".into(), 9000)));
        assert_eq!(read("[fe80::1]"), Some(("fe80::1".into(), 80)));
        for wrong in
            ["", "a b", "http://x", "x/y", "x:0", "x:65536", "x:", "[::1", "[x]:1", "[::1]x"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
