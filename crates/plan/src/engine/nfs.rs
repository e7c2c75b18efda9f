//! `nfs`: server, export and version.

use fiord_job::option::table::remote::NFS_URL;
use fiord_types::Dir;

use super::endpoint;
use crate::load;
use crate::model::NfsPlan;
use crate::options::reading::Reading;

/// How a URL begins.
const SCHEME: &str = "nfs://";

/// The options that libnfs reads from a URL.
const ARGUMENTS: &[&str] = &[
    "tcp-syncnt",
    "uid",
    "gid",
    "readahead",
    "auto-traverse-mounts",
    "dircache",
    "autoreconnect",
    "version",
    "nfsport",
    "mountport",
    "pagecache",
    "debug",
    "if",
];

pub(super) fn options(job: Reading) -> NfsPlan {
    let url = job.get(NFS_URL).unwrap_or_default();
    let (place, version) = match parse(&url) {
        Ok(parsed) => parsed,
        Err(WrongUrl(what)) => {
            let help = "To fix: write `nfs_url=nfs://SERVER/EXPORT?version=3`, with `nfsport` and `mountport` if the \
                        server does not run rpcbind";
            job.report(job.error(NFS_URL, what).help(help));
            (String::new(), 3)
        }
    };
    let endpoint = endpoint::plan(job, None, Some(place));
    let reads = load::mix(job).0.has(Dir::Read);
    NfsPlan { endpoint, url, is_version_4: version == 4, reads }
}

/// What is wrong with a URL.
#[derive(Debug, PartialEq, Eq)]
struct WrongUrl(String);

/// Server and export of a URL, for messages, and the version of NFS. The error says what is wrong.
fn parse(url: &str) -> Result<(String, u8), WrongUrl> {
    if url.is_empty() {
        let why = "`ioengine=nfs` has no server: the job sets no `nfs_url`";
        return Err(WrongUrl(why.to_owned()));
    }
    let wrong = |why: &str| WrongUrl(format!("`{url}` is not the URL of an NFS export: {why}"));
    let rest = url.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with `nfs://`"))?;
    let (place, arguments) = rest.split_once('?').unwrap_or((rest, ""));
    match place.split_once('/') {
        Some(("", _)) => return Err(wrong("it names no server")),
        None | Some((_, "")) => return Err(wrong("it names no export")),
        Some(_) => {}
    }
    let mut version = 3;
    for argument in arguments.split('&').filter(|argument| !argument.is_empty()) {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        if !ARGUMENTS.contains(&name) {
            return Err(wrong(&format!("libnfs has no option `{name}`")));
        }
        let number = value.parse::<i64>().ok();
        if name != "if" && number.is_none() {
            return Err(wrong(&format!("`{name}={value}` is not a number")));
        }
        match (name, number) {
            ("version", Some(3)) => version = 3,
            ("version", Some(4)) => version = 4,
            ("version", _) => return Err(wrong("libnfs has versions 3 and 4")),
            ("nfsport" | "mountport", Some(port)) if !(1..=65_535).contains(&port) => {
                return Err(wrong(&format!("`{name}={value}` is not a port")));
            }
            _ => {}
        }
    }
    Ok((format!("{SCHEME}{place}"), version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_server_export_and_version() {
        let url = "nfs://server/export/a?version=4&nfsport=2049&uid=0";
        assert_eq!(parse(url), Ok(("nfs://server/export/a".to_owned(), 4)));
        assert_eq!(parse("nfs://[::1]/x"), Ok(("nfs://[::1]/x".to_owned(), 3)));
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, why) in [
            ("", "no `nfs_url`"),
            ("http://server/export", "does not begin with `nfs://`"),
            ("nfs:///export", "names no server"),
            ("nfs://server", "names no export"),
            ("nfs://server/", "names no export"),
            ("nfs://server/x?vers=3", "no option `vers`"),
            ("nfs://server/x?version=2", "versions 3 and 4"),
            ("nfs://server/x?nfsport=70000", "not a port"),
            ("nfs://server/x?nfsport=nfs", "not a number"),
        ] {
            let WrongUrl(text) = parse(url).unwrap_err();
            assert!(text.contains(why), "{url}: {text}");
        }
    }
}
