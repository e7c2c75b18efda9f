//! Debian packages. Format: man page `deb(5)`; fields and scripts: Debian Policy Manual, chapters 5 and 6.
//! cargo-deb (3.8) takes the fields from `Cargo.toml`, which knows neither the versions of the libraries nor the build ID.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::archive::{ar, gzip, tar_gz};
use super::release::{ABOUT, Release};
use super::tree::Tree;

/// A package under construction.
#[derive(Debug)]
struct Package {
    name: &'static str,
    /// Field values that differ between the packages, as lines of the file `control`.
    fields: String,
    /// First line and text of the description. Lines of the text are at most 79 characters.
    about: (&'static str, &'static str),
    /// Scripts of the maintainer, by name.
    scripts: Vec<(&'static str, &'static str)>,
    /// Files below `/`.
    files: Tree,
}

const FIORD_TEXT: &str = "\
fiord runs the job files and command lines of fio, the flexible I/O tester,
and prints its reports. It takes little CPU time for an I/O, so that it
measures the device and not itself, and it reports findings: reasons why a
result may mean something other than it seems, with the remedy.";

const COMPAT_TEXT: &str = "\
This package provides the command fio, as an alternative that runs fiord, for
scripts that call fio. Other programs can be chosen with update-alternatives.";

const DEBUG_TEXT: &str = "\
Debug information of fiord, which gdb and other tools find by the build ID of
the program.";

