//! Builds the program for shipping and separates its debug information.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Maximum size of the program's code in bytes.
const MAX_CODE: usize = 12_000_000;

/// The program as it is shipped.
#[derive(Debug)]
pub(super) struct Binary {
    /// The program without symbols. It names its debug information by the build ID.
    pub program: Vec<u8>,
    /// Debug information, for gdb and `addr2line`.
    pub debug: Vec<u8>,
    /// Build ID in hexadecimal digits.
    pub build_id: String,
    /// The newest version of the GNU C library whose symbols the program uses, such as `2.34`.
    pub libc: String,
    /// The newest version of GCC's library whose symbols the program uses, such as `12.0.0`.
    pub libgcc: String,
    /// Size of the section `.text` in bytes.
    pub code: usize,
}

/// Builds the sources in `root` with the target directory `target`. The result does not depend on these paths, on
/// the user or on the time.
///
/// # Errors
///
/// If cargo, objcopy or objdump fails.
pub(super) fn build(root: &Path, target: &Path, epoch: u64) -> Result<Binary> {
    let path = compile(root, target, epoch)?;
    let (program, debug) = (target.join("fiord.stripped"), target.join("fiord.debug"));
    objcopy(&["--only-keep-debug", "--compress-debug-sections=zlib"], &path, &debug)?;
    objcopy(&["--strip-all", "--remove-section=.comment"], &path, &program)?;
    let headers = stdout("objdump", &["--private-headers"], &path)?;
    let binary = Binary {
        build_id: build_id(&path)?,
        libc: newest_version(&headers, "GLIBC_")
            .context("the program uses no symbol of the GNU C library")?,
        // The unwinder has been in the library since this version.
        libgcc: newest_version(&headers, "GCC_").unwrap_or_else(|| "3.0".to_owned()),
        code: code_size(&stdout("size", &["--format=sysv"], &path)?)?,
        program: fs::read(&program).with_context(|| program.display().to_string())?,
        debug: fs::read(&debug).with_context(|| debug.display().to_string())?,
    };
    Ok(binary)
}

/// Checks the size of the program's code.
///
/// # Errors
///
/// If it is larger than 12 MB.
pub(super) fn check_size(code: usize) -> Result<()> {
    ensure!(
        code <= MAX_CODE,
        "the code of the program has {code} bytes, more than {MAX_CODE}. To fix: compare the largest \
         symbols with the last release (`nm --size-sort`)"
    );
    Ok(())
}

/// Finds the size of the section `.text` in the output of `size`.
fn code_size(text: &str) -> Result<usize> {
    let size = text.lines().find_map(|line| line.strip_prefix(".text ")?.split_whitespace().next());
    size.context("the program has no section .text")?.parse().context("output of `size`")
}

/// Runs cargo and returns the path of the program.
fn compile(root: &Path, target: &Path, epoch: u64) -> Result<PathBuf> {
    let home = cargo_home()?;
    let maps = [(root, "/fiord"), (target, "/target"), (home.as_path(), "/cargo")];
    let mut flags: Vec<String> = Vec::new();
    let mut c_flags = String::new();
    for (from, to) in maps {
        let from = from.to_str().context("the path of the build is not UTF-8")?;
        ensure!(!from.contains([' ', '"', '\\']), "{from}: a build path with a space or a quote");
        flags.push(format!("\"--remap-path-prefix={from}={to}\""));
        c_flags.push_str(&format!("-ffile-prefix-map={from}={to} "));
    }
    if cfg!(target_arch = "x86_64") {
        // Rust's own linker, the default on this architecture, joins functions with equal code, of which generic code
        // has many. No code compares addresses of functions.
        flags.push("\"-Clink-arg=-Wl,--icf=all\"".to_owned());
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo.args(["build", "--package=fiord", "--bin=fiord", "--profile=dist", "--locked"]);
    // Flags of the configuration files are added to these. Flags in the environment would replace them.
    cargo.arg(format!("--config=target.'cfg(all())'.rustflags=[{}]", flags.join(",")));
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
    cargo.env("CFLAGS", c_flags.trim()).env("SOURCE_DATE_EPOCH", epoch.to_string());
    let status = cargo.status().context("cannot run cargo")?;
    ensure!(status.success(), "cargo build failed: {status}");
    Ok(target.join("dist/fiord"))
}

fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    let home = std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?;
    Ok(PathBuf::from(home).join(".cargo"))
}

fn objcopy(args: &[&str], from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("objcopy");
    let status = command.args(args).arg(from).arg(to).status();
    let status = status.context("cannot run objcopy. To fix: install binutils")?;
    ensure!(status.success(), "objcopy {} failed: {status}", args.join(" "));
    Ok(())
}

/// Returns the build ID that the linker wrote.
fn build_id(program: &Path) -> Result<String> {
    let text = stdout("readelf", &["--notes", "--wide"], program)?;
    let id = text.lines().find_map(|line| line.split_once("Build ID: "));
    let id = id.with_context(|| format!("{} has no build ID", program.display()))?.1.trim();
    ensure!(id.len() > 2 && id.bytes().all(|c| c.is_ascii_hexdigit()), "odd build ID {id}");
    Ok(id.to_owned())
}

/// Finds the newest version of the symbols of a library in the output of objdump.
fn newest_version(text: &str, prefix: &str) -> Option<String> {
    let versions = text.split_whitespace().filter_map(|word| word.strip_prefix(prefix));
    let number = |version: &str| -> Vec<u32> {
        version.split('.').filter_map(|part| part.parse().ok()).collect()
    };
    versions.max_by_key(|version| number(version)).map(str::to_owned)
}

fn stdout(program: &str, args: &[&str], path: &Path) -> Result<String> {
    let output = Command::new(program).args(args).arg(path).env("LC_ALL", "C").output();
    let output =
        output.with_context(|| format!("cannot run {program}. To fix: install binutils"))?;
    if !output.status.success() {
        bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_larger_program_is_an_error() {
        assert!(super::check_size(super::MAX_CODE).is_ok());
        assert!(super::check_size(super::MAX_CODE + 1).is_err());
        let sections =
            "fiord  :\nsection  size  addr\n.text.x  7  0\n.text   8844162  3092992\nTotal  9";
        assert_eq!(super::code_size(sections).unwrap(), 8_844_162);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let text = "0x06969194 0x00 03 GLIBC_2.14\n0x0 GLIBC_2.9\n0x0 GLIBC_2.34\n0x0 GCC_3.0";
        assert_eq!(super::newest_version(text, "GLIBC_").as_deref(), Some("2.34"));
        assert_eq!(super::newest_version(text, "GCC_").as_deref(), Some("3.0"));
        assert_eq!(super::newest_version(text, "CXXABI_"), None);
    }
}
