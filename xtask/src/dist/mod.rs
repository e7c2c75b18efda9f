//! `cargo xtask dist`: everything that a release consists of, in one directory.
//!
//! | question | module |
//! |---|---|
//! | How is the program built, and where is its debug information? | `binary` |
//! | Which crates does it contain, under which licences? | `dependencies`, `notices`, `sbom` |
//! | Which files does a package install? | `tree` |
//! | How are the packages written? | `archive`, `deb`, `rpm` |
//! | Which version and time do they have? | `release` |

mod archive;
mod binary;
mod deb;
mod dependencies;
mod notices;
mod options;
mod release;
mod rpm;
mod sbom;
mod tree;
mod twice;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use options::Options;
use release::Release;
use tree::{Layout, Tree};

/// `cargo xtask dist [OPTION…]`.
///
/// # Errors
///
/// If the command line is wrong, a tool is missing, a build fails, or the program is too large.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let root = crate::place::root();
    let Some(options) = options::parse(args, &root)? else {
        print!("{}", options::HELP);
        return Ok(());
    };
    let epoch = release::epoch(&root)?;
    let (sums, code) = artifacts(&root, &options, epoch)?;
    print!("{sums}");
    println!("wrote {}", options.out.display());
    if options.twice {
        twice::compare(&root, &options, epoch, &sums)?;
    }
    // Last, so that the files are there to find out what has grown.
    binary::check_size(code)
}

/// Builds everything from the sources in `root`. Returns the text of `SHA256SUMS` and the size of the program's code in bytes.
fn artifacts(root: &Path, options: &Options, epoch: u64) -> Result<(String, usize)> {
    let dependencies = dependencies::of_fiord(root)?;
    let binary = binary::build(root, &options.target, epoch)?;
    let version = dependencies.iter().find(|crate_| crate_.name == "fiord");
    let version = version.context("the workspace has no package fiord")?.version.clone();
    let release = Release { version, epoch, maintainer: release::maintainer(), binary };
    let third_party = notices::third_party(&dependencies)?;
    let tree = |layout| tree::fiord(root, &release.binary.program, &third_party, layout);
    let name = format!("fiord-{}-{}-linux", release.version, std::env::consts::ARCH);
    let bom =
        sbom::cyclonedx(&dependencies, &release.version, &release.time("+%Y-%m-%dT%H:%M:%SZ")?);
    let mut files = vec![
        (format!("{name}.tar.gz"), tarball(&tree(Layout::Tarball)?, &name, epoch)?),
        (format!("{name}.debug"), release.binary.debug.clone()),
        (format!("{name}.cdx.json"), format!("{bom:#}\n").into_bytes()),
    ];
    files.extend(deb::packages(&release, &tree(Layout::Debian)?)?);
    if options.rpm {
        let scratch = options.target.join("rpm");
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        files.extend(rpm::packages(&release, &tree(Layout::Rpm)?, &scratch)?);
    }
    files.sort();
    Ok((write(&options.out, &files)?, release.binary.code))
}

/// Returns the tarball, whose only directory at the top is `name`. It is made to be unpacked into `/usr/local`.
fn tarball(files: &Tree, name: &str, epoch: u64) -> Result<Vec<u8>> {
    let mut tree = Tree::default();
    for (path, mode, data) in files.files() {
        tree.add(&format!("{name}/{path}"), mode, data.to_vec());
    }
    archive::tar_gz(&tree, false, epoch)
}

/// Writes the files and their checksums into an empty directory and returns the checksums.
fn write(out: &Path, files: &[(String, Vec<u8>)]) -> Result<String> {
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut sums = String::new();
    for (name, data) in files {
        fs::write(out.join(name), data).with_context(|| format!("cannot write {name}"))?;
        for byte in Sha256::digest(data) {
            let _ = write!(sums, "{byte:02x}");
        }
        let _ = writeln!(sums, "  {name}");
    }
    fs::write(out.join("SHA256SUMS"), &sums).context("cannot write SHA256SUMS")?;
    Ok(sums)
}