/// Registers fiord as the command `fio`.
const COMPAT_POSTINST: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = configure ] || [ \"$1\" = abort-remove ]; then
    update-alternatives --install /usr/bin/fio fio /usr/bin/fiord 60 \\
        --slave /usr/share/man/man1/fio.1.gz fio.1.gz /usr/share/man/man1/fiord.1.gz
fi
";

/// Removes the command, but not during an upgrade, which would lose the administrator's choice.
const COMPAT_PRERM: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = remove ] || [ \"$1\" = deconfigure ]; then
    update-alternatives --remove fio /usr/bin/fiord
fi
";

/// Returns the packages with their file names.
///
/// # Errors
///
/// If a path is too long for the format.
pub(super) fn packages(release: &Release, files: &Tree) -> Result<Vec<(String, Vec<u8>)>> {
    let all = [fiord(release, files)?, compat(release)?, debug(release)];
    all.into_iter().map(|package| package.write(release)).collect()
}

fn fiord(release: &Release, installed: &Tree) -> Result<Package> {
    let mut files = Tree::default();
    for (path, mode, data) in installed.files() {
        files.add(&format!("usr/{path}"), mode, data.to_vec());
    }
    let fields = format!(
        "Section: admin\nPriority: optional\nDepends: libc6 (>= {}), libgcc-s1 (>= {})\nSuggests: fiord-fio-compat\n",
        release.binary.libc, release.binary.libgcc
    );
    Package::new("fiord", fields, (ABOUT, FIORD_TEXT), files).documented(release)
}

fn compat(release: &Release) -> Result<Package> {
    let about = "command fio that runs fiord";
    let fields = format!(
        "Section: admin\nPriority: optional\nDepends: fiord (= {})\nProvides: fio (= 3.42)\nConflicts: fio\nReplaces: fio\n",
        release.debian_version()
    );
    let mut files = Tree::default();
    files.add("usr/share/doc/fiord-fio-compat/README", 0o644, COMPAT_TEXT.as_bytes().to_vec());
    let mut package = Package::new("fiord-fio-compat", fields, (about, COMPAT_TEXT), files)
        .documented(release)?;
    package.scripts = vec![("postinst", COMPAT_POSTINST), ("prerm", COMPAT_PRERM)];
    Ok(package)
}

fn debug(release: &Release) -> Package {
    let id = &release.binary.build_id;
    let mut files = Tree::default();
    let path = format!("usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]);
    files.add(&path, 0o644, release.binary.debug.clone());
    let fields = format!(
        "Section: debug\nPriority: optional\nDepends: fiord (= {})\nAuto-Built-Package: debug-symbols\nBuild-Ids: {id}\n",
        release.debian_version()
    );
    files.link("usr/share/doc/fiord-dbgsym", "fiord");
    Package::new("fiord-dbgsym", fields, ("debug symbols for fiord", DEBUG_TEXT), files)
}

impl Package {
    fn new(
        name: &'static str,
        fields: String,
        about: (&'static str, &'static str),
        files: Tree,
    ) -> Package {
        Package { name, fields, about, scripts: Vec::new(), files }
    }

    /// Adds the licence and the changelog of the packaging.
    fn documented(mut self, release: &Release) -> Result<Package> {
        let place = format!("usr/share/doc/{}", self.name);
        self.files.add(&format!("{place}/copyright"), 0o644, COPYRIGHT.as_bytes().to_vec());
        let changes = format!(
            "fiord ({}) unstable; urgency=medium\n\n  * Release {}. changelog.gz of the package fiord lists the changes.\n\n -- {}  {}\n",
            release.debian_version(),
            release.version,
            release.maintainer,
            release.time("+%a, %d %b %Y %H:%M:%S +0000")?,
        );
        self.files.add(&format!("{place}/changelog.Debian.gz"), 0o644, gzip(changes.as_bytes())?);
        Ok(self)
    }

    /// Returns the file name and the bytes of the package.
    fn write(self, release: &Release) -> Result<(String, Vec<u8>)> {
        let mut control = Tree::default();
        control.add("control", 0o644, self.control(release).into_bytes());
        control.add("md5sums", 0o644, self.checksums().into_bytes());
        for (name, text) in &self.scripts {
            control.add(name, 0o755, text.as_bytes().to_vec());
        }
        let members = [
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.gz", tar_gz(&control, true, release.epoch)?),
            ("data.tar.gz", tar_gz(&self.files, true, release.epoch)?),
        ];
        let name = format!("{}_{}_{}.deb", self.name, release.debian_version(), architecture()?);
        Ok((name, ar(&members, release.epoch)?))
    }

    fn control(&self, release: &Release) -> String {
        let bytes: usize = self.files.files().map(|file| file.2.len()).sum();
        let mut text = format!(
            "Package: {}\nSource: fiord\nVersion: {}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {}\n{}",
            self.name,
            release.debian_version(),
            architecture().unwrap_or_default(),
            release.maintainer,
            bytes.div_ceil(1024),
            self.fields,
        );
        let (first, rest) = self.about;
        let _ = writeln!(text, "Description: {first}");
        for line in rest.lines() {
            let _ = writeln!(text, " {line}");
        }
        text
    }

    /// Returns the lines of `md5sums`, which `dpkg --verify` reads.
    fn checksums(&self) -> String {
        use md5::{Digest, Md5};
        let mut text = String::new();
        for (path, _, data) in self.files.files() {
            for byte in Md5::digest(data) {
                let _ = write!(text, "{byte:02x}");
            }
            let _ = writeln!(text, "  {path}");
        }
        text
    }
}

/// Returns Debian's name of this machine's architecture.
fn architecture() -> Result<&'static str> {
    let names = [
        ("x86_64", "amd64"),
        ("aarch64", "arm64"),
        ("riscv64", "riscv64"),
        ("powerpc64", "ppc64el"),
    ];
    let found = names.into_iter().find(|(arch, _)| *arch == std::env::consts::ARCH);
    Ok(found.with_context(|| format!("no Debian package for {}", std::env::consts::ARCH))?.1)
}

/// The file `copyright` in Debian's machine-readable format 1.0.
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: fiord
Comment:
 The program contains crates by other authors. Their names, licences and
 licence texts are in /usr/share/doc/fiord/THIRD-PARTY.txt.gz.

Files: *
Copyright: 2026 The fiord authors
License: Expat or Apache-2.0

License: Expat
 Permission is hereby granted, free of charge, to any person obtaining a copy
 of this software and associated documentation files (the \"Software\"), to deal
 in the Software without restriction, including without limitation the rights
 to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 copies of the Software, and to permit persons to whom the Software is
 furnished to do so, subject to the following conditions:
 .
 The above copyright notice and this permission notice shall be included in all
 copies or substantial portions of the Software.
 .
 THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 SOFTWARE.

License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
";
