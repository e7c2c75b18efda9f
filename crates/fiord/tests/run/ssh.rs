//! A program that takes the place of ssh: hosts are directories of this machine.

use std::os::unix::fs::PermissionsExt;

use crate::fiord::Place;

/// Each host is a directory. There is no host `gone`.
const SSH: &str = r#"#!/bin/sh
host=$1
shift
[ "$host" = gone ] && { echo "ssh: Could not resolve hostname gone" >&2; exit 255; }
mkdir -p "$host" && cd "$host" || exit 1
echo $$ > pid
exec "$@"
"#;

/// A directory with a program that takes the place of ssh.
pub(crate) fn place() -> Place {
    let place = Place::new();
    place.write("ssh", SSH);
    let path = place.path("ssh");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

/// The options that name these hosts.
pub(crate) fn options(place: &Place, hosts: &str) -> String {
    let ssh = place.path("ssh").display().to_string();
    let fiord = env!("CARGO_BIN_EXE_fiord");
    format!("--hosts={hosts} --ssh={ssh} --remote-fiord={fiord}")
}
