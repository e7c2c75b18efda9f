//! RPM packages, built by `rpmbuild` from a generated spec file. cargo-generate-rpm (0.21) has no ghost files, which the links of
//! update-alternatives are.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::release::{ABOUT, Release};
use super::tree::Tree;

/// Definitions that keep the time, the name of the machine and the processing of files by the distribution out of
/// the packages.
const DEFINITIONS: &str = "\
%global __os_install_post %{nil}
%global debug_package %{nil}
%global _build_id_links none
%global _buildhost localhost
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global _binary_payload w9.gzdio
";

/// The package with the command `fio`. Both names of the tool exist, depending on the distribution.
const COMPAT: &str = "\
%package fio-compat
Summary: Command fio that runs fiord
Requires: %{name} = %{version}-%{release}
Requires(post): /usr/sbin/update-alternatives
Requires(postun): /usr/sbin/update-alternatives
Provides: fio = 3.42
Conflicts: fio

%description fio-compat
This package provides the command fio, as an alternative that runs fiord, for
scripts that call fio. Other programs can be chosen with update-alternatives.

%post fio-compat
/usr/sbin/update-alternatives --install /usr/bin/fio fio /usr/bin/fiord 60 \\
    --slave /usr/share/man/man1/fio.1.gz fio.1.gz /usr/share/man/man1/fiord.1.gz

%postun fio-compat
if [ \"$1\" = 0 ]; then
    /usr/sbin/update-alternatives --remove fio /usr/bin/fiord
fi

%files fio-compat
%ghost /usr/bin/fio
%ghost /usr/share/man/man1/fio.1.gz
%ghost /etc/alternatives/fio
%ghost /etc/alternatives/fio.1.gz
";

/// Places for the links of update-alternatives, which then belong to the package `fiord-fio-compat`.
const INSTALL: &str = "\
%install
cp -a %{_sourcedir}/root/. %{buildroot}/
mkdir -p %{buildroot}/etc/alternatives
ln -s /etc/alternatives/fio %{buildroot}/usr/bin/fio
ln -s /etc/alternatives/fio.1.gz %{buildroot}/usr/share/man/man1/fio.1.gz
ln -s /usr/bin/fiord %{buildroot}/etc/alternatives/fio
ln -s /usr/share/man/man1/fiord.1.gz %{buildroot}/etc/alternatives/fio.1.gz
";

/// Returns the packages with their file names. `scratch` is an empty directory.
///
/// # Errors
///
/// If `rpmbuild` is missing or fails.
pub(super) fn packages(
    release: &Release,
    files: &Tree,
    scratch: &Path,
) -> Result<Vec<(String, Vec<u8>)>> {
    let mut below_root = Tree::default();
    for (path, mode, data) in files.files() {
        below_root.add(&format!("usr/{path}"), mode, data.to_vec());
    }
    below_root.write(&scratch.join("SOURCES/root"))?;
    let spec = scratch.join("fiord.spec");
    fs::write(&spec, self::spec(release, &below_root)?)?;
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--define"]);
    rpmbuild.arg(format!("_topdir {}", scratch.display())).arg(&spec);
    rpmbuild.env("SOURCE_DATE_EPOCH", release.epoch.to_string()).env("LC_ALL", "C");
    let output = rpmbuild.output().context(
        "cannot run rpmbuild. To fix: install rpm (`apt-get install rpm`), or pass --no-rpm",
    )?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "rpmbuild failed: {errors}");
    let mut found = Vec::new();
    let folder = scratch.join("RPMS").join(std::env::consts::ARCH);
    for entry in fs::read_dir(&folder).context("rpmbuild wrote no packages")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push((name, fs::read(&path)?));
    }
    found.sort();
    Ok(found)
}

/// Returns the text of the spec file.
///
/// # Errors
///
/// If `date` fails.
fn spec(release: &Release, files: &Tree) -> Result<String> {
    let mut text = format!(
        "{DEFINITIONS}\nName: fiord\nVersion: {}\nRelease: 1\nSummary: {}{}\n\
         License: MIT OR Apache-2.0\nPackager: {}\n\n\
         %description\nfiord runs the job files and command lines of fio and prints its reports.\n\n\
         {COMPAT}\n{INSTALL}\n%files\n",
        release.version,
        ABOUT[..1].to_uppercase(),
        &ABOUT[1..],
        release.maintainer,
    );
    let mut places = std::collections::BTreeSet::new();
    for (path, mode, _) in files.files() {
        if path.starts_with("usr/share/doc/fiord/") {
            // The package owns the whole directory with its documentation.
            places.insert("%doc /usr/share/doc/fiord".to_owned());
        } else if path.starts_with("usr/share/man/") {
            places.insert(format!("%doc %attr({mode:o}, root, root) /{path}"));
        } else {
            places.insert(format!("%attr({mode:o}, root, root) /{path}"));
        }
    }
    for place in places {
        let _ = writeln!(text, "{place}");
    }
    let _ = writeln!(
        text,
        "\n%changelog\n* {} {} - {}-1\n- CHANGELOG.md lists the changes.",
        release.time("+%a %b %d %Y")?,
        release.maintainer,
        release.version
    );
    Ok(text)
}
